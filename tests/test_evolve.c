/* The loop, on a simulated device and with a scripted model. */
#include "base/fs.h"
#include "base/mem.h"
#include "llm/evolve.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A trial on a simulated device: the text says what comes of it. "quality=1.5 cell=2,1,0", "outcome=wrong". */
typedef struct bench {
    size_t runs, retimes;
    size_t stop_after; /* runs until it claims to be interrupted; 0: never */
} bench;

static int number_behind(const char *text, const char *mark, int fallback)
{
    const char *at = strstr(text, mark);
    return at ? atoi(at + strlen(mark)) : fallback;
}

static kw_code run_trial(void *state, const char *text, const char *key, void (*pump)(void *), void *cookie,
                         trial_result *out, kw_error *err)
{
    bench *b = state;
    (void)key;
    if (b->stop_after && b->runs == b->stop_after)
        return kw_error_set(err, KW_INTERRUPTED, "interrupted");
    b->runs++;
    memset(out, 0, sizeof *out);
    hash_hex(text, strlen(text), out->template_hash);
    out->n_shapes = 1;
    out->shapes = mem_calloc(1, sizeof *out->shapes);
    out->shapes[0] = (trial_shape){.best_ns = 100, .lo_ns = 99, .hi_ns = 101, .base_ns = 200, .limit_ns = NAN};
    out->read = true;
    out->measured = 3;
    pump(cookie);
    if (strstr(text, "outcome=wrong")) {
        out->outcome = OUTCOME_WRONG;
        out->stage = STAGE_VERIFY;
        out->fitness = 0.4;
        out->detail = mem_strdup("y[0] is 1, expected 2");
        return KW_OK;
    }
    out->outcome = OUTCOME_OK;
    out->stage = STAGE_DONE;
    out->fitness = number_behind(text, "quality=", 1000) / 1000.0;
    out->offers = mem_calloc(1, sizeof *out->offers);
    out->n_offers = 1;
    offer *o = &out->offers[0];
    o->where.level[0] = number_behind(text, "memory=", 0);
    o->where.level[1] = number_behind(text, "compute=", 0);
    o->fitness = out->fitness;
    o->rel_noise = 0.01;
    o->config = mem_strdup("{}");
    memcpy(o->template_hash, out->template_hash, sizeof o->template_hash);
    memcpy(o->source_hash, out->template_hash, sizeof o->source_hash);
    if (strstr(text, "source=same"))
        memset(o->source_hash, 'a', HASH_HEX_SIZE - 1);
    return KW_OK;
}

static kw_code retime(void *state, const offer *x, const offer *y, double *a, double *b, kw_error *err)
{
    (void)err;
    ((bench *)state)->retimes++;
    *a = x->fitness;
    *b = y->fitness;
    return KW_OK;
}

static const trial_ops simulated = {.run = run_trial, .retime = retime};

typedef struct setting {
    char *folder, *journal, *model;
    task *t;
    task_types types;
    task_shape shape;
    bench bench;
    evolve_options o;
    evolve_result r;
    kw_error err;
    bool leave; /* in batches of 8 */
    bool independent;
    int64_t tokens; /* of the run; 0: no limit */
} setting;

#define FRONT "/*kernwright {\"task\": \"saxpy\", \"launches\": []} */\n"
static const char *const seeds[] = {FRONT "quality=1000\n"};

static int begin(void **state)
{
    setting *s = mem_calloc(1, sizeof *s);
    s->folder = fs_temp_folder("kernwright-test-", NULL);
    s->journal = fs_join(s->folder, "journal.jsonl");
    assert_int_equal(task_load("saxpy", &s->t, NULL), KW_OK);
    assert_int_equal(task_types_parse(s->t, "", &s->types, NULL), KW_OK);
    assert_int_equal(task_shape_parse(s->t, "N=100", &s->shape, NULL), KW_OK);
    *state = s;
    return 0;
}

