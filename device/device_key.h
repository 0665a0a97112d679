/* The device key: vendor/arch/name/units. This one pair of files is also put into every emitted header (the text of
 * device_key_body.h), so that a header finds on the user's machine the very key that the tuner stored.
 *
 * vendor: from the vendor id (nvidia, amd, intel, apple, arm, qualcomm, ...), PoCL: "pocl" from the platform name;
 * arch: "sm_90" from the compute capability query, "gfx942" from the name, Intel's IP version where offered, else the
 * name without digits and clocks; name: lower case, blanks to '-', no clocks, no trademarks; units: compute units. */
#ifndef KERNWRIGHT_DEVICE_DEVICE_KEY_H
#define KERNWRIGHT_DEVICE_DEVICE_KEY_H

#include <stddef.h>

/* What the key is computed from; all plain data, so that it is tested with recorded devices. */
typedef struct device_key_input {
    unsigned vendor_id;
    const char *platform_name; /* CL_PLATFORM_NAME */
    const char *vendor_name;   /* CL_DEVICE_VENDOR */
    const char *device_name;   /* CL_DEVICE_NAME */
    unsigned compute_units;
    unsigned cc_major, cc_minor; /* NVIDIA's compute capability; 0 if not offered */
    unsigned intel_ip_version;   /* CL_DEVICE_IP_VERSION_INTEL; 0 if not offered */
} device_key_input;

/* Writes "nvidia/sm_90/h200/132". Always ends the text; cuts at `size`. */
void device_key_make(const device_key_input *in, char *out, size_t size);

#endif
