/* The short reader of result lines against the long one: what it reads is the same, and what it does not take stays as
 * it was. */
#include "tests/store_fixture.h"

#include "base/counter_rng.h"
#include "base/utf8.h"
#include "tuner/results_groups.h"
#include "tuner/results_scan.h"
#include "tuner/results_text.h"

#include <math.h>

static uint64_t counter;

static size_t draw(size_t below)
{
    return (size_t)(counter_rng_u64(19, 5, counter++) % below);
}

/* ---- rows of all kinds ---- */

static double draw_number(void)
{
    static const double some[] = {1, 0.1, 1e-300, 1e300, 5e-324, 1.7976931348623157e308, 123456789012345678, 0.3};
    switch (draw(5)) {
    case 0:
        return some[draw(sizeof some / sizeof *some)];
    case 1:
        return (double)(1 + draw(1000000));
    case 2:
        return (double)(1 + draw(1000000)) / 1000;
    default:
        return ldexp(1 + counter_rng_unit(1, 2, counter++), (int)draw(60) - 20);
    }
}

static const char *draw_text(void)
{
    static const char *const some[] = {"",           "a",     "Test CPU", "Kern\xc3\xa9l \xe2\x82\xac",
                                       "two\nlines", "\"q\"", "back\\",   "tab\t",
                                       "550.54 / x", "{}",    "\x7f",     "[1,2]"};
    return some[draw(sizeof some / sizeof *some)];
}

static const char *draw_object(void)
{
    static const char *const some[] = {"{}",
                                       "{\"M\":3,\"N\":4}",
                                       "{\"M\":9007199254740991}",
                                       "{\"alpha\":0.5,\"beta\":0}",
                                       "{\"WG\":64,\"FIX\":false,\"MODE\":\"column\"}",
                                       "{\"a\":[1,2]}",
                                       "{\"n\":-7}",
                                       "{\"x\":\"q\\\"\"}",
                                       "{\"x\":1e30}",
                                       "{\"b\":null}"};
    return some[draw(sizeof some / sizeof *some)];
}

static const char *draw_shape(void)
{
    static const char *const some[] = {"{}", "{\"M\":3,\"N\":4}", "{\"M\":9007199254740991}", "{\"N\":0}",
                                       "{\"M\":512,\"N\":64,\"K\":17,\"lda\":600}"};
    return some[draw(sizeof some / sizeof *some)];
}

static measurement draw_row(double *samples)
{
    static const char *const extras[] = {NULL,
                                         NULL,
                                         "{\"rows\":3,\"first_date\":\"2026-01-01T00:00:00Z\"}",
                                         "{\"joules\":2.5}",
                                         "{\"clock\":1980,\"tags\":[1,2]}",
                                         "{\"note\":\"a\\nb\"}",
                                         "{\"flag\":true,\"none\":null}"};
    size_t n = draw(4);
    for (size_t i = 0; i < n; i++)
        samples[i] = draw_number();
    measurement m = fixture_row("00112233445566778899aabbccddeeff", "ffeeddccbbaa99887766554433221100", "{\"M\":3}",
                                n ? samples : NULL, n);
    m.time = n ? stats_of(samples, n) : (stats_summary){0};
    m.task = lend(draw_text());
    m.shape = lend(draw_shape());
    m.scalars = lend(draw_object());
    m.config = draw(3) ? lend(draw_object()) : NULL;
    m.detail = draw(3) ? NULL : lend(draw_text());
    m.driver = draw(3) ? lend(draw_text()) : NULL;
    m.host = draw(3) ? lend(draw_text()) : NULL;
    m.device_name = draw(2) ? lend(draw_text()) : NULL;
    m.outcome = draw(2) ? OUTCOME_OK : (outcome)draw(OUTCOME_COUNT);
    m.stage = (stage)draw(STAGE_COUNT);
    m.verified = (verified)draw(3);
    m.compile_ms = draw_number();
    m.worst_error = draw(3) ? draw_number() : INFINITY;
    m.registers = (int64_t)draw(300) - 1;
    m.limit_ns = draw(2) ? draw_number() : 0;
    m.noise = draw(2) ? draw_number() : 0;
    const char *extra = extras[draw(7)];
    m.extra = extra ? lend(extra) : NULL;
    return m;
}

/* ---- the comparison ---- */

