/* kernwright worker --stdio: compiles, verifies and times for whoever is at the other end of its pipes. */
#include "cli/cli.h"

#include "base/log.h"
#include "tuner/job.h"
#include "tuner/worker.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "usage: kernwright worker --stdio\n"
    "\n"
    "Compiles, verifies and times candidates: one job a line on standard input, answers as lines on standard output\n"
    "(docs/protocol.md). The tuner starts workers by itself; by hand it is for --worker-command \"ssh HOST kernwright\n"
    "worker --stdio\". Ends when standard input closes.\n";

int cli_worker(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        fputs(help, stdout);
        return KW_OK;
    }
    if (argc == 2 && strcmp(argv[1], "--stdio") == 0)
        return worker_main(STDIN_FILENO, STDOUT_FILENO);
    if (argc == 4 && strcmp(argv[1], "--runner") == 0) /* what a worker starts itself as */
        worker_runner_main(argv[2], argv[3]);
    if (argc < 2)
        log_error("kernwright worker: say --stdio (see --help)");
    else
        log_error("kernwright worker: unknown argument \"%s\"; only --stdio is known",
                  strcmp(argv[1], "--stdio") == 0 ? argv[2] : argv[1]);
    return KW_BAD_INPUT;
}
