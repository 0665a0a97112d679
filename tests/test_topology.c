/* Machine facts: synthetic topologies, a described two-socket machine, made control groups, and the machine at hand. */
#include "device/topology_internal.h"

#include "base/fs.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- hwloc ---- */

static topology describe(const char *synthetic, const char *usable, double quota, int64_t memory_limit)
{
    hwloc_topology_t t;
    topology out;
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    assert_int_equal(hwloc_topology_init(&t), 0);
    assert_int_equal(hwloc_topology_set_synthetic(t, synthetic), 0);
    assert_int_equal(hwloc_topology_load(t), 0);
    if (usable)
        assert_int_equal(hwloc_bitmap_list_sscanf(set, usable), 0);
    topology_describe(t, usable ? set : NULL, quota, memory_limit, &out);
    hwloc_bitmap_free(set);
    hwloc_topology_destroy(t);
    return out;
}

#define SERVER "numa:2(memory=8589934592) package:1 l3:1(size=33554432) l2:4(size=1048576) core:1 pu:2"

static void test_whole_machine(void **state)
{
    (void)state;
    topology t = describe(SERVER, NULL, 0, 0);
    assert_int_equal(t.physical_cores, 8);
    assert_int_equal(t.logical_cores, 16);
    assert_int_equal(t.numa_nodes, 2);
    assert_int_equal(t.l2_bytes, 1 << 20);
    assert_int_equal(t.l3_bytes, 32 << 20);
    assert_int_equal(t.memory_bytes, INT64_C(16) << 30);
}

static void test_small_machine(void **state)
{
    (void)state;
    topology t = describe("pu:3", NULL, 0, 0);
    assert_int_equal(t.physical_cores, 3);
    assert_int_equal(t.logical_cores, 3);
    assert_int_equal(t.numa_nodes, 1);
    assert_int_equal(t.l2_bytes, 0);
    assert_int_equal(t.l3_bytes, 0);
}

static void test_affinity(void **state)
{
    (void)state;
    topology t = describe(SERVER, "0-2,15", 0, 0); /* both threads of one core, one each of two others */
    assert_int_equal(t.logical_cores, 4);
    assert_int_equal(t.physical_cores, 3);
}

static void test_quota(void **state)
{
    (void)state;
    assert_int_equal(describe(SERVER, NULL, 2.5, 0).physical_cores, 2);
    assert_int_equal(describe(SERVER, NULL, 2.5, 0).logical_cores, 2);
    assert_int_equal(describe(SERVER, NULL, 12, 0).physical_cores, 8);
    assert_int_equal(describe(SERVER, NULL, 12, 0).logical_cores, 12);
    assert_int_equal(describe(SERVER, NULL, 0.1, 0).physical_cores, 1);
    assert_int_equal(describe(SERVER, "3", 100, 0).logical_cores, 1);
}

static void test_memory_limit(void **state)
{
    (void)state;
    assert_int_equal(describe(SERVER, NULL, 0, INT64_C(1) << 30).memory_bytes, INT64_C(1) << 30);
    assert_int_equal(describe(SERVER, NULL, 0, INT64_C(1) << 40).memory_bytes, INT64_C(16) << 30);
}

static void test_nodes_of_devices(void **state)
{
    (void)state;
    hwloc_topology_t t;
    topology out;
    assert_int_equal(hwloc_topology_init(&t), 0);
    assert_int_equal(hwloc_topology_set_xml(t, "tests/recorded/two-sockets.xml"), 0);
    hwloc_topology_set_io_types_filter(t, HWLOC_TYPE_FILTER_KEEP_ALL);
    assert_int_equal(hwloc_topology_load(t), 0);
    assert_int_equal(topology_nearest_node(t, "0000:18:00.0"), 0);
    assert_int_equal(topology_nearest_node(t, "0000:9b:00.0"), 1);
    assert_int_equal(topology_nearest_node(t, "0000:00:01.0"), -1); /* as near to both */
    assert_int_equal(topology_nearest_node(t, "0000:77:00.0"), -1);
    assert_int_equal(topology_nearest_node(t, "nonsense"), -1);
    topology_describe(t, NULL, 0, 0, &out);
    assert_string_equal(out.cpu_model, "Made Up Processor 8000");
    assert_int_equal(out.memory_bytes, INT64_C(3) << 30);
    hwloc_topology_destroy(t);
}

/* ---- control groups ---- */

static char *root; /* of a made /proc and /sys */

static int make_root(void **state)
{
    (void)state;
    root = fs_temp_folder("kwcgroup", NULL);
    return root ? 0 : 1;
}

static int remove_root(void **state)
{
    (void)state;
    fs_remove_tree(root);
    free(root);
    return 0;
}

static void put(const char *path, const char *text)
{
    kw_error err = {0};
    char whole[512];
    snprintf(whole, sizeof whole, "%s%s", root, path);
    char *folder = fs_folder_of(whole);
    assert_int_equal(fs_make_folders(folder, &err), KW_OK);
    assert_int_equal(fs_write(whole, text, strlen(text), &err), KW_OK);
    free(folder);
}

static bool quota_is(double expected)
{
    double quota = cgroup_cpu_quota(root);
    return quota > expected - 1e-9 && quota < expected + 1e-9;
}

