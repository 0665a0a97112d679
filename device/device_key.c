#include "device/device_key.h"

void device_key_make(const device_key_input *in, char *out, size_t size)
{
    kw_key_make(in, out, size);
}
