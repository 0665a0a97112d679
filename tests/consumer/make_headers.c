/* Writes the headers that the consumer programs include: make_headers FOLDER DEVICE_KEY. The variants are chosen by
 * hand so that each feature of a header occurs; nothing is measured. Run in the source tree's root. */
/* First: its parameters must not be taken for names of ours. */
#include "codegen/runtime/select.h"
#include "codegen/runtime/tree.h"

#include "base/counter_rng.h"
#include "base/fs.h"
#include "codegen/features.h"
#include "tests/support_header.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A device that no machine has: wherever this runs, it is another one than that of the programs. */
static const char elsewhere[] = "invented/unit_90/big/132";

/* Default, tile, split K with a temporary and two launches, sizes as constants. */
static void write_gemm(const char *folder, const char *key)
{
    support_model s;
    support_begin(&s, "gemm", NULL, "kw_");
    size_t naive = support_template(&s, "templates/gemm_naive.cl"),
           tiled = support_template(&s, "templates/gemm_tiled.cl");
    int base = support_variant(&s, naive, "LX=16 LY=4", NULL, "verified: general");
    int tile = support_variant(&s, tiled, "TM=32 TN=32 TK=16 RM=4 RN=2 LM=4", NULL, "verified: general");
    int split = support_variant(&s, tiled, "TM=32 TN=32 TK=16 RM=4 RN=2 LM=4 SPLITK=4 VGA=4", NULL, "verified: exact");
    int constant = support_variant(&s, tiled, "TM=32 TN=32 TK=16 RM=4 RN=2 LM=4 SPEC=true", "M=96,N=80,K=64", NULL);
    int here = support_device(&s, key, "test device; 4 rows of 7 samples", tile);
    int other = support_device(&s, elsewhere, "no device; 2 rows", -1);
    support_row(&s, here, "M=64,N=64,K=64", tile, 1.0f);
    support_row(&s, here, "M=96,N=80,K=64", constant, 1.0f);
    support_row(&s, here, "M=17,N=33,K=300", split, 1.0f);
    support_row(&s, here, "M=5,N=7,K=0", tile, 1.03125f);
    support_row(&s, other, "M=64,N=64,K=64", split, 1.0f);
    support_row(&s, other, "M=1000,N=1000,K=1000", tile, 1.0f);
    s.model.default_variant = base;
    support_write(&s, folder, "kw_gemm.h");
    support_end(&s);
}

/* The same task once more: with a prefix of its own, and as a header that clashes with kw_gemm.h. */
static void write_other_gemm(const char *folder)
{
    for (int clash = 0; clash < 2; clash++) {
        support_model s;
        support_begin(&s, "gemm", NULL, clash ? "kw_" : "app_");
        support_variant(&s, support_template(&s, "templates/gemm_naive.cl"), "LX=8 LY=2", NULL, NULL);
        support_write(&s, folder, clash ? "clash_gemm.h" : "app_gemm.h");
        support_end(&s);
    }
}

static void write_plain(const char *folder, const char *task_name, const char *naive, const char *better,
                        const char *settings, const char *key, const char *shape)
{
    support_model s;
    char name[64];
    support_begin(&s, task_name, NULL, "kw_");
    s.model.default_variant = support_variant(&s, support_template(&s, naive), "", NULL, NULL);
    int chosen = support_variant(&s, support_template(&s, better), settings, NULL, NULL);
    support_row(&s, support_device(&s, key, NULL, -1), shape, chosen, 1.0f);
    (void)snprintf(name, sizeof name, "kw_%s.h", task_name);
    support_write(&s, folder, name);
    support_end(&s);
}

