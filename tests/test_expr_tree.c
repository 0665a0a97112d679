/* Questions about trees, partial evaluation, canonical text, and what the C back end refuses. */
#include "codegen/expr.h"
#include "tests/support_expr.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { TM, TN, M, N, T, ALPHA, N_NAMES };

typedef struct bench {
    arena *memory;
    expr_scope *scope;
} bench;

static int setup(void **state)
{
    static const char *const names[N_NAMES] = {"TM", "TN", "M", "N", "T", "alpha"};
    static const expr_role roles[N_NAMES] = {EXPR_PARAM, EXPR_PARAM, EXPR_DIM, EXPR_DIM, EXPR_TYPE, EXPR_SCALAR};
    static bench b;
    b.memory = arena_new();
    b.scope = expr_scope_new();
    for (int i = 0; i < N_NAMES; i++)
        expr_scope_add(b.scope, names[i], roles[i]);
    *state = &b;
    return 0;
}

static int teardown(void **state)
{
    bench *b = *state;
    expr_scope_free(b->scope);
    arena_free(b->memory);
    return 0;
}

static const expr *parse(bench *b, const char *text)
{
    kw_error err = {0};
    const expr *e = expr_parse(b->memory, text, b->scope, (expr_where){"t.cl", 3, 5}, &err);
    if (!e)
        fail_msg("%s: %s", text, err.message);
    return e;
}

static void test_used_slots(void **state)
{
    bench *b = *state;
    bool used[N_NAMES] = {false};
    const expr *e = parse(b, "TM * M + TM if M > 3 else [TM for N in [1]][0]");
    assert_int_equal(expr_used_slots(e, used), 2);
    assert_true(used[TM] && used[M] && !used[N] && !used[TN]);
    assert_true(expr_uses(e, M) && !expr_uses(e, N));
}

static void test_conjuncts(void **state)
{
    bench *b = *state;
    const expr *terms[4] = {NULL};
    const expr *e = parse(b, "TM > 1 && (TN > 2 and (M > 3 or N)) and not TM");
    assert_int_equal(expr_conjuncts(e, terms, 4), 4);
    assert_string_equal(expr_text(terms[0]), "TM > 1");
    assert_string_equal(expr_text(terms[2]), "M > 3 or N");
    assert_string_equal(expr_text(terms[3]), "not TM");
    assert_int_equal(expr_conjuncts(e, terms, 1), 4);
    assert_int_equal(expr_conjuncts(parse(b, "TM or TN and M"), terms, 4), 1);
    value env[N_NAMES] = {[TM] = value_int(2), [TN] = value_int(3), [M] = value_int(0), [N] = value_int(0)};
    bool holds = false;
    assert_int_equal(expr_eval_truth(terms[0], env, &holds, NULL), KW_OK);
    assert_true(holds);
}

/* The texts of the frontier, joined. */
static void check_frontier(bench *b, const char *text, const char *wanted)
{
    const bool assigned[N_NAMES] = {[TM] = true, [TN] = true};
    const expr *subs[8];
    size_t n = expr_frontier(parse(b, text), assigned, subs, 8);
    strb all = STRB_INIT;
    for (size_t i = 0; i < n && i < 8; i++) {
        value env[N_NAMES] = {[TM] = value_int(2), [TN] = value_int(3)}, v;
        assert_int_equal(expr_eval(subs[i], env, b->memory, &v, NULL), KW_OK); /* each stands alone */
        strb_printf(&all, "%s%s", i ? "; " : "", expr_text(subs[i]));
    }
    assert_string_equal(strb_text(&all), wanted);
    strb_clear(&all);
}

static void test_frontier(void **state)
{
    bench *b = *state;
    check_frontier(b, "TM * TN <= 1024", "TM * TN <= 1024");
    check_frontier(b, "TM * TN <= M", "TM * TN");
    check_frontier(b, "TM * M + TN * N", "TM; TN");
    check_frontier(b, "(TM + 1) * 2 + M == TN % 2 * N", "(TM + 1) * 2; TN % 2");
    check_frontier(b, "M * 2 == N", "");
    check_frontier(b, "3 > 2", "");
    check_frontier(b, "[i * TM for i in range(TN)][M]", "[i * TM for i in range(TN)]");
    check_frontier(b, "[i * TM for i in range(M)][0] + max(TN, 3)", "TM; max(TN, 3)");
    check_frontier(b, "[[i * j for j in range(TM)] for i in range(M)] == []", "range(TM)");
    const bool none[N_NAMES] = {false};
    assert_int_equal(expr_frontier(parse(b, "TM"), none, NULL, 0), 0);
}

