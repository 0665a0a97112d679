/* The ledger: samples pooled by source hash, and the rule that names a winner. */
#include "tests/store_fixture.h"

#include "tuner/ledger.h"

static measurement timed(const char *source_hash, const char *method, double *samples, size_t n)
{
    measurement m = fixture_row(TASK_HASH, source_hash, "{\"M\":3,\"N\":4}", samples, n);
    m.method = lend(method);
    return m;
}

/* A row of an export: the summary only. */
static measurement summary(const char *source_hash, const char *method, size_t n, double lo, double median, double hi)
{
    measurement m = fixture_row(TASK_HASH, source_hash, "{\"M\":3,\"N\":4}", NULL, 0);
    m.method = lend(method);
    m.time = (stats_summary){.n = n, .median = median, .lo = lo, .hi = hi};
    return m;
}

static measurement failed(const char *source_hash, outcome o)
{
    measurement m = fixture_row(TASK_HASH, source_hash, "{\"M\":3,\"N\":4}", NULL, 0);
    m.outcome = o;
    m.verified = VERIFIED_NOT;
    return m;
}

static void samples_are_pooled(void **state)
{
    (void)state;
    ledger l = LEDGER_INIT;
    double a[] = {10, 12}, b[] = {14}, c[] = {100};
    measurement m = timed(HASH_A, "events", a, 2);
    ledger_add(&l, &m);
    m = timed(HASH_B, "events", c, 1);
    ledger_add(&l, &m);
    m = timed(HASH_A, "events", b, 1);
    m.verified = VERIFIED_GENERAL;
    ledger_entry *e = ledger_add(&l, &m);
    assert_int_equal(l.n, 2);
    assert_ptr_equal(e, ledger_find(&l, HASH_A));
    assert_int_equal(e->n_samples, 3);
    assert_int_equal(e->n_rows, 2);
    assert_int_equal(e->time.n, 3);
    assert_true(e->time.median == 12 && e->time.lo == 10 && e->time.hi == 14);
    assert_int_equal(e->verified, VERIFIED_GENERAL);
    assert_string_equal(e->template_name, "scale_rows");
    assert_string_equal(e->config, "{\"WG\":64,\"FIX\":false}");
    assert_null(ledger_find(&l, HASH_C));
    ledger_clear(&l);
    assert_null(ledger_find(&l, HASH_A));
}

static void methods_are_not_mixed(void **state)
{
    (void)state;
    double events[] = {10, 11}, batch[] = {20, 21, 22};
    for (int batch_first = 0; batch_first < 2; batch_first++) {
        ledger l = LEDGER_INIT;
        measurement e = timed(HASH_A, "events", events, 2), b = timed(HASH_A, "batch", batch, 3);
        ledger_add(&l, batch_first ? &b : &e);
        ledger_add(&l, batch_first ? &e : &b);
        const ledger_entry *x = ledger_find(&l, HASH_A);
        assert_string_equal(x->method, "batch");
        assert_int_equal(x->n_samples, 3);
        assert_int_equal(x->n_rows, 1);
        assert_true(x->time.median == 21);
        ledger_clear(&l);
    }
    /* a row that was verified and not timed says nothing about the time */
    ledger l = LEDGER_INIT;
    measurement m = timed(HASH_A, "events", NULL, 0);
    m.method = NULL;
    assert_int_equal(ledger_add(&l, &m)->time.n, 0);
    assert_null(ledger_winner(&l, NULL, NULL));
    ledger_clear(&l);
}

/* Whatever the order: samples stand over summaries, the summary of more samples over others, the slower over the
 * luckier. */
static void summaries(void **state)
{
    (void)state;
    double samples[] = {50, 52, 54};
    measurement rows[] = {summary(HASH_A, "events", 9, 9, 10, 11), summary(HASH_A, "events", 30, 19, 20, 21),
                          summary(HASH_A, "events", 30, 29, 30, 31), timed(HASH_A, "events", samples, 3),
                          summary(HASH_A, "batch", 5, 69, 70, 71)};
    static const double expected[] = {10, 20, 30, 52, 70};
    for (size_t n = 1; n <= 5; n++) {
        for (int backwards = 0; backwards < 2; backwards++) {
            ledger l = LEDGER_INIT;
            for (size_t i = 0; i < n; i++)
                ledger_add(&l, &rows[backwards ? n - 1 - i : i]);
            assert_true(ledger_find(&l, HASH_A)->time.median == expected[n - 1]);
            ledger_clear(&l);
        }
    }
}

