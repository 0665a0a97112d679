#include "tuner/results_scan.h"

#include "base/mem.h"
#include "tuner/results_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_TEXTS (STORE_COLUMNS + 2)
#define MOST_KEYS 64     /* of an object */
#define MOST_EXTRAS 16   /* members that are not in the table */
#define MOST_DIGITS 15   /* a mantissa of so many is exact as a double, */
#define MOST_FRACTION 22 /* and so is this power of ten: their quotient is rounded right (Clinger, PLDI 1990) */
#define LONGEST_NUMBER 40

typedef struct span {
    const char *text;
    size_t length;
} span;

typedef struct cursor {
    const char *p, *end;
    char *line;
    size_t stops[MOST_TEXTS]; /* where texts end: a NUL is put there at last */
    size_t n_stops;
    scan_room *room;
} cursor;

void scan_room_clear(scan_room *r)
{
    free(r->samples);
    strb_clear(&r->extra);
    memset(r, 0, sizeof *r);
}

static bool take(cursor *c, const char *text, size_t n)
{
    if ((size_t)(c->end - c->p) < n || memcmp(c->p, text, n) != 0)
        return false;
    c->p += n;
    return true;
}

static bool take_char(cursor *c, char x)
{
    if (c->p >= c->end || *c->p != x)
        return false;
    c->p++;
    return true;
}

/* ---- values ---- */

/* A string without escapes. The lines are valid UTF-8. */
static bool plain_string(cursor *c, span *out)
{
    if (!take_char(c, '"'))
        return false;
    const char *from = c->p;
    while (c->p < c->end && *c->p != '"' && *c->p != '\\' && (unsigned char)*c->p >= 0x20)
        c->p++;
    *out = (span){from, (size_t)(c->p - from)};
    return take_char(c, '"');
}

static bool is_digit(const cursor *c)
{
    return c->p < c->end && *c->p >= '0' && *c->p <= '9';
}

/* A whole number that is written in one way only. */
static bool plain_integer(cursor *c, int64_t *out)
{
    const bool negative = take_char(c, '-');
    const char *from = c->p;
    int64_t x = 0;
    for (; is_digit(c) && c->p - from <= MOST_DIGITS; c->p++)
        x = 10 * x + (*c->p - '0');
    const size_t n = (size_t)(c->p - from);
    *out = negative ? -x : x;
    return n > 0 && n <= MOST_DIGITS && (*from != '0' || (n == 1 && !negative)) &&
           !(c->p < c->end && (*c->p == '.' || *c->p == 'e' || *c->p == 'E'));
}

