#include "llm/evolve_task.h"

#include "base/fs.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "llm/evolve_record.h"
#include "llm/evolve_settings.h"
#include "llm/trial_live.h"
#include "tuner/probe.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t USUAL_BUDGET = 24;
static const size_t USUAL_IN_FLIGHT = 4;
static const int64_t USUAL_PROMPT = 24000, USUAL_REPLY = 8000;

/* What is open, closed again by `finish` in whatever state it is. */
typedef struct opened {
    const evolve_task_options *o;
    char *folder; /* of exchanges and journal; NULL: none */
    bool replays; /* the folder is somebody's record: it stays as it is */
    llm_session *session;
    evaluator *e;
    store *s;
    probe_fact probe;
    bool has_probe;
    journal *journal;
    void *trial;
    char **seeds;
    size_t n_seeds, seeds_capacity;
    char *reference, *format, *run_info;
    json *settings;
    int steering; /* rules: of the journal that is followed, or the latest */
    evolve_options run;
} opened;

static void finish(opened *p)
{
    if (p->trial)
        trial_live_ops.close(p->trial);
    llm_session_close(p->session);
    journal_close(p->journal);
    evaluator_close(p->e);
    store_close(p->s);
    for (size_t i = 0; i < p->n_seeds; i++)
        free(p->seeds[i]);
    free(p->seeds);
    free(p->folder);
    free(p->reference);
    free(p->format);
    free(p->run_info);
    json_free(p->settings);
}

static char *text_of_file(const char *path)
{
    strb text = STRB_INIT;
    char *copy =
        path && fs_is_file(path) && fs_read(path, 0, &text, NULL) == KW_OK ? mem_strdup(strb_text(&text)) : NULL;
    strb_clear(&text);
    return copy;
}

/* FOLDER/NAME as text; NULL. */
static char *text_in(const char *folder, const char *name)
{
    char *path = folder && *folder ? fs_join(folder, name) : NULL;
    char *text = text_of_file(path);
    free(path);
    return text;
}

/* "replay:DIR" and "folder:DIR" keep everything in DIR. */
static void choose_folder(opened *p)
{
    const char *llm = p->o->llm;
    p->replays = strncmp(llm, "replay:", 7) == 0;
    if (p->o->record)
        p->folder = mem_strdup(p->o->record);
    else if (strncmp(llm, "folder:", 7) == 0 && !strchr(llm, ','))
        p->folder = mem_strdup(llm + 7);
    else if (p->replays && p->o->recorded)
        p->folder = mem_strdup(llm + 7);
}

static void add_seed(opened *p, char *text)
{
    if (!text)
        return;
    p->seeds = mem_grow(p->seeds, &p->seeds_capacity, p->n_seeds + 1, sizeof *p->seeds);
    p->seeds[p->n_seeds++] = text;
}

/* A record has the templates that it began with; they may have changed since. */
static void recorded_seeds(opened *p)
{
    for (int i = 1; i < 1000; i++) {
        char name[64];
        (void)snprintf(name, sizeof name, "seed-%06d.template.cl", i);
        char *text = text_in(p->folder, name);
        if (!text)
            return;
        add_seed(p, text);
    }
}

static kw_code keep_seeds(const opened *p, kw_error *err)
{
    kw_code code = p->folder ? fs_make_folders(p->folder, err) : KW_OK;
    for (size_t i = 0; i < p->n_seeds && p->folder && code == KW_OK; i++) {
        char key[EXCHANGE_KEY_SIZE];
        (void)snprintf(key, sizeof key, "seed-%06zu", i + 1);
        code = exchange_write_candidate(p->folder, key, p->seeds[i], err);
    }
    return code;
}