static void test_same(void **state)
{
    bench *b = *state;
    const expr *e = parse(b, "TM*TN + 1 <= M");
    assert_true(expr_same(e, parse(b, "(TM * TN)+1<=M")));
    assert_false(expr_same(e, parse(b, "TM*TN + 1 < M")));
    assert_false(expr_same(e, parse(b, "TM*TN + 1.0 <= M")));
    assert_false(expr_same(e, parse(b, "TM*TM + 1 <= M")));
    assert_false(expr_same(parse(b, "[i for i in [1] if i]"), parse(b, "[i for i in [1] for i in [i]]")));
    assert_true(expr_same(parse(b, "[i for i in [1]]"), parse(b, "[j for j in (1,)]")));
    assert_true(expr_same(parse(b, "TM && TN"), parse(b, "TM and TN")));
}

/* ---- folding ---- */

static const value *known(void)
{
    static value env[N_NAMES];
    env[TM] = value_int(64);
    env[TN] = value_int(4);
    env[T] = value_type(DTYPE_F32);
    return env;
}

static void check_fold(bench *b, const char *text, const char *wanted)
{
    kw_error err = {0};
    const expr *e = expr_fold(b->memory, parse(b, text), known(), &err);
    const char *got = e ? expr_text(e) : err.message;
    if (strcmp(got, wanted) != 0)
        fail_msg("%s\n  folds to %s\n  wanted   %s", text, got, wanted);
    if (e && !expr_same(e, parse(b, got)))
        fail_msg("%s does not read back as the same tree", got);
}

static void test_fold(void **state)
{
    bench *b = *state;
    check_fold(b, "TM * TN", "256");
    check_fold(b, "ceil_div( M ,TM )*  (N+TN)", "ceil_div(M, 64) * (N + 4)");
    check_fold(b, "TM > 3 and M > 3 and TN > 0 and N > 1", "M > 3 and N > 1");
    check_fold(b, "M > 3 and TM < 3 and N > 3", "M > 3 and false");
    check_fold(b, "TM < 3 and M", "false");
    check_fold(b, "TM < 3 or M", "M");
    check_fold(b, "M or TM or N", "M or 64");
    check_fold(b, "M if TM > 3 else 1 // 0", "M");
    check_fold(b, "TN < TM < M < N", "64 < M < N");
    check_fold(b, "TM < TN < M", "false");
    check_fold(b, "M < TN < TM", "M < 4 < 64");
    check_fold(b, "(0 and M) + 3", "3");
    check_fold(b, "[M, TM][1] + sizeof(T)", "[M, 64][1] + 4");
    check_fold(b, "[i * TM for i in range(N) if i < TN]", "[i * 64 for i in range(N) if i < 4]");
    check_fold(b, "M in [TM, 2*TM]", "M in [64, 128]");
    check_fold(b, "-TM * M ** (TN - 8) - (N - 1)", "-64 * M**-4 - (N - 1)");
    check_fold(b, "(TN - 8) ** 2 * M", "16 * M");
    check_fold(b, "(TN - 8) ** M", "(-4)**M");
    check_fold(b, "!M + 1 == (not N)", "(not M) + 1 == (not N)");
    check_fold(b, "(M if N else TM) if (N and (M or N)) else alpha / 2",
               "(M if N else 64) if N and (M or N) else alpha / 2");
    check_fold(b, "TM / 128 * M", "0.5 * M");
    check_fold(b, "(TM - 9223372036854775807 - 65) * M", "-9223372036854775808 * M");
    check_fold(b, "vec(T, TN) == 'float4' and M", "M");
}

