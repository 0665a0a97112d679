/* The dispatch model: who wins which shape, and who serves the rest. */
#include "tests/support_world.h"

#include "base/clock.h"
#include "tuner/dispatch.h"
#include "tuner/store_internal.h"

/* ---- layers ---- */

static void winners_and_defaults(void **state)
{
    (void)state;
    world w;
    world_make(&w);
    static const double times[3][3] = {{900, 100, 300}, {800, 400, 200}, {700, 500, 650}};
    for (int shape = 0; shape < 3; shape++) {
        world_add(&w, NAIVE, 10 + shape, 5, times[shape][0]);
        world_add(&w, WG2, 10 + shape, 5, times[shape][1]);
        world_add(&w, WG4, 10 + shape, 5, times[shape][2]);
    }
    world_make_general(&w, NAIVE);
    world_make_general(&w, WG2);
    world_make_general(&w, WG4);
    w.device = DEVICE_B;
    world_add(&w, NAIVE, 10, 5, 50);
    world_add(&w, FIXED, 10, 7, 40);
    dispatch *d = world_build(&w, w.s, NULL, false);
    const header_model *m = dispatch_model(d);
    assert_int_equal(m->n_devices, 2);
    assert_string_equal(m->devices[0].key, DEVICE_B); /* sorted */
    assert_int_equal(m->n_rows, 5);
    assert_string_equal(header_row_hash(m, DEVICE_A, 10, 5), w.v[WG2]->hash);
    assert_string_equal(header_row_hash(m, DEVICE_A, 11, 5), w.v[WG4]->hash);
    assert_string_equal(header_row_hash(m, DEVICE_A, 12, 5), w.v[WG2]->hash);
    assert_string_equal(header_row_hash(m, DEVICE_B, 10, 5), w.v[NAIVE]->hash);
    assert_string_equal(header_row_hash(m, DEVICE_B, 10, 7), w.v[FIXED]->hash);
    for (size_t i = 0; i < m->n_rows; i++)
        assert_true(m->rows[i].expected_regret == 1);
    /* 9 * 2 * 1.4 over 3 * 4 * 1.08 */
    assert_string_equal(header_default_hash(m, DEVICE_A), w.v[WG2]->hash);
    assert_string_equal(header_default_hash(m, DEVICE_B), ""); /* nothing is general there */
    assert_string_equal(m->variants[m->default_variant]->hash, w.v[NAIVE]->hash);
    assert_int_equal(m->n_variants, 4);
    assert_string_equal(m->variants[0]->template_name, "scale_naive");
    for (size_t i = 1; i < m->n_variants; i++)
        assert_string_equal(m->variants[i]->template_name, "scale_rows");
    assert_string_equal(m->devices[1].provenance,
                        "Test CPU, driver 3.1, 2026-11-30, 3 shapes, 3 measurements, 9 samples");
    assert_string_equal(m->variant_notes[0],
                        "verified: exact; fastest for 1 shape"); /* on the one device that names it */
    assert_string_equal(m->prefix, "kw_");
    assert_ptr_equal(m->task, w.t);
    char *text = header_text_of(m);
    assert_has(text, "3 shapes, 3 measurements, 9 samples");
    free(text);
    dispatch_free(d);

    d = world_build(&w, w.s, DEVICE_A, false);
    assert_int_equal(dispatch_model(d)->n_devices, 1);
    assert_int_equal(dispatch_model(d)->n_rows, 3);
    dispatch_free(d);
    dispatch_free(NULL);

    /* a table of a device that never ran the fallback takes it from another */
    w.device = "intel/xe/arc/32";
    world_add(&w, WG2, 10, 5, 70);
    d = world_build(&w, w.s, w.device, false);
    m = dispatch_model(d);
    assert_int_equal(m->n_devices, 1);
    assert_string_equal(m->variants[m->default_variant]->hash, w.v[NAIVE]->hash);
    assert_string_equal(m->variant_notes[m->default_variant], "verified: general");
    dispatch_free(d);
    world_clear(&w);
}

/* A variant that is good on all shapes beats one that is best on a single one, however good it is there; a shape on
 * which a variant was not measured counts as the slowest general time. */
