/* OpenCL's functions, found when they are first needed: the program is not linked with an OpenCL library, so that it
 * starts and emits headers where there is none (build machines, cross builds). Whoever includes this calls them by
 * their usual names. Only device/opencl.h includes it. */
#ifndef KERNWRIGHT_DEVICE_OPENCL_API_H
#define KERNWRIGHT_DEVICE_OPENCL_API_H

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#ifdef __APPLE__
#include <OpenCL/opencl.h>
#else
#include <CL/cl.h>
#endif

#include "base/error.h"

/* All that the back end calls: OpenCL 1.2. */
#define OPENCL_FUNCTIONS(X) \
    X(clBuildProgram) \
    X(clCreateBuffer) \
    X(clCreateCommandQueue) \
    X(clCreateContext) \
    X(clCreateKernel) \
    X(clCreateProgramWithBinary) \
    X(clCreateProgramWithSource) \
    X(clCreateSubBuffer) \
    X(clEnqueueCopyBuffer) \
    X(clEnqueueFillBuffer) \
    X(clEnqueueMapBuffer) \
    X(clEnqueueNDRangeKernel) \
    X(clEnqueueReadBuffer) \
    X(clEnqueueUnmapMemObject) \
    X(clEnqueueWriteBuffer) \
    X(clFinish) \
    X(clFlush) \
    X(clGetDeviceIDs) \
    X(clGetDeviceInfo) \
    X(clGetEventInfo) \
    X(clGetEventProfilingInfo) \
    X(clGetKernelArgInfo) \
    X(clGetKernelInfo) \
    X(clGetKernelWorkGroupInfo) \
    X(clGetPlatformIDs) \
    X(clGetPlatformInfo) \
    X(clGetProgramBuildInfo) \
    X(clGetProgramInfo) \
    X(clReleaseCommandQueue) \
    X(clReleaseContext) \
    X(clReleaseEvent) \
    X(clReleaseKernel) \
    X(clReleaseMemObject) \
    X(clReleaseProgram) \
    X(clSetKernelArg) \
    X(clSetMemObjectDestructorCallback)

#define OPENCL_POINTER(name) __typeof__(name) *(name);
typedef struct opencl_functions {
    OPENCL_FUNCTIONS(OPENCL_POINTER)
} opencl_functions;
#undef OPENCL_POINTER

/* Filled once, by opencl_load. */
extern opencl_functions opencl_api;

/* Finds the library and its functions; later calls do nothing. Those of a library that is in the process already win
 * (an application's own, or one that was preloaded: Oclgrind). KW_ENVIRONMENT, with the loader's reason, if there is
 * none. Before that succeeded no OpenCL function may be called. Not thread-safe, like all discovery of devices. */
kw_code opencl_load(kw_error *err);
/* dlsym among what opencl_load found; NULL if it is not there. */
void *opencl_symbol(const char *name);

#ifndef OPENCL_API_PLAIN_NAMES
#define clBuildProgram opencl_api.clBuildProgram
#define clCreateBuffer opencl_api.clCreateBuffer
#define clCreateCommandQueue opencl_api.clCreateCommandQueue
#define clCreateContext opencl_api.clCreateContext
#define clCreateKernel opencl_api.clCreateKernel
#define clCreateProgramWithBinary opencl_api.clCreateProgramWithBinary
#define clCreateProgramWithSource opencl_api.clCreateProgramWithSource
#define clCreateSubBuffer opencl_api.clCreateSubBuffer
#define clEnqueueCopyBuffer opencl_api.clEnqueueCopyBuffer
#define clEnqueueFillBuffer opencl_api.clEnqueueFillBuffer
#define clEnqueueMapBuffer opencl_api.clEnqueueMapBuffer
#define clEnqueueNDRangeKernel opencl_api.clEnqueueNDRangeKernel
#define clEnqueueReadBuffer opencl_api.clEnqueueReadBuffer
#define clEnqueueUnmapMemObject opencl_api.clEnqueueUnmapMemObject
#define clEnqueueWriteBuffer opencl_api.clEnqueueWriteBuffer
#define clFinish opencl_api.clFinish
#define clFlush opencl_api.clFlush
#define clGetDeviceIDs opencl_api.clGetDeviceIDs
#define clGetDeviceInfo opencl_api.clGetDeviceInfo
#define clGetEventInfo opencl_api.clGetEventInfo
#define clGetEventProfilingInfo opencl_api.clGetEventProfilingInfo
#define clGetKernelArgInfo opencl_api.clGetKernelArgInfo
#define clGetKernelInfo opencl_api.clGetKernelInfo
#define clGetKernelWorkGroupInfo opencl_api.clGetKernelWorkGroupInfo
#define clGetPlatformIDs opencl_api.clGetPlatformIDs
#define clGetPlatformInfo opencl_api.clGetPlatformInfo
#define clGetProgramBuildInfo opencl_api.clGetProgramBuildInfo
#define clGetProgramInfo opencl_api.clGetProgramInfo
#define clReleaseCommandQueue opencl_api.clReleaseCommandQueue
#define clReleaseContext opencl_api.clReleaseContext
#define clReleaseEvent opencl_api.clReleaseEvent
#define clReleaseKernel opencl_api.clReleaseKernel
#define clReleaseMemObject opencl_api.clReleaseMemObject
#define clReleaseProgram opencl_api.clReleaseProgram
#define clSetKernelArg opencl_api.clSetKernelArg
#define clSetMemObjectDestructorCallback opencl_api.clSetMemObjectDestructorCallback
#endif

#endif
