/* Levels from counts of a compiled kernel, or from its source where there are none.
 *
 * Reuse in registers is what separates levels of compute: the multiply-adds for each element that is loaded. An R x R
 * tile of results in registers has R/2 of them, a plain loop one half.
 */
#include "llm/behaviour.h"

#include <ctype.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Multiply-adds for each element loaded: 4 x 4 results in registers have 2, 8 x 8 have 4. */
static const double REUSE = 1.2, HIGH_REUSE = 3;
/* Multiply-adds of range reduction in an exact exponential, as NVIDIA's compiler expands it around ex2. */
enum { EXP_FMA = 4 };

/* What both ways of looking find. */
typedef struct features {
    bool vectors, tiles, async, matrix, fma, online, barriers, shuffles, global_sync;
    double reuse;
} features;

static behaviour levels_of(const features *f, bool from_artefact, strb *why)
{
    behaviour b = {.from_artefact = from_artefact};
    bool in_registers = f->reuse >= REUSE;
    b.level[BEHAVIOUR_MEMORY] = f->tiles ? (f->async || (f->vectors && in_registers) ? 3 : 2) : f->vectors ? 1 : 0;
    b.level[BEHAVIOUR_COMPUTE] = f->matrix || f->reuse >= HIGH_REUSE ? 3
                                 : in_registers || f->online         ? 2
                                 : f->fma || f->vectors              ? 1
                                                                     : 0;
    b.level[BEHAVIOUR_PARALLELISM] = f->global_sync ? 3 : f->shuffles ? 2 : f->barriers ? 1 : 0;
    if (why) {
        strb_printf(why, "memory %d:%s%s%s\n", b.level[BEHAVIOUR_MEMORY], f->vectors ? " vector accesses" : "",
                    f->tiles ? " tiles in local memory" : "", f->async ? " asynchronous copies" : "");
        strb_printf(why, "compute %d: %.2g multiply-adds for each element loaded%s%s\n", b.level[BEHAVIOUR_COMPUTE],
                    f->reuse, f->matrix ? ", matrix units" : "", f->online ? ", online normalisation" : "");
        strb_printf(why, "parallelism %d:%s%s%s\n", b.level[BEHAVIOUR_PARALLELISM], f->barriers ? " barriers" : "",
                    f->shuffles ? " sub-group operations" : "", f->global_sync ? " work-groups combined" : "");
    }
    return b;
}

behaviour behaviour_of_artefact(const artefact *a, size_t n_launches, strb *why)
{
    /* What feeds the multiply-adds: local memory where tiles lie there, else global memory. */
    const int64_t fma = a->fma > EXP_FMA * a->exponentials ? a->fma - EXP_FMA * a->exponentials : 0;
    double loads = (double)(a->shared_loads > 0 ? a->shared_loads : a->global_loads);
    features f = {.vectors = a->vector_accesses > 0,
                  .tiles = a->shared_loads > 0 && a->shared_stores + a->async_copies > 0,
                  .async = a->async_copies > 0,
                  .matrix = a->mma > 0,
                  .fma = fma > 0,
                  .online = a->online,
                  .barriers = a->barriers > 0,
                  .shuffles = a->shuffles > 0,
                  .global_sync = a->atomics > 0 || n_launches > 1,
                  .reuse = loads > 0 ? (double)fma / loads : 0};
    return levels_of(&f, true, why);
}