/* A run goes on, and repeats, with the templates that it began with. */
static kw_code check_seeds(const opened *p, kw_error *err)
{
    const json *first = journal_next(p->journal), *then = json_get(first, "seeds");
    size_t i = 0;
    for (const json *s = json_first(then); s && i < p->n_seeds; s = json_next(s), i++) {
        char hash[HASH_HEX_SIZE];
        hash_hex(p->seeds[i], strlen(p->seeds[i]), hash);
        if (!json_text(s) || strcmp(json_text(s), hash) != 0)
            return kw_error_set(
                err, KW_FAILED,
                "%s/seed-%06zu.template.cl: it is not the template that the run began with: put it back, "
                "or begin in another folder",
                p->folder, i + 1);
    }
    return KW_OK;
}

/* Templates that were given now, to a run that began without them. */
static void warn_of_late_seeds(const opened *p)
{
    for (size_t i = 0; i < p->o->n_seeds && !p->o->recorded; i++) {
        char *text = text_of_file(p->o->seeds[i]->path);
        bool known = !text;
        for (size_t k = 0; k < p->n_seeds && !known; k++)
            known = strcmp(text, p->seeds[k]) == 0;
        if (!known)
            log_warn("%s: the run in %s began without it, and goes on without it", p->o->seeds[i]->path, p->folder);
        free(text);
    }
}

static void find_seeds(opened *p)
{
    if (p->folder)
        recorded_seeds(p);
    if (p->n_seeds > 0) {
        warn_of_late_seeds(p);
        return;
    }
    add_seed(p, text_of_file(p->o->fallback->path));
    for (size_t i = 0; i < p->o->n_seeds; i++) {
        if (strcmp(p->o->seeds[i]->path, p->o->fallback->path) != 0 && !p->o->seeds[i]->is_sidecar)
            add_seed(p, text_of_file(p->o->seeds[i]->path));
    }
}

static kw_code choose_rules(opened *p, kw_error *err)
{
    const json *first = journal_next(p->journal), *said = json_get(json_get(first, "info"), "steering");
    int64_t rules = first ? 1 : STEER_RULES;
    if (said && (!json_int(said, &rules) || rules < 1 || rules > STEER_RULES))
        return kw_error_set(err, KW_BAD_INPUT, "%s: its journal was steered by the rules of another version",
                            p->folder);
    p->steering = (int)rules;
    return KW_OK;
}

/* What the run depends on: as its journal has it, if that is the same. */
static kw_code describe_run(opened *p, kw_error *err)
{
    const json *first = journal_next(p->journal), *then = json_get(first, "info");
    json *now = evolve_info(p->o, p->e ? evaluator_device(p->e)->key : NULL, p->steering);
    kw_code code = then ? evolve_info_check(then, now, p->folder, err) : KW_OK;
    strb text = STRB_INIT;
    json_print(then ? then : now, &text);
    p->run_info = strb_take(&text);
    json_free(now);
    return code;
}

static kw_code options_of_record(opened *p, task_shape **shapes, size_t *n_shapes, evolve_task_options *o,
                                 kw_error *err)
{
    const json *first = journal_next(p->journal);
    strb text = STRB_INIT;
    kw_code code = evolve_record_options(first, p->folder, o, shapes, n_shapes, err);
    if (code != KW_OK)
        return code;
    json_print(json_get(first, "info"), &text);
    p->run_info = strb_take(&text);
    return KW_OK;
}

/* Replies whose journal is gone would be written over by a run that begins anew. */
static kw_code check_no_replies(const opened *p, kw_error *err)
{
    const char *llm = p->o->llm;
    const bool asked_there = strncmp(llm, "folder:", 7) == 0 && fs_same_file(p->folder, llm + 7);
    if (p->replays || asked_there || !evolve_record_has_replies(p->folder))
        return KW_OK;
    return kw_error_set(err, KW_BAD_INPUT,
                        "%s: it has replies, but no journal of their run: give another folder (--llm replay:%s takes "
                        "the replies)",
                        p->folder, p->folder);
}

