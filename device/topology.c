/* The machine as hwloc sees it. */
#include "device/topology_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* hwloc has plugins that ask GPU drivers; a process that has asked one must not fork, and a driver may crash. */
static const char *const driver_components[] = {"opencl", "cuda", "nvml", "rsmi", "levelzero", "gl"};

static kw_code load(bool with_devices, hwloc_topology_t *out, kw_error *err)
{
    if (hwloc_topology_init(out) != 0)
        return kw_error_set(err, KW_ENVIRONMENT, "hwloc cannot start: %s", strerror(errno));
    for (size_t i = 0; i < sizeof driver_components / sizeof driver_components[0]; i++)
        hwloc_topology_set_components(*out, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, driver_components[i]);
    if (with_devices)
        hwloc_topology_set_io_types_filter(*out, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    if (hwloc_topology_load(*out) != 0) {
        hwloc_topology_destroy(*out);
        return kw_error_set(err, KW_ENVIRONMENT, "hwloc cannot read this machine: %s", strerror(errno));
    }
    return KW_OK;
}

static void copy_model(hwloc_topology_t t, char *out, size_t size)
{
    hwloc_obj_t package = hwloc_get_obj_by_type(t, HWLOC_OBJ_PACKAGE, 0);
    const char *model = package ? hwloc_obj_get_info_by_name(package, "CPUModel") : NULL;
    if (!model)
        model = hwloc_obj_get_info_by_name(hwloc_get_root_obj(t), "CPUModel");
    if (!model)
        model = "";
    while (*model == ' ')
        model++;
    snprintf(out, size, "%s", model);
    for (size_t length = strlen(out); length > 0 && out[length - 1] == ' ';)
        out[--length] = '\0';
}

static size_t count_usable(hwloc_topology_t t, hwloc_obj_type_t type, hwloc_const_bitmap_t usable)
{
    size_t n = 0;
    for (hwloc_obj_t o = NULL; (o = hwloc_get_next_obj_by_type(t, type, o)) != NULL;)
        n += hwloc_bitmap_intersects(o->cpuset, usable) != 0;
    return n;
}

/* A quota of 2.5 processors keeps two of them busy; a smaller one than 1 still keeps one. */
static size_t within_quota(size_t n, double quota)
{
    if (quota > 0 && quota < (double)n)
        n = (size_t)quota;
    return n > 0 ? n : 1;
}

static int64_t cache_bytes(hwloc_topology_t t, hwloc_obj_type_t type)
{
    hwloc_obj_t cache = hwloc_get_obj_by_type(t, type, 0);
    return cache ? (int64_t)cache->attr->cache.size : 0;
}

void topology_describe(hwloc_topology_t t, hwloc_const_bitmap_t usable, double cpu_quota, int64_t memory_limit,
                       topology *out)
{
    memset(out, 0, sizeof *out);
    if (!usable)
        usable = hwloc_topology_get_allowed_cpuset(t);
    copy_model(t, out->cpu_model, sizeof out->cpu_model);
    size_t logical = count_usable(t, HWLOC_OBJ_PU, usable), cores = count_usable(t, HWLOC_OBJ_CORE, usable);
    out->logical_cores = within_quota(logical, cpu_quota);
    out->physical_cores = within_quota(cores > 0 ? cores : logical, cpu_quota);
    out->l2_bytes = cache_bytes(t, HWLOC_OBJ_L2CACHE);
    out->l3_bytes = cache_bytes(t, HWLOC_OBJ_L3CACHE);
    int nodes = hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_NUMANODE);
    out->numa_nodes = nodes > 0 ? (size_t)nodes : 1;
    out->memory_bytes = (int64_t)hwloc_get_root_obj(t)->total_memory;
    if (memory_limit > 0 && (out->memory_bytes == 0 || memory_limit < out->memory_bytes))
        out->memory_bytes = memory_limit;
}

/* hwloc leaves out memory that was plugged into a virtual machine later and belongs to no processor's node. */
static void see_all_memory(topology *out, int64_t limit)
{
    int64_t visible = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    if (limit > 0 && limit < visible)
        visible = limit;
    if (visible > out->memory_bytes)
        out->memory_bytes = visible;
}

kw_code topology_read(topology *out, kw_error *err)
{
    hwloc_topology_t t;
    memset(out, 0, sizeof *out);
    if (load(false, &t, err) != KW_OK)
        return KW_ENVIRONMENT;
    hwloc_bitmap_t usable = hwloc_bitmap_alloc();
    bool known = hwloc_get_cpubind(t, usable, HWLOC_CPUBIND_PROCESS) == 0 && !hwloc_bitmap_iszero(usable);
    if (known)
        hwloc_bitmap_and(usable, usable, hwloc_topology_get_allowed_cpuset(t));
    topology_describe(t, known ? usable : NULL, cgroup_cpu_quota(""), cgroup_memory_limit(""), out);
    see_all_memory(out, cgroup_memory_limit(""));
    hwloc_bitmap_free(usable);
    hwloc_topology_destroy(t);
    return KW_OK;
}

json *topology_to_json(const topology *t)
{
    json *j = json_new_object();
    json_set_string(j, "cpu_model", t->cpu_model);
    json_set_int(j, "physical_cores", (int64_t)t->physical_cores);
    json_set_int(j, "logical_cores", (int64_t)t->logical_cores);
    json_set_int(j, "l2_bytes", t->l2_bytes);
    json_set_int(j, "l3_bytes", t->l3_bytes);
    json_set_int(j, "numa_nodes", (int64_t)t->numa_nodes);
    json_set_int(j, "memory_bytes", t->memory_bytes);
    return j;
}

int topology_nearest_node(hwloc_topology_t t, const char *bus_id)
{
    if (hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_NUMANODE) < 2)
        return -1;
    hwloc_obj_t device = hwloc_get_pcidev_by_busidstring(t, bus_id);
    hwloc_obj_t near = device ? hwloc_get_non_io_ancestor_obj(t, device) : NULL;
    if (!near || !near->nodeset || hwloc_bitmap_isequal(near->nodeset, hwloc_get_root_obj(t)->nodeset))
        return -1;
    return hwloc_bitmap_first(near->nodeset);
}

int topology_node_of_pci(const char *bus_id)
{
    hwloc_topology_t t;
    if (!bus_id || !*bus_id || load(true, &t, NULL) != KW_OK)
        return -1;
    int node = topology_nearest_node(t, bus_id);
    hwloc_topology_destroy(t);
    return node;
}

kw_code topology_bind_to_node(int node, kw_error *err)
{
    hwloc_topology_t t;
    if (node < 0)
        return KW_OK;
    if (load(false, &t, err) != KW_OK)
        return KW_ENVIRONMENT;
    hwloc_obj_t object = hwloc_get_numanode_obj_by_os_index(t, (unsigned)node);
    kw_code code = KW_OK;
    if (!object)
        code = kw_error_set(err, KW_BAD_INPUT, "there is no NUMA node %d", node);
    else if (hwloc_set_cpubind(t, object->cpuset, HWLOC_CPUBIND_PROCESS) != 0)
        code = kw_error_set(err, KW_ENVIRONMENT, "this process cannot be bound to NUMA node %d: %s", node,
                            strerror(errno));
    hwloc_topology_destroy(t);
    return code;
}
