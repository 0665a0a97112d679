/* Shapes at the numbers of a candidate's text.
 *
 * What is right for almost every shape and wrong for some asks for those by a number: `if (N == 48)`, `C % 192`, a step
 * of 80 whose last round is lost, a table of 8,192 entries. The text says which, so they need not be guessed. */
#include "tuner/cases_internal.h"

#include "tuner/inputs.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_NUMBER 3
#define MOST_NUMBER (INT64_C(1) << 26)
#define NUMBERS 10
#define SEARCHED 256         /* numbers of a text that are looked at */
#define SHORT_DIM 16         /* of the other dims, where all of them would be too much work */
#define FEW_LARGE 5          /* shapes that are not small */
#define LARGE_OPERATIONS 1e8 /* of such a shape */
#define LARGE_ELEMENTS (1 << 23)
#define MANY_ELEMENTS 16384
#define BEYOND 1024 /* a number from which shapes half as large again are tried */

/* ---- the text ---- */

static bool in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.';
}

/* Behind a comment or a text in quotes that begins at p; p itself where none does. */
static const char *skip_aside(const char *p)
{
    if (p[0] == '/' && p[1] == '/')
        return p + strcspn(p, "\n");
    if (p[0] == '/' && p[1] == '*') {
        const char *end = strstr(p + 2, "*/");
        return end ? end + 2 : p + strlen(p);
    }
    if (*p != '"')
        return p;
    for (p++; *p && *p != '"'; p++)
        p += p[0] == '\\' && p[1];
    return *p ? p + 1 : p;
}

static bool is_suffix(const char *p, const char *end)
{
    for (; p < end; p++)
        if (!strchr("uUlL", *p))
            return false;
    return true;
}

/* The whole number that the word from p to end is; 0: none. */
static int64_t number_of(const char *p, const char *end)
{
    char *after = NULL;
    const unsigned long long x = strtoull(p, &after, 0);
    return isdigit((unsigned char)*p) && after <= end && is_suffix(after, end) && x <= MOST_NUMBER ? (int64_t)x : 0;
}

/* Does an operator stand before or behind that makes the number a bound, a divisor, a mask, or a step? */
static bool decides(const char *text, const char *p, const char *end)
{
    while (p > text && isspace((unsigned char)p[-1]))
        p--;
    while (isspace((unsigned char)*end))
        end++;
    const bool behind_comment = p > text + 1 && p[-1] == '/' && p[-2] == '*';
    const bool at_comment = end[0] == '/' && (end[1] == '/' || end[1] == '*');
    return (p > text && !behind_comment && strchr("<>=%/&!", p[-1])) || (*end && !at_comment && strchr("<>%/&=", *end));
}

static void put_number(int64_t x, int64_t *out, size_t *n, size_t most)
{
    if (x < LEAST_NUMBER || x > MOST_NUMBER || *n >= most)
        return;
    for (size_t i = 0; i < *n; i++)
        if (out[i] == x)
            return;
    out[(*n)++] = x;
}

/* Of `1 << 20` the 1 is at p, the word behind it at *end; the value, and *end behind it all. */
static int64_t shifted(int64_t x, const char **end)
{
    const char *q = *end + strspn(*end, " \t");
    if (x == 0 || q[0] != '<' || q[1] != '<')
        return x;
    q += 2 + strspn(q + 2, " \t");
    const char *stop = q;
    while (in_word(*stop))
        stop++;
    const int64_t by = number_of(q, stop);
    if (by < 1 || by > 30)
        return x;
    *end = stop;
    return x << by;
}

/* Of `% 64 == 3` the 64 ends at p: 3, or 0 where it goes on in another way. */
static int64_t residue_at(const char *p)
{
    p += strspn(p, " \t)");
    if (p[0] != '=' || p[1] != '=')
        return 0;
    p += 2 + strspn(p + 2, " \t(");
    const char *end = p;
    while (in_word(*end))
        end++;
    return number_of(p, end);
}

/* Numbers that decide, or all others. A mask 2^k - 1 speaks of 2^k; a remainder of a number beyond it. */
static void numbers_of_kind(const char *text, bool deciding, int64_t *out, size_t *n, size_t most)
{
    for (const char *p = text; *p;) {
        const char *aside = skip_aside(p);
        if (aside != p) {
            p = aside;
            continue;
        }
        if (!in_word(*p)) {
            p++;
            continue;
        }
        const char *end = p;
        while (in_word(*end))
            end++;
        const int64_t x = shifted(number_of(p, end), &end);
        if (x > 0 && decides(text, p, end) == deciding) {
            const int64_t divisor = x > 7 && (x & (x + 1)) == 0 ? x + 1 : x, residue = residue_at(end);
            put_number(divisor, out, n, most);
            if (residue > 0 && residue < divisor)
                put_number(divisor + residue, out, n, most);
        }
        p = end;
    }
}

size_t cases_numbers_in(const char *text, int64_t *out, size_t most)
{
    size_t n = 0;
    numbers_of_kind(text, true, out, &n, most);
    numbers_of_kind(text, false, out, &n, most);
    return n;
}

