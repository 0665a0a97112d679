#include "cli/cli.h"
#include "cli/options.h"
#include "cli/table.h"

#include "base/log.h"
#include "tuner/pool.h"

#include <stdio.h>
#include <stdlib.h>

static void print_json(const message *hello)
{
    json *list = json_new_array();
    for (size_t i = 0; i < hello->n_devices; i++)
        json_append(list, device_info_to_json(&hello->devices[i]));
    cli_print_json_pretty(list);
    json_free(list);
}

static void print_table(const message *hello)
{
    size_t chosen = hello->n_devices;
    kw_error err;
    kw_error_clear(&err);
    if (device_choose(hello->devices, hello->n_devices, NULL, &chosen, &err) != KW_OK) {
        log_warn("%s", err.message);
        chosen = hello->n_devices;
    }
    table *t = table_new(" |device|name|key|units|group|local KiB|memory GiB|driver");
    for (size_t i = 0; i < hello->n_devices; i++) {
        const device_info *d = &hello->devices[i];
        table_text(t, i == chosen ? "*" : "");
        table_text(t, d->spec);
        table_text(t, d->name);
        table_text(t, d->key);
        table_number(t, (double)d->limits.compute_units, 1);
        table_number(t, (double)d->limits.max_work_group_size, 1);
        table_number(t, (double)d->limits.local_mem_bytes / 1024, 1);
        table_number(t, (double)d->limits.global_mem_bytes / (1 << 30), 3);
        table_text(t, d->driver);
        table_end_row(t);
    }
    table_print(t, stdout);
    table_free(t);
    if (chosen == hello->n_devices)
        return;
    const char *variable = getenv("KERNWRIGHT_DEVICE");
    printf("%s\n", variable && *variable ? "* is the one that $KERNWRIGHT_DEVICE names; --device chooses another"
                                         : "* is used unless --device or $KERNWRIGHT_DEVICE names another");
}

int cli_devices(int argc, char **argv)
{
    bool as_json = false, helped;
    const char *worker_command = NULL;
    const option_row rows[] = {
        {"--json", OPTION_FLAG, &as_json, NULL, "as JSON"},
        {"--worker-command", OPTION_TEXT, &worker_command, "CMD", "list the devices of another machine's worker"},
    };
    const option_set set = {"devices", "[options]",
                            "Lists compute devices. Drivers are loaded in a child process only.", rows,
                            sizeof rows / sizeof *rows};
    option_list args;
    kw_error err;
    kw_error_clear(&err);
    if (options_parse(&set, argc, argv, &args, &helped, &err) != KW_OK)
        return cli_fail("devices", &err);
    if (helped)
        return KW_OK;
    if (args.n > 0) {
        kw_error_set(&err, KW_BAD_INPUT, "takes no argument (got '%s')", args.items[0]);
        return cli_fail("devices", &err);
    }
    pool_options o = {.worker_command = worker_command, .n_workers = 1};
    pool *p;
    if (pool_start(&o, NULL, NULL, &p, &err) != KW_OK)
        return cli_fail("devices", &err);
    const message *hello = pool_hello(p);
    kw_code code = KW_OK;
    if (as_json)
        print_json(hello);
    else if (hello->n_devices > 0)
        print_table(hello);
    if (hello->n_devices == 0)
        code = kw_error_set(&err, KW_ENVIRONMENT, "no compute device: %s",
                            hello->note[0] ? hello->note : "install an OpenCL driver, or PoCL to use the CPU");
    pool_stop(p);
    return code == KW_OK ? KW_OK : cli_fail("devices", &err);
}