static kw_code open_journal(opened *p, kw_error *err)
{
    char *path = p->folder ? fs_join(p->folder, "journal.jsonl") : NULL;
    kw_code code = p->folder && !p->o->recorded ? fs_make_folders(p->folder, err) : KW_OK;
    if (code == KW_OK && path && !p->o->recorded && !fs_is_file(path)) /* before an empty journal is made */
        code = check_no_replies(p, err);
    if (code == KW_OK)
        code = journal_open(path, p->o->recorded, &p->journal, err);
    if (code == KW_OK && path && !p->o->recorded && !journal_following(p->journal))
        code = check_no_replies(p, err);
    free(path);
    return code;
}

/* The usual shapes keep a large GPU busy; a task says what is enough for a CPU. */
static kw_code choose_shapes(const opened *p, task_shape **shapes, evolve_task_options *o, kw_error *err)
{
    const char *file = o->task->cpu_shapes_file;
    if (!o->usual_shapes || !file || !evaluator_device(p->e)->limits.is_cpu)
        return KW_OK;
    kw_code code = task_shapes_load(o->task, file, shapes, &o->n_shapes, err);
    if (code == KW_OK)
        o->shapes = *shapes;
    return code;
}

static kw_code open_device(opened *p, task_shape **shapes, evolve_task_options *options, kw_error *err)
{
    const evolve_task_options *o = options;
    kw_code code = evaluator_open(&o->evaluator, &p->e, err);
    if (code == KW_OK)
        code = choose_shapes(p, shapes, options, err);
    if (code == KW_OK)
        code = store_open(o->store, false, &p->s, err);
    if (code != KW_OK)
        return code;
    const device_info *d = evaluator_device(p->e);
    log_info("device %s: %s (%s), store %s", d->spec, d->name, d->key, store_path(p->s));
    kw_error why = {0};
    if (o->probe && probe_obtain(p->e, p->s, false, &p->probe, &why) == KW_OK)
        p->has_probe = true;
    else if (why.code == KW_INTERRUPTED)
        return kw_error_set(err, KW_INTERRUPTED, "interrupted");
    trial_live_options t = {.e = p->e,
                            .s = p->s,
                            .t = o->task,
                            .types = o->types,
                            .shapes = o->shapes,
                            .n_shapes = o->n_shapes,
                            .fallback = o->fallback,
                            .probe = p->has_probe ? &p->probe.figures : NULL,
                            .cold = o->cold,
                            .seed = o->seed,
                            .rungs = {o->rungs[0], o->rungs[1], o->rungs[2]}};
    p->trial = trial_live_new(&t);
    return KW_OK;
}

static kw_code open_session(opened *p, kw_error *err)
{
    const evolve_task_options *o = p->o;
    llm_session_options s = {.provider = o->provider,
                             .spec = o->recorded ? "none" : o->llm,
                             .record = o->recorded ? NULL : p->folder,
                             .max_tokens_total = o->max_tokens_total,
                             .max_cost = o->max_cost};
    return llm_session_open(&s, &p->session, err);
}

static bool is_interrupted(void *cookie)
{
    const opened *p = cookie;
    return p->e && evaluator_asked_to_stop(p->e);
}

static void relay(const evolve_progress *progress, void *cookie)
{
    const opened *p = cookie;
    if (p->o->on_progress)
        p->o->on_progress(progress, p->o->cookie);
}

