/* The worker protocol, from the worker: hello, stage, result, error. Written by the worker, read by the coordinator.
 * Unknown members are ignored; absent ones of a record have the values that say "unknown". */
#include "tuner/job.h"

#include "base/utf8.h"
#include "tuner/job_names.h"
#include "tuner/probe.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- writing ---- */

static void print_line(json *o, strb *out)
{
    json_print(o, out);
    strb_add_char(out, '\n');
    json_free(o);
}

static json *new_message(const char *type)
{
    json *o = json_new_object();
    json_set_string(o, "type", type);
    return o;
}

/* Build logs hold whatever the driver wrote: made valid UTF-8, and cut in the middle when they are very long. */
static void set_detail(json *o, const char *text)
{
    if (!text)
        return;
    size_t length = strlen(text), half = JOB_MAX_DETAIL / 2;
    strb clean = STRB_INIT;
    if (length <= JOB_MAX_DETAIL) {
        utf8_add_valid(&clean, text, length);
    } else {
        utf8_add_valid(&clean, text, half);
        strb_printf(&clean, "\n... %zu bytes left out ...\n", length - 2 * half);
        utf8_add_valid(&clean, text + length - half, half);
    }
    json_set_string(o, "detail", strb_text(&clean));
    strb_clear(&clean);
}

void job_hello_print(const message *hello, strb *out)
{
    json *o = new_message("hello");
    json_set_int(o, "protocol", PROTOCOL_VERSION);
    json_set_string(o, "version", hello->version);
    json_set_int(o, "pid", hello->pid);
    json_set_string(o, "host", hello->host);
    json_set_string(o, "cpu_model", hello->cpu_model);
    json_set_int(o, "physical_cores", hello->physical_cores);
    json_set_int(o, "available_bytes", hello->available_bytes);
    json *devices = json_new_array();
    for (size_t i = 0; i < hello->n_devices; i++)
        json_append(devices, device_info_to_json(&hello->devices[i]));
    json_set(o, "devices", devices);
    json_set_string(o, "note", hello->note);
    json_set_string(o, "sandbox", hello->sandbox);
    print_line(o, out);
}

void job_task_stage_print(int64_t id, stage s, const char *task_name, strb *out)
{
    json *o = new_message("stage");
    json_set_int(o, "id", id);
    json_set_string(o, "name", stage_name(s));
    if (task_name)
        json_set_string(o, "task", task_name);
    print_line(o, out);
}

void job_turn_print(int64_t id, stage s, turn_state t, strb *out)
{
    json *o = new_message("stage");
    json_set_int(o, "id", id);
    json_set_string(o, "name", stage_name(s));
    json_set_string(o, "turn", turn_state_name(t));
    print_line(o, out);
}

void job_go_print(int64_t id, strb *out)
{
    json *o = new_message("go");
    json_set_int(o, "id", id);
    print_line(o, out);
}

bool job_is_go(const char *line, size_t length, int64_t id)
{
    kw_error ignored;
    const char *type;
    int64_t got = -1;
    json *o = json_parse(line, length, "worker", 1, 1, &ignored);
    bool good = o && json_get_string(o, "type", "go", &type, &ignored) == KW_OK && strcmp(type, "go") == 0 &&
                json_get_int(o, "id", "go", &got, &ignored) == KW_OK && got == id;
    json_free(o);
    return good;
}

void job_stage_print(int64_t id, stage s, strb *out)
{
    job_task_stage_print(id, s, NULL, out);
}

void job_error_print(kw_code code, const char *text, strb *out)
{
    json *o = new_message("error");
    json_set_int(o, "code", code);
    json_set_string(o, "text", text);
    print_line(o, out);
}

/* Bytes as hex digits. */
static void set_binary(json *o, const job_record *r)
{
    static const char digits[] = "0123456789abcdef";
    char *hex = mem_alloc(2 * r->n_binary + 1);
    for (size_t i = 0; i < r->n_binary; i++) {
        hex[2 * i] = digits[r->binary[i] >> 4];
        hex[2 * i + 1] = digits[r->binary[i] & 15];
    }
    hex[2 * r->n_binary] = '\0';
    json_set_string(o, "binary", hex);
    json_set_string(o, "identity", r->identity);
    free(hex);
}