static int end(void **state)
{
    setting *s = *state;
    evolve_result_clear(&s->r);
    fs_remove_tree(s->folder);
    free(s->folder);
    free(s->journal);
    free(s->model);
    task_free(s->t);
    free(s);
    return 0;
}

/* Runs with this model (a command); the journal is opened for it. */
static kw_code run_with(setting *s, const char *llm, uint64_t budget, bool recorded)
{
    llm_session_options so = {.provider = {.temperature = NAN},
                              .spec = llm,
                              .record = recorded ? NULL : s->folder,
                              .max_tokens_total = s->tokens};
    llm_session *session = NULL;
    journal *j = NULL;
    memset(&s->err, 0, sizeof s->err);
    evolve_result_clear(&s->r);
    assert_int_equal(llm_session_open(&so, &session, &s->err), KW_OK);
    assert_int_equal(journal_open(s->journal, recorded, &j, &s->err), KW_OK);
    s->o = (evolve_options){
        .prompt = {.task = s->t, .types = &s->types, .shapes = &s->shape, .n_shapes = 1, .max_tokens = 4000},
        .seeds = seeds,
        .n_seeds = 1,
        .session = session,
        .folder = s->folder,
        .journal = j,
        .recorded_only = recorded,
        .trial = &simulated,
        .trial_state = &s->bench,
        .budget = budget,
        .in_flight = s->leave ? 8 : 2,
        .leave_when_waiting = s->leave,
        .repairs = 1,
        .archive = true,
        .gradient = true,
        .targets = true,
        .meta = true,
        .independent = s->independent,
        .max_reply_tokens = 1000,
        .seed = 5};
    kw_code code = evolve_run(&s->o, &s->r, &s->err);
    llm_session_close(session);
    journal_close(j);
    return code;
}

/* A model that answers with a template of a quality that depends on the prompt and on how often it was asked; some are
 * wrong, some are none. */
static const char *scripted(setting *s)
{
    strb text = STRB_INIT;
    strb_printf(&text,
                "command:n=$({ cat; ls '%s'; } | cksum | cut -d' ' -f1); case $((n %% 5)) in 0) echo sorry;; "
                "*) echo '```c'; echo '/*kernwright {\"task\": \"saxpy\", \"launches\": []} */'; "
                "[ $((n %% 5)) = 1 ] && echo outcome=wrong; "
                "echo quality=$((1000 + n %% 800)) memory=$((n %% 4)) compute=$((n / 4 %% 4)) n=$n; echo '```';; esac",
                s->folder);
    free(s->model);
    s->model = strb_take(&text);
    return s->model;
}

static uint64_t all_ends(const evolve_result *r)
{
    return r->no_code + r->unchanged + r->duplicate + r->unread + r->no_compile + r->failed + r->wrong + r->right +
           r->not_asked + r->pending;
}

static char *text_of(const char *path)
{
    strb text = STRB_INIT;
    assert_int_equal(fs_read(path, 0, &text, NULL), KW_OK);
    return strb_take(&text);
}

static char *archive_text(const evolve_result *r)
{
    strb text = STRB_INIT;
    json *j = archive_to_json(r->archive);
    json_print(j, &text);
    json_free(j);
    return strb_take(&text);
}

static void runs_and_repeats(void **state)
{
    setting *s = *state;
    if (run_with(s, scripted(s), 24, false) != KW_OK)
        fail_msg("%s", s->err.message);
    assert_int_equal(s->r.attempts, 24);
    assert_int_equal(all_ends(&s->r), 24);
    assert_true(s->r.right > 3);
    assert_true(s->r.wrong + s->r.no_code + s->r.repaired > 0);
    assert_true(archive_occupied(s->r.archive) > 2);
    assert_true(s->r.best_fitness > 1);
    assert_non_null(strstr(s->r.best_text, "quality="));
    char *before = archive_text(&s->r), *journal_before = text_of(s->journal);
    size_t runs = s->bench.runs;
    /* The record, without device and model: the same archive, byte for byte. */
    if (run_with(s, "none", 24, true) != KW_OK)
        fail_msg("%s", s->err.message);
    char *after = archive_text(&s->r), *journal_after = text_of(s->journal);
    assert_string_equal(before, after);
    assert_string_equal(journal_before, journal_after);
    assert_int_equal(s->bench.runs, runs);
    free(before);
    free(after);
    free(journal_before);
    free(journal_after);
}

