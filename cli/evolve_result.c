#include "cli/evolve_result.h"

#include "base/log.h"
#include "cli/cli.h"
#include "cli/table.h"

#include <math.h>
#include <stdio.h>

static void print_spent(const llm_totals *t)
{
    if (llm_tokens_used(&t->usage) == 0)
        return;
    printf("spent: %lld tokens%s in %lld replies", (long long)llm_tokens_used(&t->usage),
           t->usage.estimated ? " (partly estimated)" : "", (long long)t->replies);
    if (t->unpriced == 0)
        printf(", %.4g in money", t->cost);
    putchar('\n');
}

static void print_models(const evolve_result *r)
{
    for (size_t i = 0; i < r->n_models; i++) {
        const evolve_model *m = &r->models[i];
        printf("%s: %llu replies, %llu with a template", *m->name ? m->name : "model not named",
               (unsigned long long)m->replies, (unsigned long long)m->with_template);
        if (m->edits > 0)
            printf(", %llu of %llu edits applied", (unsigned long long)(m->edits - m->edits_failed),
                   (unsigned long long)m->edits);
        putchar('\n');
    }
}

static void print_kinds(const evolve_result *r)
{
    const uint64_t right = r->right + 1; /* and the seed */
    if (r->most_cell < 0)
        return;
    behaviour b = behaviour_of_cell(r->most_cell);
    printf("kinds: %llu; most candidates are of memory %d, compute %d, parallelism %d: %llu\n",
           (unsigned long long)r->kinds, b.level[0], b.level[1], b.level[2], (unsigned long long)r->of_most);
    if (right >= 8 && 4 * r->of_most > 3 * right)
        log_warn("three of four right candidates are of one kind (memory %d, compute %d, parallelism %d): the archive "
                 "tells little apart here",
                 b.level[0], b.level[1], b.level[2]);
}

static void add_count(table *t, uint64_t n)
{
    char text[24];
    (void)snprintf(text, sizeof text, "%5llu", (unsigned long long)n);
    table_text(t, text);
}

/* Which way it was worth to go. */
static void print_moves(const evolve_result *r)
{
    if (r->n_moves == 0)
        return;
    table *t = table_new("what was asked for|asked|right|better than parent|best gain");
    for (size_t i = 0; i < r->n_moves; i++) {
        const evolve_move *m = &r->moves[i];
        table_text(t, m->name);
        add_count(t, m->asked);
        add_count(t, m->right);
        add_count(t, m->better);
        table_number(t, m->best_gain, 3);
        table_end_row(t);
    }
    table_print(t, stdout);
    table_free(t);
    putchar('\n');
}

static void print_best(const evolve_result *r)
{
    if (!r->best_text)
        return;
    printf("best: fitness %.3f (the plain kernel %.3f), template %.12s, %s\n", r->best_fitness, r->base_fitness,
           r->best_hash, r->best_config);
    if (isfinite(r->best_speed_up) && fabs(r->best_speed_up - 1) > 0.005)
        printf("%.3g times as fast as the plain kernel at its default (geometric mean over shapes)\n",
               r->best_speed_up);
    for (size_t i = 0; i < r->n_lineage && r->n_lineage > 1; i++) {
        const evolve_step *s = &r->lineage[i];
        printf("  %-*s %.3f  %s\n", (int)sizeof "generate-000000-r1", s->key, s->fitness,
               *s->move ? s->move : "began with");
    }
}

static void print_text(const evolve_result *r)
{
    strb map = STRB_INIT;
    printf("%llu candidates asked for: %llu right (%llu after a repair), %llu better than their parent, %llu wrong, "
           "%llu crashed or hung, %llu did not compile, %llu not a template, %llu without code, %llu unchanged, "
           "%llu seen before\n",
           (unsigned long long)r->attempts, (unsigned long long)r->right, (unsigned long long)r->repaired,
           (unsigned long long)r->better_than_parent, (unsigned long long)r->wrong, (unsigned long long)r->failed,
           (unsigned long long)r->no_compile, (unsigned long long)r->unread, (unsigned long long)r->no_code,
           (unsigned long long)r->unchanged, (unsigned long long)r->duplicate);
    if (r->not_asked + r->pending > 0)
        printf("and %llu not asked, %llu without an end yet\n", (unsigned long long)r->not_asked,
               (unsigned long long)r->pending);
    printf("targets: %llu asked for, %llu reached, %llu came nearer\n", (unsigned long long)r->steering.asked,
           (unsigned long long)r->steering.hit, (unsigned long long)r->steering.nearer);
    if (r->same_kernel > 0)
        printf("%llu templates expand to a kernel that was tried before\n", (unsigned long long)r->same_kernel);
    print_kinds(r);
    print_models(r);
    print_spent(&r->totals);
    printf("ended: %s\n", r->why ? r->why : "");
    if (r->archive) {
        archive_print(r->archive, &map);
        printf("\n%s\n", strb_text(&map));
    }
    print_moves(r);
    print_best(r);
    if (r->totals.same_prompts + r->totals.other_prompts > 0)
        printf("replay: %lld prompts as recorded, %lld others\n", (long long)r->totals.same_prompts,
               (long long)r->totals.other_prompts);
    strb_clear(&map);
}