static void one_failure_is_enough(void **state)
{
    (void)state;
    double fast[] = {10, 11}, slow[] = {20, 21};
    for (int failure_first = 0; failure_first < 2; failure_first++) {
        ledger l = LEDGER_INIT;
        measurement ok = timed(HASH_A, "events", fast, 2), wrong = failed(HASH_A, OUTCOME_WRONG);
        measurement other = timed(HASH_B, "events", slow, 2);
        ledger_add(&l, failure_first ? &wrong : &ok);
        ledger_add(&l, failure_first ? &ok : &wrong);
        ledger_add(&l, &other);
        assert_false(ledger_find(&l, HASH_A)->ok);
        assert_int_equal(ledger_find(&l, HASH_A)->outcome, OUTCOME_WRONG);
        assert_string_equal(ledger_winner(&l, NULL, NULL)->source_hash, HASH_B);
        ledger_clear(&l);
    }
}

static bool is_general(const ledger_entry *e, void *cookie)
{
    ++*(int *)cookie;
    return e->verified == VERIFIED_GENERAL;
}

static void the_winner(void **state)
{
    (void)state;
    ledger l = LEDGER_INIT;
    assert_null(ledger_winner(&l, NULL, NULL));
    assert_null(ledger_fastest(&l, NULL, NULL));
    measurement b = summary(HASH_B, "events", 9, 99, 100, 103), c = summary(HASH_C, "events", 9, 99.5, 101, 104);
    ledger_add(&l, &c);
    ledger_add(&l, &b);
    assert_string_equal(ledger_winner(&l, NULL, NULL)->source_hash, HASH_B);
    /* within 2% and overlapping: the lower hash, though it is slower */
    measurement a = summary(HASH_A, "events", 9, 101, 101.9, 105);
    a.verified = VERIFIED_GENERAL;
    ledger_add(&l, &a);
    assert_string_equal(ledger_winner(&l, NULL, NULL)->source_hash, HASH_A);
    assert_string_equal(ledger_fastest(&l, NULL, NULL)->source_hash, HASH_B);
    int asked = 0;
    assert_string_equal(ledger_winner(&l, is_general, &asked)->source_hash, HASH_A);
    assert_true(asked > 0);
    ledger_clear(&l);

    /* more than 2% slower, or no overlap: not a tie */
    static const double others[][3] = {{101, 102.1, 105}, {103.5, 101.9, 105}};
    for (size_t i = 0; i < 2; i++) {
        a = summary(HASH_A, "events", 9, others[i][0], others[i][1], others[i][2]);
        ledger_add(&l, &a);
        ledger_add(&l, &b);
        assert_string_equal(ledger_winner(&l, NULL, NULL)->source_hash, HASH_B);
        ledger_clear(&l);
    }
}

