/* The filter of system calls. It names what is refused, not what is allowed: what drivers and compilers need differs
 * too much. Masks compare 32 bits where the kernel looks at 32: the upper half of a register is the caller's to choose. */
#include "tuner/sandbox.h"

#include "base/log.h"

#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define LOW 0xffffffffu
#define FAMILIES 46

/* The leak checker of a sanitizer traces its own process at the end. */
#if defined(__SANITIZE_ADDRESS__)
#define IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define IS_SANITIZED 1
#endif
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED 0
#endif

typedef struct refused_call {
    int number;
    bool is_attack; /* nothing on the way of a kernel does this: the process ends */
    const char *name;
} refused_call;

#define ATTACK(name) \
    { \
        SCMP_SYS(name), true, #name \
    }
#define PROBE(name) \
    { \
        SCMP_SYS(name), false, #name \
    }

static const refused_call refused[] = {
    /* other processes */
    ATTACK(ptrace), ATTACK(process_vm_readv), ATTACK(process_vm_writev), ATTACK(pidfd_getfd),
    /* the system */
    ATTACK(mount), ATTACK(umount2), ATTACK(pivot_root), ATTACK(move_mount), ATTACK(open_tree), ATTACK(fsopen),
    ATTACK(fsmount), ATTACK(mount_setattr), ATTACK(init_module), ATTACK(finit_module), ATTACK(delete_module),
    ATTACK(kexec_load), ATTACK(kexec_file_load), ATTACK(reboot), ATTACK(swapon), ATTACK(swapoff), ATTACK(settimeofday),
    ATTACK(clock_settime), ATTACK(sethostname), ATTACK(setdomainname), ATTACK(open_by_handle_at), ATTACK(setns),
    /* another user */
    ATTACK(setuid), ATTACK(setgid), ATTACK(setreuid), ATTACK(setregid), ATTACK(setresuid), ATTACK(setresgid),
    ATTACK(setgroups), ATTACK(setfsuid), ATTACK(setfsgid),
    /* what a library may try and do without; io_uring would go round this filter */
    PROBE(bpf), PROBE(perf_event_open), PROBE(keyctl), PROBE(add_key), PROBE(request_key), PROBE(unshare),
    PROBE(chroot), PROBE(userfaultfd), PROBE(io_uring_setup), PROBE(io_uring_enter), PROBE(io_uring_register),
    PROBE(clock_adjtime), PROBE(adjtimex), PROBE(iopl), PROBE(ioperm), PROBE(acct), PROBE(quotactl), PROBE(vhangup),
    PROBE(personality)};

#define N_REFUSED (sizeof refused / sizeof refused[0])

/* Refused in some uses only. */
static const refused_call in_part[] = {ATTACK(socket),           ATTACK(kill),
                                       ATTACK(tgkill),           ATTACK(tkill),
                                       ATTACK(rt_sigqueueinfo),  ATTACK(rt_tgsigqueueinfo),
                                       ATTACK(pidfd_send_signal)};

const char *sandbox_call_name(int system_call)
{
    for (size_t i = 0; i < N_REFUSED; i++)
        if (refused[i].number == system_call)
            return refused[i].name;
    for (size_t i = 0; i < sizeof in_part / sizeof in_part[0]; i++)
        if (in_part[i].number == system_call)
            return in_part[i].name;
    return "?";
}

/* ---- rules; each returns 0 or the first error ---- */

static uint32_t action_of(sandbox_role role, bool is_attack)
{
    return is_attack && role != SANDBOX_JUDGE ? SCMP_ACT_TRAP : SCMP_ACT_ERRNO(EPERM);
}

/* A call that this machine does not have is no error. */
static int rule(scmp_filter_ctx c, uint32_t action, int call, unsigned n, struct scmp_arg_cmp one,
                struct scmp_arg_cmp two)
{
    int code = seccomp_rule_add(c, action, call, n, one, two);
    return code == -EDOM || code == -EFAULT ? 0 : code;
}

static const struct scmp_arg_cmp no_compare = {0, SCMP_CMP_EQ, 0, 0};

static int add_refused(scmp_filter_ctx c, sandbox_role role)
{
    int code = 0;
    for (size_t i = 0; i < N_REFUSED && code == 0; i++) {
        if (IS_SANITIZED && refused[i].number == SCMP_SYS(ptrace))
            continue;
        if (IS_SANITIZED && refused[i].number == SCMP_SYS(personality))
            continue;
        if (role == SANDBOX_JUDGE && refused[i].number == SCMP_SYS(unshare))
            continue; /* its runners leave the network */
        code = rule(c, action_of(role, refused[i].is_attack), refused[i].number, 0, no_compare, no_compare);
    }
    return code;
}

