/* What a worker may do. */
#include "tuner/sandbox.h"

#include "base/fs.h"
#include "base/log.h"
#include "device/device.h"
#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define FOLDER_PREFIX "kernwright-worker."
#define UNLOCKED_PREFIX "kernwright-new" /* until the lock is held */
#define UNLOCKED_AGE_S 60
#define LEAST_LIMIT ((uint64_t)1 << 30)
#define WATCH_NS 100000000
#define MAX_FILE ((rlim_t)1 << 30)
#define MAX_OPEN 1024

/* Sanitizers map terabytes of shadow memory. */
#if defined(__SANITIZE_ADDRESS__)
#define HAS_SHADOW_MEMORY 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_SHADOW_MEMORY 1
#endif
#endif
#ifndef HAS_SHADOW_MEMORY
#define HAS_SHADOW_MEMORY 0
#endif

bool sandbox_is_wanted(void)
{
    const char *wanted = getenv("KERNWRIGHT_SANDBOX");
    return !wanted || strcmp(wanted, "off") != 0;
}

/* ---- limits ---- */

/* Pages that there are, whoever has them at the moment; 0 when there is no telling. */
static uint64_t present_bytes(void)
{
    char line[256];
    uint64_t pages = 0, n;
    FILE *f = fopen("/proc/zoneinfo", "re");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, " present %" SCNu64, &n) == 1)
            pages += n;
    if (f)
        fclose(f);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t machine_bytes(uint64_t memory_bytes)
{
    const uint64_t visible = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    const uint64_t present = present_bytes();
    return memory_bytes > visible / 100 * 98 && present > memory_bytes ? present : memory_bytes;
}

uint64_t sandbox_memory_limit(int64_t memory_bytes)
{
    const char *own = getenv("KERNWRIGHT_MEMORY_MB");
    char *end = NULL;
    long long mb = own ? strtoll(own, &end, 10) : 0;
    if (own && *own && *end == '\0' && mb > 0)
        return (uint64_t)mb << 20;
    if (own && *own)
        log_warn("KERNWRIGHT_MEMORY_MB=%s is not a number of MiB; it is ignored", own);
    if (memory_bytes <= 0 || !sandbox_is_wanted())
        return 0;
    uint64_t limit = machine_bytes((uint64_t)memory_bytes) / 4 * 3;
    return limit < LEAST_LIMIT ? LEAST_LIMIT : limit;
}

static void lower(int which, const char *name, rlim_t most)
{
    struct rlimit l;
    if (getrlimit((__rlimit_resource_t)which, &l) != 0)
        return;
    l.rlim_max = l.rlim_max > most ? most : l.rlim_max;
    l.rlim_cur = l.rlim_cur > l.rlim_max ? l.rlim_max : l.rlim_cur;
    if (setrlimit((__rlimit_resource_t)which, &l) != 0)
        log_debug("sandbox: limit %s stays: %s", name, strerror(errno));
}

/* Address space is not limited: drivers reserve far more than they use. */
static void limit_resources(sandbox_role role, uint64_t memory_bytes)
{
    lower(RLIMIT_CORE, "core", 0);
    if (role != SANDBOX_NATIVE)
        return;
    lower(RLIMIT_FSIZE, "file size", MAX_FILE);
    lower(RLIMIT_NOFILE, "open files", MAX_OPEN);
    if (memory_bytes > 0 && !HAS_SHADOW_MEMORY)
        lower(RLIMIT_DATA, "data", memory_bytes);
}