/* Stopped again and again, it ends where a run in one piece ends, and tries nothing twice. */
static void goes_on(void **state)
{
    setting *s = *state;
    kw_code code;
    int stops = 0;
    do {
        s->bench.stop_after = s->bench.runs + 3;
        code = run_with(s, scripted(s), 16, false);
        stops += code == KW_INTERRUPTED;
    } while (code == KW_INTERRUPTED && stops < 40);
    if (code != KW_OK)
        fail_msg("%s", s->err.message);
    assert_true(stops >= 2);
    assert_int_equal(s->r.attempts, 16);
    assert_int_equal(run_with(s, "none", 16, true), KW_OK);
    assert_int_equal(s->r.attempts, 16);
}

/* A larger budget goes on behind the end. */
static void more_budget(void **state)
{
    setting *s = *state;
    assert_int_equal(run_with(s, scripted(s), 4, false), KW_OK);
    size_t runs = s->bench.runs;
    assert_int_equal(run_with(s, scripted(s), 8, false), KW_OK);
    assert_int_equal(s->r.attempts, 8);
    assert_true(s->bench.runs > runs);
}

/* A line that was killed half-way is dropped; another run's line, and one that was changed, end a repeat. */
static void journals_that_differ(void **state)
{
    setting *s = *state;
    assert_int_equal(run_with(s, scripted(s), 6, false), KW_OK);
    char *text = text_of(s->journal);
    strb changed = STRB_INIT;
    strb_add(&changed, text);
    strb_add(&changed, "{\"event\":\"as");
    assert_int_equal(fs_write(s->journal, strb_text(&changed), changed.length, NULL), KW_OK);
    assert_int_equal(run_with(s, "none", 6, true), KW_OK);
    char *target = strstr(text, "\"target\":");
    assert_non_null(target);
    target[strlen("\"target\":")] = '7';
    assert_int_equal(fs_write(s->journal, text, strlen(text), NULL), KW_OK);
    assert_int_equal(run_with(s, "none", 6, true), KW_FAILED);
    assert_non_null(strstr(s->err.message, "\"target\" of the event \"ask\" differs"));
    free(text);
    strb_clear(&changed);
}

static void nothing_but_rubbish(void **state)
{
    setting *s = *state;
    assert_int_equal(run_with(s, "command:echo no", 5, false), KW_OK);
    assert_int_equal(s->r.no_code, 5);
    assert_int_equal(s->r.right, 0);
    assert_non_null(s->r.best_text); /* the seed */
    assert_int_equal(s->bench.runs, 1);
}

static void model_is_gone(void **state)
{
    setting *s = *state;
    assert_int_equal(run_with(s, "command:/nowhere/at/all", 9, false), KW_OK);
    assert_non_null(strstr(s->r.why, "no provider is left"));
    assert_true(s->r.attempts < 9);
    assert_int_equal(all_ends(&s->r), s->r.attempts);
}

static void same_again(void **state)
{
    setting *s = *state;
    assert_int_equal(
        run_with(s,
                 "command:echo '```'; echo '/*kernwright {\"task\": \"saxpy\", \"launches\": []} */'; echo "
                 "quality=1200; echo '```'",
                 6, false),
        KW_OK);
    assert_int_equal(s->r.right, 1);
    assert_int_equal(s->r.duplicate + s->r.unchanged, 5);
    assert_int_equal(s->bench.runs, 2);
}

