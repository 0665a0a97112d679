#include "cli/cli.h"
#include "cli/options.h"

#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "codegen/locate.h"
#include "codegen/scaffold.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct new_cli {
    const char *kernel, *task;
} new_cli;

typedef struct new_file {
    char *path;
    const strb *text;
    const char *what;
} new_file;

enum { N_FILES = 5 };

/* KERNEL.cl -> KERNEL.kw.json in the same folder. */
static char *sidecar_path(const char *kernel)
{
    size_t n = strlen(kernel);
    const char *dot = strrchr(fs_base_name(kernel), '.');
    if (dot)
        n = (size_t)(dot - kernel);
    strb path = STRB_INIT;
    strb_printf(&path, "%.*s.kw.json", (int)n, kernel);
    return strb_take(&path);
}

static char *in_task(const scaffold *s, const char *name)
{
    strb path = STRB_INIT;
    strb_printf(&path, "tasks/%s/%s", s->task, name);
    return strb_take(&path);
}

/* Nothing that exists is ever overwritten: all paths are looked at before the first file is written. */
static kw_code write_all(const new_file *files, size_t n, kw_error *err)
{
    kw_code code = KW_OK;
    for (size_t i = 0; code == KW_OK && i < n; i++)
        if (access(files[i].path, F_OK) == 0)
            code = kw_error_set(err, KW_BAD_INPUT, "%s exists already; nothing was written", files[i].path);
    for (size_t i = 0; code == KW_OK && i < n; i++) {
        char *folder = fs_folder_of(files[i].path);
        code = fs_make_folders(folder, err);
        if (code == KW_OK)
            code = fs_write(files[i].path, strb_text(files[i].text), files[i].text->length, err);
        if (code == KW_OK)
            printf("wrote %-36s %s\n", files[i].path, files[i].what);
        free(folder);
    }
    return code;
}

/* The pages that explain the keys, as paths that can be opened from here. */
static void say_pages(void)
{
    static const char *const pages[][2] = {{"templates", "FORMAT.md"}, {"docs", "tasks.md"}};
    for (size_t i = 0; i < 2; i++) {
        char *folder = fs_data_folder(pages[i][0]);
        if (folder)
            printf("%s%s/%s", i ? ", " : "Every key is explained in ", folder, pages[i][1]);
        free(folder);
    }
    printf("\n");
}

static void say_next(const scaffold *s, const char *sidecar, bool sidecar_only)
{
    const char *file = sidecar;
    int step = 1;
    if (s->others.length > 0)
        printf("\nThis is for the kernel %s; the file also has %s (--kernel chooses).\n", s->kernel,
               strb_text(&s->others));
    if (s->undefined.length > 0)
        printf("\nNothing in the file defines %s: make them parameters, or give them values in \"defines\", in %s.\n",
               strb_text(&s->undefined), file);
    printf("\nFill in what could not be known (" SCAFFOLD_GAP "), and correct what was guessed:\n");
    printf("  %d. %s: the values to try for each parameter, how many groups are launched\n", step++, file);
    if (!sidecar_only) {
        printf("  %d. tasks/%s/task.json: the shape of each tensor; \"inout\" for those that the kernel reads and "
               "writes;\n"
               "     reduction_length, the number of terms that are added up for one element (1 if there is no sum)\n",
               step++, s->task);
        printf("  %d. tasks/%s/reference.c: the right answer, in plain C\n", step++, s->task);
        printf("  %d. tasks/%s/shapes/: default.json has the shapes to tune, edge.json those that break kernels\n",
               step++, s->task);
    }
    say_pages();
    printf("Then:\n");
    printf("  kernwright check %s%s%s%s\n", sidecar_only ? "" : "tasks/", sidecar_only ? "" : s->task,
           sidecar_only ? "" : " ", file);
    printf("  kernwright time %s\n", file);
    printf("  kernwright tune %s --template %s\n", s->task, file);
    printf("  kernwright emit %s -o kw_%s.h\n", s->task, s->task);
}

static kw_code write_scaffold(const scaffold *s, const char *kernel_file, bool sidecar_only, kw_error *err)
{
    new_file files[N_FILES] = {
        {sidecar_path(kernel_file), &s->sidecar, "parameters, launch"},
        {in_task(s, "task.json"), &s->task_json, "dims, tensors, error bound"},
        {in_task(s, "reference.c"), &s->reference, "the right answer"},
        {in_task(s, "shapes/default.json"), &s->shapes, "shapes to tune"},
        {in_task(s, "shapes/edge.json"), &s->edges, "shapes that break kernels"},
    };
    kw_code code = write_all(files, sidecar_only ? 1 : N_FILES, err);
    if (code == KW_OK)
        say_next(s, files[0].path, sidecar_only);
    for (size_t i = 0; i < N_FILES; i++)
        free(files[i].path);
    return code;
}

/* Is there a task of this name, in ./tasks or among the installed ones? */
static bool task_exists(const char *name)
{
    char **names = NULL;
    size_t n = 0;
    kw_error ignored;
    bool found = false;
    if (task_names(&names, &n, &ignored) != KW_OK)
        return false;
    for (size_t i = 0; i < n; i++) {
        found |= strcmp(names[i], name) == 0;
        free(names[i]);
    }
    free(names);
    return found;
}

static kw_code start(const new_cli *c, const char *file, kw_error *err)
{
    strb source = STRB_INIT;
    scaffold s;
    memset(&s, 0, sizeof s);
    scaffold_options o = {.file = fs_base_name(file), .kernel = c->kernel, .task = c->task};
    if (c->task && !locate_is_name(c->task))
        return kw_error_set(err, KW_BAD_INPUT, "--task %s: a task's name has letters, digits and _", c->task);
    o.sidecar_only = c->task && task_exists(c->task);
    kw_code code = fs_read(file, 16 << 20, &source, err);
    if (code == KW_OK)
        code = scaffold_make(strb_text(&source), &o, &s, err);
    if (code == KW_OK && !c->task && task_exists(s.task))
        code = kw_error_set(err, KW_BAD_INPUT,
                            "there is a task %s already: give --task %s to write only a sidecar for it, or --task "
                            "with another name to start a task of your own",
                            s.task, s.task);
    if (code == KW_OK)
        code = write_scaffold(&s, file, o.sidecar_only, err);
    scaffold_clear(&s);
    strb_clear(&source);
    return code;
}

int cli_new(int argc, char **argv)
{
    new_cli c = {NULL, NULL};
    const option_row rows[] = {
        {"--kernel", OPTION_TEXT, &c.kernel, "NAME", "the kernel function; default: the first"},
        {"--task", OPTION_TEXT, &c.task, "NAME",
         "the task it computes; one that exists gets a sidecar only; default: the kernel's name"},
    };
    const option_set set = {
        "new", "KERNEL.cl [options]",
        "Reads the signature of an OpenCL kernel and writes a sidecar beside it and a task in ./tasks, with what\n"
        "could not be known left to fill in. The kernel stays untouched; no existing file is overwritten.",
        rows, sizeof rows / sizeof *rows};
    option_list args;
    bool helped;
    kw_error err;
    kw_error_clear(&err);
    if (options_parse(&set, argc, argv, &args, &helped, &err) != KW_OK)
        return cli_fail("new", &err);
    if (helped)
        return KW_OK;
    if (args.n != 1) {
        kw_error_set(&err, KW_BAD_INPUT, "give one kernel file");
        return cli_fail("new", &err);
    }
    return start(&c, args.items[0], &err) == KW_OK ? KW_OK : cli_fail("new", &err);
}