/* The source with comments and texts blanked, and what stands in "#if 0" as well. Same length. */
static char *code_of(const char *source)
{
    size_t n = strlen(source);
    char *code = malloc(n + 1);
    int dead = 0;
    if (!code)
        abort();
    memcpy(code, source, n + 1);
    for (size_t i = 0; i < n;) {
        if (code[i] == '/' && code[i + 1] == '/') {
            while (i < n && code[i] != '\n')
                code[i++] = ' ';
        } else if (code[i] == '/' && code[i + 1] == '*') {
            const char *end = strstr(code + i + 2, "*/");
            size_t stop = end ? (size_t)(end - code) + 2 : n;
            for (; i < stop; i++)
                code[i] = code[i] == '\n' ? '\n' : ' ';
        } else if (code[i] == '"') {
            for (i++; i < n && code[i] != '"' && code[i] != '\n'; i++)
                code[i] = ' ';
            i++;
        } else {
            i++;
        }
    }
    for (char *line = code; *line;) {
        char *end = strchr(line, '\n'), *word = line + strspn(line, " \t");
        end = end ? end : line + strlen(line);
        bool opens = strncmp(word, "#if", 3) == 0;
        if (dead > 0) {
            dead += opens ? 1 : strncmp(word, "#endif", 6) == 0 ? -1 : 0;
            if (dead == 1 && (strncmp(word, "#else", 5) == 0 || strncmp(word, "#elif", 5) == 0))
                dead = 0;
            memset(line, ' ', (size_t)(end - line));
        } else if (strncmp(word, "#if 0", 5) == 0) {
            dead = 1;
            memset(line, ' ', (size_t)(end - line));
        }
        line = *end ? end + 1 : end;
    }
    return code;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Finds `word` from `at` on as a whole word; prefix: what follows may go on with the word. */
static const char *find_word(const char *at, const char *code, const char *word, bool prefix)
{
    size_t n = strlen(word);
    for (; (at = strstr(at, word)); at++) {
        if ((at == code || !is_word(at[-1])) && (prefix || !is_word(at[n])))
            return at;
    }
    return NULL;
}

static bool has(const char *code, const char *word)
{
    return find_word(code, code, word, false) != NULL;
}

static bool has_any(const char *code, const char *const *prefixes)
{
    for (; *prefixes; prefixes++) {
        if (find_word(code, code, *prefixes, true))
            return true;
    }
    return false;
}

/* Does "local" stand before this type, in the same declaration or cast? */
static bool declared_local(const char *code, const char *type)
{
    const char *from = type;
    while (from > code && !strchr("\n;{}(,", from[-1]))
        from--;
    for (; from + 5 <= type; from++) {
        if (strncmp(from, "local", 5) == 0 || strncmp(from, "shared", 6) == 0)
            return true;
    }
    return false;
}

/* Pointers to vectors of global memory, or vload and vstore. */
static bool uses_vectors(const char *code)
{
    static const char *const types[] = {"float", "half", "double", "int", "uint", "ushort", "uchar", NULL};
    static const char *const calls[] = {"vload", "vstore", NULL};
    if (has_any(code, calls))
        return true;
    for (size_t i = 0; types[i]; i++) {
        for (const char *at = code; (at = find_word(at, code, types[i], true)); at++) {
            const char *digits = at + strlen(types[i]);
            size_t n = strspn(digits, "0123456789"), blanks = strspn(digits + n, " \t");
            if (n > 0 && atoi(digits) > 1 && digits[n + blanks] == '*' && !declared_local(code, at))
                return true;
        }
    }
    return false;
}

/* "name[4][4]": the product of the bounds in brackets, 0 if there are none or they are no numbers. */
static long elements_of(const char *at)
{
    long product = 0;
    while (is_word(*at))
        at++;
    for (at += strspn(at, " \t"); *at == '['; at += strspn(at, " \t")) {
        char *end;
        long bound = strtol(at + 1, &end, 10);
        end += strspn(end, " \t");
        if (bound <= 0 || *end != ']')
            return 0;
        product = (product ? product : 1) * bound;
        at = end + 1;
    }
    return product;
}

/* A statement that is not one on whole numbers for indices, for what they are worth: "x += a * b", "y = a * x + y". */
typedef struct statement {
    const char *start, *end;
} statement;

static bool next_statement(const char **at, statement *out)
{
    const char *from = *at + strspn(*at, " \t\r\n;{}\\");
    if (!*from)
        return false;
    const char *to = from + strcspn(from, ";{}");
    *out = (statement){from, to};
    *at = to;
    return true;
}

/* What it assigns to, its kind ("+=" or "="), and whether a product is in it outside of brackets. */
typedef struct assignment {
    const char *left;
    size_t left_length;
    bool adds, product, sum;
} assignment;

/* Behind the bracket that closes the one at p. */
static const char *behind_group(const char *p, const char *end)
{
    int depth = 0;
    for (; p < end; p++) {
        depth += *p == '(' ? 1 : *p == ')' ? -1 : 0;
        if (depth == 0)
            return p + 1;
    }
    return end;
}

/* "*(type *)(address)", "*(address)": arithmetic on addresses is none on elements. */
static const char *behind_access(const char *p, const char *end)
{
    p = behind_group(p + 1, end);
    const char *next = p + strspn(p, " \t\r\n");
    return next < end && *next == '(' ? behind_group(next, end) : p;
}

static bool is_assignment(statement s, assignment *out)
{
    /* Whole numbers and pointers, mostly for indices, and what is no assignment. */
    static const char *const whole[] = {"int",          "uint",       "size_t",       "long",       "ulong",
                                        "const int",    "const uint", "const size_t", "const long", "for",
                                        "#define",      "return",     "__global",     "global",     "const __global",
                                        "const global", "__local",    "local",        "unsigned"};
    const char *equals = NULL;
    int depth = 0;
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        size_t n = strlen(whole[i]);
        if (strncmp(s.start, whole[i], n) == 0 && !is_word(s.start[n]))
            return false;
    }
    memset(out, 0, sizeof *out);
    for (const char *p = s.start; p < s.end; p++) {
        depth += *p == '[' ? 1 : *p == ']' ? -1 : 0;
        if (depth > 0)
            continue;
        if (equals && *p == '*' && p[1] == '(') {
            p = behind_access(p, s.end) - 1;
            continue;
        }
        if (!equals && *p == '=' && p[1] != '=' && p > s.start && !strchr("=!<>", p[-1])) {
            equals = p;
            out->adds = p[-1] == '+';
        } else if (equals && *p == '*' && (p[-1] == ' ' || is_word(p[-1]) || p[-1] == ')') && p[1] == ' ') {
            out->product = true;
        } else if (equals && *p == '+' && p[1] == ' ') {
            out->sum = true;
        }
    }
    if (!equals)
        return false;
    const char *left_end = equals - (out->adds ? 1 : 0);
    while (left_end > s.start && strchr(" \t", left_end[-1]))
        left_end--;
    const char *left = left_end;
    while (left > s.start && (is_word(left[-1]) || strchr("[]. +*", left[-1])) && left[-1] != ' ')
        left--;
    out->left = left;
    out->left_length = (size_t)(left_end - left);
    return out->left_length > 0;
}