static json *record_to_json(const job_record *r)
{
    json *o = json_new_object();
    json_set_string(o, "outcome", outcome_name(r->outcome));
    json_set_string(o, "stage", stage_name(r->stage));
    set_detail(o, r->detail);
    json_set_int(o, "timing_version", TIMING_VERSION);
    json_set_string(o, "method", r->method);
    json *samples = json_new_array();
    for (size_t i = 0; i < r->n_samples; i++)
        json_append(samples, json_new_number(r->samples_ns[i]));
    json_set(o, "samples_ns", samples);
    json_set_int(o, "dropped", (int64_t)r->n_dropped);
    json_set_bool(o, "stopped_early", r->stopped_early);
    if (r->out_of_memory)
        json_set_bool(o, "out_of_memory", true);
    json_set_number(o, "saved_ms", r->saved_ms);
    json_set_number(o, "compile_start_ms", r->compile_start_ms);
    json_set_number(o, "compile_ms", r->compile_ms);
    json_set_number(o, "verify_start_ms", r->verify_start_ms);
    json_set_number(o, "verify_ms", r->verify_ms);
    json_set_number(o, "time_start_ms", r->time_start_ms);
    json_set_number(o, "time_ms", r->time_ms);
    json_set_number(o, "device_ms", r->device_ms);
    json_set_int(o, "registers", r->registers);
    json_set_int(o, "spill_bytes", r->spill_bytes);
    json_set_int(o, "local_bytes", r->local_bytes);
    if (r->extra)
        json_set(o, "extra", json_parse(r->extra, strlen(r->extra), NULL, 1, 1, NULL));
    json_set_int(o, "cases_passed", (int64_t)r->cases_passed);
    json_set_number(o, "worst_error", fmin(r->worst_error, JOB_MAX_ERROR));
    if (r->probe)
        json_set(o, "probe", probe_figures_to_json(r->probe));
    if (r->binary)
        set_binary(o, r);
    return o;
}

void job_record_print(int64_t id, const job_record *r, strb *out)
{
    json *o = new_message("result");
    json_set_int(o, "id", id);
    json_set(o, "record", record_to_json(r));
    print_line(o, out);
}

/* ---- reading ---- */

void job_record_clear(job_record *r)
{
    free(r->detail);
    free(r->extra);
    free(r->samples_ns);
    free(r->probe);
    free(r->identity);
    free(r->binary);
    memset(r, 0, sizeof *r);
}

static kw_code get_real(const json *o, const char *key, double *out, kw_error *err)
{
    const json *x = json_get(o, key);
    if (x && json_kind_of(x) != JSON_NUMBER)
        return kw_error_set(err, KW_BAD_INPUT, "result: %s is not a number", key);
    *out = json_number(x);
    return KW_OK;
}

static kw_code get_size(const json *o, const char *key, size_t *out, kw_error *err)
{
    int64_t x;
    kw_code code = json_opt_int(o, key, "result", 0, &x, err);
    if (code == KW_OK && x < 0)
        return kw_error_set(err, KW_BAD_INPUT, "result: %s is negative", key);
    if (code == KW_OK)
        *out = (size_t)x;
    return code;
}

static kw_code read_samples(const json *o, job_record *out, kw_error *err)
{
    const json *list = json_get(o, "samples_ns");
    size_t n = json_kind_of(list) == JSON_ARRAY ? json_count(list) : 0;
    if (n == 0)
        return KW_OK;
    out->samples_ns = mem_calloc(n, sizeof *out->samples_ns);
    for (const json *x = json_first(list); x; x = json_next(x)) {
        if (json_kind_of(x) != JSON_NUMBER)
            return kw_error_set(err, KW_BAD_INPUT, "result: a sample is not a number");
        out->samples_ns[out->n_samples++] = json_number(x);
    }
    return KW_OK;
}

/* The method of a record is one of our own strings, so that nobody has to free it. */
static kw_code read_names(const json *o, job_record *out, kw_error *err)
{
    const char *outcome_text, *stage_text, *method, *detail;
    kw_code code = json_get_string(o, "outcome", "result", &outcome_text, err);
    if (code == KW_OK && !outcome_from_name(outcome_text, &out->outcome))
        return kw_error_set(err, KW_BAD_INPUT, "result: outcome \"%.60s\" is not known", outcome_text);
    if (code == KW_OK)
        code = json_get_string(o, "stage", "result", &stage_text, err);
    if (code == KW_OK && !stage_from_name(stage_text, &out->stage))
        return kw_error_set(err, KW_BAD_INPUT, "result: stage \"%.60s\" is not known", stage_text);
    if (code == KW_OK)
        code = json_opt_string(o, "method", "result", NULL, &method, err);
    timing_method m;
    if (code == KW_OK && method && (!timing_method_from_name(method, &m) || m == TIMING_AUTO))
        return kw_error_set(err, KW_BAD_INPUT, "result: method \"%.60s\" is not known", method);
    if (code == KW_OK && method)
        out->method = timing_method_name(m);
    if (code == KW_OK)
        code = json_opt_string(o, "detail", "result", NULL, &detail, err);
    if (code == KW_OK && detail)
        out->detail = mem_strdup(detail);
    return code;
}

