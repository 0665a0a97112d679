/* OpenCL's error codes: names, and which fault they are. */
#include "device/opencl.h"

static const struct {
    cl_int code;
    const char *name;
} names[] = {
    {-1, "CL_DEVICE_NOT_FOUND"},
    {-2, "CL_DEVICE_NOT_AVAILABLE"},
    {-3, "CL_COMPILER_NOT_AVAILABLE"},
    {-4, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
    {-5, "CL_OUT_OF_RESOURCES"},
    {-6, "CL_OUT_OF_HOST_MEMORY"},
    {-7, "CL_PROFILING_INFO_NOT_AVAILABLE"},
    {-8, "CL_MEM_COPY_OVERLAP"},
    {-11, "CL_BUILD_PROGRAM_FAILURE"},
    {-12, "CL_MAP_FAILURE"},
    {-13, "CL_MISALIGNED_SUB_BUFFER_OFFSET"},
    {-14, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
    {-15, "CL_COMPILE_PROGRAM_FAILURE"},
    {-17, "CL_LINK_PROGRAM_FAILURE"},
    {-19, "CL_KERNEL_ARG_INFO_NOT_AVAILABLE"},
    {-30, "CL_INVALID_VALUE"},
    {-31, "CL_INVALID_DEVICE_TYPE"},
    {-32, "CL_INVALID_PLATFORM"},
    {-33, "CL_INVALID_DEVICE"},
    {-34, "CL_INVALID_CONTEXT"},
    {-35, "CL_INVALID_QUEUE_PROPERTIES"},
    {-36, "CL_INVALID_COMMAND_QUEUE"},
    {-38, "CL_INVALID_MEM_OBJECT"},
    {-42, "CL_INVALID_BINARY"},
    {-43, "CL_INVALID_BUILD_OPTIONS"},
    {-44, "CL_INVALID_PROGRAM"},
    {-45, "CL_INVALID_PROGRAM_EXECUTABLE"},
    {-46, "CL_INVALID_KERNEL_NAME"},
    {-47, "CL_INVALID_KERNEL_DEFINITION"},
    {-48, "CL_INVALID_KERNEL"},
    {-49, "CL_INVALID_ARG_INDEX"},
    {-50, "CL_INVALID_ARG_VALUE"},
    {-51, "CL_INVALID_ARG_SIZE"},
    {-52, "CL_INVALID_KERNEL_ARGS"},
    {-53, "CL_INVALID_WORK_DIMENSION"},
    {-54, "CL_INVALID_WORK_GROUP_SIZE"},
    {-55, "CL_INVALID_WORK_ITEM_SIZE"},
    {-56, "CL_INVALID_GLOBAL_OFFSET"},
    {-57, "CL_INVALID_EVENT_WAIT_LIST"},
    {-58, "CL_INVALID_EVENT"},
    {-59, "CL_INVALID_OPERATION"},
    {-61, "CL_INVALID_BUFFER_SIZE"},
    {-63, "CL_INVALID_GLOBAL_WORK_SIZE"},
    {-1001, "CL_PLATFORM_NOT_FOUND_KHR"},
    {-9999, "NVIDIA: illegal address in a kernel"},
};

#define FIRST_UNKNOWN (-1000) /* the standard's own codes end long before: what is below comes from a vendor */

const char *opencl_error_name(cl_int code)
{
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].code == code)
            return names[i].name;
    return "an unknown error";
}

static bool is_memory(cl_int code)
{
    return code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_HOST_MEMORY || code == CL_INVALID_BUFFER_SIZE;
}

/* Codes after which any further call may hang. */
static bool is_lost(cl_int code)
{
    return code == CL_OUT_OF_RESOURCES || code == CL_INVALID_COMMAND_QUEUE ||
           code == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST || code == CL_DEVICE_NOT_AVAILABLE ||
           code <= FIRST_UNKNOWN;
}

/* A launch that was refused. CL_OUT_OF_RESOURCES is both NVIDIA's word for "too many registers" and the sign of an
 * earlier failure; only the queue knows which. */
static device_fault fault_of_launch(const opencl *o, cl_int code)
{
    if (code == CL_INVALID_WORK_GROUP_SIZE || code == CL_INVALID_WORK_ITEM_SIZE)
        return DEVICE_FAULT_DOES_NOT_FIT;
    if (code == CL_OUT_OF_RESOURCES)
        return clFinish(o->plain) == CL_SUCCESS && clFinish(o->profiling) == CL_SUCCESS ? DEVICE_FAULT_DOES_NOT_FIT
                                                                                        : DEVICE_FAULT_LOST;
    if (is_memory(code))
        return DEVICE_FAULT_MEMORY;
    return is_lost(code) ? DEVICE_FAULT_LOST : DEVICE_FAULT_LAUNCH;
}

static device_fault fault_of(const opencl *o, opencl_moment moment, cl_int code)
{
    switch (moment) {
    case OPENCL_ENQUEUE:
        return fault_of_launch(o, code);
    case OPENCL_FINISH:
        return code == CL_MEM_OBJECT_ALLOCATION_FAILURE ? DEVICE_FAULT_MEMORY : DEVICE_FAULT_LOST;
    case OPENCL_TRANSFER:
        if (is_lost(code))
            return DEVICE_FAULT_LOST;
        break;
    case OPENCL_PREPARING:
        break;
    }
    return is_memory(code) || code == CL_OUT_OF_RESOURCES ? DEVICE_FAULT_MEMORY : DEVICE_FAULT_LAUNCH;
}

kw_code opencl_fail(device *d, opencl_moment moment, cl_int code, kw_error *err, const char *what)
{
    device_fault fault = fault_of(opencl_of(d), moment, code);
    kw_code result = fault == DEVICE_FAULT_LOST || fault == DEVICE_FAULT_MEMORY ? KW_ENVIRONMENT : KW_FAILED;
    return device_fail(d, fault, err, result, "%s: %s (%s, %d%s)", d->info.spec, what, opencl_error_name(code), code,
                       fault == DEVICE_FAULT_LOST ? "; the device is lost" : "");
}
