/* Prints the key of the device that the other programs use. */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include "kw_saxpy.h"
#include "support.h"

int main(void)
{
    kw_device device;
    if (kw_device_init(&device, first_device()) != KW_SUCCESS)
        return 1;
    printf("%s\n", device.key);
    return 0;
}
