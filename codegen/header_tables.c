/* The tables of a header: known devices, rows of the exact layer, and a hash index over the rows.
 *
 * Rows are sorted by device and shape, so that a new row changes one line of the file and a few numbers of the index.
 * The index is open addressing with linear probing, at most half full; an entry is a row's number + 1, 0 is empty. */
/* First: its parameters must not be taken for names of ours. */
#include "codegen/runtime/select.h"

#include "codegen/header_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- order ---- */

static int compare_rows(const void *a, const void *b, void *cookie)
{
    const header_row *x = *(const header_row *const *)a, *y = *(const header_row *const *)b;
    const task *t = cookie;
    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    for (size_t i = 0; i < t->n_dims; i++)
        if (t->dims[i].is_key && x->dims[i] != y->dims[i])
            return x->dims[i] < y->dims[i] ? -1 : 1;
    return 0;
}

static void print_row(const writer *w, const header_row *row, strb *out)
{
    const task *t = w->m->task;
    const char *comma = "";
    for (size_t i = 0; i < t->n_dims; i++) {
        if (!t->dims[i].is_key)
            continue;
        strb_printf(out, "%s%s=%" PRId64, comma, t->dims[i].name, row->dims[i]);
        comma = ",";
    }
    strb_printf(out, " on %s", w->m->devices[row->device].key);
}

static kw_code row_error(const writer *w, const header_row *row, kw_error *err, const char *what, const char *why)
{
    strb text = STRB_INIT;
    print_row(w, row, &text);
    kw_code code = kw_error_set(err, KW_BAD_INPUT, "row %s: %s%s", strb_text(&text), what, why);
    strb_clear(&text);
    return code;
}

/* The row as a shape; dims outside the key that it leaves at 0 take their defaults. */
static kw_code shape_of_row(const writer *w, const header_row *row, task_shape *shape, kw_error *err)
{
    const task *t = w->m->task;
    kw_code code = KW_OK;
    memset(shape, 0, sizeof *shape);
    memcpy(shape->dims, row->dims, sizeof shape->dims);
    if (!w->has_other_dims)
        return KW_OK;
    value *env = mem_calloc((size_t)expr_scope_size(t->scope), sizeof *env);
    for (size_t i = 0; i < t->n_dims && code == KW_OK; i++) {
        task_fill(t, &w->m->types, shape, NULL, env);
        if (t->dims[i].fallback && shape->dims[i] == 0)
            code = expr_eval_int(t->dims[i].fallback, env, &shape->dims[i], err);
    }
    free(env);
    return code;
}

static kw_code check_row(const writer *w, const header_row *row, kw_error *err)
{
    const task *t = w->m->task;
    task_shape shape;
    kw_error why = {0};
    if (row->device < 0 || (size_t)row->device >= w->m->n_devices)
        return kw_error_set(err, KW_BAD_INPUT, "a row has device %d of %zu", row->device, w->m->n_devices);
    if (row->variant < 0 || (size_t)row->variant >= w->m->n_variants)
        return row_error(w, row, err, "its variant is not in the model", "");
    for (size_t i = 0; i < t->n_dims; i++)
        if (t->dims[i].is_key && row->dims[i] < 0)
            return row_error(w, row, err, "a dim is negative", "");
    if (shape_of_row(w, row, &shape, &why) != KW_OK)
        return row_error(w, row, err, "a default cannot be computed: ", why.message);
    if (!variant_fits(w->m->variants[row->variant], &shape, NULL, &why))
        return row_error(w, row, err, "its variant cannot run it: ", why.message);
    return KW_OK;
}

kw_code header_sort_rows(writer *w, kw_error *err)
{
    const size_t n = w->m->n_rows;
    w->rows = mem_calloc(n + 1, sizeof(void *));
    for (size_t i = 0; i < n; i++) {
        kw_code code = check_row(w, &w->m->rows[i], err);
        if (code != KW_OK)
            return code;
        w->rows[i] = &w->m->rows[i];
    }
    task t = *w->m->task;
    qsort_r(w->rows, n, sizeof(void *), compare_rows, &t);
    for (size_t i = 1; i < n; i++)
        if (compare_rows(&w->rows[i - 1], &w->rows[i], &t) == 0)
            return row_error(w, w->rows[i], err, "it is there twice", "");
    return KW_OK;
}