/* What the variant's own expressions say of its launches, in the words of C: a size may be asked for there as well. */
static void print_launches(const variant *v, strb *out)
{
    for (size_t i = 0; i < v->n_launches; i++) {
        const template_launch *l = &v->launches[i];
        const expr *const all[] = {l->when,      l->local[0],  l->local[1],  l->local[2],  l->groups[0],
                                   l->groups[1], l->groups[2], l->global[0], l->global[1], l->global[2]};
        for (size_t k = 0; k < sizeof all / sizeof *all; k++)
            if (all[k])
                strb_printf(out, "\n%s ;", expr_text(all[k]));
    }
    for (size_t i = 0; i < v->n_temps; i++)
        strb_printf(out, "\n%s ;", expr_text(v->temps[i].elements));
    for (size_t i = 0; i + 1 < out->length; i++) /* // is a division here, no comment */
        if (out->data[i] == '/' && out->data[i + 1] == '/')
            out->data[i + 1] = ' ';
}

/* ---- shapes ---- */

static bool has_room(size_t n)
{
    return n < JOB_MAX_CASES - CASES_TARGETS - CASES_RANGES;
}

/* Adds the shape unless it is there or too much work; `large` counts those that are not small. */
static bool add_shape(const case_source *s, const variant *v, const task_shape *shape, job_case *cases, size_t *n,
                      size_t *large)
{
    double operations, elements;
    const bool small = cases_is_small(s, shape);
    cases_cost(s, shape, &operations, &elements);
    if (!has_room(*n) || !variant_fits(v, shape, s->limits, NULL) || cases_seen(s, cases, *n, shape))
        return false;
    if (!small && (*large >= FEW_LARGE || operations > LARGE_OPERATIONS || elements > LARGE_ELEMENTS))
        return false;
    /* Any term that is missing is to show: whole numbers, of long sums those that add up exactly. */
    double scalars[TASK_MAX_SCALARS];
    for (size_t i = 0; i < s->task->n_scalars; i++)
        scalars[i] = s->task->scalars[i].values[0];
    const size_t turn = *n / 2 % (s->task->n_scalars + 1); /* the timed values, then one after the other another one */
    if (turn > 0 && s->task->scalars[turn - 1].n_values > 1)
        scalars[turn - 1] = s->task->scalars[turn - 1].values[1];
    const bool whole = elements > MANY_ELEMENTS && !inputs_only_exact(s->task);
    const distribution d = *n % 2 ? DIST_PEAKS : whole ? DIST_INTEGERS : DIST_NORMAL;
    if (cases_make(s, v, shape, *n, d, scalars, &cases[*n], NULL) != KW_OK)
        return false;
    ++*n;
    *large += !small;
    return true;
}

/* All dims at once where that is small; else one dim after the other, beside short ones. */
static void add_size(const case_source *s, const variant *v, int64_t size, job_case *cases, size_t *n, size_t *large)
{
    task_shape shape;
    cases_cube(s, v, size, &shape);
    if (cases_is_small(s, &shape) && (cases_seen(s, cases, *n, &shape) || add_shape(s, v, &shape, cases, n, large)))
        return;
    for (size_t d = 0; d < s->task->n_dims; d++) {
        bool added = false;
        for (int64_t other = SHORT_DIM; other >= 1 && !added; other /= 4) {
            cases_slab(s, v, d, size, other, &shape);
            added = cases_is_small(s, &shape) && add_shape(s, v, &shape, cases, n, large);
        }
        cases_slab(s, v, d, size, 1, &shape);
        if (!added && !cases_is_small(s, &shape))
            add_shape(s, v, &shape, cases, n, large);
    }
}

/* A number for every dim: the first at `from`, then its neighbours upwards or downwards. Where it is small. */
static void add_mixed(const case_source *s, const variant *v, const int64_t *numbers, size_t n_numbers, size_t from,
                      int step, job_case *cases, size_t *n, size_t *large)
{
    task_shape shape;
    cases_cube(s, v, 1, &shape);
    for (size_t d = 0; d < s->task->n_dims; d++) {
        const size_t at = step > 0 ? from + d : from + n_numbers * s->task->n_dims - d;
        const task_dim *dim = &s->task->dims[d];
        const int64_t size = numbers[at % n_numbers];
        if (v->fixed_dims[d] < 0 && size >= dim->min && size <= dim->max)
            shape.dims[d] = size;
    }
    cases_fill_defaults(s, &shape);
    if (cases_is_small(s, &shape))
        add_shape(s, v, &shape, cases, n, large);
}

static int by_size(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

void cases_add_numbers(const case_source *s, const variant *v, job_case *cases, size_t *n)
{
    int64_t numbers[SEARCHED];
    size_t large = 0;
    strb text = STRB_INIT;
    print_launches(v, &text); /* few, and first: a text may have any number of them */
    strb_add(&text, v->source);
    const size_t found = cases_numbers_in(strb_text(&text), numbers, SEARCHED),
                 kept = found < NUMBERS ? found : NUMBERS;
    strb_clear(&text);
    qsort(numbers, kept, sizeof *numbers, by_size);
    for (size_t i = 0; i < kept; i++)
        add_size(s, v, numbers[i], cases, n, &large);
    for (size_t i = 0; i < 2 * kept && kept > 1; i++)
        add_mixed(s, v, numbers, kept, i / 2, i % 2 ? -1 : 1, cases, n, &large);
    if (kept > 0 && numbers[kept - 1] >= BEYOND) /* what begins there is to have some length */
        add_size(s, v, ((numbers[kept - 1] + numbers[kept - 1] / 2) | 1) + 1, cases, n, &large);
    for (size_t i = kept; i-- > 0;) /* the largest first: neighbours of small ones are among the others */
        add_size(s, v, numbers[i] + 1, cases, n, &large);
}
