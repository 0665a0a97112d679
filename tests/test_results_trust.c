/* Whom to believe: weights, outliers, company; and that nothing is lost. */
#include "tests/store_fixture.h"

#include "tuner/results_groups.h"
#include "tuner/results_trust.h"
#include "tuner/store_internal.h"

#include <math.h>

#define SHAPE "{\"M\":3,\"N\":4}"

/* ---- a community ---- */

static void add_time(store *s, const char *who, const char *source, const char *shape, double ns)
{
    double samples[] = {0.999 * ns, ns, 1.001 * ns};
    measurement m = fixture_row(TASK_HASH, source, shape, samples, 3);
    m.contributor = lend(who);
    m.host = lend("localhost");
    add_row(s, &m);
}

static results_groups load(store *s)
{
    results_groups g;
    kw_error err = {0};
    const store_query all = {0};
    assert_code(results_groups_load(s, &all, false, &g, &err), KW_OK, err);
    return g;
}

static char *kept(void **state, const char *text)
{
    char *path = fs_join(*state, "trust.jsonl");
    write_text(path, text, strlen(text));
    return path;
}

static void use_trust(store *s, void **state, const char *text)
{
    char *path = kept(state, text);
    kw_error err = {0};
    assert_code(store_use_trust(s, path, &err), KW_OK, err);
    free(path);
}

static void rejected_are(const results_groups *g, const char *wanted)
{
    strb text = STRB_INIT;
    for (size_t i = 0; i < g->n_rejections; i++)
        strb_printf(&text, "%s:%s ", trust_who(&g->rejections[i].m), rejection_name(g->rejections[i].reason));
    assert_string_equal(strb_text(&text), wanted);
    strb_clear(&text);
}

/* ---- outliers ---- */

static void an_outlier(void **state)
{
    (void)state;
    store *s = memory_store();
    add_time(s, "ada", HASH_A, SHAPE, 1000);
    add_time(s, "bob", HASH_A, SHAPE, 1020);
    add_time(s, "cleo", HASH_A, SHAPE, 300); /* a wish */
    add_time(s, "ada", HASH_B, SHAPE, 900);  /* nobody else measured it */
    results_groups g = load(s);
    rejected_are(&g, "cleo:outlier ");
    assert_true(fabs(g.rejections[0].ns - 1000) < 1);
    assert_true(g.rejections[0].m.time.median == 300);
    assert_int_equal(g.n, 1);
    const ledger_entry *e = ledger_find(&g.items[0].ledger, HASH_A);
    assert_true(e->time.median > 900 && e->n_rows == 2);
    assert_string_equal(ledger_winner(&g.items[0].ledger, NULL, NULL)->source_hash, HASH_B);
    results_groups_clear(&g);
    /* it is not lost: the full text has it, the winners' text is made without */
    strb text = STRB_INIT;
    kw_error err = {0};
    assert_code(results_export(s, NULL, true, false, &text, &err), KW_OK, err);
    assert_has(strb_text(&text), "\"contributor\":\"cleo\"");
    strb_reset(&text);
    assert_code(results_export(s, NULL, false, false, &text, &err), KW_OK, err);
    assert_null(strstr(strb_text(&text), "cleo"));
    strb_clear(&text);
    store_close(s);
}

/* Two have no majority; three that agree within what boards differ are all believed, and so are noisy ones. */
static void no_outliers(void **state)
{
    (void)state;
    static const struct {
        double times[5];
        size_t n;
    } cases[] = {
        {{1000, 300}, 2},        {{1000, 1050, 1090}, 3},      {{1000, 1000, 1090}, 3},
        {{1000, 1300, 1700}, 3}, {{1000, 1200, 800, 1400}, 4}, {{500, 1000, 1500, 700, 1200}, 5},
    };
    static const char *const names[] = {"ada", "bob", "cleo", "dan", "eve"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        store *s = memory_store();
        for (size_t k = 0; k < cases[i].n; k++)
            add_time(s, names[k], HASH_A, SHAPE, cases[i].times[k]);
        results_groups g = load(s);
        rejected_are(&g, "");
        results_groups_clear(&g);
        store_close(s);
    }
}

/* However often one measures it, he is one. */
static void one_voice_each(void **state)
{
    (void)state;
    store *s = memory_store();
    for (int i = 0; i < 20; i++)
        add_time(s, "cleo", HASH_A, SHAPE, 300 + i);
    results_groups g = load(s);
    rejected_are(&g, "");
    results_groups_clear(&g);
    add_time(s, "ada", HASH_A, SHAPE, 1000);
    add_time(s, "bob", HASH_A, SHAPE, 1020);
    g = load(s);
    assert_int_equal(g.n_rejections, 20);
    assert_int_equal(ledger_find(&g.items[0].ledger, HASH_A)->n_rows, 2);
    results_groups_clear(&g);
    store_close(s);
}

/* Hosts stand in for names, but not for each other's; other drivers are other measurements. */
static void hosts_and_drivers(void **state)
{
    (void)state;
    store *s = memory_store();
    double fast[] = {299, 300, 301}, slow[] = {999, 1000, 1001};
    static const char *const hosts[] = {"alpha", "beta", "gamma"};
    for (int i = 0; i < 3; i++) {
        measurement m = fixture_row(TASK_HASH, HASH_A, SHAPE, i == 2 ? fast : slow, 3);
        m.host = lend(hosts[i]);
        m.driver = lend(i == 2 ? "4.0" : "3.1");
        add_row(s, &m);
    }
    results_groups g = load(s);
    rejected_are(&g, "");
    results_groups_clear(&g);
    measurement m = fixture_row(TASK_HASH, HASH_A, SHAPE, fast, 3);
    m.host = lend("delta");
    add_row(s, &m);
    g = load(s);
    rejected_are(&g, "delta:outlier ");
    results_groups_clear(&g);
    store_close(s);
}