/* Certain errors are told at once; those behind a guard stay. */
static void test_fold_errors(void **state)
{
    bench *b = *state;
    check_fold(b, "M + TM // (TN - 4)", "t.cl:3:9: division by zero in TM // (TN - 4) | M + >>>TM // (TN - 4)");
    check_fold(b, "TM // 0 > 1 and M", "t.cl:3:5: division by zero in TM // 0 | >>>TM // 0 > 1 and M");
    check_fold(b, "M == 0 or TM // 0 > 1", "M == 0 or 64 // 0 > 1");
    check_fold(b, "TM // 0 if M else N", "64 // 0 if M else N");
    check_fold(b, "M < N < 1 / 0", "M < N < 1 / 0");
    check_fold(b, "[1 // 0 for i in range(M)]", "[1 // 0 for i in range(M)]");
    kw_error err = {0};
    value env[N_NAMES] = {[M] = value_int(1)}, v;
    const expr *e = expr_fold(b->memory, parse(b, "M == 0 or TM // 0 > 1"), known(), &err);
    assert_int_equal(expr_eval(e, env, NULL, &v, &err), KW_BAD_INPUT);
    assert_string_equal(err.message, "t.cl:3:5: division by zero in 64 // 0 | M == 0 or >>>64 // 0 > 1");
}

static bool same_result(kw_code a_code, value a, kw_code b_code, value b)
{
    if (a_code != KW_OK || b_code != KW_OK)
        return a_code == b_code;
    return a.kind == b.kind && value_equal(a, b);
}

/* Folding any part of the environment changes no result, and what is left reads back from its text. */
static void test_fold_changes_nothing(void **state)
{
    (void)state;
    random_source g = {.seed = random_seed(), .with_lists = true};
    expr_scope *scope = random_scope();
    size_t constants = 0, values = 0;
    for (int i = 0; i < 4000; i++) {
        arena *a = arena_new();
        strb text = STRB_INIT;
        g.out = &text;
        random_expression(&g, 4);
        value env[RANDOM_SLOTS], part[RANDOM_SLOTS], whole = value_none(), rest = value_none(), v;
        random_environment(&g, env);
        for (int k = 0; k < RANDOM_SLOTS; k++)
            part[k] = random_below(&g, 2) ? env[k] : value_none();
        const expr *e = expr_parse(a, strb_text(&text), scope, (expr_where){0}, NULL);
        if (e) { /* the least integer in front of ** is refused */
            kw_code code = expr_eval(e, env, a, &whole, NULL);
            const expr *folded = expr_fold(a, e, part, NULL);
            kw_code rest_code = folded ? expr_eval(folded, env, a, &rest, NULL) : KW_BAD_INPUT;
            if (!same_result(code, whole, rest_code, rest))
                fail_msg("seed %" PRIu64 ": %s is not %s", g.seed, strb_text(&text),
                         folded ? expr_text(folded) : "an error");
            const expr *back = folded ? expr_parse(a, expr_text(folded), scope, (expr_where){0}, NULL) : NULL;
            if (folded && (!back || !expr_same(folded, back)))
                fail_msg("seed %" PRIu64 ": %s does not read back", g.seed, expr_text(folded));
            constants += folded && expr_is_constant(folded, &v);
            values += code == KW_OK;
        }
        strb_clear(&text);
        arena_free(a);
    }
    assert_in_range(constants, 200, 3800); /* the sample has both kinds */
    assert_in_range(values, 1500, 3900);
    expr_scope_free(scope);
}

/* ---- C ---- */

static const char *c_name(int slot, void *cookie)
{
    static const char *const names[N_NAMES] = {"TM", "TN", "s->M", "s->N", "T", "alpha"};
    (void)cookie;
    return names[slot];
}

static bool c_is_real(int slot, void *cookie)
{
    (void)cookie;
    return slot == ALPHA;
}

static void check_c(bench *b, expr_c_want want, const char *text, const char *wanted)
{
    expr_c_names names = {c_name, c_is_real, NULL, "fault", "kw_", want};
    kw_error err = {0};
    strb out = STRB_INIT;
    bool is_real;
    strb_add(&out, "x = ");
    kw_code code = expr_print_c(parse(b, text), known(), &names, &out, &is_real, &err);
    if (code == KW_OK) {
        if (strcmp(strb_text(&out) + 4, wanted) != 0)
            fail_msg("%s\n  prints %s\n  wanted %s", text, strb_text(&out) + 4, wanted);
    } else {
        assert_string_equal(strb_text(&out), "x = ");
        if (!strstr(err.message, wanted))
            fail_msg("%s\n  gives  %s\n  wanted %s", text, err.message, wanted);
    }
    strb_clear(&out);
}

