/* What the files of the header writer share; nobody else includes this.
 *
 *   header.c         checks the model, puts the sections together
 *   header_text.c    names, literals, comments, kernel text in pieces
 *   header_forms.c   conditions and geometry of the variants as C functions over numbers
 *   header_tables.c  devices, rows and the hash index
 *   header_tree.c    the devices' decision trees, and which of trees and grids are asked
 *   header_grid.c    the devices' grids
 *   header_select.c  the part that needs no OpenCL
 *   header_launch.c  the part that launches
 *   header_binaries.c  compiled programs beside the text
 */
#ifndef KERNWRIGHT_CODEGEN_HEADER_INTERNAL_H
#define KERNWRIGHT_CODEGEN_HEADER_INTERNAL_H

#include "codegen/features.h"
#include "codegen/header.h"

#include <stdbool.h>

/* The generated texts of codegen/runtime and device/, each ended by NULL. */
extern const char *const header_shared_select[];
extern const char *const header_shared_tree[];
extern const char *const header_shared_device_key_body[];
extern const char *const header_shared_device_key_query[];
extern const char *const header_shared_launch[];

/* Variants whose functions are the same but for numbers have one form. */
typedef struct header_form {
    char *text;             /* the functions, with FORM_MARK where the number of the form stands */
    uint64_t hash;          /* of text */
    const variant *example; /* the first variant of this form: its kernels' names are those of all */
} header_form;

#define FORM_MARK '\1'

typedef struct header_variant {
    size_t form;
    size_t first_constant, n_constants;
    size_t first_piece, n_pieces; /* in writer.piece_list */
    char *name;                   /* "gemm_tiled TM=64 ..." */
} header_variant;

typedef struct writer {
    const header_model *m;
    char *low, *up; /* "kw_gemm", "KW_GEMM" */
    strb out;       /* the task's own part */
    char *dim_names[TASK_MAX_DIMS], *tensor_names[TASK_MAX_TENSORS], *scalar_names[TASK_MAX_SCALARS];
    bool has_fallbacks;  /* some dim has a default */
    bool has_other_dims; /* some dim is not a key dim: requires must be asked for exact rows too */

    header_variant *variants;
    header_form *forms;
    size_t n_forms, forms_capacity;
    int64_t *constants;
    size_t n_constants, constants_capacity;

    const char **pieces; /* each with its length; borrowed from the variants' sources */
    size_t *piece_lengths;
    size_t n_pieces, pieces_capacity, lengths_capacity;
    uint32_t *piece_list;
    size_t n_piece_list, piece_list_capacity;
    uint32_t *piece_index; /* hash table over pieces: number + 1, or 0 */
    size_t piece_index_size;

    const header_row **rows; /* sorted by device and key dims */
    strb *sources;           /* kernel text goes here; NULL: into the header */
    shape_features features;
    bool feature_used[FEATURES_MAX];
    size_t n_trees, n_grids, n_nodes; /* grids are trees, too; nodes of all trees */
} writer;

/* ---- text (header_text.c) ---- */

/* Appends text in which '@' stands for "kw_gemm" and '^' for "KW_GEMM". put_f formats after replacing, so that
 * arguments are taken as they are. */
void header_put(const writer *w, strb *out, const char *text);
void header_put_f(const writer *w, strb *out, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* One C string literal, quotes included; lines of the text become lines of the literal, indented. Whatever the
 * bytes, the compiler sees exactly them: backslashes, quotes, trigraphs, control characters and non-ASCII bytes are
 * escaped. */
void header_put_literal(strb *out, const char *text, size_t length, const char *indent);
/* Text as it may stand inside a comment: one line, ASCII, nothing that opens or ends a comment. */
void header_put_comment(strb *out, const char *text);

/* Is it a name that C, C++ or the emitted functions use themselves? Then the emitted name gets an underscore. */
char *header_c_name(const char *name); /* caller frees */
bool header_is_identifier(const char *text);

/* Cuts a kernel's text into pieces, each stored once, and appends their numbers to w->piece_list. */
void header_add_pieces(writer *w, const char *source);

/* ---- the rest ---- */

kw_code header_make_forms(writer *w, kw_error *err); /* fills variants, forms, constants */

kw_code header_sort_rows(writer *w, kw_error *err); /* fills rows; refuses duplicates and rows that cannot run */
void header_put_tables(writer *w);

kw_code header_check_trees(writer *w, kw_error *err); /* fills features, n_trees */
void header_put_trees(writer *w);

kw_code header_check_grid(const writer *w, const header_device *d, kw_error *err);
size_t header_grid_cells(const writer *w, const header_grid *g);
void header_put_cells(writer *w);
/* Initialiser of a tree's members for its grid, `g` NULL or not; the function's lines that ask it. */
void header_put_grid(writer *w, const header_grid *g, size_t first_cell);
void header_put_grid_lookup(writer *w);

/* An expression over dims (and, where `device` or `scalars` allow, those) as C text: "s->M", "d->local_mem_bytes",
 * "x->alpha"; faults go to the int `fault`. */
typedef struct header_roles {
    bool device, scalars;
} header_roles;
kw_code header_put_expr(const writer *w, strb *out, const expr *e, header_roles roles, expr_c_want want,
                        const char *what, kw_error *err);

kw_code header_put_select(writer *w, kw_error *err);
kw_code header_put_launch(writer *w, kw_error *err);

kw_code header_check_binaries(const header_model *m, kw_error *err);
void header_put_binaries(writer *w);

/* "float", "int32_t": the C type of a scalar parameter; half precision is given as float. */
const char *header_scalar_type(dtype t);
/* "float alpha, float beta, " and "alpha, beta" ("0" for none). */
void header_put_scalar_parameters(const writer *w, strb *out);
void header_put_scalar_values(const writer *w, strb *out);

#endif
