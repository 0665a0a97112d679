/* The machine around the devices, from hwloc: cores, caches, NUMA nodes, and where a device is attached. */
#ifndef KERNWRIGHT_DEVICE_TOPOLOGY_H
#define KERNWRIGHT_DEVICE_TOPOLOGY_H

#include "base/error.h"
#include "base/json.h"

#include <stddef.h>
#include <stdint.h>

typedef struct topology {
    char cpu_model[128];        /* "" if unknown */
    size_t physical_cores;      /* that this process may use: affinity and cgroup quota counted; at least 1 */
    size_t logical_cores;       /* likewise, hardware threads */
    int64_t l2_bytes, l3_bytes; /* of one cache; 0 if there is none */
    size_t numa_nodes;
    int64_t memory_bytes; /* of the machine, or the cgroup's limit where that is less */
} topology;

kw_code topology_read(topology *out, kw_error *err);
/* Bytes that programs could still use, of the machine or of what the cgroup allows, whichever is less; 0 if unknown. */
int64_t topology_available_bytes(void);
json *topology_to_json(const topology *t);
/* NUMA node nearest to the PCI device "domain:bus:device.function"; -1 if unknown or there is one node only. */
int topology_node_of_pci(const char *bus_id);
/* Binds this process to the cores of a node. Nothing happens for -1. */
kw_code topology_bind_to_node(int node, kw_error *err);

#endif