static void test_c_text(void **state)
{
    bench *b = *state;
    check_c(b, EXPR_C_ANY, "M % (TN * 2) == 0", "kw_int((kw_mod(s->M, 8, &fault) == 0))");
    check_c(b, EXPR_C_TRUTH, "M % (TN * 2) == 0", "(kw_mod(s->M, 8, &fault) == 0)");
    check_c(b, EXPR_C_TRUTH, "M in [1, 2]", "((kw_int(s->M) == 1) || (kw_int(s->M) == 2))");
    check_c(b, EXPR_C_INT, "ceil_div(M, TM)", "kw_ceil_div(s->M, 64, &fault)");
    check_c(b, EXPR_C_INT, "M / TM", "kw_num_int(kw_num_div(kw_num_of_int(s->M), kw_num_of_int(64), &fault), &fault)");
    check_c(b, EXPR_C_REAL, "alpha * M", "kw_real_mul(alpha, (double)s->M, &fault)");
    check_c(b, EXPR_C_TRUTH, "alpha != 0 and M",
            "((kw_num_compare(kw_num_of_real(alpha), kw_num_of_int(0)) != 0) && "
            "(s->M != 0))");
    check_c(b, EXPR_C_INT, "-M if N else TN", "((s->N != 0) ? kw_neg(s->M, &fault) : 4)");
    check_c(b, EXPR_C_INT, "max(M, N, 3)", "kw_max(kw_max(s->M, s->N), 3)");
    check_c(b, EXPR_C_TRUTH, "M == M", "(kw_num_compare(kw_num_of_int(s->M), kw_num_of_int(s->M)) == 0)");
}

static void test_c_refusals(void **state)
{
    bench *b = *state;
    check_c(b, EXPR_C_ANY, "M ** 2", "t.cl:3:5: ** cannot be printed as C | >>>M**2");
    check_c(b, EXPR_C_ANY, "1 + [M, 2][0]", "an item of a list cannot be printed as C");
    check_c(b, EXPR_C_ANY, "[M]", "a list cannot be printed as C");
    check_c(b, EXPR_C_ANY, "[1, 2]", "list cannot be printed as C");
    check_c(b, EXPR_C_TRUTH, "M in [N]", "`in` a list that is not constant cannot be printed as C");
    check_c(b, EXPR_C_TRUTH, "M in ['a']", "`in` a list without numbers cannot be printed as C");
    check_c(b, EXPR_C_ANY, "max([i for i in range(M)])", "a list cannot be printed as C");
    check_c(b, EXPR_C_ANY, "vec(T, M)", "vec cannot be printed as C");
    check_c(b, EXPR_C_ANY, "'a' if M else 2", "text cannot be printed as C");
    check_c(b, EXPR_C_ANY, "T", "type cannot be printed as C");
    check_c(b, EXPR_C_INT, "alpha * M", "a real stands where an integer is needed; use // or ceil_div");
    check_c(b, EXPR_C_ANY, "M + TM // (TM - 64)", "division by zero in TM // (TM - 64)");
    char *chain = mem_strdup("M");
    for (int i = 0; i < 40; i++) { /* each level prints its middle twice */
        strb longer = STRB_INIT;
        strb_printf(&longer, "0 < (%s) < 9", chain);
        free(chain);
        chain = strb_take(&longer);
    }
    check_c(b, EXPR_C_TRUTH, chain, "so long an expression cannot be printed as C");
    free(chain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_used_slots),
        cmocka_unit_test(test_conjuncts),
        cmocka_unit_test(test_frontier),
        cmocka_unit_test(test_same),
        cmocka_unit_test(test_fold),
        cmocka_unit_test(test_fold_errors),
        cmocka_unit_test(test_fold_changes_nothing),
        cmocka_unit_test(test_c_text),
        cmocka_unit_test(test_c_refusals),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