/* Another comment makes no other kernel. The parent is left out by the reader; this one is no parent. */
static void same_but_for_comments(void **state)
{
    setting *s = *state;
    assert_int_equal(
        run_with(s,
                 "command:echo '```'; echo '/*kernwright {\"task\": \"saxpy\", \"launches\": []} */'; echo "
                 "outcome=wrong; echo quality=1200 \"/* $$ */\"; echo '```'",
                 6, false),
        KW_OK);
    assert_int_equal(s->r.attempts, 6);
    assert_int_equal(s->r.duplicate, 6); /* the first was sent back, and came again */
    assert_int_equal(s->bench.runs, 2);
}

/* Other templates, one kernel; and all of one kind. */
static void same_kernel(void **state)
{
    setting *s = *state;
    /* A number that no other reply has: of the process that writes it. */
    assert_int_equal(
        run_with(s,
                 "command:echo '```'; echo '/*kernwright {\"task\": \"saxpy\", \"launches\": []} */'; echo "
                 "source=same quality=1200 n=$$; echo '```'",
                 6, false),
        KW_OK);
    assert_int_equal(s->r.right, 6);
    assert_int_equal(s->r.same_kernel, 5);
    assert_int_equal(s->r.kinds, 1);
    assert_int_equal(s->r.of_most, 7); /* and the seed */
    assert_int_equal(s->r.n_models, 1);
    assert_int_equal(s->r.models[0].replies, 6);
    assert_int_equal(s->r.models[0].with_template, 6);
}

/* The error goes back, and the second answer is right. */
static void repaired(void **state)
{
    setting *s = *state;
    assert_int_equal(
        run_with(
            s,
            "command:t=$(cat); echo '```'; echo '/*kernwright {\"task\": \"saxpy\", \"launches\": []} */'; case $t in "
            "*'expected 2'*) echo quality=1300;; *) echo outcome=wrong;; esac; echo '```'",
            1, false),
        KW_OK);
    assert_int_equal(s->r.right, 1);
    assert_int_equal(s->r.repaired, 1);
    assert_int_equal(s->r.wrong, 0);
}

/* The error goes back, and nobody answers: the candidate was wrong, not missing. */
static void repair_that_never_came(void **state)
{
    setting *s = *state;
    assert_int_equal(
        run_with(s,
                 "command:t=$(cat); case $t in *'expected 2'*) exit 7;; esac; echo '```'; echo '/*kernwright "
                 "{\"task\": \"saxpy\", \"launches\": []} */'; echo outcome=wrong; echo '```'",
                 1, false),
        KW_OK);
    assert_int_equal(s->r.wrong, 1);
    assert_int_equal(s->r.no_code, 0);
    assert_int_equal(all_ends(&s->r), 1);
    char *text = text_of(s->journal), *end = strstr(text, "\"event\":\"attempt\"");
    assert_non_null(end);
    assert_non_null(strstr(end, "\"outcome\":\"wrong\""));
    assert_non_null(strstr(end, "\"fitness\":0.4"));
    assert_non_null(strstr(end, "no repair came: "));
    free(text);
    assert_int_equal(run_with(s, "none", 1, true), KW_OK); /* and repeats */
    assert_int_equal(s->r.wrong, 1);
}