static void prepare_run(opened *p, const evolve_task_options *o)
{
    char *templates = fs_data_folder("templates");
    const device_info *d = p->e ? evaluator_device(p->e) : NULL;
    p->format = text_in(templates, "FORMAT.md");
    p->reference =
        o->task->reference_source ? mem_strdup(o->task->reference_source) : text_in(o->task->folder, "reference.c");
    free(templates);
    p->run = (evolve_options){.prompt = {.task = o->task,
                                         .types = &o->types,
                                         .shapes = o->shapes,
                                         .n_shapes = o->n_shapes,
                                         .reference_text = p->reference,
                                         .format_text = p->format,
                                         .device = d,
                                         .device_name = d ? d->name : NULL,
                                         .probe = p->has_probe ? &p->probe.figures : NULL,
                                         .max_tokens = o->max_prompt_tokens ? o->max_prompt_tokens : USUAL_PROMPT},
                              .seeds = (const char *const *)p->seeds,
                              .n_seeds = p->n_seeds,
                              .session = p->session,
                              .folder = p->folder,
                              .asked_in = o->leave_when_waiting ? o->llm + strlen("folder:") : NULL,
                              .journal = p->journal,
                              .recorded_only = o->recorded,
                              .trial = &trial_live_ops,
                              .trial_state = p->trial,
                              .in_flight = o->in_flight ? o->in_flight : USUAL_IN_FLIGHT,
                              .leave_when_waiting = o->leave_when_waiting,
                              .repairs = (int)(o->repairs < 0 ? 1 : o->repairs),
                              .archive = o->archive,
                              .gradient = o->gradient,
                              .targets = o->targets,
                              .meta = o->meta,
                              .steering = p->steering,
                              .operators = o->operators,
                              .stop_fitness = o->stop_fitness,
                              .max_reply_tokens = o->max_reply_tokens ? o->max_reply_tokens : USUAL_REPLY,
                              .seed = o->seed,
                              .independent = o->independent,
                              .run_info = p->run_info,
                              .on_progress = relay,
                              .interrupted = is_interrupted,
                              .cookie = p};
}

static void say_what_it_may_cost(opened *p)
{
    strb text = STRB_INIT;
    if (p->o->recorded)
        return;
    p->run.settings = p->settings = evolve_settings(&p->run, p->o);
    evolve_projection(&p->run, &text);
    if (text.length > 0)
        log_info("%s", strb_text(&text));
    if (!p->folder && llm_session_asks(p->session))
        log_info("nothing of this run is kept, and it cannot go on: --record DIR keeps it");
    strb_clear(&text);
}

kw_code evolve_task(const evolve_task_options *options, evolve_result *out, kw_error *err)
{
    evolve_task_options o = *options;
    opened p = {.o = &o};
    task_shape *shapes = NULL;
    size_t n_shapes = 0;
    uint64_t budget = o.budget ? o.budget : USUAL_BUDGET;
    memset(out, 0, sizeof *out);
    if (strcmp(o.llm, "none") == 0)
        o.operators = 1;
    choose_folder(&p);
    kw_code code = KW_OK;
    if (o.recorded && (!p.replays || !fs_is_folder(o.llm + strlen("replay:"))))
        code = kw_error_set(err, KW_BAD_INPUT,
                            "--measurements recorded needs --llm replay:DIR alone, of a folder that is there");
    else if (o.recorded && o.record)
        code = kw_error_set(err, KW_BAD_INPUT, "--measurements recorded writes nothing: leave --record away");
    if (o.leave_when_waiting && (strncmp(o.llm, "folder:", 7) != 0 || strchr(o.llm, ',')))
        code =
            kw_error_set(err, KW_BAD_INPUT,
                         "--leave-when-waiting needs --llm folder:DIR alone: others answer only while the run waits");
    if (code == KW_OK)
        code = open_journal(&p, err);
    if (code == KW_OK)
        code = choose_rules(&p, err);
    if (code == KW_OK && o.recorded)
        code = options_of_record(&p, &shapes, &n_shapes, &o, err);
    if (code == KW_OK)
        code = open_session(&p, err);
    if (code == KW_OK && p.replays && !o.budget && !o.recorded && fs_is_folder(o.llm + strlen("replay:")))
        code = evolve_record_attempts(o.llm + strlen("replay:"), &budget, err);
    if (code == KW_OK && !o.recorded)
        code = open_device(&p, &shapes, &o, err);
    if (code == KW_OK) {
        find_seeds(&p);
        code = check_seeds(&p, err);
        if (code == KW_OK && !o.recorded)
            code = describe_run(&p, err);
        if (code == KW_OK && !o.recorded)
            code = keep_seeds(&p, err);
    }
    if (code == KW_OK) {
        prepare_run(&p, &o);
        p.run.budget = budget;
        say_what_it_may_cost(&p);
        code = evolve_run(&p.run, out, err);
    }
    free(shapes);
    finish(&p);
    return code;
}
