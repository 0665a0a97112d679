/* For tests of devices: arguments of kernels. */
#ifndef KERNWRIGHT_TESTS_SUPPORT_DEVICE_H
#define KERNWRIGHT_TESTS_SUPPORT_DEVICE_H

#include "device/device.h"

device_arg buffer_arg(device_buffer *b);
device_arg int_arg(int32_t x);
device_arg long_arg(int64_t x);
device_arg float_arg(float x);

#endif
