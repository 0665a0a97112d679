/* Screening a run on the device: all that is looked at after a run, in one list of checks, with one wait. What raises a
 * doubt is left to the checks of worker_check.c, which read it back and say what is wrong. */
#include "tuner/worker_internal.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CHECKS (2 * (TASK_MAX_TENSORS + TEMPLATE_MAX_TEMPS) + 3 * TASK_MAX_TENSORS)

typedef struct screen {
    device_check checks[MAX_CHECKS];
    size_t n;
} screen;

static device_check *add(screen *s)
{
    device_check *c = &s->checks[s->n++];
    memset(c, 0, sizeof *c);
    return c;
}

static void add_guards(screen *s, const guarded *g, unsigned char byte)
{
    if (!g->whole)
        return;
    for (int behind = 0; behind < 2; behind++) {
        device_check *c = add(s);
        c->kind = DEVICE_CHECK_FILLED;
        c->a = g->whole;
        c->a_offset = behind ? g->guard + g->bytes : 0;
        c->bytes = behind ? g->total - c->a_offset : g->guard;
        c->byte = byte;
    }
}

static void add_same(screen *s, device_buffer *kept, const guarded *g)
{
    device_check *c = add(s);
    c->kind = DEVICE_CHECK_SAME;
    c->a = kept;
    c->b = g->whole;
    c->b_offset = g->guard;
    c->bytes = g->bytes;
}

static void add_close(screen *s, const case_data *data, size_t tensor, const guarded *g)
{
    const expected *e = &data->expected[tensor];
    device_check *c = add(s);
    c->kind = DEVICE_CHECK_CLOSE;
    c->a = g->whole;
    c->a_offset = g->guard;
    c->b = e->hidden;
    c->bytes = g->bytes;
    c->type = data->layout[tensor].type;
    verify_trusted_bound(&e->rule, e->max_scale, &c->relative, &c->absolute);
}

bool run_is_screened(const run *r, const case_data *data, size_t tensor)
{
    const expected *e = &data->expected[tensor];
    return device_can_check(r->device) && e->known && e->logical && data->layout[tensor].dense &&
           e->rule.compare != TASK_COMPARE_SET && (!e->trusted || e->hidden);
}

static void make_list(const run *r, const case_data *data, const buffer_set *set, unsigned what, screen *s)
{
    for (size_t i = 0; i < set->task->n_tensors; i++) {
        const guarded *g = &set->tensors[i];
        add_guards(s, g, set->guard_byte);
        if (!g->whole)
            continue;
        if (set->task->tensors[i].access == TASK_IN)
            add_same(s, data->pristine[i], g);
        else if ((what & SCREEN_OUTPUTS) && data->expected[i].hidden && run_is_screened(r, data, i))
            add_close(s, data, i, g);
        if ((what & SCREEN_SAME) && r->verified[i])
            add_same(s, r->verified[i], g);
    }
    for (size_t i = 0; i < set->n_temps; i++)
        add_guards(s, &set->temps[i], set->guard_byte);
}

bool run_screen(run *r, const case_data *data, const buffer_set *set, unsigned what, bool *clean)
{
    kw_error err;
    *clean = false;
    if (!device_can_check(r->device))
        return true;
    screen *s = mem_calloc(1, sizeof *s);
    make_list(r, data, set, what, s);
    bool good = device_check_all(r->device, s->checks, s->n, &err) == KW_OK ||
                run_device_failed(r, &err, "looking at the results");
    *clean = good;
    for (size_t i = 0; i < s->n && *clean; i++)
        *clean = !s->checks[i].doubt;
    for (size_t i = 0; i < s->n && *clean; i++)
        r->record->worst_error = fmax(r->record->worst_error, s->checks[i].worst);
    free(s);
    return good;
}
