/* How long tests wait. No time decides a test: a busy machine is ten times slower, and a process may stand still for
 * seconds. */
#ifndef KERNWRIGHT_TESTS_SUPPORT_LIMITS_H
#define KERNWRIGHT_TESTS_SUPPORT_LIMITS_H

enum {
    /* A deadline where something hangs on purpose, and good candidates beside it have to keep it. */
    TEST_LIMIT_MS = 6000,
    /* What must come has come by then, or never does. */
    TEST_PATIENCE_MS = 120000,
    /* A whole program of tests: whoever waits for ever has failed. */
    TEST_PROGRAM_S = 1500
};

#endif