static json *model_to_json(const evolve_model *m)
{
    json *j = json_new_object();
    json_set_string(j, "model", m->name);
    json_set_int(j, "replies", (int64_t)m->replies);
    json_set_int(j, "with_template", (int64_t)m->with_template);
    json_set_int(j, "edits", (int64_t)m->edits);
    json_set_int(j, "edits_failed", (int64_t)m->edits_failed);
    return j;
}

static json *move_to_json(const evolve_move *m)
{
    json *j = json_new_object();
    json_set_string(j, "move", m->name);
    json_set_int(j, "asked", (int64_t)m->asked);
    json_set_int(j, "right", (int64_t)m->right);
    json_set_int(j, "better", (int64_t)m->better);
    json_set_number(j, "best_gain", m->best_gain);
    return j;
}

static json *step_to_json(const evolve_step *s)
{
    json *j = json_new_object();
    json_set_string(j, "key", s->key);
    if (*s->move)
        json_set_string(j, "move", s->move);
    json_set_number(j, "fitness", s->fitness);
    return j;
}

static void print_json(const evolve_result *r)
{
    json *j = json_new_object();
    const struct {
        const char *name;
        uint64_t value;
    } counts[] = {{"attempts", r->attempts},         {"right", r->right},           {"repaired", r->repaired},
                  {"better", r->better_than_parent}, {"wrong", r->wrong},           {"failed", r->failed},
                  {"no_compile", r->no_compile},     {"not_a_template", r->unread}, {"no_code", r->no_code},
                  {"no_answer", r->no_answer},       {"unchanged", r->unchanged},   {"duplicate", r->duplicate},
                  {"not_asked", r->not_asked},       {"pending", r->pending},       {"targets", r->steering.asked},
                  {"targets_hit", r->steering.hit}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        json_set_int(j, counts[i].name, (int64_t)counts[i].value);
    json_set_int(j, "waiting", (int64_t)r->waiting);
    json_set_int(j, "tokens", llm_tokens_used(&r->totals.usage));
    json_set_bool(j, "tokens_estimated", r->totals.usage.estimated);
    if (r->totals.replies > 0 && r->totals.unpriced == 0)
        json_set_number(j, "cost", r->totals.cost);
    json_set_int(j, "same_kernel", (int64_t)r->same_kernel);
    json_set_int(j, "kinds", (int64_t)r->kinds);
    json_set_int(j, "most_of_one_kind", (int64_t)r->of_most);
    json *models = json_new_array(), *moves = json_new_array(), *lineage = json_new_array();
    for (size_t i = 0; i < r->n_models; i++)
        json_append(models, model_to_json(&r->models[i]));
    json_set(j, "models", models);
    for (size_t i = 0; i < r->n_moves; i++)
        json_append(moves, move_to_json(&r->moves[i]));
    json_set(j, "moves", moves);
    for (size_t i = 0; i < r->n_lineage; i++)
        json_append(lineage, step_to_json(&r->lineage[i]));
    json_set(j, "lineage", lineage);
    json_set_string(j, "why", r->why);
    json_set_number(j, "base_fitness", r->base_fitness);
    if (r->best_text) {
        json_set_number(j, "best_fitness", r->best_fitness);
        json_set_string(j, "best_template", r->best_hash);
        json_set_string(j, "best_config", r->best_config);
        json_set_number(j, "best_speed_up", r->best_speed_up);
    }
    if (r->archive)
        json_set(j, "archive", archive_to_json(r->archive));
    cli_print_json(j);
    json_free(j);
}

void print_evolve_result(const evolve_result *r, bool as_json)
{
    if (as_json)
        print_json(r);
    else
        print_text(r);
}