static char *printed(const measurement *m)
{
    strb text = STRB_INIT;
    results_row_print(m, true, &text);
    strb_printf(&text, " extra %s n %zu", m->extra ? m->extra : "none", m->n_samples);
    return strb_take(&text);
}

/* Was the short way taken? If so, the long one says the same. */
static bool agree(const char *line, size_t length, scan_room *room)
{
    char *copy = mem_strndup(line, length);
    measurement shortly, longly;
    const bool taken = results_row_scan(copy, length, room, &shortly);
    if (!taken) {
        assert_memory_equal(copy, line, length);
        free(copy);
        return false;
    }
    kw_error err = {0};
    json *j = json_parse(line, length, "line", 1, 1, &err);
    if (!j)
        fail_msg("only the short way reads %.*s: %s", (int)length, line, err.message);
    assert_int_equal(json_count(j), 1);
    assert_string_equal(json_key(json_first(j)), "measurement");
    assert_code(results_row_read(json_first(j), "line", &longly, &err), KW_OK, err);
    char *a = printed(&shortly), *b = printed(&longly);
    assert_string_equal(a, b);
    assert_true(shortly.time.n == longly.time.n && shortly.timing_version == longly.timing_version);
    for (size_t i = 0; i < longly.n_samples; i++)
        assert_memory_equal(&shortly.samples_ns[i], &longly.samples_ns[i], sizeof(double));
    free(a);
    free(b);
    measurement_clear(&longly);
    json_free(j);
    free(copy);
    return true;
}

static void random_rows(void **state)
{
    (void)state;
    scan_room room = {0};
    size_t taken = 0;
    for (int i = 0; i < 5000; i++) {
        double values[4];
        measurement m = draw_row(values);
        strb line = STRB_INIT;
        results_row_print(&m, draw(2), &line);
        taken += agree(line.data, line.length, &room);
        strb_clear(&line);
    }
    print_message("%zu of 5000 rows took the short way\n", taken);
    assert_true(taken > 50);
    scan_room_clear(&room);
}

/* What the program writes of ordinary rows takes the short way. */
static void ordinary_rows(void **state)
{
    (void)state;
    scan_room room = {0};
    for (int i = 0; i < 200; i++) {
        double values[3] = {draw_number(), draw_number(), draw_number()};
        measurement m = fixture_row("00112233445566778899aabbccddeeff", "ffeeddccbbaa99887766554433221100",
                                    "{\"M\":3,\"N\":4}", values, 3);
        m.time = stats_of(values, 3);
        m.extra = draw(2) ? lend("{\"rows\":3,\"first_date\":\"2026-01-01T00:00:00Z\"}") : NULL;
        strb line = STRB_INIT;
        results_row_print(&m, draw(2), &line);
        if (!agree(line.data, line.length, &room))
            fail_msg("not taken: %s", line.data);
        strb_clear(&line);
    }
    scan_room_clear(&room);
}

static bool is_text(const strb *line)
{
    for (size_t at = 0, n; at < line->length; at += n) {
        n = utf8_length(line->data + at, line->length - at);
        if (n == 0 || line->data[at] == '\0')
            return false;
    }
    return true;
}

/* Bytes changed, taken out, doubled: the short way never takes what the long one refuses or reads otherwise. */
static void changed_lines(void **state)
{
    (void)state;
    static const char pieces[] = "{}[]\",:\\ 0123456789.-+eEtfn\x01\x7f";
    scan_room room = {0};
    size_t taken = 0;
    for (int i = 0; i < 60000; i++) {
        double values[4];
        measurement m = draw_row(values);
        m.task = m.host = m.driver = lend("plain");
        m.shape = lend("{\"M\":3,\"N\":40}");
        m.scalars = m.config = lend("{\"M\":3,\"N\":40,\"w\":true}");
        m.detail = NULL;
        strb line = STRB_INIT;
        results_row_print(&m, true, &line);
        for (size_t k = 1 + draw(2); k > 0; k--) {
            size_t at = draw(line.length);
            switch (draw(3)) {
            case 0:
                line.data[at] = pieces[draw(sizeof pieces - 1)];
                break;
            case 1:
                memmove(line.data + at, line.data + at + 1, line.length - at);
                line.length--;
                break;
            default:
                strb_add_char(&line, ' ');
                memmove(line.data + at + 1, line.data + at, line.length - at - 1);
                line.data[at] = draw(2) ? line.data[at + 1] : pieces[draw(sizeof pieces - 1)];
            }
        }
        if (is_text(&line)) /* the reader of lines has seen to that */
            taken += agree(line.data, line.length, &room);
        strb_clear(&line);
    }
    print_message("%zu of 60000 changed lines took the short way\n", taken);
    assert_true(taken > 1000);
    scan_room_clear(&room);
}