/* No network. Sockets of this machine are left to drivers that speak to a service; native code could speak to any. */
static int add_sockets(scmp_filter_ctx c, sandbox_role role)
{
    int code = 0;
    for (unsigned family = 0; family < FAMILIES && code == 0; family++) {
        bool internet = family == AF_INET || family == AF_INET6 || family == AF_PACKET;
        if (family == AF_UNIX && role != SANDBOX_NATIVE)
            continue;
        code = rule(c, action_of(role, internet && role == SANDBOX_NATIVE), SCMP_SYS(socket), 1,
                    SCMP_A0(SCMP_CMP_MASKED_EQ, LOW, family), no_compare);
    }
    return code == 0 ? rule(c, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(socket), 1, SCMP_A0(SCMP_CMP_GE, FAMILIES), no_compare)
                     : code;
}

/* Signals to this process only (asking whether one exists is allowed). */
static int add_signals(scmp_filter_ctx c)
{
    const scmp_datum_t self = (scmp_datum_t)getpid();
    const uint32_t trap = SCMP_ACT_TRAP;
    int code = rule(c, trap, SCMP_SYS(kill), 2, SCMP_A0(SCMP_CMP_NE, self), SCMP_A1(SCMP_CMP_NE, 0));
    if (code == 0)
        code = rule(c, trap, SCMP_SYS(tgkill), 2, SCMP_A0(SCMP_CMP_NE, self), SCMP_A2(SCMP_CMP_NE, 0));
    if (code == 0)
        code = rule(c, trap, SCMP_SYS(rt_sigqueueinfo), 1, SCMP_A0(SCMP_CMP_NE, self), no_compare);
    if (code == 0)
        code = rule(c, trap, SCMP_SYS(rt_tgsigqueueinfo), 1, SCMP_A0(SCMP_CMP_NE, self), no_compare);
    if (code == 0)
        code = rule(c, trap, SCMP_SYS(tkill), 0, no_compare, no_compare);
    return code == 0 ? rule(c, trap, SCMP_SYS(pidfd_send_signal), 0, no_compare, no_compare) : code;
}

/* Nobody leaves the process group that is killed at a deadline, or outlives the parent. Other programs can be started
 * (PoCL links kernels by `ld`), copies of this process cannot. */
static int add_processes(scmp_filter_ctx c)
{
    const uint32_t no = SCMP_ACT_ERRNO(EPERM);
    int code = rule(c, no, SCMP_SYS(setsid), 0, no_compare, no_compare);
    if (code == 0)
        code = rule(c, no, SCMP_SYS(setpgid), 0, no_compare, no_compare);
    if (code == 0)
        code = rule(c, no, SCMP_SYS(prctl), 1, SCMP_A0(SCMP_CMP_MASKED_EQ, LOW, PR_SET_PDEATHSIG), no_compare);
    if (code == 0)
        code = rule(c, no, SCMP_SYS(prlimit64), 1, SCMP_A0(SCMP_CMP_NE, 0), no_compare);
    if (code == 0)
        code = rule(c, no, SCMP_SYS(ioctl), 1, SCMP_A1(SCMP_CMP_MASKED_EQ, LOW, TIOCSTI), no_compare);
    if (code == 0)
        code = rule(c, no, SCMP_SYS(fork), 0, no_compare, no_compare);
    if (code == 0)
        code = rule(c, no, SCMP_SYS(clone), 1, SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_VM, 0), no_compare);
    /* Its flags lie in memory, where no filter can look; the C library takes clone() instead. */
    return code == 0 ? rule(c, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0, no_compare, no_compare) : code;
}

static int build(scmp_filter_ctx c, sandbox_role role)
{
    int code = seccomp_attr_set(c, SCMP_FLTATR_CTL_TSYNC, 1);
    if (code == 0)
        code = add_refused(c, role);
    if (code == 0)
        code = add_sockets(c, role);
    if (code == 0 && role == SANDBOX_NATIVE)
        code = add_signals(c);
    if (code == 0 && role == SANDBOX_NATIVE)
        code = add_processes(c);
    return code;
}

bool sandbox_filter_load(sandbox_role role)
{
    scmp_filter_ctx c = seccomp_init(SCMP_ACT_ALLOW);
    int code = c ? build(c, role) : -ENOMEM;
    if (code == 0)
        code = seccomp_load(c);
    if (c)
        seccomp_release(c);
    if (code != 0)
        log_debug("sandbox: no filter of system calls: %s", strerror(-code));
    return code == 0;
}

bool sandbox_filter_exists(void)
{
    return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0 && seccomp_api_get() >= 2;
}
