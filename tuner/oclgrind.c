/* Candidates under Oclgrind: a pool of one worker that is started when it is first needed. */
#include "tuner/oclgrind.h"

#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/subprocess.h"
#include "tuner/evaluator.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_DEEP_MS 3000
#define COMPILE_MS 60000
#define RUN_MS 30000    /* of one shape */
#define MAX_REPORTS 200 /* of one process, about 1 KiB each */
#define LEAST_LOCAL (32 << 10)
#define LEAST_GROUP 1024

struct oclgrind {
    char *path;
    strb version;
    int64_t deep_ms;
    evaluator *e;
    int64_t local_bytes, max_group; /* that it was started with */
    char *broken;                   /* why it cannot be started; NULL: it can, or was not tried */
    candidate c;                    /* at work, or done and not asked for yet */
    bool is_begun, is_done;
};

/* ---- the program ---- */

static char *in_path(const char *name)
{
    const char *path = getenv("PATH");
    for (const char *p = path; p && *p;) {
        size_t n = strcspn(p, ":");
        char *folder = mem_strndup(p, n), *file = fs_join(n > 0 ? folder : ".", name);
        free(folder);
        if (fs_is_file(file) && access(file, X_OK) == 0)
            return file;
        free(file);
        p += n + (p[n] == ':');
    }
    return NULL;
}

char *oclgrind_find(void)
{
    const char *own = getenv("KERNWRIGHT_OCLGRIND");
    if (own && *own)
        return access(own, X_OK) == 0 && fs_is_file(own) ? mem_strdup(own) : NULL;
    return in_path("oclgrind");
}

kw_code oclgrind_missing(kw_error *err)
{
    return kw_error_set(
        err, KW_ENVIRONMENT,
        "--deep-check needs Oclgrind: install it (apt-get install oclgrind), or set KERNWRIGHT_OCLGRIND "
        "to the program");
}

void oclgrind_version(const char *path, strb *out)
{
    const char *const argv[] = {path, "--version", NULL};
    subprocess_spec spec = {.argv = argv, .timeout_ms = 10000};
    subprocess_result r;
    kw_error err;
    if (subprocess_run(&spec, &r, &err) == KW_OK && r.status == 0) {
        const char *text = strb_text(&r.output);
        text += strspn(text, "\n");
        strb_add_n(out, text, strcspn(text, "\n"));
    }
    subprocess_result_clear(&r);
}

oclgrind *oclgrind_new(int64_t deep_ms)
{
    char *path = oclgrind_find();
    if (!path)
        return NULL;
    oclgrind *g = mem_calloc(1, sizeof *g);
    g->path = path;
    g->deep_ms = deep_ms > 0 ? deep_ms : DEFAULT_DEEP_MS;
    return g;
}

void oclgrind_free(oclgrind *g)
{
    if (!g)
        return;
    oclgrind_cancel(g);
    evaluator_close(g->e);
    strb_clear(&g->version);
    free(g->path);
    free(g->broken);
    free(g);
}

const char *oclgrind_name(oclgrind *g)
{
    if (g->version.length == 0)
        oclgrind_version(g->path, &g->version);
    return strb_text(&g->version);
}

/* ---- its worker ---- */

/* In single quotes, for a shell. */
static void quote(const char *text, strb *out)
{
    strb_add_char(out, '\'');
    for (const char *p = text; *p; p++) {
        if (*p == '\'')
            strb_add(out, "'\\''");
        else
            strb_add_char(out, *p);
    }
    strb_add_char(out, '\'');
}

/* Without optimisation: Oclgrind 21.10 does not know all that clang's optimiser makes ("freeze").
 *
 * Our own environment may choose a device, a way of running kernels, another loader: none of that holds here. */
static kw_code make_command(const oclgrind *g, strb *out, kw_error *err)
{
    char *self = fs_self_path();
    if (!self)
        return kw_error_set(err, KW_ENVIRONMENT, "cannot find the path of this program, so no worker can be started");
    strb_add(out, "unset KERNWRIGHT_DEVICE KERNWRIGHT_RUNNER KERNWRIGHT_COMPARE KERNWRIGHT_FAKE OCLGRIND_QUICK; exec ");
    quote(g->path, out);
    strb_printf(out,
                " --build-options -cl-opt-disable --data-races --uninitialized --max-errors %d --max-wgsize %" PRId64
                " --local-mem-size %" PRId64 " --global-mem-size %lld ",
                MAX_REPORTS, g->max_group, g->local_bytes, 1LL << 30);
    quote(self, out);
    strb_add(out, " worker --stdio");
    free(self);
    return KW_OK;
}

static int64_t at_least(int64_t x, int64_t least)
{
    return x > least ? x : least;
}