/* Members that stand elsewhere, twice, or are written in another way. */
static void other_forms(void **state)
{
    (void)state;
    double values[] = {100, 101, 102};
    measurement m =
        fixture_row("00112233445566778899aabbccddeeff", "ffeeddccbbaa99887766554433221100", "{\"M\":3}", values, 3);
    m.time = stats_of(values, 3);
    strb line = STRB_INIT;
    results_row_print(&m, true, &line);
    static const char *const changes[][2] = {
        {"\"mode\":\"cold\",\"timing_version\":" TIMED, "\"timing_version\":" TIMED ",\"mode\":\"cold\""},
        {"\"mode\":\"cold\"", "\"mode\":\"cold\",\"mode\":\"cold\""},
        {"\"mode\":\"cold\"", "\"mode\": \"cold\""},
        {"\"mode\":\"cold\"", "\"mode\":\"c\\u006fld\""},
        {"\"M\":3", "\"M\":3.0"},
        {"\"M\":3", "\"M\":3,\"M\":3"},
        {"\"M\":3", "\"M\":03"},
        {"\"M\":3", "\"M\":99999999999999999999"},
        {"\"median_ns\":101", "\"median_ns\":103"},
        {"\"median_ns\":101", "\"median_ns\":1e999"},
        {"\"median_ns\":101", "\"median_ns\":-101"},
        {"\"median_ns\":101", "\"median_ns\":0"},
        {"\"registers\":32", "\"registers\":32.5"},
        {"\"registers\":32", "\"registers\":\"32\""},
        {"\"outcome\":\"ok\"", "\"outcome\":\"okay\""},
        {"\"source_hash\":\"f", "\"source_hash\":\"g"},
        {"\"types\":\"T=f32\",", ""},
        {"\"n\":3", "\"n\":4"},
        {"\"tool_version\":\"0.1.0\"", "\"tool_version\":\"0.1.0\",\"x\":1,\"x\":2"},
        {"\"tool_version\":\"0.1.0\"", "\"tool_version\":\"0.1.0\",\"x\":1,\"api\":\"opencl\""},
    };
    scan_room room = {0};
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        const char *at = strstr(line.data, changes[i][0]);
        assert_non_null(at);
        strb other = STRB_INIT;
        strb_add_n(&other, line.data, (size_t)(at - line.data));
        strb_add(&other, changes[i][1]);
        strb_add(&other, at + strlen(changes[i][0]));
        if (agree(other.data, other.length, &room))
            fail_msg("the short way took %s", changes[i][1]);
        strb_clear(&other);
    }
    scan_room_clear(&room);
    strb_clear(&line);
}

static void other_tasks(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        bool other;
    } cases[] = {
        {"{\"measurement\":{\"task\":\"gemm\",\"task_hash\":\"1\"}}", false},
        {"{\"measurement\":{\"task\":\"gemm2\",\"task_hash\":\"1\"}}", true},
        {"{\"measurement\":{\"task\":\"gem\",\"task_hash\":\"1\"}}", true},
        {"{\"variant\":{\"task\":\"scan\",\"task_hash\":\"1\"}}", true},
        {"{\"variant\":{\"task\":\"gemm\",\"task_hash\":\"1\"}}", false},
        {"{\"measurement\":{\"task\":\"sc\\u0061n\",\"task_hash\":\"1\"}}", false}, /* the long way will tell */
        {"{\"measurement\": {\"task\":\"scan\",\"task_hash\":\"1\"}}", false},
        {"{\"measurement\":{\"task\":\"scan", false},
        {"{\"measurement\":{\"task\":\"scan\",", false},
        {"{\"measurement\":{\"task\":5}}", false},
        {"{}", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(results_of_other_task(cases[i].line, strlen(cases[i].line), "gemm"), cases[i].other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_rows), cmocka_unit_test(ordinary_rows), cmocka_unit_test(changed_lines),
        cmocka_unit_test(other_forms), cmocka_unit_test(other_tasks),
    };
    return cmocka_run_group_tests_name("scanning results", tests, NULL, NULL);
}
