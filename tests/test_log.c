/* Standard error of a child that logs, as a person's log file would get it. */
#include "base/log.h"
#include "base/mem.h"
#include "base/fs.h"
#include "base/subprocess.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void speak(void)
{
    log_error("e %d", 1);
    log_warn("w");
    log_info("i");
    log_debug("d");
    for (int i = 1; i <= 3; i++)
        log_live("%d of 3", i);
    log_live_end();
    log_set_level(LOG_ERROR);
    log_warn("unheard");
    log_live("unheard");
    log_live_end();
}

static void assert_spoken(const char *setting, const char *expected)
{
    char *self = fs_self_path();
    const char *const argv[] = {self, "speak", NULL};
    const char *const env[] = {setting, NULL};
    subprocess_spec spec = {.argv = argv, .extra_env = env, .timeout_ms = 30000};
    subprocess_result r;
    assert_int_equal(subprocess_run(&spec, &r, NULL), KW_OK);
    assert_string_equal(strb_text(&r.output), "");
    assert_string_equal(strb_text(&r.errors), expected);
    subprocess_result_clear(&r);
    free(self);
}

/* Only the first live line is printed within ten seconds; the end prints the last one. */
static void levels(void **state)
{
    (void)state;
    assert_spoken("KERNWRIGHT_LOG=", "error: e 1\nwarning: w\ni\n1 of 3\n3 of 3\n");
    assert_spoken("KERNWRIGHT_LOG=debug", "error: e 1\nwarning: w\ni\ndebug: d\n1 of 3\n3 of 3\n");
    assert_spoken("KERNWRIGHT_LOG=warn", "error: e 1\nwarning: w\n");
    assert_spoken("KERNWRIGHT_LOG=error", "error: e 1\n");
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "speak") == 0) {
        speak();
        return 0;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(levels)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