static kw_code start(oclgrind *g, const device_limits *limits, kw_error *err)
{
    const int64_t group = at_least(limits->max_work_group_size, LEAST_GROUP);
    const int64_t local = at_least(limits->local_mem_bytes, LEAST_LOCAL);
    if (g->e && g->max_group == group && g->local_bytes == local)
        return KW_OK;
    evaluator_close(g->e);
    g->e = NULL;
    g->max_group = group;
    g->local_bytes = local;
    strb command = STRB_INIT;
    kw_code code = make_command(g, &command, err);
    const evaluator_options o = {.device = "oclgrind",
                                 .worker_command = strb_text(&command),
                                 .compile_workers = 0,
                                 .compile_ms = COMPILE_MS,
                                 .run_ms = RUN_MS,
                                 .deep_ms = g->deep_ms};
    if (code == KW_OK)
        code = evaluator_open(&o, &g->e, err);
    strb_clear(&command);
    return code;
}

/* ---- checking ---- */

/* Only what a simulator sees counts against a kernel. That it knows no extension, has not the memory, is too slow or
 * dies itself does not. */
static oclgrind_verdict verdict_of(outcome o)
{
    return o == OUTCOME_OK ? OCLGRIND_PASSED : outcome_is_wrong(o) ? OCLGRIND_FAILED : OCLGRIND_NOT_CHECKED;
}

static kw_code absent(const oclgrind *g, oclgrind_verdict *verdict, job_record *r)
{
    *verdict = OCLGRIND_ABSENT;
    memset(r, 0, sizeof *r);
    r->outcome = OUTCOME_REJECTED;
    r->registers = r->spill_bytes = r->local_bytes = -1;
    r->detail = mem_strdup(g->broken);
    return KW_OK;
}

static void begin(oclgrind *g, const variant *v, const case_source *cases)
{
    memset(&g->c, 0, sizeof g->c);
    g->c.kind = CANDIDATE_DEEP;
    g->c.variant = v;
    g->c.cases = cases;
    g->is_begun = true;
    g->is_done = false;
    evaluator_submit(g->e, &g->c);
}

/* What was begun, by the end; if it is to be waited for. */
static kw_code take(oclgrind *g, int64_t timeout_ms, kw_error *err)
{
    if (g->is_done)
        return KW_OK;
    g->is_done = evaluator_next_within(g->e, timeout_ms, err) != NULL;
    if (g->is_done || err->code == KW_OK)
        return KW_OK;
    evaluator_forget(g->e);
    g->is_begun = false;
    return err->code;
}

void oclgrind_cancel(oclgrind *g)
{
    if (!g || !g->is_begun)
        return;
    if (!g->is_done) { /* the worker is at it: it goes too */
        evaluator_close(g->e);
        g->e = NULL;
    }
    job_record_clear(&g->c.record);
    g->is_begun = g->is_done = false;
}

void oclgrind_begin(oclgrind *g, const variant *v, const case_source *cases)
{
    kw_error err;
    oclgrind_cancel(g);
    if (!g->broken && start(g, cases->limits, &err) == KW_OK) /* else oclgrind_check will say why */
        begin(g, v, cases);
}

void oclgrind_poll(oclgrind *g)
{
    kw_error err;
    if (g && g->is_begun && take(g, 0, &err) != KW_OK)
        log_debug("oclgrind: %s", err.message);
}

static kw_code simulate(oclgrind *g, const variant *v, const case_source *cases, job_record *record, kw_error *err)
{
    if (g->is_begun && g->c.variant != v)
        oclgrind_cancel(g);
    kw_code code = start(g, cases->limits, err);
    if (code == KW_OK && !g->is_begun)
        begin(g, v, cases);
    if (code == KW_OK)
        code = take(g, -1, err);
    if (code != KW_OK)
        return code;
    *record = g->c.record;
    g->is_begun = g->is_done = false;
    return KW_OK;
}

kw_code oclgrind_check(oclgrind *g, const variant *v, const case_source *cases, oclgrind_verdict *verdict,
                       job_record *record, kw_error *err)
{
    *verdict = OCLGRIND_NOT_CHECKED;
    memset(record, 0, sizeof *record);
    if (g->broken)
        return absent(g, verdict, record);
    kw_code code = simulate(g, v, cases, record, err);
    if (code == KW_ENVIRONMENT) { /* it is a second opinion: without it the first one stands */
        strb why = STRB_INIT;
        strb_printf(&why, "Oclgrind does not run here: %s", err->message);
        g->broken = strb_take(&why);
        evaluator_close(g->e);
        g->e = NULL;
        return absent(g, verdict, record);
    }
    if (code != KW_OK)
        return code;
    *verdict = verdict_of(record->outcome);
    return KW_OK;
}