static void test_no_groups(void **state)
{
    (void)state;
    assert_true(quota_is(0));
    assert_int_equal(cgroup_memory_limit(root), 0);
}

static void test_version_2(void **state)
{
    (void)state;
    put("/proc/self/cgroup", "0::/a/b\n");
    put("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
    assert_true(quota_is(0));
    put("/sys/fs/cgroup/a/b/cpu.max", "400000 100000\n");
    assert_true(quota_is(4));
    put("/sys/fs/cgroup/a/cpu.max", "150000 100000\n"); /* the parent is tighter */
    assert_true(quota_is(1.5));
    put("/sys/fs/cgroup/a/cpu.max", "900000 100000\n");
    assert_true(quota_is(4));
    put("/sys/fs/cgroup/a/b/memory.max", "max\n");
    assert_int_equal(cgroup_memory_limit(root), 0);
    put("/sys/fs/cgroup/a/memory.max", "1048576\n");
    assert_int_equal(cgroup_memory_limit(root), 1048576);
}

static void test_version_2_in_a_container(void **state)
{
    (void)state;
    put("/proc/self/cgroup", "0::/host/path/not/visible/here\n");
    put("/sys/fs/cgroup/cpu.max", "50000 100000\n");
    assert_true(quota_is(0.5));
}

static void test_version_1(void **state)
{
    (void)state;
    put("/proc/self/cgroup", "5:cpuset:/x\n4:cpu,cpuacct:/y\n3:memory:/z\n0::/\n");
    put("/sys/fs/cgroup/cpu/y/cpu.cfs_quota_us", "-1\n");
    put("/sys/fs/cgroup/cpu/y/cpu.cfs_period_us", "100000\n");
    assert_true(quota_is(0));
    put("/sys/fs/cgroup/cpu/y/cpu.cfs_quota_us", "250000\n");
    assert_true(quota_is(2.5));
    put("/sys/fs/cgroup/memory/z/memory.limit_in_bytes", "9223372036854771712\n");
    assert_int_equal(cgroup_memory_limit(root), 0);
    put("/sys/fs/cgroup/memory/z/memory.limit_in_bytes", "536870912\n");
    assert_int_equal(cgroup_memory_limit(root), 536870912);
}

static void test_available_memory(void **state)
{
    (void)state;
    assert_int_equal(cgroup_available_bytes(root), 0);
    put("/proc/meminfo",
        "MemTotal:       24613988 kB\nMemFree:          101 kB\nMemAvailable:   2048 kB\nBuffers: 1 kB\n");
    assert_int_equal(cgroup_available_bytes(root), 2097152);
    put("/proc/self/cgroup", "0::/a\n");
    put("/sys/fs/cgroup/a/memory.max", "1048576\n");
    assert_int_equal(cgroup_available_bytes(root), 1048576);
    put("/sys/fs/cgroup/a/memory.max", "1048576000\n");
    assert_int_equal(cgroup_available_bytes(root), 2097152);
    put("/proc/meminfo", "MemTotal: 5 kB\n");
    assert_int_equal(cgroup_available_bytes(root), 0);
}

/* ---- the machine at hand ---- */

static void test_this_machine(void **state)
{
    (void)state;
    kw_error err = {0};
    topology t;
    strb text = STRB_INIT;
    assert_int_equal(topology_read(&t, &err), KW_OK);
    assert_true(t.physical_cores >= 1 && t.physical_cores <= t.logical_cores);
    assert_true(t.numa_nodes >= 1 && t.memory_bytes > 0);
    json *j = topology_to_json(&t);
    json_print(j, &text);
    assert_non_null(strstr(strb_text(&text), "\"physical_cores\":"));
    json_free(j);
    strb_clear(&text);
}

static void test_affinity_of_this_process(void **state)
{
    (void)state;
    kw_error err = {0};
    cpu_set_t all, one;
    topology t;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &all))
            CPU_SET(i, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(topology_read(&t, &err), KW_OK);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
    assert_int_equal(t.logical_cores, 1);
    assert_int_equal(t.physical_cores, 1);
}

static void test_binding(void **state)
{
    (void)state;
    kw_error err = {0};
    assert_int_equal(topology_bind_to_node(-1, &err), KW_OK);
    assert_int_equal(topology_bind_to_node(4000, &err), KW_BAD_INPUT);
    assert_string_equal(err.message, "there is no NUMA node 4000");
    assert_int_equal(topology_node_of_pci(""), -1);
    assert_int_equal(topology_node_of_pci("ffff:ff:1f.7"), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_machine),
        cmocka_unit_test(test_small_machine),
        cmocka_unit_test(test_affinity),
        cmocka_unit_test(test_quota),
        cmocka_unit_test(test_memory_limit),
        cmocka_unit_test(test_nodes_of_devices),
        cmocka_unit_test_setup_teardown(test_no_groups, make_root, remove_root),
        cmocka_unit_test_setup_teardown(test_version_2, make_root, remove_root),
        cmocka_unit_test_setup_teardown(test_version_2_in_a_container, make_root, remove_root),
        cmocka_unit_test_setup_teardown(test_version_1, make_root, remove_root),
        cmocka_unit_test_setup_teardown(test_available_memory, make_root, remove_root),
        cmocka_unit_test(test_this_machine),
        cmocka_unit_test(test_affinity_of_this_process),
        cmocka_unit_test(test_binding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