static kw_code read_figures(const json *o, job_record *out, kw_error *err)
{
    const struct {
        const char *key;
        double *to;
    } reals[] = {
        {"compile_start_ms", &out->compile_start_ms},
        {"compile_ms", &out->compile_ms},
        {"verify_start_ms", &out->verify_start_ms},
        {"verify_ms", &out->verify_ms},
        {"time_start_ms", &out->time_start_ms},
        {"time_ms", &out->time_ms},
        {"device_ms", &out->device_ms},
        {"worst_error", &out->worst_error},
        {"saved_ms", &out->saved_ms},
    };
    kw_code code = KW_OK;
    for (size_t i = 0; i < sizeof reals / sizeof reals[0] && code == KW_OK; i++)
        code = get_real(o, reals[i].key, reals[i].to, err);
    if (code == KW_OK)
        code = json_opt_int(o, "registers", "result", -1, &out->registers, err);
    if (code == KW_OK)
        code = json_opt_int(o, "spill_bytes", "result", -1, &out->spill_bytes, err);
    if (code == KW_OK)
        code = json_opt_int(o, "local_bytes", "result", -1, &out->local_bytes, err);
    if (code == KW_OK)
        code = get_size(o, "dropped", &out->n_dropped, err);
    if (code == KW_OK)
        code = get_size(o, "cases_passed", &out->cases_passed, err);
    if (code == KW_OK)
        code = json_opt_bool(o, "stopped_early", "result", false, &out->stopped_early, err);
    if (code == KW_OK)
        code = json_opt_bool(o, "out_of_memory", "result", false, &out->out_of_memory, err);
    return code;
}

static kw_code read_extra(const json *o, job_record *out, kw_error *err)
{
    const json *extra = json_get(o, "extra");
    if (!extra)
        return KW_OK;
    if (json_kind_of(extra) != JSON_OBJECT)
        return kw_error_set(err, KW_BAD_INPUT, "result: extra is no object");
    strb text = STRB_INIT;
    json_print(extra, &text);
    out->extra = strb_take(&text);
    return KW_OK;
}

static kw_code read_probe(const json *o, job_record *out, kw_error *err)
{
    const json *figures = json_get(o, "probe");
    if (!figures)
        return KW_OK;
    out->probe = mem_calloc(1, sizeof *out->probe);
    return probe_figures_from_json(figures, "result: probe", out->probe, err);
}