static uint64_t resident_bytes(void)
{
    uint64_t pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (f && fscanf(f, "%*u %" SCNu64, &pages) != 1)
        pages = 0;
    if (f)
        fclose(f);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void *watch(void *argument)
{
    const uint64_t limit = *(uint64_t *)argument;
    const struct timespec pause = {0, WATCH_NS};
    free(argument);
    while (resident_bytes() <= limit)
        nanosleep(&pause, NULL);
    log_error("memory: this process held more than %" PRIu64 " MiB and was stopped", limit >> 20);
    _exit(SANDBOX_EXIT_MEMORY);
}

void sandbox_watch_memory(uint64_t limit)
{
    pthread_t thread;
    if (limit == 0)
        return;
    uint64_t *argument = mem_alloc(sizeof *argument);
    *argument = limit;
    if (pthread_create(&thread, NULL, watch, argument) == 0) {
        pthread_detach(thread);
        return;
    }
    log_debug("sandbox: memory is not watched");
    free(argument);
}

/* ---- before the driver is opened ---- */

/* A container's root has a user's rights then; only writing into folders of another owner stays, since a cache may lie
 * in one. */
static void drop_capabilities(void)
{
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2];
    if (syscall(SYS_capget, &head, data) != 0)
        return;
    const uint32_t keep = 1u << CAP_DAC_OVERRIDE;
    data[0].effective &= keep;
    data[0].permitted &= keep;
    data[0].inheritable = data[1].effective = data[1].permitted = data[1].inheritable = 0;
    if (syscall(SYS_capset, &head, data) != 0)
        log_debug("sandbox: capabilities stay: %s", strerror(errno));
}

static void add_folder(const char **list, size_t *n, char *path)
{
    kw_error err;
    if (fs_make_folders(path, &err) != KW_OK)
        log_debug("sandbox: %s", err.message);
    list[(*n)++] = path;
}

/* The private folder, the cache of compiled programs, and PoCL's cache where PoCL will look for it. */
static void restrict_files(void)
{
    char *programs = device_cache_folder(); /* first: it may say where PoCL's cache is */
    const char *temporary = getenv("TMPDIR"), *own = getenv("POCL_CACHE_DIR"), *xdg = getenv("XDG_CACHE_HOME"),
               *home = getenv("HOME");
    const char *list[8];
    char *made[2] = {NULL, NULL};
    size_t n = 0;
    list[n++] = "/dev/null";
    if (temporary && *temporary)
        list[n++] = temporary;
    if (own && *own)
        add_folder(list, &n, made[0] = mem_strdup(own));
    else if (xdg && *xdg)
        add_folder(list, &n, made[0] = fs_join(xdg, "pocl"));
    else if (home && *home)
        add_folder(list, &n, made[0] = fs_join(home, ".cache/pocl"));
    if (programs)
        add_folder(list, &n, made[1] = programs);
    list[n] = NULL;
    sandbox_files_restrict(list);
    free(made[0]);
    free(made[1]);
}

void sandbox_before_open(sandbox_role role, uint64_t memory_bytes)
{
    if (!sandbox_is_wanted())
        return;
    limit_resources(role, memory_bytes);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        log_debug("sandbox: no_new_privs: %s", strerror(errno));
    /* A judge's memory is not for the processes that it judges. */
    if (role == SANDBOX_JUDGE && !HAS_SHADOW_MEMORY && prctl(PR_SET_DUMPABLE, 0) != 0)
        log_debug("sandbox: memory stays readable for this user's processes: %s", strerror(errno));
    if (role != SANDBOX_NATIVE)
        return;
    if (unshare(CLONE_NEWNET) != 0)
        log_debug("sandbox: no network namespace of its own (%s); the filter refuses sockets", strerror(errno));
    restrict_files();
    drop_capabilities();
}

/* ---- afterwards ---- */

/* Set once, before the filter is loaded; read by the signal handler, which gets no argument. */
static void (*note_refused)(int system_call, const char *name);

static void write_number(int n, char *out)
{
    char digits[12];
    int length = 0;
    do
        digits[length++] = (char)('0' + n % 10);
    while ((n /= 10) > 0);
    while (length > 0)
        *out++ = digits[--length];
    *out = '\0';
}

