/* The device key: vendor/arch/name/units, as pure text work over what a driver answers, so that it is tested with
 * recorded devices. The work is device_key_body.h, which every emitted header contains byte for byte; the OpenCL
 * queries are device_key_query.h, which it contains too.
 *
 * vendor: from the vendor id (nvidia, amd, intel, apple, arm, qualcomm, ...), PoCL and Oclgrind from the platform name;
 * arch: "sm_90" from the compute capability, "gfx942" from the name, "ip_12.55" from Intel's IP version where offered,
 * LLVM's CPU name for PoCL, else the name without digits; name: lower case, blanks to '-', no clocks, no trademarks, no
 * vendor in front; units: compute units. */
#ifndef KERNWRIGHT_DEVICE_DEVICE_KEY_H
#define KERNWRIGHT_DEVICE_DEVICE_KEY_H

#include "device/device_key_body.h"

#include <stddef.h>

typedef kw_key_input device_key_input;

/* Writes "nvidia/sm_90/h200/132". Always ends the text; cuts at `size`. */
void device_key_make(const device_key_input *in, char *out, size_t size);

#endif