static int digit_of(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static kw_code read_binary(const json *o, job_record *out, kw_error *err)
{
    const char *hex, *identity;
    kw_code code = json_opt_string(o, "binary", "result", NULL, &hex, err);
    if (code != KW_OK || !hex)
        return code;
    code = json_get_string(o, "identity", "result", &identity, err);
    if (code != KW_OK)
        return code;
    const size_t n = strlen(hex) / 2;
    if (strlen(hex) % 2 != 0)
        return kw_error_set(err, KW_BAD_INPUT, "result: binary is half a byte short");
    out->identity = mem_strdup(identity);
    out->binary = mem_alloc(n + 1);
    for (size_t i = 0; i < n; i++) {
        const int high = digit_of(hex[2 * i]), low = digit_of(hex[2 * i + 1]);
        if (high < 0 || low < 0)
            return kw_error_set(err, KW_BAD_INPUT, "result: binary is not hex digits");
        out->binary[i] = (unsigned char)(16 * high + low);
    }
    out->n_binary = n;
    return KW_OK;
}

static kw_code read_result(const json *o, message *out, kw_error *err)
{
    const json *record = json_get(o, "record");
    if (json_kind_of(record) != JSON_OBJECT)
        return kw_error_set(err, KW_BAD_INPUT, "result: there is no record");
    kw_code code = json_get_int(o, "id", "result", &out->id, err);
    if (code == KW_OK)
        code = read_names(record, &out->record, err);
    if (code == KW_OK)
        code = read_figures(record, &out->record, err);
    if (code == KW_OK)
        code = read_samples(record, &out->record, err);
    if (code == KW_OK)
        code = read_probe(record, &out->record, err);
    if (code == KW_OK)
        code = read_extra(record, &out->record, err);
    if (code == KW_OK)
        code = read_binary(record, &out->record, err);
    return code;
}

static kw_code read_stage(const json *o, message *out, kw_error *err)
{
    const char *name;
    kw_code code = json_get_int(o, "id", "stage", &out->id, err);
    if (code == KW_OK)
        code = json_get_string(o, "name", "stage", &name, err);
    if (code == KW_OK && !stage_from_name(name, &out->stage))
        return kw_error_set(err, KW_BAD_INPUT, "stage \"%.60s\" is not known", name);
    const char *of_task;
    if (code == KW_OK)
        code = json_opt_string(o, "task", "stage", "", &of_task, err);
    if (code == KW_OK)
        snprintf(out->task, sizeof out->task, "%s", of_task);
    const char *turn;
    if (code == KW_OK)
        code = json_opt_string(o, "turn", "stage", turn_state_name(TURN_NONE), &turn, err);
    if (code == KW_OK && !turn_state_from_name(turn, &out->turn))
        return kw_error_set(err, KW_BAD_INPUT, "stage: turn \"%.60s\" is not known", turn);
    return code;
}

static kw_code read_devices(const json *o, message *out, kw_error *err)
{
    const json *list = json_get(o, "devices");
    if (json_kind_of(list) != JSON_ARRAY)
        return kw_error_set(err, KW_BAD_INPUT, "hello: there is no list of devices");
    out->devices = mem_calloc(json_count(list) + 1, sizeof *out->devices);
    kw_code code = KW_OK;
    for (const json *d = json_first(list); d && code == KW_OK; d = json_next(d))
        code = device_info_from_json(d, &out->devices[out->n_devices++], err);
    return code;
}

static kw_code read_text(const json *o, const char *key, char *out, size_t size, kw_error *err)
{
    const char *text;
    kw_code code = json_opt_string(o, key, "hello", "", &text, err);
    if (code == KW_OK)
        snprintf(out, size, "%s", text);
    return code;
}

static kw_code read_hello(const json *o, message *out, kw_error *err)
{
    kw_code code = json_get_int(o, "protocol", "hello", &out->protocol, err);
    if (code == KW_OK)
        code = read_text(o, "version", out->version, sizeof out->version, err);
    if (code == KW_OK)
        code = read_text(o, "host", out->host, sizeof out->host, err);
    if (code == KW_OK && out->protocol != PROTOCOL_VERSION)
        return kw_error_set(err, KW_ENVIRONMENT,
                            "the worker on %s (version %s) speaks protocol %lld, this program speaks %d; "
                            "install the same version on both sides",
                            out->host, out->version, (long long)out->protocol, PROTOCOL_VERSION);
    if (code == KW_OK)
        code = json_opt_int(o, "pid", "hello", 0, &out->pid, err);
    if (code == KW_OK)
        code = read_text(o, "cpu_model", out->cpu_model, sizeof out->cpu_model, err);
    if (code == KW_OK)
        code = json_opt_int(o, "physical_cores", "hello", 0, &out->physical_cores, err);
    if (code == KW_OK)
        code = json_opt_int(o, "available_bytes", "hello", 0, &out->available_bytes, err);
    if (code == KW_OK)
        code = read_text(o, "note", out->note, sizeof out->note, err);
    if (code == KW_OK)
        code = read_text(o, "sandbox", out->sandbox, sizeof out->sandbox, err);
    return code == KW_OK ? read_devices(o, out, err) : code;
}

static kw_code read_error(const json *o, message *out, kw_error *err)
{
    int64_t number;
    const char *text;
    kw_code code = json_get_int(o, "code", "error", &number, err);
    if (code == KW_OK)
        code = json_get_string(o, "text", "error", &text, err);
    if (code != KW_OK)
        return code;
    out->id = -1; /* no job's */
    kw_error_set(&out->error, number == KW_BAD_INPUT ? KW_BAD_INPUT : KW_ENVIRONMENT, "%s", text);
    return KW_OK;
}

static kw_code read_message(const json *o, message *out, kw_error *err)
{
    static const struct {
        const char *name;
        message_type type;
        kw_code (*read)(const json *o, message *out, kw_error *err);
    } kinds[] = {
        {"hello", MESSAGE_HELLO, read_hello},
        {"stage", MESSAGE_STAGE, read_stage},
        {"result", MESSAGE_RESULT, read_result},
        {"error", MESSAGE_ERROR, read_error},
    };
    const char *type;
    kw_code code = json_get_string(o, "type", "message", &type, err);
    if (code != KW_OK)
        return code;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(kinds[i].name, type) == 0) {
            out->type = kinds[i].type;
            return kinds[i].read(o, out, err);
        }
    }
    return kw_error_set(err, KW_BAD_INPUT, "message of type \"%.60s\" is not known", type);
}

kw_code message_parse(const char *line, size_t length, message *out, kw_error *err)
{
    memset(out, 0, sizeof *out);
    json *o = json_parse(line, length, "worker", 1, 1, err);
    if (!o)
        return err ? err->code : KW_BAD_INPUT;
    kw_code code = read_message(o, out, err);
    json_free(o);
    if (code != KW_OK)
        message_clear(out);
    return code;
}

void message_clear(message *m)
{
    job_record_clear(&m->record);
    free(m->devices);
    memset(m, 0, sizeof *m);
}