static bool has_multiply_add(const char *code)
{
    statement s;
    assignment a;
    while (next_statement(&code, &s)) {
        if (is_assignment(s, &a) && a.product && (a.adds || a.sum))
            return true;
    }
    return false;
}

/* Elements of the private array that this name begins, as declared; 1 for a scalar, more for vector types. */
static long declared_elements(const char *code, const char *name, size_t length)
{
    static const char *const types[] = {"float", "double", "half", "int", "uint", "long"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        for (const char *at = code; (at = find_word(at, code, types[i], true)); at++) {
            const char *word = at + strlen(types[i]);
            long lanes = strtol(word, NULL, 10);
            word += strspn(word, "0123456789");
            size_t blanks = strspn(word, " \t");
            if (blanks == 0 || strncmp(word + blanks, name, length) != 0 || is_word(word[blanks + length]))
                continue;
            long n = elements_of(word + blanks);
            return (n ? n : 1) * (lanes > 1 ? lanes : 1);
        }
    }
    return 1;
}

/* Results of one work-item: what sums of products are added to, counted by what is written left of "+=", or by the
 * size of the array where that is indexed in a loop. */
static long accumulators(const char *code)
{
    enum { MOST = 256 };
    assignment seen[MOST];
    size_t n = 0;
    long total = 0;
    statement s;
    assignment a;
    for (const char *at = code; next_statement(&at, &s) && n < MOST;) {
        if (!is_assignment(s, &a) || !a.product || !a.adds)
            continue;
        bool known = false;
        for (size_t i = 0; i < n && !known; i++)
            known = seen[i].left_length == a.left_length && memcmp(seen[i].left, a.left, a.left_length) == 0;
        if (known)
            continue;
        seen[n++] = a;
        size_t length = 0;
        while (length < a.left_length && is_word(a.left[length]))
            length++;
        const char *bracket = memchr(a.left, '[', a.left_length);
        bool indexed = bracket && !isdigit((unsigned char)bracket[1]);
        char name[64];
        if (length == 0 || length >= sizeof name)
            continue;
        memcpy(name, a.left, length);
        name[length] = 0;
        total += bracket && !indexed ? 1 : declared_elements(code, name, length);
    }
    return total;
}