static double power_of_ten(int n)
{
    static const double powers[MOST_FRACTION + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                     1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                                     1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    return powers[n];
}

static bool long_number(const char *from, const char *to, double *out)
{
    char copy[LONGEST_NUMBER + 1];
    const size_t n = (size_t)(to - from);
    if (n > LONGEST_NUMBER)
        return false;
    memcpy(copy, from, n);
    copy[n] = '\0';
    *out = strtod(copy, NULL);
    return isfinite(*out);
}

static int count_digits(cursor *c, int64_t *x)
{
    int n = 0;
    for (; is_digit(c); c->p++, n++)
        if (n <= MOST_DIGITS)
            *x = 10 * *x + (*c->p - '0');
    return n;
}

static bool plain_number(cursor *c, double *out)
{
    const char *from = c->p;
    int64_t x = 0;
    int fraction = 0;
    const bool negative = take_char(c, '-'), zero = c->p < c->end && *c->p == '0';
    const int whole = count_digits(c, &x);
    if (whole == 0 || (zero && whole > 1) || whole > MOST_DIGITS)
        return false;
    if (take_char(c, '.')) {
        fraction = count_digits(c, &x);
        if (fraction == 0)
            return false;
    }
    if (c->p < c->end && (*c->p == 'e' || *c->p == 'E')) {
        c->p++;
        if (!take_char(c, '-'))
            (void)take_char(c, '+');
        int64_t unused = 0;
        return count_digits(c, &unused) > 0 && long_number(from, c->p, out);
    }
    if (whole + fraction > MOST_DIGITS)
        return long_number(from, c->p, out);
    *out = (double)x / power_of_ten(fraction);
    if (negative)
        *out = -*out;
    return true;
}

/* What is printed as it is read. */
static bool plain_value(cursor *c)
{
    int64_t number;
    span text;
    if (c->p < c->end && *c->p == '"')
        return plain_string(c, &text);
    return take(c, "true", 4) || take(c, "false", 5) || take(c, "null", 4) || plain_integer(c, &number);
}

static bool is_among(const span *keys, size_t n, const span *key)
{
    for (size_t i = 0; i < n; i++)
        if (keys[i].length == key->length && memcmp(keys[i].text, key->text, key->length) == 0)
            return true;
    return false;
}

static bool plain_object(cursor *c, span *out)
{
    span keys[MOST_KEYS];
    const char *from = c->p;
    size_t n = 0;
    if (!take_char(c, '{'))
        return false;
    bool more = !take_char(c, '}');
    while (more) {
        if (n == MOST_KEYS || !plain_string(c, &keys[n]) || is_among(keys, n, &keys[n]) || !take_char(c, ':') ||
            !plain_value(c))
            return false;
        n++;
        more = take_char(c, ',');
        if (!more && !take_char(c, '}'))
            return false;
    }
    *out = (span){from, (size_t)(c->p - from)};
    return true;
}

static bool samples(cursor *c, measurement *m)
{
    scan_room *r = c->room;
    size_t n = 0;
    if (!take_char(c, '['))
        return false;
    do {
        r->samples = mem_grow(r->samples, &r->capacity, n + 1, sizeof *r->samples);
        if (!plain_number(c, &r->samples[n]) || !(r->samples[n] > 0))
            return false;
        n++;
    } while (take_char(c, ','));
    m->samples_ns = r->samples;
    m->n_samples = n;
    return take_char(c, ']');
}

/* ---- members ---- */

/* The text becomes one of C's when everything else is read. */
static char *keep(cursor *c, const span *s)
{
    const size_t at = (size_t)(s->text - c->line);
    c->stops[c->n_stops++] = at + s->length;
    return c->line + at;
}

static bool short_name(const span *s, char out[32])
{
    if (s->length > 31)
        return false;
    memcpy(out, s->text, s->length);
    out[s->length] = '\0';
    return true;
}

static bool name_of(cursor *c, store_kind kind, measurement *m)
{
    span text;
    char name[32];
    if (!plain_string(c, &text) || !short_name(&text, name))
        return false;
    return kind == STORE_OUTCOME ? outcome_from_name(name, &m->outcome)
           : kind == STORE_STAGE ? stage_from_name(name, &m->stage)
                                 : verified_from_name(name, &m->verified);
}

static bool member(cursor *c, const store_column *column, measurement *m)
{
    void *field = (char *)m + column->offset;
    int64_t number = 0;
    span text;
    switch (column->kind) {
    case STORE_TEXT:
    case STORE_JSON:
        if (!(column->kind == STORE_TEXT ? plain_string(c, &text) : plain_object(c, &text)))
            return false;
        *(char **)field = keep(c, &text);
        return true;
    case STORE_VERSION:
        if (!plain_integer(c, &number) || number < 1 || number > INT32_MAX)
            return false;
        *(int *)field = (int)number;
        return true;
    case STORE_INT:
        return plain_integer(c, field);
    case STORE_REAL:
        *(double *)field = INFINITY;
        return take(c, "null", 4) || plain_number(c, field);
    case STORE_COUNT:
        if (!plain_integer(c, &number) || number < 1)
            return false;
        *(size_t *)field = (size_t)number;
        return true;
    case STORE_POSITIVE:
    case STORE_TIME:
        return plain_number(c, field) && *(double *)field > 0;
    case STORE_SAMPLES:
        return samples(c, m);
    case STORE_OUTCOME:
    case STORE_STAGE:
    case STORE_VERIFIED:
        return name_of(c, column->kind, m);
    }
    return false;
}

/* The first column from `from` on with this name; STORE_COLUMNS if there is none. */
static int column_from(int from, const span *key)
{
    while (from < STORE_COLUMNS && (strncmp(store_columns[from].name, key->text, key->length) != 0 ||
                                    store_columns[from].name[key->length] != '\0'))
        from++;
    return from;
}

/* Members behind the table's, up to the end of the object. */
static bool extras(cursor *c, const char *from, span key, measurement *m)
{
    span keys[MOST_EXTRAS];
    size_t n = 0;
    for (;;) {
        if (n == MOST_EXTRAS || is_among(keys, n, &key) || column_from(0, &key) < STORE_COLUMNS || !plain_value(c))
            return false;
        keys[n++] = key;
        if (!take_char(c, ','))
            break;
        if (!plain_string(c, &key) || !take_char(c, ':'))
            return false;
    }
    strb_reset(&c->room->extra);
    strb_add_char(&c->room->extra, '{');
    strb_add_n(&c->room->extra, from, (size_t)(c->p - from));
    strb_add_char(&c->room->extra, '}');
    m->extra = c->room->extra.data;
    return true;
}

static bool members(cursor *c, bool *seen, measurement *m)
{
    int column = 0;
    do {
        const char *from = c->p;
        span key;
        if (!plain_string(c, &key) || !take_char(c, ':'))
            return false;
        column = column_from(column, &key);
        if (column == STORE_COLUMNS)
            return extras(c, from, key, m);
        if (!member(c, &store_columns[column], m))
            return false;
        seen[column++] = true;
    } while (take_char(c, ','));
    return true;
}

bool results_row_scan(char *line, size_t length, scan_room *room, measurement *m)
{
    static const char begin[] = "{\"measurement\":{";
    bool seen[STORE_COLUMNS] = {false};
    cursor c = {.p = line, .end = line + length, .line = line, .room = room};
    memset(m, 0, sizeof *m);
    m->registers = m->spill_bytes = m->local_bytes = -1;
    if (!take(&c, begin, sizeof begin - 1) || !members(&c, seen, m) || !take(&c, "}}", 2) || c.p != c.end)
        return false;
    char before[MOST_TEXTS];
    for (size_t i = 0; i < c.n_stops; i++) {
        before[i] = line[c.stops[i]];
        line[c.stops[i]] = '\0';
    }
    const bool right = results_row_check(m, seen, "", NULL) == KW_OK;
    for (size_t i = 0; !right && i < c.n_stops; i++)
        line[c.stops[i]] = before[i];
    return right;
}

bool results_of_other_task(const char *line, size_t length, const char *task_name)
{
    static const char *const begins[] = {"{\"measurement\":{\"task\":", "{\"variant\":{\"task\":"};
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++) {
        cursor c = {.p = line, .end = line + length};
        span name;
        if (take(&c, begins[i], strlen(begins[i])))
            return plain_string(&c, &name) && take_char(&c, ',') && line[length - 1] == '}' &&
                   (name.length != strlen(task_name) || memcmp(name.text, task_name, name.length) != 0);
    }
    return false;
}
