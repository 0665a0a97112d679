#include "cli/cli.h"

#include "base/json.h"
#include "base/log.h"
#include "tuner/environment.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

static const command commands[] = {
    {"devices", "list compute devices, their keys and limits", cli_devices},
    {"doctor", "check the installation, the drivers and the store, and say what to mend", cli_doctor},
    {"probe", "measure what the device reaches at best, and how far times of one kernel differ", cli_probe},
    {"tasks", "list tasks", cli_tasks},
    {"templates", "list kernel templates", cli_templates},
    {"new", "start from an own kernel: write a sidecar and a task to fill in", cli_new},
    {"check", "check templates and tasks; size of the space; what rejects a configuration", cli_check},
    {"space", "count, sample or list the valid configurations of a template or problem file", cli_space},
    {"expand", "print the source of one configuration", cli_expand},
    {"time", "verify and time one configuration", cli_time},
    {"tune", "search the best configuration for each shape", cli_tune},
    {"retune", "measure what a device still lacks, from what others taught", cli_retune},
    {"matrix", "measure one list of configurations on every shape", cli_matrix},
    {"simulate", "replay recorded spaces: what each strategy finds, without a device", cli_simulate},
    {"evolve", "let a language model write templates, and tune them", cli_evolve},
    {"results", "show, export, import and merge what was measured", cli_results},
    {"emit", "write the dispatch header", cli_emit},
    {"crossover", "every device's best on every other device", cli_crossover},
    {"worker", "serve jobs on standard input and output (used by the tuner)", cli_worker},
};

#define N_COMMANDS (sizeof commands / sizeof *commands)

static void print_usage(FILE *to)
{
    fprintf(
        to,
        "usage: kernwright COMMAND [options]\n\nGPU kernels tuned offline, dispatched by one header.\n\ncommands:\n");
    for (size_t i = 0; i < N_COMMANDS; i++)
        fprintf(to, "  %-10s %s\n", commands[i].name, commands[i].summary);
    fprintf(to,
            "\n`kernwright COMMAND --help` tells more. Exit status: 0 done, 1 the work failed, 2 bad usage or input,\n"
            "3 the environment lacks something, 130 interrupted with everything measured so far kept.\n");
}

void cli_print_strategies(void)
{
    strb text = STRB_INIT;
    strategy_describe(&text);
    fputs(strb_text(&text), stdout);
    strb_clear(&text);
}

int cli_fail(const char *name, const kw_error *err)
{
    log_live_end();
    fprintf(stderr, "kernwright %s: %s\n", name, err->message);
    return err->code;
}

static int unknown_command(const char *name)
{
    const char *names[N_COMMANDS];
    for (size_t i = 0; i < N_COMMANDS; i++)
        names[i] = commands[i].name;
    const char *near = json_nearest(name, names, N_COMMANDS);
    fprintf(stderr, "kernwright: unknown command '%s'%s%s%s; see kernwright --help\n", name,
            near ? ", did you mean '" : "", near ? near : "", near ? "'" : "");
    return KW_BAD_INPUT;
}

/* The exit status, when standard output may hold what cannot be written. */
static int written(const char *name, int status)
{
    bool done = fflush(stdout) == 0 && !ferror(stdout);
    if (done || status != KW_OK)
        return status;
    fprintf(stderr, "kernwright%s%s: standard output cannot be written\n", *name ? " " : "", name);
    return KW_ENVIRONMENT;
}

int main(int argc, char **argv)
{
    /* A file that reaches `ulimit -f` then is a write that fails with EFBIG, which is reported as every other. */
    signal(SIGXFSZ, SIG_IGN);
    if (argc < 2) {
        print_usage(stderr);
        return KW_BAD_INPUT;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        print_usage(stdout);
        return written("", KW_OK);
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("kernwright %s\n", KERNWRIGHT_VERSION);
        return written("", KW_OK);
    }
    for (size_t i = 0; i < N_COMMANDS; i++) {
        if (strcmp(commands[i].name, argv[1]) != 0)
            continue;
        kw_error err;
        if (commands[i].run != cli_worker && environment_check(&err) != KW_OK)
            return cli_fail(argv[1], &err);
        return written(argv[1], commands[i].run(argc - 1, argv + 1));
    }
    return unknown_command(argv[1]);
}