/* ---- hash: the same arithmetic as in the emitted function that put_lookup writes ---- */

/* An odd factor for each dim, from a fixed sequence (splitmix64). */
static uint64_t dim_factor(size_t i)
{
    uint64_t z = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (z ^ (z >> 31)) | 1;
}

static kw_device device_of_key(const char *key)
{
    kw_device device = {0};
    (void)kw_device_from_key(&device, key, NULL);
    return device;
}

static size_t row_slot(const writer *w, const header_row *row, uint64_t key_hash, unsigned bits)
{
    uint64_t h = key_hash;
    for (size_t i = 0; i < w->m->task->n_dims; i++)
        if (w->m->task->dims[i].is_key)
            h += (uint64_t)row->dims[i] * dim_factor(i);
    return kw_hash_slot(h, bits);
}

static unsigned index_bits(size_t n_rows)
{
    unsigned bits = 1;
    while (((size_t)1 << bits) < 2 * n_rows)
        bits++;
    return bits;
}

static void put_index(writer *w, const uint64_t *key_hashes)
{
    const unsigned bits = index_bits(w->m->n_rows);
    const size_t size = (size_t)1 << bits;
    uint32_t *index = mem_calloc(size, sizeof *index);
    for (size_t i = 0; i < w->m->n_rows; i++) {
        size_t slot = row_slot(w, w->rows[i], key_hashes[w->rows[i]->device], bits);
        while (index[slot])
            slot = (slot + 1) & (size - 1);
        index[slot] = (uint32_t)i + 1;
    }
    header_put_f(w, &w->out,
                 "/* Rows by the hash of device and shape: number + 1; 0 is empty. */\n"
                 "#define ^_INDEX_BITS %u\nstatic const %s @_index[] = {",
                 bits, w->m->n_rows < 65535 ? "uint16_t" : "uint32_t");
    for (size_t i = 0; i < size; i++)
        strb_printf(&w->out, "%s%" PRIu32 ",", i % 16 == 0 ? "\n" : "", index[i]);
    strb_add(&w->out, "\n};\n\n");
    free(index);
}

/* ---- devices ---- */

/* A quarter full at most, so that a search seldom looks at a second entry. */
static void put_device_index(writer *w, const uint64_t *key_hashes)
{
    const unsigned bits = index_bits(2 * w->m->n_devices);
    const size_t size = (size_t)1 << bits;
    uint16_t *index = mem_calloc(size, sizeof *index);
    for (size_t i = 0; i < w->m->n_devices; i++) {
        size_t slot = (size_t)(key_hashes[i] >> (64u - bits));
        while (index[slot])
            slot = (slot + 1) & (size - 1);
        index[slot] = (uint16_t)(i + 1);
    }
    header_put_f(w, &w->out, "#define ^_DEVICE_BITS %u\nstatic const uint16_t @_device_index[] = {", bits);
    for (size_t i = 0; i < size; i++)
        strb_printf(&w->out, "%s%u,", i % 16 == 0 ? "\n" : "", (unsigned)index[i]);
    strb_add(&w->out, "\n};\n\n");
    free(index);
}

static void put_devices(writer *w, uint64_t *key_hashes)
{
    header_put(w, &w->out, "static const kw_known_device @_devices[] = {\n");
    int tree = 0;
    for (size_t i = 0; i < w->m->n_devices; i++) {
        const kw_device d = device_of_key(w->m->devices[i].key);
        key_hashes[i] = d.key_hash;
        strb_printf(&w->out,
                    "    {UINT64_C(0x%016" PRIx64 "), UINT64_C(0x%016" PRIx64 "), UINT64_C(0x%016" PRIx64 "), %" PRId64
                    ", %d, %d}, /* %zu: ",
                    d.key_hash, d.arch_hash, d.vendor_hash, d.units, w->m->devices[i].default_variant,
                    w->m->devices[i].tree ? tree++ : -1, i);
        header_put_comment(&w->out, w->m->devices[i].key);
        strb_add(&w->out, " */\n");
    }
    if (w->m->n_devices == 0)
        strb_add(&w->out, "    {0, 0, 0, 0, -1, -1},\n");
    strb_add(&w->out, "};\n\n");
    put_device_index(w, key_hashes);
}