/* Kernel text in a file of its own; `other` has different text under the same names. */
static void write_split(const char *folder, const char *name, const char *settings)
{
    support_model s;
    kw_error err = {0};
    strb header = STRB_INIT, sources = STRB_INIT, file = STRB_INIT;
    support_begin(&s, "saxpy", NULL, "split_");
    s.model.default_variant =
        support_variant(&s, support_template(&s, "templates/saxpy_naive.cl"), settings, NULL, NULL);
    s.model.variants = (const variant *const *)s.variants;
    if (header_write_split(&s.model, &header, &sources, &err) != KW_OK)
        exit(1);
    for (int i = 0; i < 2; i++) {
        strb_reset(&file);
        strb_printf(&file, "%s/%s.%s", folder, name, i == 0 ? "h" : "c");
        const strb *text = i == 0 ? &header : &sources;
        if (fs_write(strb_text(&file), text->data, text->length, &err) != KW_OK)
            exit(1);
    }
    strb_clear(&header);
    strb_clear(&sources);
    strb_clear(&file);
    support_end(&s);
}

/* ---- words of the languages as names ---- */

static const char *const words[] = {
    "asm",       "auto",     "bool",     "break",   "case",     "catch",    "char",      "class",     "const",
    "constexpr", "continue", "decltype", "default", "delete",   "do",       "double",    "enum",      "explicit",
    "export",    "extern",   "float",    "friend",  "goto",     "inline",   "int",       "long",      "mutable",
    "namespace", "new",      "noexcept", "nullptr", "operator", "private",  "protected", "public",    "register",
    "restrict",  "return",   "short",    "signed",  "wchar_t",  "static",   "struct",    "switch",    "template",
    "this",      "throw",    "try",      "typedef", "typeid",   "typename", "union",     "unsigned",  "using",
    "virtual",   "void",     "volatile", "while",   "xor",      "compl",    "bitand",    "alignas",   "thread_local",
    "linux",     "unix",     "NULL",     "errno",   "stdin",    "handle",   "shape",     "workspace", "event",
    "text",      "variant",  "plan",     "choice",  "status",   "full",     "leaf",      "tree",      "match"};
enum { N_WORDS = sizeof words / sizeof *words, IN_ONE = 9 };

/* Three dims, three scalars, three tensors with these names. */
static void write_words(const char *folder, size_t number)
{
    const char *const *w = &words[IN_ONE * number];
    strb task_text = STRB_INIT, template_text = STRB_INIT;
    support_model s;
    char name[32];
    (void)snprintf(name, sizeof name, "words%zu", number);
    strb_printf(&task_text,
                "{\"task\": \"%s\", \"dims\": {\"%s\": {\"min\": 1}, \"%s\": {\"min\": 1}, \"%s\": "
                "{\"min\": 1}}, \"types\": {\"T\": [\"f32\"]}, \"scalars\": [",
                name, w[0], w[1], w[2]);
    for (size_t i = 3; i < 6; i++)
        strb_printf(&task_text, "%s{\"name\": \"%s\", \"type\": \"f32\", \"values\": [1]}", i > 3 ? ", " : "", w[i]);
    strb_add(&task_text, "], \"tensors\": [");
    for (size_t i = 6; i < 9; i++)
        strb_printf(&task_text, "%s{\"name\": \"%s\", \"type\": \"T\", \"shape\": [\"%s\"], \"access\": \"%s\"}",
                    i > 6 ? ", " : "", w[i], w[i - 6], i == 8 ? "out" : "in");
    strb_add(&task_text, "]}");
    strb_printf(&template_text,
                "/*kernwright {\"task\": \"%s\", \"language\": \"opencl\", \"params\": {\"WG\": {\"values\": [32], "
                "\"default\": 32}}, \"launches\": [{\"kernel\": \"any\", \"args\": [",
                name);
    for (size_t i = 0; i < IN_ONE; i++)
        strb_printf(&template_text, "%s\"%s\"", i > 0 ? ", " : "", w[i]);
    strb_printf(&template_text,
                "], \"local\": [\"WG\"], \"groups\": [\"ceil_div(%s, WG)\"]}]} */\n"
                "__kernel void any(int a, int b, int c, float d, float e, float f, __global const float *x,\n"
                "__global const float *y, __global float *z)\n{\n}\n",
                w[0]);
    support_begin(&s, strb_text(&task_text), NULL, "kw_");
    support_variant(&s, support_template(&s, strb_text(&template_text)), "", NULL, NULL);
    header_tree tree = {.leaves = (header_leaf[]){{{0, -1, -1, -1}, {1, 0, 0, 0}}}, .n_leaves = 1};
    header_grid grid = {.shift = 8, .leaf = (uint16_t[]){0}};
    for (size_t i = 0; i < TASK_MAX_DIMS; i++)
        grid.n[i] = 1;
    support_device(&s, "v/a/x/10", NULL, -1);
    s.devices[0].tree = &tree;
    if (number % 2 == 1)
        tree.grid = &grid; /* no tree of nodes in the header */
    (void)snprintf(name, sizeof name, "kw_words%zu.h", number);
    support_write(&s, folder, name);
    support_end(&s);
    strb_clear(&task_text);
    strb_clear(&template_text);
}

