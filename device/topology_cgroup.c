/* CPU time and memory that control groups (versions 1 and 2) leave to this process. */
#include "device/topology_internal.h"

#include "base/strb.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads a short file; false if it is not there. */
static bool read_file(const char *path, char *out, size_t size)
{
    FILE *f = fopen(path, "r");
    if (!f)
        return false;
    size_t n = fread(out, 1, size - 1, f);
    out[n] = '\0';
    fclose(f);
    return n > 0;
}

/* The group that a controller has put this process into: "0::/a/b" for version 2 (controller ""),
 * "4:cpu,cpuacct:/a/b" for version 1. false if there is none. */
static bool find_group(const char *root, const char *controller, char *out, size_t size)
{
    char path[512], line[1024];
    bool found = false;
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *f = fopen(path, "r");
    while (f && !found && fgets(line, sizeof line, f)) {
        char *names = strchr(line, ':'), *group = names ? strchr(names + 1, ':') : NULL;
        if (!group)
            continue;
        *group++ = '\0';
        group[strcspn(group, "\n")] = '\0';
        found = *controller == '\0' && names[1] == '\0';
        for (char *rest = names + 1, *name; *controller && !found && (name = strtok_r(rest, ",", &rest)) != NULL;)
            found = strcmp(name, controller) == 0;
        if (found)
            snprintf(out, size, "%s", group);
    }
    if (f)
        fclose(f);
    return found;
}

/* "200000 100000" or "max 100000"; 0 for no limit */
static double quota_of_v2(const char *folder)
{
    char path[1024], text[128];
    double quota, period;
    snprintf(path, sizeof path, "%s/cpu.max", folder);
    return read_file(path, text, sizeof text) && sscanf(text, "%lf %lf", &quota, &period) == 2 && period > 0
               ? quota / period
               : 0;
}

static double quota_of_v1(const char *folder)
{
    char path[1024], quota[64], period[64];
    snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", folder);
    if (!read_file(path, quota, sizeof quota))
        return 0;
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
    if (!read_file(path, period, sizeof period) || atof(period) <= 0 || atof(quota) <= 0)
        return 0;
    return atof(quota) / atof(period);
}

/* "max" reads as 0; version 1 says "no limit" by a number close to 2^63. */
static double memory_of(const char *folder, const char *file)
{
    char path[1024], text[64];
    snprintf(path, sizeof path, "%s/%s", folder, file);
    if (!read_file(path, text, sizeof text))
        return 0;
    double bytes = atof(text);
    return bytes < 0x1p62 ? bytes : 0;
}

static double memory_of_v2(const char *folder)
{
    return memory_of(folder, "memory.max");
}

static double memory_of_v1(const char *folder)
{
    return memory_of(folder, "memory.limit_in_bytes");
}

/* The tightest limit from the group up to the root of the hierarchy mounted at root/mount. Inside a container the
 * group's path may not exist there; its own limits are then at the root. */
static double tightest(const char *root, const char *mount, const char *group, double (*read)(const char *folder))
{
    char path[768];
    double least = 0;
    snprintf(path, sizeof path, "%s%s%s", root, mount, group);
    size_t stem = strlen(root) + strlen(mount);
    for (;;) {
        double limit = read(path);
        if (limit > 0 && (least == 0 || limit < least))
            least = limit;
        char *slash = strrchr(path, '/');
        if (!slash || (size_t)(slash - path) < stem)
            return least;
        *slash = '\0';
    }
}

static double lesser(double a, double b)
{
    return a == 0 || (b > 0 && b < a) ? b : a;
}

static double limit_of(const char *root, const char *controller, double (*v2)(const char *), double (*v1)(const char *))
{
    static const char *const v2_mounts[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
    char group[512], mount[128];
    double least = 0;
    for (size_t i = 0; find_group(root, "", group, sizeof group) && i < sizeof v2_mounts / sizeof v2_mounts[0]; i++)
        least = lesser(least, tightest(root, v2_mounts[i], group, v2));
    if (!find_group(root, controller, group, sizeof group))
        return least;
    snprintf(mount, sizeof mount, "/sys/fs/cgroup/%s", controller);
    return lesser(least, tightest(root, mount, group, v1));
}

double cgroup_cpu_quota(const char *root)
{
    return limit_of(root, "cpu", quota_of_v2, quota_of_v1);
}

int64_t cgroup_memory_limit(const char *root)
{
    return (int64_t)limit_of(root, "memory", memory_of_v2, memory_of_v1);
}

int64_t cgroup_available_bytes(const char *root)
{
    char path[512], line[256];
    long long kib = 0;
    snprintf(path, sizeof path, "%s/proc/meminfo", root);
    FILE *f = fopen(path, "re");
    while (f && kib == 0 && fgets(line, sizeof line, f))
        if (sscanf(line, "MemAvailable: %lld kB", &kib) != 1)
            kib = 0;
    if (f)
        fclose(f);
    int64_t bytes = kib > 0 && kib < INT64_MAX / 1024 ? kib * 1024 : 0, limit = cgroup_memory_limit(root);
    return limit > 0 && limit < bytes ? limit : bytes;
}

int64_t topology_available_bytes(void)
{
    return cgroup_available_bytes("");
}