/* ---- company ---- */

static void company(void **state)
{
    (void)state;
    store *s = memory_store();
    char shape[64];
    for (int i = 1; i <= 4; i++) {
        snprintf(shape, sizeof shape, "{\"M\":%d,\"N\":4}", i);
        add_time(s, "ada", HASH_A, shape, 1000);
        add_time(s, "bob", HASH_A, shape, 1010);
        add_time(s, "cleo", HASH_A, shape, i < 4 ? 300 : 1005);
    }
    add_time(s, "cleo", HASH_B, "{\"M\":9,\"N\":4}", 300); /* only cleo was there, with the board that is off */
    results_groups g = load(s);
    rejected_are(&g, "cleo:outlier cleo:outlier cleo:outlier cleo:company cleo:company ");
    assert_int_equal(g.n, 4); /* nothing is known of the last shape */
    results_groups_clear(&g);
    /* a failure is believed all the same */
    measurement wrong = fixture_row(TASK_HASH, HASH_A, "{\"M\":9,\"N\":4}", NULL, 0);
    wrong.outcome = OUTCOME_WRONG;
    wrong.contributor = lend("cleo");
    add_row(s, &wrong);
    g = load(s);
    for (size_t i = 0; i < g.n; i++)
        assert_null(ledger_winner(&g.items[i].ledger, NULL, NULL));
    results_groups_clear(&g);
    use_trust(s, state, "{\"contributor\":\"cleo\",\"weight\":0}\n");
    g = load(s);
    assert_int_equal(g.n_rejections, 6);
    for (size_t i = 0; i < g.n_rejections; i++)
        assert_int_equal(g.rejections[i].reason, REJECTED_WEIGHT);
    assert_int_equal(g.n, 4);
    for (size_t i = 0; i < g.n; i++)
        assert_non_null(ledger_winner(&g.items[i].ledger, NULL, NULL));
    results_groups_clear(&g);
    store_close(s);
}

/* Half of one's times off: the others are believed. */
static void mixed_company(void **state)
{
    (void)state;
    store *s = memory_store();
    char shape[64];
    for (int i = 1; i <= 6; i++) {
        snprintf(shape, sizeof shape, "{\"M\":%d,\"N\":4}", i);
        add_time(s, "ada", HASH_A, shape, 1000);
        add_time(s, "bob", HASH_A, shape, 1010);
        add_time(s, "cleo", HASH_A, shape, i <= 3 ? 300 : 1005);
    }
    results_groups g = load(s);
    rejected_are(&g, "cleo:outlier cleo:outlier cleo:outlier ");
    results_groups_clear(&g);
    store_close(s);
}

/* ---- weights ---- */

static void weights(void **state)
{
    store *s = memory_store();
    add_time(s, "ada", HASH_A, SHAPE, 1000);
    add_time(s, "bob", HASH_A, SHAPE, 300);
    add_time(s, "cleo", HASH_A, SHAPE, 310);
    results_groups g = load(s);
    rejected_are(&g, "ada:outlier ");
    results_groups_clear(&g);
    use_trust(s, state, "{\"contributor\":\"ada\",\"weight\":5}\n\n{\"contributor\":\"nobody\",\"weight\":1.5}");
    g = load(s);
    rejected_are(&g, "bob:outlier cleo:outlier ");
    results_groups_clear(&g);
    use_trust(s, state, "{\"contributor\":\"ada\",\"weight\":0}\n");
    g = load(s);
    rejected_are(&g, "ada:weight ");
    results_groups_clear(&g);
    store_close(s);
}

static void bad_weights(void **state)
{
    static const char *const cases[][2] = {
        {"what\n", "trust.jsonl:1:1: "},
        {"{\"contributor\":\"a\",\"weight\":1}\n{\"contributor\":\"b\"}\n", "trust.jsonl:2: \"weight\" must be"},
        {"{\"contributor\":\"a\",\"weight\":-1}\n", "must be a number, 0 or more"},
        {"{\"contributor\":\"a\",\"weight\":1e999}\n", "out of range"},
        {"{\"contributor\":5,\"weight\":1}\n", "contributor"},
        {"{\"contributer\":\"a\",\"weight\":1}\n", "did you mean"},
        {"{\"contributor\":\"a\",\"weight\":1}\n{\"contributor\":\"a\",\"weight\":2}\n", "more than one weight"},
    };
    store *s = memory_store();
    kw_error err = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *path = kept(state, cases[i][0]);
        assert_code(store_use_trust(s, path, &err), KW_BAD_INPUT, err);
        assert_has(err.message, cases[i][1]);
        free(path);
    }
    assert_code(store_use_trust(s, "/nowhere/x", &err), KW_BAD_INPUT, err);
    store_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_outlier),        cmocka_unit_test(no_outliers), cmocka_unit_test(one_voice_each),
        cmocka_unit_test(hosts_and_drivers), cmocka_unit_test(company),     cmocka_unit_test(mixed_company),
        cmocka_unit_test(weights),           cmocka_unit_test(bad_weights),
    };
    return cmocka_run_group_tests_name("whom to believe", tests, make_folder, remove_folder);
}