/* A maximum and an exponential within the same loop body: online normalisation. */
static bool is_online(const char *code)
{
    for (const char *at = code; (at = find_word(at, code, "for", false)); at++) {
        const char *open = strchr(at, '{'), *semicolon = strchr(at, ';');
        if (!open || !semicolon)
            continue;
        int depth = 0;
        bool max = false, exponential = false;
        for (const char *p = open; *p; p++) {
            depth += *p == '{' ? 1 : *p == '}' ? -1 : 0;
            if (depth == 0)
                break;
            if (p > code && is_word(p[-1]))
                continue;
            max |= strncmp(p, "fmax(", 5) == 0 || strncmp(p, "max(", 4) == 0;
            exponential |= strncmp(p, "exp(", 4) == 0 || strncmp(p, "native_exp(", 11) == 0 ||
                           strncmp(p, "exp2(", 5) == 0 || strncmp(p, "native_exp2(", 12) == 0;
        }
        if (max && exponential)
            return true;
    }
    return false;
}

/* Is what was blanked at `at` a text? The nearest quote before it on its line is one that code_of left. */
static bool in_text(const char *source, const char *code, size_t at)
{
    while (at > 0 && source[at] != '\n' && code[at] == ' ')
        at--;
    return code[at] == '"';
}

/* What inline assembler does, which code_of has blanked: its instructions are text. */
static void add_assembler(const char *source, const char *code, features *f)
{
    static const struct {
        const char *instruction;
        size_t flag;
    } known[] = {{"ld.global.v", offsetof(features, vectors)},
                 {"ld.global.nc.v", offsetof(features, vectors)},
                 {"st.global.v", offsetof(features, vectors)},
                 {"cp.async", offsetof(features, async)},
                 {"mma.", offsetof(features, matrix)},
                 {"shfl.", offsetof(features, shuffles)},
                 {"redux.", offsetof(features, shuffles)},
                 {"vote.", offsetof(features, shuffles)},
                 {"bar.", offsetof(features, barriers)},
                 {"barrier.", offsetof(features, barriers)},
                 {"atom.", offsetof(features, global_sync)},
                 {"red.global", offsetof(features, global_sync)},
                 {"fma.", offsetof(features, fma)}};
    if (!has(code, "asm") && !has(code, "__asm__"))
        return;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t n = strlen(known[i].instruction);
        for (const char *at = source; (at = strstr(at, known[i].instruction)); at += n) {
            /* Within a text, not in a comment: the quotes are left, what is between them is blank. */
            if (code[at - source] == ' ' && in_text(source, code, (size_t)(at - source)) &&
                (at == source || !is_word(at[-1]))) {
                memset((char *)f + known[i].flag, true, 1);
                break;
            }
        }
    }
}

behaviour behaviour_of_source(const char *source, size_t n_launches, strb *why)
{
    static const char *const async[] = {"async_work_group", "prefetch", NULL},
                             *const matrix[] = {"intel_sub_group_f16_f16_matrix_mad", "intel_sub_group",
                                                "__builtin_amdgcn_mfma", "mma_sync", NULL},
                             *const groups[] = {"sub_group_", "intel_sub_group_shuffle", "__shfl", NULL},
                             *const atomics[] = {"atomic_", "atom_", "atomicAdd", NULL};
    char *code = code_of(source);
    long results = accumulators(code);
    features f = {.vectors = uses_vectors(code),
                  .tiles = has(code, "__local") || has(code, "local") || has(code, "__shared__"),
                  .async = has_any(code, async),
                  .matrix = has_any(code, matrix) || strstr(code, "mma.sync"),
                  .fma = has(code, "fma") || has(code, "mad") || has_multiply_add(code),
                  .online = is_online(code),
                  .barriers = has(code, "barrier") || has(code, "work_group_barrier") || has(code, "__syncthreads"),
                  .shuffles = has_any(code, groups),
                  .global_sync = has_any(code, atomics) || n_launches > 1,
                  .reuse = results > 0 ? sqrt((double)results) / 2 : 0.5};
    add_assembler(source, code, &f);
    free(code);
    return levels_of(&f, false, why);
}
