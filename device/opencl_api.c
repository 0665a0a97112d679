/* Loads the OpenCL library when a device is first looked for. */
#define OPENCL_API_PLAIN_NAMES
#include "device/opencl.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

opencl_functions opencl_api;

static const char *const libraries[] = {"libOpenCL.so.1", "libOpenCL.so", "libOpenCL.dylib",
                                        "/System/Library/Frameworks/OpenCL.framework/OpenCL"};

static const char *const names[] = {
#define OPENCL_NAME(name) #name,
    OPENCL_FUNCTIONS(OPENCL_NAME)
#undef OPENCL_NAME
};

#define N_NAMES (sizeof names / sizeof *names)
_Static_assert(sizeof(opencl_functions) == N_NAMES * sizeof(void *),
               "opencl_functions holds pointers and nothing else");

/* Where to look functions up. RTLD_DEFAULT, which may be a null pointer, if somebody else has loaded a library. `why`
 * (of `size` bytes, may be NULL) gets the reason for the first name, which is the telling one. */
static bool find_library(void **from, char *why, size_t size)
{
    static void *loaded;
    *from = RTLD_DEFAULT;
    if (dlsym(RTLD_DEFAULT, names[0]))
        return true;
    for (size_t i = 0; !loaded && i < sizeof libraries / sizeof *libraries; i++) {
        loaded = dlopen(libraries[i], RTLD_NOW | RTLD_LOCAL);
        const char *reason = loaded ? NULL : dlerror();
        if (i == 0 && why)
            snprintf(why, size, "%s", reason ? reason : libraries[i]);
    }
    *from = loaded;
    return loaded != NULL;
}

kw_code opencl_load(kw_error *err)
{
    char why[256];
    void *from;
    if (opencl_api.clGetPlatformIDs)
        return KW_OK;
    if (!find_library(&from, why, sizeof why))
        return kw_error_set(err, KW_ENVIRONMENT,
                            "no OpenCL library: %s; install the loader (apt-get install ocl-icd-libopencl1) and a "
                            "driver (apt-get install pocl-opencl-icd). Headers can be emitted without",
                            why);
    opencl_functions all;
    for (size_t i = 0; i < N_NAMES; i++) {
        void *function = dlsym(from, names[i]);
        if (!function)
            return kw_error_set(err, KW_ENVIRONMENT, "the OpenCL library has no %s: Kernwright needs OpenCL 1.2",
                                names[i]);
        memcpy((char *)&all + i * sizeof function, &function, sizeof function);
    }
    opencl_api = all;
    return KW_OK;
}

void *opencl_symbol(const char *name)
{
    void *from;
    return find_library(&from, NULL, 0) ? dlsym(from, name) : NULL;
}
