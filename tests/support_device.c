#include "tests/support_device.h"

#include <string.h>

device_arg buffer_arg(device_buffer *b)
{
    return (device_arg){.kind = DEVICE_ARG_BUFFER, .buffer = b};
}

device_arg int_arg(int32_t x)
{
    device_arg a = {.kind = DEVICE_ARG_BYTES, .n = sizeof x, .type = DTYPE_I32};
    memcpy(a.bytes, &x, sizeof x);
    return a;
}

device_arg long_arg(int64_t x)
{
    device_arg a = {.kind = DEVICE_ARG_BYTES, .n = sizeof x, .type = DTYPE_I64};
    memcpy(a.bytes, &x, sizeof x);
    return a;
}

device_arg float_arg(float x)
{
    device_arg a = {.kind = DEVICE_ARG_BYTES, .n = sizeof x, .type = DTYPE_F32};
    memcpy(a.bytes, &x, sizeof x);
    return a;
}
