/* The runner of a CPU device: `kernwright worker --runner ROLE MEMORY`. device/remote.h says what it is for. */
#include "device/remote.h"
#include "tuner/sandbox.h"
#include "tuner/worker.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static kw_code opened(void *cookie, kw_error *err)
{
    const sandbox_role *role = cookie;
    (void)err;
    sandbox_after_open(*role, device_serve_note_refused);
    return KW_OK;
}

_Noreturn void worker_runner_main(const char *role_name, const char *memory_bytes)
{
    sandbox_role role = strcmp(role_name, "native") == 0 ? SANDBOX_NATIVE : SANDBOX_DRIVER;
    pid_t parent = getppid();
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(KW_OK);
    fcntl(RUNNER_SOCKET, F_SETFD, FD_CLOEXEC);
    fcntl(RUNNER_WINDOW, F_SETFD, FD_CLOEXEC);
    close_range(RUNNER_WINDOW + 1, ~0U, 0); /* what the parent's drivers have open is theirs */
    sandbox_before_open(role, strtoull(memory_bytes, NULL, 10));
    _exit(device_serve(opened, &role));
}
