/* The dispatch-header writer: model in, text of kw_NAME.h out. The interface of the emitted header is
 * docs/header.md. Same model, same bytes. */
#ifndef KERNWRIGHT_CODEGEN_HEADER_H
#define KERNWRIGHT_CODEGEN_HEADER_H

#include "base/error.h"
#include "base/strb.h"
#include "codegen/task.h"
#include "codegen/variant.h"

#include <stddef.h>
#include <stdint.h>

/* Tree layer: for shapes that no row answers. Features are those of codegen/features.h. */
#define HEADER_TREE_RANKED 4  /* KW_TREE_RANKED of codegen/runtime/tree.h */
#define HEADER_TREE_LEAVES 32 /* KW_TREE_LEAVES likewise */

typedef struct header_node {
    int feature;
    int32_t at_most;
    int next
        [2]; /* if the feature is at most at_most, and if it is more: a node behind this one, or ~number of a leaf */
} header_node;

typedef struct header_leaf {
    int variants[HEADER_TREE_RANKED]; /* best first; -1 behind the last */
    float expected_regret[HEADER_TREE_RANKED];
} header_leaf;

/* Instead of nodes: boxes in the space of logarithms, each with its leaf. Finer than a tree, and asked at once. Cells
 * are those of kw_grid_cell, codegen/runtime/tree.h. */
#define HEADER_GRID_CELLS 65536
typedef struct header_grid {
    int shift;                    /* a cell is 2^shift 256ths of an octave wide; 4 to 12 */
    int32_t first[TASK_MAX_DIMS]; /* number of each key dim's first cell */
    int32_t n[TASK_MAX_DIMS];     /* cells of each key dim, at most HEADER_GRID_CELLS in all; else ignored */
    uint16_t *leaf;               /* of each cell; the last key dim's neighbours stand side by side */
} header_grid;

typedef struct header_tree {
    header_node *nodes; /* the first is the root; none: leaf 0 serves all */
    size_t n_nodes;
    header_leaf *leaves;
    size_t n_leaves;                                 /* n_nodes + 1, at most HEADER_TREE_LEAVES; of a grid 65,535 */
    int64_t low[TASK_MAX_DIMS], high[TASK_MAX_DIMS]; /* it is asked only for shapes with each key dim within these */
    header_grid *grid;                               /* NULL: nodes; else there are no nodes */
} header_tree;

typedef struct header_device {
    const char *key;         /* "nvidia/sm_90/h200/132" */
    const char *provenance;  /* one line for people: device name, driver, dates, sample counts */
    int default_variant;     /* best general variant on this device; -1: the model's */
    const header_tree *tree; /* NULL: none */
} header_device;

/* Exact layer: this variant for this shape on this device. */
typedef struct header_row {
    int device;
    int64_t dims[TASK_MAX_DIMS]; /* key dims only are compared */
    int variant;
    float expected_regret; /* >= 1: expected time over the best known; 1 for a winner */
} header_row;

/* A variant compiled, as a driver gave it. The header uses it where `identity` is that of device and driver. */
typedef struct header_binary {
    int variant;
    const char *identity; /* kw_key_query_identity of device/device_key_query.h; not empty */
    const unsigned char *bytes;
    size_t size;
} header_binary;

typedef struct header_model {
    const task *task;
    task_types types;
    const char *prefix; /* "kw_" */
    const variant *const *variants;
    size_t n_variants;
    const char *const *variant_notes; /* per variant: "verified: general, ..." for its comment; may be NULL */
    const header_device *devices;
    size_t n_devices;
    const header_row *rows; /* any order; duplicates of (device, key dims) are an error */
    size_t n_rows;
    int default_variant; /* general, is_fallback; always there */
    const char *tool_version;
    const header_binary *binaries; /* NULL: none. At most one for each variant and identity */
    size_t n_binaries;
} header_model;

kw_code header_write(const header_model *m, strb *out, kw_error *err);
/* The same without the kernel text, which goes to `sources`: a file of C99 or C++11 that is compiled and linked once.
 * Text of another emission does not link with it. */
kw_code header_write_split(const header_model *m, strb *out, strb *sources, kw_error *err);

/* Bytes of kernel text that the model's header holds, equal pieces counted once. */
size_t header_text_bytes(const header_model *m);
/* Bytes of the binaries; as text they are about three times as many. */
size_t header_binary_bytes(const header_model *m);

#endif