/* ---- trees ---- */

enum { TREE_LINES = 4000, TREE_NODES = HEADER_TREE_LEAVES - 1 };

/* Dims around powers of two, small ones, multiples of 8, and 0. */
static int64_t draw_dim(uint64_t *counter)
{
    const uint64_t r = counter_rng_u64(11, 1, (*counter)++);
    const int64_t power = INT64_C(1) << (r >> 8) % 14;
    switch (r % 4) {
    case 0:
        return power;
    case 1:
        return power + 1 - (int64_t)((r >> 32) % 3);
    case 2:
        return (int64_t)((r >> 32) % 8192) & ~INT64_C(7);
    default:
        return 1 + (int64_t)((r >> 32) % (uint64_t)power);
    }
}

/* As many nodes as there may be, each with a feature and a value that occurs. */
static void draw_tree(const support_model *s, header_tree *t, uint64_t *counter)
{
    shape_features f;
    features_of_task(s->task, &f);
    *t = (header_tree){.n_nodes = TREE_NODES, .n_leaves = TREE_NODES + 1};
    t->nodes = mem_calloc(t->n_nodes, sizeof *t->nodes);
    t->leaves = mem_calloc(t->n_leaves, sizeof *t->leaves);
    for (size_t i = 0; i < t->n_nodes; i++) {
        const int64_t dims[TASK_MAX_DIMS] = {draw_dim(counter), draw_dim(counter), draw_dim(counter)};
        int32_t values[FEATURES_MAX];
        features_compute(&f, dims, values);
        t->nodes[i].feature = (int)(i % f.n);
        t->nodes[i].at_most = values[i % f.n];
        for (size_t c = 0; c < 2; c++) {
            const size_t child = 2 * i + 1 + c;
            t->nodes[i].next[c] = child < t->n_nodes ? (int)child : ~(int)(child - t->n_nodes);
        }
    }
    for (size_t i = 0; i < t->n_leaves; i++)
        for (size_t k = 0; k < HEADER_TREE_RANKED; k++) {
            t->leaves[i].variants[k] = k == 3 ? -1 : (int)(1 + (i + k) % 3);
            t->leaves[i].expected_regret[k] = 1.0f + 0.001f * (float)(i + 50 * k);
        }
}

enum { GRID_CELLS = 12 }; /* of each dim */

/* A grid that neither begins at 1 nor reaches as far as the shapes do, so that its ends serve what is beyond. */
static void draw_grid(header_tree *t)
{
    const size_t n = GRID_CELLS * GRID_CELLS * GRID_CELLS;
    header_grid *g = t->grid = mem_calloc(1, sizeof *g);
    *t = (header_tree){.n_leaves = 200, .leaves = mem_calloc(200, sizeof *t->leaves), .grid = g};
    *g = (header_grid){.shift = 7, .leaf = mem_calloc(n, sizeof *g->leaf)};
    for (size_t i = 0; i < 3; i++) {
        g->first[i] = kw_grid_cell((int32_t)(i + 2) << 8, g->shift, 0, INT32_MAX);
        g->n[i] = GRID_CELLS;
    }
    for (size_t i = 0; i < n; i++)
        g->leaf[i] = (uint16_t)(counter_rng_u64(11, 2, i) % t->n_leaves);
    for (size_t i = 0; i < t->n_leaves; i++)
        for (size_t k = 0; k < HEADER_TREE_RANKED; k++) {
            t->leaves[i].variants[k] = k == 3 ? -1 : (int)(1 + (i + k) % 3);
            t->leaves[i].expected_regret[k] = 1.0f + 0.001f * (float)(i + 250 * k);
        }
}

