/* Which elements are great, which are small, which are zero. */
#include "tuner/inputs_mixed.h"

#include "base/counter_rng.h"

#include <stdbool.h>
#include <string.h>

/* Streams of what is drawn for an index, or a row, rather than for an element; behind those of all elements. */
#define INDEX_STREAM 3000
#define ROW_STREAM 3001

/* Of so many indices along the axis, each of the tensors that meet there is great at one. */
#define SPACING 16

static bool is_drawn(const task_tensor *x)
{
    return x->access != TASK_OUT && strcmp(x->init ? x->init : "", "index") != 0;
}

/* Which dimension of the tensor is the task's dim and nothing else; its rank: none. */
static size_t axis_of(const task_tensor *x, const char *dim)
{
    for (size_t k = x->rank; k-- > 0;)
        if (strcmp(expr_text(x->shape[k]), dim) == 0)
            return k;
    return x->rank;
}

/* How good a dim is as the one where tensors meet; 0: no input has it. */
static size_t merit(const task *t, size_t dim)
{
    const char *name = t->dims[dim].name;
    size_t inputs = 0, innermost = 0;
    bool in_output = false;
    for (size_t i = 0; i < t->n_tensors; i++) {
        const task_tensor *x = &t->tensors[i];
        const size_t axis = axis_of(x, name);
        if (axis == x->rank)
            continue;
        in_output = in_output || x->access != TASK_IN;
        if (is_drawn(x)) {
            inputs++;
            innermost += axis + 1 == x->rank;
        }
    }
    if (inputs == 0)
        return 0;
    const size_t more = TASK_MAX_TENSORS + 1; /* than any of the counts can be */
    return (((size_t)(inputs > 1 && !in_output) * more + inputs) * 2 + !in_output) * more + innermost;
}

mixed_rule mixed_rule_of(const task *t, size_t tensor, const tensor_layout *l, uint64_t seed)
{
    const task_tensor *x = &t->tensors[tensor];
    mixed_rule m = {.layout = l, .seed = seed, .stream = tensor, .rank = x->rank, .axis = x->rank};
    size_t best = 0, most = 0;
    for (size_t d = 0; d < t->n_dims; d++) {
        const size_t is = merit(t, d);
        if (is > most) {
            best = d;
            most = is;
        }
    }
    for (size_t i = 0; most > 0 && i < t->n_tensors; i++) {
        if (!is_drawn(&t->tensors[i]) || axis_of(&t->tensors[i], t->dims[best].name) == t->tensors[i].rank)
            continue;
        m.ordinal = i < tensor ? m.meeting + 1 : m.ordinal;
        m.meeting++;
    }
    if (most > 0) {
        m.axis = axis_of(x, t->dims[best].name);
    } else if (x->rank > 0) { /* shapes are formulas: every tensor for itself, along its rows */
        m.meeting = 1;
        m.axis = x->rank - 1;
    }
    m.extent = m.axis < m.rank ? l->shape[m.axis] : 0;
    if (m.extent > 0)
        m.first = (int64_t)(counter_rng_u64(seed, INDEX_STREAM, UINT64_MAX - 1) % (uint64_t)m.extent);
    return m;
}

/* Which of the tensors that meet is great at this index of the axis; `meeting` or more: none. */
static size_t great_one(const mixed_rule *m, int64_t index)
{
    const int64_t steps = index >= m->first ? index - m->first : index - m->first + m->extent;
    if (m->extent >= 2 * (int64_t)m->meeting && steps < (int64_t)m->meeting)
        return (size_t)steps;
    const size_t among = m->meeting > SPACING / 2 ? 2 * m->meeting : SPACING;
    return (size_t)(counter_rng_u64(m->seed, INDEX_STREAM, (uint64_t)index) % among);
}

mixed_size mixed_size_at(const mixed_rule *m, uint64_t flat)
{
    int64_t index[TASK_MAX_RANK] = {0};
    uint64_t logical;
    if (!layout_logical(m->layout, flat, &logical))
        return MIXED_ZERO;
    layout_index(m->layout, logical, index);
    const uint64_t bits = counter_rng_u64(m->seed, m->stream + INDEX_STREAM + 2, flat);
    if (m->axis == m->rank) /* added to what the others make: mostly nothing */
        return bits & 3 ? MIXED_ZERO : MIXED_SMALL;
    const mixed_size otherwise = bits & 1 ? MIXED_SMALL : MIXED_ZERO;
    const size_t great = great_one(m, index[m->axis]);
    if (great >= m->meeting)
        return otherwise;
    if (great != m->ordinal)
        return MIXED_ZERO;
    /* A row has great elements of one sign, or none. */
    uint64_t row = 0;
    for (size_t k = 0; k < m->rank; k++)
        row = k == m->axis ? row : row * (uint64_t)m->layout->shape[k] + (uint64_t)index[k];
    const uint64_t kind = counter_rng_u64(m->seed, m->stream + ROW_STREAM + TASK_MAX_TENSORS + 2, row);
    if ((m->rank > 1 && (kind >> 8 & 3) == 0) || (bits >> 1 & 3) == 0)
        return otherwise;
    return kind & 1 ? MIXED_GREAT : MIXED_GREAT_NEGATIVE;
}
