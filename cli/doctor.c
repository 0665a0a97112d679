#include "cli/cli.h"
#include "cli/options.h"

#include "base/fs.h"
#include "base/json.h"
#include "base/subprocess.h"
#include "tuner/oclgrind.h"
#include "tuner/pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One line per check: ok, note (works, but...) or FAIL with what to do. */
typedef struct doctor {
    size_t n_failed;
    bool json;
    json *list;
} doctor;

static void say(doctor *d, const char *state, const char *what, const char *text)
{
    if (strcmp(state, "FAIL") == 0)
        d->n_failed++;
    json *o = json_new_object();
    json_set_string(o, "state", state);
    json_set_string(o, "check", what);
    json_set_string(o, "text", text);
    json_append(d->list, o);
    if (!d->json)
        printf("%-4s  %-10s %s\n", state, what, text);
}

static void check_data(doctor *d, const char *what)
{
    char *folder = fs_data_folder(what);
    char text[512];
    snprintf(text, sizeof text, folder ? "%s" : "not found: set KERNWRIGHT_DATA to the folder that holds %s/",
             folder ? folder : what);
    say(d, folder ? "ok" : "FAIL", what, text);
    free(folder);
}

static void check_compiler(doctor *d)
{
    const char *cc = getenv("CC");
    const char *argv[] = {cc && *cc ? cc : "cc", "--version", NULL};
    subprocess_spec spec = {.argv = argv, .timeout_ms = 10000};
    subprocess_result r;
    kw_error err;
    char text[512];
    if (subprocess_run(&spec, &r, &err) == KW_OK && r.status == 0) {
        const char *out = strb_text(&r.output);
        snprintf(text, sizeof text, "%.*s", (int)strcspn(out, "\n"), out);
        say(d, "ok", "compiler", text);
    } else {
        snprintf(text, sizeof text,
                 "%s does not run: references of own tasks cannot be compiled (set CC, or install gcc)", argv[0]);
        say(d, "note", "compiler", text);
    }
    subprocess_result_clear(&r);
}

static void check_oclgrind(doctor *d)
{
    char *path = oclgrind_find();
    strb text = STRB_INIT;
    if (path)
        oclgrind_version(path, &text);
    if (text.length > 0)
        strb_printf(&text, ", %s: winners are simulated before they are named", path);
    else if (path)
        strb_printf(&text, "%s does not run: winners are not simulated", path);
    else
        strb_add(&text, "not found: winners are not simulated (apt-get install oclgrind)");
    say(d, strstr(strb_text(&text), "not") ? "note" : "ok", "oclgrind", strb_text(&text));
    strb_clear(&text);
    free(path);
}

static void check_devices(doctor *d, const char *worker_command)
{
    pool_options o = {.worker_command = worker_command, .n_workers = 1};
    pool *p;
    kw_error err;
    kw_error_clear(&err);
    char text[1024];
    if (pool_start(&o, NULL, NULL, &p, &err) != KW_OK) {
        say(d, "FAIL", "worker", err.message);
        return;
    }
    const message *hello = pool_hello(p);
    snprintf(text, sizeof text, "version %s on %s, %s, %lld cores", hello->version, hello->host, hello->cpu_model,
             (long long)hello->physical_cores);
    say(d, strcmp(hello->version, KERNWRIGHT_VERSION) == 0 ? "ok" : "note", "worker", text);
    if (hello->sandbox[0])
        say(d, strstr(hello->sandbox, "NOT") || strncmp(hello->sandbox, "off", 3) == 0 ? "note" : "ok", "sandbox",
            hello->sandbox);
    if (hello->n_devices == 0)
        say(d, "FAIL", "device", hello->note[0] ? hello->note : "none found");
    else if (hello->note[0])
        say(d, "note", "device", hello->note);
    for (size_t i = 0; i < hello->n_devices; i++) {
        const device_info *v = &hello->devices[i];
        snprintf(text, sizeof text, "%s %s, %s, driver %s, key %s", v->spec, v->name, v->platform, v->driver, v->key);
        say(d, "ok", "device", text);
    }
    pool_stop(p);
}

static void check_store(doctor *d, const char *path)
{
    store *s;
    kw_error err;
    kw_error_clear(&err);
    const char *name = path ? path : getenv("KERNWRIGHT_STORE");
    if (!name || !*name)
        name = "kernwright.db";
    char text[600];
    if (!fs_is_file(name)) {
        snprintf(text, sizeof text, "%s is not there yet; the first `kernwright tune` makes it", name);
        say(d, "ok", "store", text);
        return;
    }
    if (store_open(path, true, &s, &err) != KW_OK) {
        say(d, "FAIL", "store", err.message);
        return;
    }
    say(d, "ok", "store", store_path(s));
    store_close(s);
}

int cli_doctor(int argc, char **argv)
{
    doctor d = {.list = json_new_array()};
    const char *store_file = NULL, *worker_command = NULL;
    const option_row rows[] = {
        {"--store", OPTION_TEXT, &store_file, "FILE", "the store to look at"},
        {"--worker-command", OPTION_TEXT, &worker_command, "CMD", "check a worker started this way"},
        {"--json", OPTION_FLAG, &d.json, NULL, "as JSON"},
    };
    const option_set set = {"doctor", "[options]",
                            "Checks data folders, worker process, drivers, compiler, simulator and store. Exit 3 if "
                            "something must be mended.",
                            rows, sizeof rows / sizeof *rows};
    option_list args;
    bool helped;
    kw_error err;
    kw_error_clear(&err);
    if (options_parse(&set, argc, argv, &args, &helped, &err) != KW_OK) {
        json_free(d.list);
        return cli_fail("doctor", &err);
    }
    if (!helped && args.n > 0) {
        kw_error_set(&err, KW_BAD_INPUT, "takes no argument (got '%s')", args.items[0]);
        json_free(d.list);
        return cli_fail("doctor", &err);
    }
    if (!helped) {
        check_data(&d, "templates");
        check_data(&d, "tasks");
        check_devices(&d, worker_command);
        check_compiler(&d);
        check_oclgrind(&d);
        check_store(&d, store_file);
        if (d.json)
            cli_print_json_pretty(d.list);
    }
    json_free(d.list);
    return d.n_failed ? KW_ENVIRONMENT : KW_OK;
}