/* Cells by their bounds in logarithms, not by the function that the header uses. */
static size_t leaf_of_grid(const header_grid *g, const int64_t *dims)
{
    const int32_t width = 1 << g->shift;
    size_t at = 0;
    for (size_t i = 0; i < 3; i++) {
        int32_t cell = 0;
        while (cell + 1 < g->n[i] && kw_log2_256(dims[i]) > ((int32_t)(i + 2) << 8) + cell * width)
            cell++;
        at = at * (size_t)g->n[i] + (size_t)cell;
    }
    return g->leaf[at];
}

/* What the tree says, by walking it: the first of the leaf that takes the shape. */
static void answer_of_tree(const support_model *s, const header_tree *t, const task_shape *shape, int *variant,
                           int *regret)
{
    shape_features f;
    int32_t values[FEATURES_MAX];
    int at = t->n_nodes > 0 ? 0 : ~0;
    *variant = -1;
    for (size_t i = 0; i < s->task->n_dims; i++)
        if (shape->dims[i] < t->low[i] || shape->dims[i] > t->high[i])
            return;
    features_of_task(s->task, &f);
    features_compute(&f, shape->dims, values);
    while (at >= 0 && !t->grid)
        at = t->nodes[at].next[values[t->nodes[at].feature] > t->nodes[at].at_most];
    const header_leaf *leaf = &t->leaves[t->grid ? leaf_of_grid(t->grid, shape->dims) : (size_t)~at];
    for (size_t k = 0; k < HEADER_TREE_RANKED && *variant < 0; k++)
        if (leaf->variants[k] >= 0 && variant_fits(s->variants[leaf->variants[k]], shape, NULL, NULL)) {
            *variant = leaf->variants[k];
            *regret = (int)((double)leaf->expected_regret[k] * 1000 + 0.5);
        }
}

static void write_answers(const support_model *s, const char *folder, const task_shape *exact, uint64_t *counter)
{
    strb text = STRB_INIT;
    for (int i = 0; i < TREE_LINES; i++) {
        const size_t device = (size_t)i % 3;
        task_shape shape = {.dims = {draw_dim(counter), draw_dim(counter), draw_dim(counter)}};
        int layer = 1, variant, regret = 0;
        if (shape.dims[0] == 0 || shape.dims[1] == 0)
            shape.dims[0] = shape.dims[1] = 1;
        if (i == 0)
            shape = *exact;
        answer_of_tree(s, s->devices[device].tree, &shape, &variant, &regret);
        if (i == 0) {
            layer = 0;
            variant = 2;
            regret = 1000;
        } else if (variant < 0) {
            layer = 2;
            variant = 0;
        }
        strb_printf(&text, "%s %lld %lld %lld %d %d %d\n", s->devices[device].key, (long long)shape.dims[0],
                    (long long)shape.dims[1], (long long)shape.dims[2], layer, variant, regret);
    }
    char *path = fs_join(folder, "trees.txt");
    if (fs_write(path, text.data, text.length, NULL) != KW_OK)
        exit(1);
    free(path);
    strb_clear(&text);
}

/* A device with a tree of every feature, one whose tree is a single leaf, one with a grid; of the variants one asks for
 * multiples of 4. */
