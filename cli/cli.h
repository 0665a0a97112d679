/* What the subcommands share. Each subcommand is one file with no logic of its own and one row in main.c. */
#ifndef KERNWRIGHT_CLI_CLI_H
#define KERNWRIGHT_CLI_CLI_H

#include "base/error.h"
#include "base/json.h"
#include "codegen/task.h"
#include "codegen/template.h"
#include "tuner/evaluator.h"
#include "tuner/store.h"
#include "tuner/tune.h"

#include <stdbool.h>

typedef struct command {
    const char *name;
    const char *summary;               /* one line for the list */
    int (*run)(int argc, char **argv); /* argv[0] is the command's name; returns the exit code */
} command;

int cli_check(int argc, char **argv);
int cli_crossover(int argc, char **argv);
int cli_devices(int argc, char **argv);
int cli_doctor(int argc, char **argv);
int cli_emit(int argc, char **argv);
int cli_evolve(int argc, char **argv);
int cli_expand(int argc, char **argv);
int cli_new(int argc, char **argv);
int cli_probe(int argc, char **argv);
int cli_retune(int argc, char **argv);
int cli_results(int argc, char **argv);
int cli_simulate(int argc, char **argv);
int cli_space(int argc, char **argv);
int cli_tasks(int argc, char **argv);
int cli_templates(int argc, char **argv);
int cli_time(int argc, char **argv);
int cli_tune(int argc, char **argv);
int cli_matrix(int argc, char **argv);
int cli_worker(int argc, char **argv);

/* Prints "kernwright COMMAND: message" on standard error and returns the exit code of err. */
int cli_fail(const char *command, const kw_error *err);

/* On standard output: one line, or indented. */
void cli_print_json(const json *j);
void cli_print_json_pretty(const json *j);

/* What --strategy can name, for --help. */
void cli_print_strategies(void);

#endif