static void default_of_a_device(void **state)
{
    (void)state;
    world w;
    world_make(&w);
    for (int shape = 0; shape < 4; shape++) {
        world_add(&w, NAIVE, 10 + shape, 5, 1000);
        world_add(&w, WG2, 10 + shape, 5, 250);
    }
    world_add(&w, WG4, 10, 5, 10); /* 100 times, once */
    world_add(&w, WG8, 11, 5, 1);  /* the fastest, not general */
    world_make_general(&w, NAIVE);
    world_make_general(&w, WG2);
    world_make_general(&w, WG4);
    dispatch *d = world_build(&w, w.s, NULL, false);
    assert_string_equal(header_default_hash(dispatch_model(d), DEVICE_A), w.v[WG2]->hash); /* 4^4 = 256 over 100 */
    dispatch_free(d);
    world_add(&w, WG4, 12, 5, 100); /* now 1000 */
    d = world_build(&w, w.s, NULL, false);
    assert_string_equal(header_default_hash(dispatch_model(d), DEVICE_A), w.v[WG4]->hash);
    dispatch_free(d);
    world_clear(&w);
}

/* The level is stored for the rows that were there when the variant was verified; it holds for later ones. */
static void general_for_later_rows(void **state)
{
    (void)state;
    world w;
    world_make(&w);
    world_add_fallback(&w);
    world_add(&w, NAIVE, 2, 2, 900);
    dispatch *d = world_build(&w, w.s, NULL, false);
    const header_model *m = dispatch_model(d);
    assert_string_equal(m->variant_notes[0], "verified: general; fastest for 2 shapes");
    dispatch_free(d);
    world_clear(&w);
}

static void constants_serve_their_shape_only(void **state)
{
    (void)state;
    world w;
    world_make(&w);
    world_add_fallback(&w);
    world_add(&w, FIXED, 1, 7, 10);
    world_make_general(&w, FIXED); /* whoever said so */
    dispatch *d = world_build(&w, w.s, NULL, false);
    const header_model *m = dispatch_model(d);
    assert_string_equal(header_row_hash(m, DEVICE_A, 1, 7), w.v[FIXED]->hash);
    assert_string_equal(header_default_hash(m, DEVICE_A), w.v[NAIVE]->hash);
    dispatch_free(d);
    world_clear(&w);
}

static void default_of_the_header(void **state)
{
    (void)state;
    world w;
    world_make(&w);
    world_add(&w, WG2, 1, 1, 100);
    world_make_general(&w, WG2);
    world_fails(&w, NULL, false, KW_FAILED, "no checked result of a fallback template of scale");
    /* checked for its shapes only: better than nothing */
    world_add(&w, NAIVE, 1, 1, 5000);
    dispatch *d = world_build(&w, w.s, NULL, false);
    const header_model *m = dispatch_model(d);
    assert_string_equal(m->variants[m->default_variant]->hash, w.v[NAIVE]->hash);
    assert_string_equal(m->variant_notes[m->default_variant], "verified: exact");
    dispatch_free(d);
    /* another configuration of it, general: preferred although it was measured less */
    variant *other = fixture_variant(w.naive, 16, 0);
    kw_error err = {0};
    assert_code(store_add_variant(w.s, other, &err), KW_OK, err);
    world_add(&w, NAIVE, 2, 1, 5000);
    w.level = VERIFIED_GENERAL;
    world_add_shape(&w, other, "{\"M\":2,\"N\":1}", 6000, OUTCOME_OK);
    d = world_build(&w, w.s, NULL, false);
    m = dispatch_model(d);
    assert_string_equal(m->variants[m->default_variant]->hash, other->hash);
    assert_string_equal(m->variant_notes[m->default_variant], "verified: general");
    dispatch_free(d);
    variant_free(other);
    world_clear(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(winners_and_defaults),   cmocka_unit_test(default_of_a_device),
        cmocka_unit_test(general_for_later_rows), cmocka_unit_test(constants_serve_their_shape_only),
        cmocka_unit_test(default_of_the_header),
    };
    return cmocka_run_group_tests_name("dispatch", tests, make_folder, remove_folder);
}
