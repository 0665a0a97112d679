/* The parts of topology.c that tests reach with synthetic machines. */
#ifndef KERNWRIGHT_DEVICE_TOPOLOGY_INTERNAL_H
#define KERNWRIGHT_DEVICE_TOPOLOGY_INTERNAL_H

#include "device/topology.h"

#include <hwloc.h>

/* What the control groups of this process allow. `root` stands in front of /proc and /sys ("" outside of tests).
 * Both hierarchies are read, from the process's group up to the root; the tightest limit holds. 0: no limit. */
double cgroup_cpu_quota(const char *root);        /* processors' worth of time, such as 1.5 */
int64_t cgroup_memory_limit(const char *root);    /* bytes */
int64_t cgroup_available_bytes(const char *root); /* as topology_available_bytes */

/* Fills *out for a loaded topology. `usable` (NULL: all) are the processors that affinity leaves. */
void topology_describe(hwloc_topology_t t, hwloc_const_bitmap_t usable, double cpu_quota, int64_t memory_limit,
                       topology *out);
int topology_nearest_node(hwloc_topology_t t, const char *bus_id);

#endif
