/* The live line of evolution: what it says when, and when the archive's map is shown. */
#include "llm/evolve_live.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define SECOND INT64_C(1000000000)

static void offer_at(archive *a, int memory, double fitness, const char *hash)
{
    static char config[] = "{}";
    offer o = {.where = {.level = {memory, 0, 0}}, .fitness = fitness, .rel_noise = 0.01, .config = config};
    snprintf(o.template_hash, sizeof o.template_hash, "t%s", hash);
    snprintf(o.source_hash, sizeof o.source_hash, "s%s", hash);
    archive_offer(a, &o, 1, false);
}

static void says(evolve_live *l, const evolve_progress *p, int64_t now_ns, const char *part, bool there)
{
    strb text = STRB_INIT;
    evolve_live_line(l, p, now_ns, &text);
    if ((strstr(strb_text(&text), part) != NULL) != there)
        fail_msg("\"%s\" is %s in: %s", part, there ? "not" : "all the same", strb_text(&text));
    strb_clear(&text);
}

/* Ten candidates of an earlier part took no time of this one: three in 60 s leave twelve, four minutes. */
static void time_left(void **state)
{
    (void)state;
    archive *a = archive_new();
    evolve_live l = {0};
    evolve_progress p = {.archive = a, .budget = 25, .asked = 12, .tried = 10, .last = "x"};
    says(&l, &p, 5 * SECOND, "left", false);
    p.tried = 13;
    says(&l, &p, 65 * SECOND, "about 4 min left", true);
    p.tried = 24;
    says(&l, &p, 75 * SECOND, "about 5 s left", true);
    p.tried = 11;
    says(&l, &p, 5 * SECOND + 3600 * SECOND, "about 14.0 h left", true);
    p.tried = 25;
    says(&l, &p, 80 * SECOND, "left", false);
    archive_free(a);
}

/* A cost is said where every reply had a price. */
static void cost(void **state)
{
    (void)state;
    archive *a = archive_new();
    evolve_live l = {0};
    evolve_progress p = {.archive = a, .budget = 5, .last = "x", .totals = {.cost = 0.25}};
    says(&l, &p, 0, "0.25 in money", true);
    p.totals.unpriced = 1;
    says(&l, &p, 0, "money", false);
    archive_free(a);
}

static void map_changes(void **state)
{
    (void)state;
    archive *a = archive_new();
    evolve_live l = {0};
    evolve_progress p = {.archive = a, .budget = 5, .last = "x"};
    assert_false(evolve_live_map_changed(&l, &p));
    offer_at(a, 0, 1.2, "a");
    assert_true(evolve_live_map_changed(&l, &p));
    assert_false(evolve_live_map_changed(&l, &p));
    offer_at(a, 1, 1.1, "b");
    assert_true(evolve_live_map_changed(&l, &p));
    offer_at(a, 1, 1.15, "c"); /* better in its cell, not of all */
    assert_false(evolve_live_map_changed(&l, &p));
    offer_at(a, 1, 1.5, "d");
    assert_true(evolve_live_map_changed(&l, &p));
    archive_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_left),
        cmocka_unit_test(cost),
        cmocka_unit_test(map_changes),
    };
    return cmocka_run_group_tests_name("evolve_live", tests, NULL, NULL);
}