static void write_trees(const char *folder)
{
    support_model s;
    header_tree trees[3] = {0};
    uint64_t counter = 0;
    support_begin(&s, "gemm", NULL, "tree_");
    size_t tiled = support_template(&s, "templates/gemm_tiled.cl");
    support_variant(&s, support_template(&s, "templates/gemm_naive.cl"), "LX=16 LY=4", NULL, NULL);
    support_variant(&s, tiled, "TM=32 TN=32 TK=16 RM=4 RN=2 LM=4", NULL, NULL);
    support_variant(&s, tiled, "TM=32 TN=32 TK=16 RM=4 RN=2 LM=4 VGA=4", NULL, NULL);
    support_variant(&s, tiled, "TM=64 TN=64 TK=16 RM=4 RN=4 LM=4", NULL, NULL);
    draw_tree(&s, &trees[0], &counter);
    trees[1] = (header_tree){.leaves = mem_calloc(1, sizeof(header_leaf)), .n_leaves = 1};
    trees[1].leaves[0] = (header_leaf){{3, 1, -1, -1}, {1.05f, 1.25f, 0, 0}};
    draw_grid(&trees[2]);
    for (size_t i = 0; i < 3; i++) {
        trees[0].high[i] = 8192;
        trees[1].low[i] = 2;
        trees[1].high[i] = 4096;
        trees[2].low[i] = 1;
        trees[2].high[i] = 8000;
    }
    support_row(&s, support_device(&s, "v/a/x/10", NULL, -1), "M=96,N=80,K=64", 2, 1.0f);
    support_device(&s, "v/b/y/20", NULL, -1);
    support_device(&s, "w/c/z/30", NULL, -1);
    const task_shape exact = {.dims = {96, 80, 64}};
    for (int i = 0; i < 3; i++)
        s.devices[i].tree = &trees[i];
    support_write(&s, folder, "tree_gemm.h");
    write_answers(&s, folder, &exact, &counter);
    for (int i = 0; i < 3; i++) {
        free(trees[i].nodes);
        free(trees[i].leaves);
    }
    free(trees[2].grid->leaf);
    free(trees[2].grid);
    support_end(&s);
}

#define SAXPY_FRONT(name) \
    "/*kernwright {\"task\": \"saxpy\", \"language\": \"opencl\", \"params\": {\"WG\": {\"values\": [32], " \
    "\"default\": 32}},\n" \
    "\"launches\": [{\"kernel\": \"" name "\", \"args\": [\"N\", \"a\", \"x\", \"y\"], \"local\": [\"WG\"],\n" \
    "\"groups\": [\"ceil_div(N, WG)\"]}]} */\n"
#define SAXPY_HEAD(name) \
    "__kernel void " name "(int N, float a, __global const float *x, __global float *y)\n" \
    "{\n    int i = get_global_id(0);\n    if (i < N)\n"

static const char broken_saxpy[] =
    SAXPY_FRONT("broken") SAXPY_HEAD("broken") "        y[i] = a * x[i] + this_is_not_declared;\n}\n";

/* Its compiled form takes groups of 16 at most, whatever the driver says of the device: launched with 32, it does
 * not fit. */
static const char narrow_saxpy[] = SAXPY_FRONT("narrow") "__attribute__((reqd_work_group_size(16, 1, 1)))\n" SAXPY_HEAD(
    "narrow") "        y[i] = a * x[i] + y[i];\n}\n";

/* Variants that the driver refuses: with something to fall back on, and without. */
static void write_broken(const char *folder, const char *key)
{
    support_model s;
    support_begin(&s, "saxpy", NULL, "bad_");
    s.model.default_variant = support_variant(&s, support_template(&s, "templates/saxpy_naive.cl"), "", NULL, NULL);
    int broken = support_variant(&s, support_template(&s, broken_saxpy), "", NULL, NULL);
    int narrow = support_variant(&s, support_template(&s, narrow_saxpy), "", NULL, NULL);
    int here = support_device(&s, key, NULL, -1);
    support_row(&s, here, "N=100", broken, 1.0f);
    support_row(&s, here, "N=101", narrow, 1.0f);
    support_write(&s, folder, "bad_saxpy.h");
    support_end(&s);
    support_begin(&s, "saxpy", NULL, "dead_");
    support_variant(&s, support_template(&s, broken_saxpy), "", NULL, NULL);
    support_write(&s, folder, "dead_saxpy.h");
    support_end(&s);
}