static void on_refused(int signal_number, siginfo_t *info, void *context)
{
    const char *name = sandbox_call_name(info->si_syscall);
    char number[16];
    (void)context;
    write_number(info->si_syscall > 0 ? info->si_syscall : 0, number);
    const char *const parts[] = {"kernwright: sandbox: refused system call ", number, " (", name, ")\n"};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (write(STDERR_FILENO, parts[i], strlen(parts[i])) < 0)
            break;
    if (note_refused)
        note_refused(info->si_syscall, name);
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

void sandbox_after_open(sandbox_role role, void (*note)(int system_call, const char *name))
{
    struct sigaction action;
    if (!sandbox_is_wanted())
        return;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_refused;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    note_refused = note;
    sigaction(SIGSYS, &action, NULL);
    sandbox_filter_load(role);
}

/* ---- the private folder ---- */

void sandbox_folder_make(sandbox_folder *f)
{
    kw_error err;
    strb name = STRB_INIT;
    f->path = NULL;
    f->lock_fd = -1;
    char *made = fs_temp_folder(UNLOCKED_PREFIX, &err);
    if (!made) {
        log_debug("sandbox: %s", err.message);
        return;
    }
    char *root = fs_folder_of(made);
    strb_printf(&name, "%s/%s%s", root, FOLDER_PREFIX, made + strlen(made) - 6);
    f->lock_fd = open(made, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool locked = f->lock_fd >= 0 && flock(f->lock_fd, LOCK_EX | LOCK_NB) == 0;
    if (locked && rename(made, strb_text(&name)) == 0) {
        f->path = strb_take(&name);
        setenv("TMPDIR", f->path, 1);
    } else {
        log_debug("sandbox: %s cannot be locked: %s", made, strerror(errno));
        fs_remove_tree(made);
    }
    strb_clear(&name);
    free(root);
    free(made);
}

void sandbox_folder_remove(sandbox_folder *f)
{
    if (f->path)
        fs_remove_tree(f->path);
    if (f->lock_fd >= 0)
        close(f->lock_fd);
    free(f->path);
    f->path = NULL;
    f->lock_fd = -1;
}

static bool has_prefix(const char *name, const char *prefix)
{
    return strncmp(name, prefix, strlen(prefix)) == 0;
}

/* Whoever owns it holds the lock from the moment it has this name. */
static bool is_abandoned(const char *path, bool was_locked)
{
    struct stat st;
    if (lstat(path, &st) != 0 || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() ||
        (!was_locked && time(NULL) - st.st_ctime < UNLOCKED_AGE_S))
        return false;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    bool abandoned = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;
    if (fd >= 0)
        close(fd);
    return abandoned;
}

void sandbox_sweep(void)
{
    const char *root = fs_temp_root();
    DIR *folder = opendir(root);
    if (!folder)
        return;
    for (struct dirent *e; (e = readdir(folder)) != NULL;) {
        bool was_locked = has_prefix(e->d_name, FOLDER_PREFIX);
        if (!was_locked && !has_prefix(e->d_name, UNLOCKED_PREFIX "."))
            continue;
        char *path = fs_join(root, e->d_name);
        if (is_abandoned(path, was_locked))
            fs_remove_tree(path);
        free(path);
    }
    closedir(folder);
}

/* ---- for a person ---- */

static bool has_capability(unsigned which)
{
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2];
    return syscall(SYS_capget, &head, data) == 0 && (data[which / 32].effective >> (which % 32) & 1u) != 0;
}

void sandbox_describe(strb *out)
{
    if (!sandbox_is_wanted()) {
        strb_add(out, "off (KERNWRIGHT_SANDBOX)");
        return;
    }
    strb_add(out, sandbox_filter_exists() ? "system calls filtered" : "system calls NOT filtered (no seccomp)");
    int version = sandbox_files_version();
    if (version > 0)
        strb_printf(out, "; on CPU devices files written only in the cache and a private folder (Landlock %d)",
                    version);
    else
        strb_add(out, "; files writable as for this user (no Landlock)");
    strb_add(out, has_capability(CAP_SYS_ADMIN) ? ", no network at all" : ", no sockets");
}