/* Asking N times, to compare with: each prompt shows the seed and nothing of what came of the others. */
static void independent(void **state)
{
    setting *s = *state;
    s->independent = true;
    if (run_with(s, scripted(s), 12, false) != KW_OK)
        fail_msg("%s", s->err.message);
    assert_int_equal(s->r.attempts, 12);
    assert_true(s->r.right > 0);
    assert_int_equal(s->r.steering.asked, 0);
    char *text = text_of(s->journal), *first = fs_join(s->folder, "generate-000001.prompt.md"),
         *last = fs_join(s->folder, "generate-000012.prompt.md"), *a = text_of(first), *b = text_of(last);
    assert_null(strstr(text, "\"meta-"));
    assert_string_equal(a, b);
    assert_non_null(strstr(a, "quality=1000"));
    assert_int_equal(run_with(s, "none", 12, true), KW_OK);
    char *all[] = {text, first, last, a, b};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

static kw_code run_within(setting *s, const char *llm, uint64_t budget, int64_t tokens)
{
    s->tokens = tokens;
    kw_code code = run_with(s, llm, budget, false);
    s->tokens = 0;
    return code;
}

/* Questions that were out when the run was stopped, and that no budget is left for: they end, and so does the run. */
static void no_budget_for_what_was_asked(void **state)
{
    setting *s = *state;
    strb llm = STRB_INIT;
    strb_printf(&llm, "folder:%s", s->folder);
    s->leave = true;
    assert_int_equal(run_with(s, strb_text(&llm), 4, false), KW_OK);
    assert_int_equal(s->r.pending, 4);
    s->leave = false;
    if (run_within(s, "command:echo no", 4, 10) != KW_OK)
        fail_msg("%s", s->err.message);
    assert_non_null(strstr(s->r.why, "the budget of 10 tokens is spent"));
    assert_int_equal(s->r.not_asked, 4);
    assert_int_equal(all_ends(&s->r), 4);
    /* It repeats, and goes on with a budget. */
    assert_int_equal(run_with(s, "none", 4, true), KW_OK);
    assert_int_equal(s->r.not_asked, 4);
    if (run_with(s, scripted(s), 6, false) != KW_OK)
        fail_msg("%s", s->err.message);
    assert_int_equal(s->r.not_asked, 4);
    assert_int_equal(s->r.attempts, 6 + 4); /* six were answered */
    assert_int_equal(all_ends(&s->r), 10);
    strb_clear(&llm);
}

/* ---- batches ---- */

/* generate-00000I + suffix */
static char *in_folder(const setting *s, int i, const char *suffix)
{
    char name[64];
    (void)snprintf(name, sizeof name, "generate-%06d%s", i, suffix);
    return fs_join(s->folder, name);
}

static void put(const setting *s, int i, const char *repair, const char *suffix, const char *text)
{
    char end[32];
    (void)snprintf(end, sizeof end, "%s%s", repair, suffix);
    char *path = in_folder(s, i, end);
    assert_int_equal(fs_write(path, text, strlen(text), NULL), KW_OK);
    free(path);
}

/* Answers a question that was asked: attempt number i, or its repair "-r1". */
static void answer(const setting *s, int i, const char *repair, const char *text)
{
    char end[32];
    strb reply = STRB_INIT;
    (void)snprintf(end, sizeof end, "%s.prompt.md", repair);
    char *question = in_folder(s, i, end);
    assert_true(fs_is_file(question));
    strb_printf(&reply, "```c\n" FRONT "%s n=%d\n```\n", text, i);
    put(s, i, repair, ".reply.md", strb_text(&reply));
    put(s, i, repair, ".done", "");
    strb_clear(&reply);
    free(question);
}

static size_t count_of(const char *text, const char *part)
{
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, part)); at++)
        n++;
    return n;
}

static size_t prompts_in(const setting *s)
{
    char **names;
    size_t n;
    assert_int_equal(fs_list(s->folder, ".prompt.md", &names, &n, NULL), KW_OK);
    for (size_t i = 0; i < n; i++)
        free(names[i]);
    free(names);
    return n;
}

/* Eight questions at once, then the run is left; it goes on with what was answered, tries it all before it asks again,
 * and asks nothing twice. */
