/* What `kernwright worker` starts itself as. */
#ifndef KERNWRIGHT_TUNER_WORKER_H
#define KERNWRIGHT_TUNER_WORKER_H

/* `worker --runner ROLE MEMORY`: drives a device for the worker that started it (device/remote.h). ROLE is "native"
 * where kernels are native code in this process, else "driver"; MEMORY is its limit in bytes, 0 for none. Does not
 * return. */
_Noreturn void worker_runner_main(const char *role_name, const char *memory_bytes);

#endif
