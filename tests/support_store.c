#include "tests/support_store.h"

#include "tests/store_fixture.h"
#include "tuner/store_internal.h"

#include <math.h>

void store_journal_of(const char *path, char mode[16])
{
    sqlite3 *db;
    sqlite3_stmt *q;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "PRAGMA journal_mode", -1, &q, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(q), SQLITE_ROW);
    snprintf(mode, 16, "%s", (const char *)sqlite3_column_text(q, 0));
    sqlite3_finalize(q);
    sqlite3_close(db);
}

store *store_of_samples(void)
{
    store *s = memory_store();
    task *t = fixture_task();
    template *naive = fixture_template(t, "scale_naive", true), *rows = fixture_template(t, "scale_rows", false);
    kw_error err = {0};
    static const char *const shapes[] = {SHAPE_1, SHAPE_2};
    double samples[] = {100.125, 101.0 / 3, 99.9, 120};
    for (int v = 0; v < 4; v++) {
        variant *x = fixture_variant(v == 0 ? naive : rows, 1 << v, 0);
        assert_code(store_add_variant(s, x, &err), KW_OK, err);
        for (int shape = 0; shape < 2; shape++) {
            for (int repeat = 0; repeat <= v % 2; repeat++) {
                for (size_t i = 0; i < 4; i++)
                    samples[i] = 1000.0 / (1 + (v + shape) % 4) + 0.3 * (double)i + repeat;
                measurement m = fixture_row(t->hash, x->hash, shapes[shape], samples, 4);
                m.template_name = lend(x->template_name);
                m.verified = v == 0 ? VERIFIED_GENERAL : VERIFIED_EXACT;
                m.host = lend(shape ? "beta" : "alpha");
                if (repeat)
                    m.date = lend("2026-12-01T08:00:00Z");
                if (v != 2) { /* that device was probed; the older row is the noisier one */
                    m.limit_ns = 12.5 + shape;
                    m.limited_by = lend(shape ? "memory" : "cache");
                    m.noise = repeat ? 0.0125 : 0.03;
                }
                if (v == 3 && shape == 1) {
                    m.outcome = OUTCOME_TIMEOUT;
                    m.stage = STAGE_TIME;
                    m.detail = lend("no answer within 1000 ms");
                    m.n_samples = 0;
                    m.samples_ns = NULL;
                    m.method = NULL;
                    memset(&m.time, 0, sizeof m.time);
                    m.worst_error = INFINITY;
                    m.registers = -1;
                    m.verified = VERIFIED_NOT;
                }
                add_row(s, &m);
            }
        }
        variant_free(x);
    }
    template_free(naive);
    template_free(rows);
    task_free(t);
    return s;
}