static void in_batches(void **state)
{
    setting *s = *state;
    strb llm = STRB_INIT;
    strb_printf(&llm, "folder:%s", s->folder);
    s->leave = true;
    if (run_with(s, strb_text(&llm), 12, false) != KW_OK)
        fail_msg("%s", s->err.message);
    assert_int_equal(s->r.waiting, 8);
    assert_int_equal(all_ends(&s->r), s->r.attempts);
    assert_non_null(strstr(s->r.why, "8 prompts wait for replies in "));
    assert_non_null(strstr(s->r.why, s->folder));
    assert_int_equal(prompts_in(s), 8);
    assert_int_equal(s->bench.runs, 1);
    char *first = text_of(s->journal), *path = in_folder(s, 1, ".prompt.md"), *asked = text_of(path);

    /* Nothing came: nothing happens, to the device least of all. */
    assert_int_equal(run_with(s, strb_text(&llm), 12, false), KW_OK);
    assert_int_equal(s->r.waiting, 8);
    assert_int_equal(s->bench.runs, 1);
    char *second = text_of(s->journal), *asked_again = text_of(path);
    assert_string_equal(asked, asked_again);
    assert_int_equal(count_of(second, "\"event\":\"ask\""), 8);
    assert_int_equal(strncmp(first, second, strlen(first)), 0);

    answer(s, 1, "", "quality=1400 memory=1");
    answer(s, 2, "", "outcome=wrong");
    answer(s, 5, "", "quality=1800 memory=2");
    assert_int_equal(run_with(s, strb_text(&llm), 12, false), KW_OK);
    assert_int_equal(s->bench.runs, 4);
    assert_int_equal(s->r.attempts, 10); /* the repair of 2 takes the place of a third */
    assert_int_equal(s->r.waiting, 8);
    /* Everything that came was tried before the next question was made. */
    char *third = text_of(s->journal);
    const char *last_trial = strstr(third, "\"event\":\"trial\",\"key\":\"generate-000005\""),
               *next_ask = strstr(third, "\"event\":\"ask\",\"key\":\"generate-000009\"");
    assert_true(last_trial && next_ask && last_trial < next_ask);

    const int rest[] = {3, 4, 6, 7, 8, 9, 10};
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
        answer(s, rest[i], "", "quality=1100");
    answer(s, 2, "-r1", "quality=1500 compute=1");
    assert_int_equal(run_with(s, strb_text(&llm), 12, false), KW_OK);
    assert_int_equal(s->r.waiting, 2);
    answer(s, 11, "", "quality=1200 compute=2");
    answer(s, 12, "", "quality=1300 compute=3");
    assert_int_equal(run_with(s, strb_text(&llm), 12, false), KW_OK);
    assert_int_equal(s->r.waiting, 0);
    assert_int_equal(s->r.attempts, 12);
    assert_int_equal(s->r.right, 12);
    assert_int_equal(s->bench.runs, 14); /* a seed, 12 candidates and one that was mended */
    assert_non_null(strstr(s->r.why, "budget of candidates"));

    char *archive_then = archive_text(&s->r);
    s->leave = false;
    if (run_with(s, "none", 12, true) != KW_OK)
        fail_msg("%s", s->err.message);
    char *archive_now = archive_text(&s->r);
    assert_string_equal(archive_then, archive_now);
    char *all[] = {first, second, third, path, asked, asked_again, archive_then, archive_now};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
    strb_clear(&llm);
}

#define IN_SETTING(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_SETTING(runs_and_repeats),
        IN_SETTING(goes_on),
        IN_SETTING(more_budget),
        IN_SETTING(journals_that_differ),
        IN_SETTING(nothing_but_rubbish),
        IN_SETTING(model_is_gone),
        IN_SETTING(same_again),
        IN_SETTING(same_but_for_comments),
        IN_SETTING(same_kernel),
        IN_SETTING(repaired),
        IN_SETTING(repair_that_never_came),
        IN_SETTING(independent),
        IN_SETTING(no_budget_for_what_was_asked),
        IN_SETTING(in_batches),
    };
    return cmocka_run_group_tests_name("evolve", tests, NULL, NULL);
}