/* More than 20 KB of kernel text, paragraphs over 4,000 characters, a line over 4,000, and every byte that a C compiler
 * could take amiss: trigraphs, backslashes, quotes, tabs, carriage returns, bytes over 127. */
static void write_big(const char *folder)
{
    strb text = STRB_INIT;
    support_model s;
    strb_add(&text, SAXPY_FRONT("big"));
    strb_add(&text, "// \?\?= \?\?/ \\ \" ' \t \303\251 %s %d $\r\n");
    strb_add(&text, "/* \"quoted\\n\" \\101 \?\?( 0123 */\n");
    for (int i = 0; i < 500; i++)
        strb_printf(&text, "#define TERM_%d %d /* one of many lines */\n", i, i);
    strb_add(&text, "// ");
    for (int i = 0; i < 500; i++)
        strb_printf(&text, "word%05d ", i);
    strb_add(&text, "\n" SAXPY_HEAD("big") "        y[i] = a * x[i] + y[i] + (0.0f");
    for (int i = 0; i < 500; i++)
        strb_printf(&text, "\n            + 0.0f * TERM_%d", i);
    strb_add(&text, ");\n}\n");
    support_begin(&s, "saxpy", NULL, "big_");
    support_variant(&s, support_template(&s, strb_text(&text)), "", NULL, NULL);
    support_write(&s, folder, "big_saxpy.h");
    char *path = fs_join(folder, "big_saxpy.cl");
    if (fs_write(path, s.variants[0]->source, strlen(s.variants[0]->source), NULL) != KW_OK)
        exit(1);
    free(path);
    support_end(&s);
    strb_clear(&text);
}

/* Strides, a dim outside the key, scalars of many types, two temporaries, local memory as an argument, names that C
 * or C++ reserves, i64 index. y = round(x * int + class) by way of two temporaries. */
static const char odd_task[] =
    "{\"task\": \"odd\", \"dims\": {\"static\": {\"min\": 1}, \"cols\": {\"min\": 1}, \"ld\": {\"default\": \"cols\", "
    "\"key\": false}},\n"
    "\"types\": {\"T\": [\"f32\"]}, \"index\": \"i64\",\n"
    "\"tensors\": [{\"name\": \"new\", \"type\": \"T\", \"shape\": [\"static\", \"cols\"], \"strides\": [\"ld\", "
    "\"1\"], \"access\": \"in\"},\n"
    "{\"name\": \"queue\", \"type\": \"T\", \"shape\": [\"static\", \"cols\"], \"access\": \"out\"}],\n"
    "\"scalars\": [{\"name\": \"int\", \"type\": \"i32\", \"values\": [2]}, {\"name\": \"class\", \"type\": \"f32\", "
    "\"values\": [1]},\n"
    "{\"name\": \"big\", \"type\": \"u64\", \"values\": [1]}, {\"name\": \"small\", \"type\": \"i8\", \"values\": "
    "[1]}]}";