/* A tie is as wide as noise, within bounds; the leader's counts. */
static void noise_makes_ties(void **state)
{
    (void)state;
    static const struct {
        double noise, slower; /* the leader's noise; the other's median over the leader's */
        bool tie;
    } cases[] = {{0, 1.019, true},     {0, 1.021, false},     {0.001, 1.0049, true}, {0.001, 1.0051, false},
                 {0.01, 1.0099, true}, {0.01, 1.0101, false}, {0.5, 1.049, true},    {0.5, 1.051, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ledger l = LEDGER_INIT;
        measurement leader = summary(HASH_B, "events", 9, 90, 100, 120);
        measurement other = summary(HASH_A, "events", 9, 100, 100 * cases[i].slower, 130);
        leader.noise = cases[i].noise;
        other.noise = 0.04;
        ledger_add(&l, &other);
        ledger_add(&l, &leader);
        assert_string_equal(ledger_winner(&l, NULL, NULL)->source_hash, cases[i].tie ? HASH_A : HASH_B);
        ledger_clear(&l);
    }
}

/* Of all measurements behind a time the largest; those that are not behind it do not count. */
static void noise_of_an_entry(void **state)
{
    (void)state;
    double samples[] = {10, 11};
    measurement rows[4];
    rows[0] = summary(HASH_A, "events", 9, 9, 10, 11);
    rows[1] = timed(HASH_A, "events", samples, 2);
    rows[2] = timed(HASH_A, "events", samples, 2);
    rows[3] = timed(HASH_A, "batch", samples, 2);
    static const double noise[] = {0.5, 0.01, 0.03, 0.02}, expected[] = {0.5, 0.01, 0.03, 0.02};
    ledger l = LEDGER_INIT;
    for (size_t i = 0; i < 4; i++) {
        rows[i].noise = noise[i];
        assert_true(ledger_add(&l, &rows[i])->noise == expected[i]);
    }
    ledger_clear(&l);
    ledger_add(&l, &rows[2]);
    assert_true(ledger_add(&l, &rows[1])->noise == 0.03);
    assert_true(ledger_add(&l, &rows[0])->noise == 0.03);
    ledger_clear(&l);
}

static void contenders(void **state)
{
    (void)state;
    ledger l = LEDGER_INIT;
    const ledger_entry *out[4];
    assert_int_equal(ledger_contenders(&l, 1.05, out, 4), 0);
    static const double medians[] = {104, 100, 106, 104, 90};
    for (int i = 0; i < 5; i++) {
        char hash[HASH_HEX_SIZE];
        snprintf(hash, sizeof hash, "%032x", 9 - i);
        measurement m = i == 4 ? failed(hash, OUTCOME_CRASH)
                               : summary(hash, "events", 9, medians[i] - 1, medians[i], medians[i] + 1);
        ledger_add(&l, &m);
    }
    assert_int_equal(ledger_contenders(&l, 1.05, out, 4), 3);
    assert_true(out[0]->time.median == 100);
    assert_true(out[1]->time.median == 104 && out[2]->time.median == 104);
    assert_true(strcmp(out[1]->source_hash, out[2]->source_hash) < 0);
    assert_int_equal(ledger_contenders(&l, 1.05, out, 2), 2);
    ledger_clear(&l);
}

/* One text of two templates: the times are pooled, and the entry goes by the name that it was given last. */
static void renamed(void **state)
{
    (void)state;
    ledger l = LEDGER_INIT;
    double fast[] = {10, 11, 12}, slow[] = {13, 14, 15};
    measurement a = timed("aa", "events", fast, 3), b = timed("aa", "events", slow, 3);
    a.template_name = "plain";
    b.template_name = "twin";
    b.config = "{\"WG\":32}";
    ledger_add(&l, &a);
    ledger_entry *e = ledger_add(&l, &b);
    assert_string_equal(e->template_name, "plain");
    ledger_rename(e, &b);
    assert_string_equal(e->template_name, "twin");
    assert_string_equal(e->config, "{\"WG\":32}");
    assert_int_equal(e->n_samples, 6);
    ledger_clear(&l);
}

/* As many variants as an exhaustive search brings: each is found, none twice. */
static void many_variants(void **state)
{
    (void)state;
    enum { N = 20000 };
    ledger l = LEDGER_INIT;
    char hash[HASH_HEX_SIZE];
    double sample[] = {10};
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < N; i++) {
            snprintf(hash, sizeof hash, "%032x", i);
            measurement m = timed(hash, "events", sample, 1);
            ledger_add(&l, &m);
        }
    }
    assert_int_equal(l.n, N);
    for (int i = 0; i < N; i += 997) {
        snprintf(hash, sizeof hash, "%032x", i);
        assert_int_equal(ledger_find(&l, hash)->n_samples, 2);
    }
    assert_null(ledger_find(&l, TASK_HASH));
    ledger_clear(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_are_pooled), cmocka_unit_test(methods_are_not_mixed),
        cmocka_unit_test(summaries),          cmocka_unit_test(one_failure_is_enough),
        cmocka_unit_test(the_winner),         cmocka_unit_test(contenders),
        cmocka_unit_test(noise_makes_ties),   cmocka_unit_test(noise_of_an_entry),
        cmocka_unit_test(renamed),
        cmocka_unit_test(many_variants),
    };
    return cmocka_run_group_tests_name("ledger", tests, NULL, NULL);
}
