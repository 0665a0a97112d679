#include "cli/cli.h"
#include "cli/options.h"

#include "base/fs.h"
#include "base/mem.h"
#include "codegen/scaffold.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* Nothing that exists is ever overwritten: all paths are looked at before the first file is written. */
static kw_code write_all(const scaffold *s, const char *kernel_file, kw_error *err)
{
    strb folder = STRB_INIT;
    strb_printf(&folder, "tasks/%s", s->task);
    char *shapes = fs_join(strb_text(&folder), "shapes");
    const struct {
        char *path;
        const strb *text;
    } files[] = {{sidecar_path(kernel_file), &s->sidecar},
                 {fs_join(strb_text(&folder), "task.json"), &s->task_json},
                 {fs_join(strb_text(&folder), "reference.c"), &s->reference},
                 {fs_join(shapes, "default.json"), &s->shapes},
                 {fs_join(shapes, "edge.json"), &s->edges}};
    size_t n = sizeof files / sizeof *files;
    kw_code code = KW_OK;
    for (size_t i = 0; code == KW_OK && i < n; i++)
        if (access(files[i].path, F_OK) == 0)
            code = kw_error_set(err, KW_BAD_INPUT, "%s exists already; nothing was written", files[i].path);
    if (code == KW_OK)
        code = fs_make_folders(shapes, err);
    for (size_t i = 0; code == KW_OK && i < n; i++) {
        code = fs_write(files[i].path, strb_text(files[i].text), files[i].text->length, err);
        if (code == KW_OK)
            printf("wrote %s\n", files[i].path);
    }
    if (code == KW_OK)
        printf("\nnext:\n"
               "  1. tasks/%s/task.json      say what each tensor's shape is and which dims there are\n"
               "  2. tasks/%s/reference.c    compute the right answer in double precision, remove the #error line\n"
               "  3. %s   list the values to try, set the launch geometry\n"
               "  4. kernwright check tasks/%s %s\n"
               "  5. kernwright tune %s --template %s\n",
               s->task, s->task, files[0].path, s->task, files[0].path, s->task, files[0].path);
    for (size_t i = 0; i < n; i++)
        free(files[i].path);
    free(shapes);
    strb_clear(&folder);
    return code;
}

int cli_new(int argc, char **argv)
{
    const char *kernel = NULL;
    const option_row rows[] = {{"--kernel", OPTION_TEXT, &kernel, "NAME", "the kernel function; default: the first"}};
    const option_set set = {"new", "KERNEL.cl [options]",
                            "Reads the signature of an OpenCL kernel and writes a sidecar beside it and a task in ./tasks, with what\n"
                            "could not be known left to fill in. The kernel stays untouched; no existing file is overwritten.",
                            rows, 1};
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
    strb source = STRB_INIT;
    scaffold s;
    memset(&s, 0, sizeof s);
    kw_code code = fs_read(args.items[0], 16 << 20, &source, &err);
    if (code == KW_OK)
        code = scaffold_make(strb_text(&source), fs_base_name(args.items[0]), kernel, &s, &err);
    if (code == KW_OK)
        code = write_all(&s, args.items[0], &err);
    scaffold_clear(&s);
    strb_clear(&source);
    return code == KW_OK ? KW_OK : cli_fail("new", &err);
}