/* ---- rows ---- */

/* The narrowest type that holds every dim of the rows: a small table stays in the cache. */
static const char *dim_type(const writer *w)
{
    int64_t max = 0;
    for (size_t i = 0; i < w->m->n_rows; i++)
        for (size_t k = 0; k < w->m->task->n_dims; k++)
            if (w->m->task->dims[k].is_key && w->rows[i]->dims[k] > max)
                max = w->rows[i]->dims[k];
    return max <= UINT16_MAX ? "uint16_t" : max <= INT32_MAX ? "int32_t" : "int64_t";
}

static void put_row(writer *w, const header_row *row)
{
    strb_add(&w->out, "{");
    for (size_t i = 0; i < w->m->task->n_dims; i++)
        if (w->m->task->dims[i].is_key)
            strb_printf(&w->out, "%" PRId64 ",", row->dims[i]);
    strb_printf(&w->out, "%d,%d,", row->device, row->variant);
    if (row->expected_regret == (float)(int)row->expected_regret)
        strb_printf(&w->out, "%d},\n", (int)row->expected_regret);
    else
        strb_printf(&w->out, "%.6gf},\n", (double)row->expected_regret);
}

static void put_rows(writer *w)
{
    const task *t = w->m->task;
    const char *type = dim_type(w);
    header_put(w, &w->out,
               "/* The exact layer: what runs this very shape on this device. */\ntypedef struct @_row {\n");
    for (size_t i = 0; i < t->n_dims; i++)
        if (t->dims[i].is_key)
            strb_printf(&w->out, "    %s %s;\n", type, w->dim_names[i]);
    header_put(w, &w->out,
               "    uint16_t of_device, runs;\n    float regret;\n} @_row;\n\nstatic const @_row @_rows[] = {\n");
    for (size_t i = 0; i < w->m->n_rows; i++)
        put_row(w, w->rows[i]);
    if (w->m->n_rows == 0) {
        strb_add(&w->out, "{");
        for (size_t i = 0; i < t->n_dims; i++)
            strb_add(&w->out, t->dims[i].is_key ? "0," : "");
        strb_add(&w->out, "0,0,0},\n");
    }
    strb_add(&w->out, "};\n\n");
}

static void put_lookup(writer *w)
{
    const task *t = w->m->task;
    strb *out = &w->out;
    header_put(w, out,
               "/* The row of a shape on the known device of this key; NULL if there is none. */\n"
               "static inline const @_row *@_find(uint64_t key_hash, const @_shape *s)\n{\n    uint64_t h = "
               "key_hash;\n    size_t slot;\n");
    for (size_t i = 0; i < t->n_dims; i++)
        if (t->dims[i].is_key)
            strb_printf(out, "    h += (uint64_t)s->%s * UINT64_C(0x%016" PRIx64 ");\n", w->dim_names[i],
                        dim_factor(i));
    header_put(w, out,
               "    slot = kw_hash_slot(h, ^_INDEX_BITS);\n    while (@_index[slot]) {\n"
               "        const @_row *r = &@_rows[@_index[slot] - 1];\n        if (");
    for (size_t i = 0; i < t->n_dims; i++)
        if (t->dims[i].is_key)
            strb_printf(out, "r->%s == s->%s && ", w->dim_names[i], w->dim_names[i]);
    header_put(w, out,
               "@_devices[r->of_device].key_hash == key_hash)\n            return r;\n"
               "        slot = (slot + 1) & (((size_t)1 << ^_INDEX_BITS) - 1);\n    }\n    return NULL;\n}\n\n");
}

void header_put_tables(writer *w)
{
    uint64_t *key_hashes = mem_calloc(w->m->n_devices + 1, sizeof *key_hashes);
    put_devices(w, key_hashes);
    put_rows(w);
    put_index(w, key_hashes);
    put_lookup(w);
    free(key_hashes);
}