static const char odd_template[] =
    "/*kernwright {\"task\": \"odd\", \"language\": \"opencl\", \"params\": {\"WG\": {\"values\": [8, 16], "
    "\"default\": 8}},\n"
    "\"requires\": [\"ld >= cols\"], \"index\": \"i64\", \"options\": [\"-DUNIT=1.0f\"],\n"
    "\"temps\": [{\"name\": \"first\", \"type\": \"T\", \"elements\": \"static * cols\"},\n"
    "{\"name\": \"second\", \"type\": \"T\", \"elements\": \"static * cols\", \"when\": \"cols > 1\"}],\n"
    "\"launches\": [\n"
    "{\"kernel\": \"scale\", \"args\": [\"static\", \"cols\", \"ld\", \"new\", \"int\", \"first\", {\"local\": \"WG * "
    "sizeof(T)\"}],\n"
    "\"local\": [\"WG\"], \"groups\": [\"ceil_div(static * cols, WG)\"]},\n"
    "{\"kernel\": \"copy\", \"args\": [{\"expr\": \"static * cols\", \"type\": \"i32\"}, \"first\", \"second\"], "
    "\"when\": \"cols > 1\",\n"
    "\"local\": [\"WG\"], \"groups\": [\"ceil_div(static * cols, WG)\"]},\n"
    "{\"kernel\": \"shift\", \"args\": [{\"expr\": \"static * cols\", \"type\": \"i32\"}, \"second\", \"class\", "
    "\"big\", \"small\", \"queue\"],\n"
    "\"when\": \"cols > 1\", \"local\": [\"WG\"], \"groups\": [\"ceil_div(static * cols, WG)\"]},\n"
    "{\"kernel\": \"shift\", \"args\": [{\"expr\": \"static * cols\", \"type\": \"i32\"}, \"first\", \"class\", "
    "\"big\", \"small\", \"queue\"],\n"
    "\"when\": \"cols == 1\", \"local\": [\"WG\"], \"groups\": [\"ceil_div(static * cols, WG)\"]}]} */\n"
    "__kernel void scale(long rows, long cols, long ld, __global const float *x, int factor, __global float *out,\n"
    "                    __local float *part)\n"
    "{\n    long i = get_global_id(0);\n    part[get_local_id(0)] = i < rows * cols ? x[i / cols * ld + i % cols] : "
    "0;\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n    if (i < rows * cols)\n        out[i] = part[get_local_id(0)] * "
    "factor;\n}\n\n"
    "__kernel void copy(int n, __global const float *x, __global float *out)\n"
    "{\n    int i = get_global_id(0);\n    if (i < n)\n        out[i] = x[i];\n}\n\n"
    "__kernel void shift(int n, __global const float *x, float by, ulong big, char small, __global float *out)\n"
    "{\n    int i = get_global_id(0);\n    if (i < n)\n"
    "        out[i] = x[i] + by * UNIT + (float)(big >> 40) + (float)small;\n}\n";

static void write_odd(const char *folder, const char *key)
{
    support_model s;
    support_begin(&s, odd_task, NULL, "kw_");
    size_t t = support_template(&s, odd_template);
    s.model.default_variant = support_variant(&s, t, "", NULL, NULL);
    support_row(&s, support_device(&s, key, NULL, -1), "static=4,cols=6", support_variant(&s, t, "WG=16", NULL, NULL),
                1.0f);
    support_write(&s, folder, "kw_odd.h");
    support_end(&s);
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: make_headers FOLDER DEVICE_KEY\n");
        return 2;
    }
    const char *folder = argv[1], *key = argv[2];
    write_gemm(folder, key);
    write_other_gemm(folder);
    for (size_t i = 0; i < N_WORDS / IN_ONE; i++)
        write_words(folder, i);
    write_trees(folder);
    write_split(folder, "split_saxpy", "WG=64");
    write_split(folder, "other/split_saxpy", "WG=128");
    write_plain(folder, "saxpy", "templates/saxpy_naive.cl", "templates/saxpy_vec.cl", "", key, "N=1024");
    write_plain(folder, "reduce_sum", "templates/reduce_sum_naive.cl", "templates/reduce_sum_vec.cl", "", key,
                "N=4096");
    write_plain(folder, "softmax", "templates/softmax_naive.cl", "templates/softmax_row.cl", "", key, "R=8,C=1024");
    write_plain(folder, "transpose", "templates/transpose_naive.cl", "templates/transpose_tiled.cl", "", key,
                "R=64,C=32");
    write_broken(folder, key);
    write_big(folder);
    write_odd(folder, key);
    return 0;
}
