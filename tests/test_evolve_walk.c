/* The program and a server: the walk of the README, and what a server refuses, seen from the command line. */
#include "support_asking.h"

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/subprocess.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char TASK[] = "{\"task\": \"copied\", \"dims\": {\"N\": {\"min\": 1}}, \"types\": {\"T\": [\"f32\"]},\n"
                           " \"tensors\": [{\"name\": \"x\", \"type\": \"T\", \"shape\": [\"N\"]},\n"
                           "  {\"name\": \"y\", \"type\": \"T\", \"shape\": [\"N\"], \"access\": \"out\"}],\n"
                           " \"reference\": \"own\", \"shapes\": \"shapes.json\", \"cpu_shapes\": \"small.json\"}\n";
static const char REFERENCE[] =
    "#include \"kw_reference.h\"\n#include <math.h>\n"
    "void own(const kw_ref *r, int tensor, size_t n, const uint64_t *e, double *value, double *scale)\n"
    "{ (void)tensor; for (size_t i = 0; i < n; i++) { value[i] = r->tensors[0][e[i]]; scale[i] = fabs(value[i]); } }\n";
#define TEMPLATE(more, name) \
    "/*kernwright {\"task\": \"copied\", " more "\"params\": {\"WG\": {\"values\": [32, 64]}},\n" \
    " \"launches\": [{\"kernel\": \"fake_copy\", \"args\": [\"N\", \"x\", \"y\"], \"local\": [\"WG\"], " \
    "\"groups\": [\"ceil_div(N, WG)\"]}]} */\n" \
    "kernel void fake_copy(int n, global const float *x, global float *y)\n" \
    "{ int " name " = ${WG}; y[get_global_id(0)] = x[get_global_id(0)]; }\n"

/* A folder with the task, on the scripted device. */
static void put(const char *name, const char *text)
{
    char *path = fs_join(asking_folder, name), *folder = fs_folder_of(path);
    assert_int_equal(fs_make_folders(folder, NULL), KW_OK);
    assert_int_equal(fs_write(path, text, strlen(text), NULL), KW_OK);
    free(folder);
    free(path);
}

static void prepare(void)
{
    put("tasks/copied/task.json", TASK);
    put("tasks/copied/reference.c", REFERENCE);
    put("tasks/copied/shapes.json", "{\"N\": 1000}\n");
    put("tasks/copied/small.json", "{\"N\": 50}\n");
    put("templates/copied_plain.cl", TEMPLATE("\"fallback\": true, ", "plain"));
}

static subprocess_result run_program(const char *const *arguments)
{
    const char *argv[32], *build = getenv("BUILD");
    char *program = realpath(build && *build ? build : "build", NULL), *path, *cache = fs_join(asking_folder, "cache");
    strb place = STRB_INIT;
    size_t n = 1;
    assert_non_null(program);
    path = fs_join(program, "kernwright");
    argv[0] = path;
    while (arguments[n - 1]) {
        argv[n] = arguments[n - 1];
        n++;
    }
    argv[n] = NULL;
    strb_printf(&place, "KERNWRIGHT_CACHE=%s", cache);
    static const char key[] = "OPENAI_API_KEY=" ASKING_KEY;
    const char *const env[] = {
        "KERNWRIGHT_FAKE=1", "OCL_ICD_VENDORS=/nonexistent", "KERNWRIGHT_DEVICE=fake:0", strb_text(&place), key, NULL};
    const subprocess_spec spec = {.argv = argv, .extra_env = env, .folder = asking_folder, .timeout_ms = 300000};
    subprocess_result r;
    kw_error err;
    if (subprocess_run(&spec, &r, &err) != KW_OK)
        fail_msg("%s", err.message);
    free(program);
    free(path);
    free(cache);
    strb_clear(&place);
    return r;
}

/* Fails unless it ended so, with `says` on standard output. */
static void walk(const char *const *arguments, const char *says)
{
    subprocess_result r = run_program(arguments);
    if (r.status != 0 || !strstr(strb_text(&r.output), says))
        fail_msg("status %d, \"%s\" in\n%s\n%s", r.status, says, strb_text(&r.output), strb_text(&r.errors));
    assert_null(strstr(strb_text(&r.errors), ASKING_KEY));
    subprocess_result_clear(&r);
}

/* A reply with a template, as a body that is streamed. */
static const char *answer_with(const char *text)
{
    json *j = json_new_object(), *choices = json_new_array(), *choice = json_new_object(), *delta = json_new_object();
    strb content = STRB_INIT, events = STRB_INIT;
    strb_printf(&content, "Here it is:\n```c\n%s```\n", text);
    json_set_string(delta, "content", strb_text(&content));
    json_set_int(choice, "index", 0);
    json_set(choice, "delta", delta);
    json_append(choices, choice);
    json_set_string(j, "model", "test-model");
    json_set(j, "choices", choices);
    strb_add(&events, "data: ");
    json_print(j, &events);
    strb_add(&events, "\n\n" FINISH("stop") USAGE DONE);
    const char *answer = answer_stream(strb_text(&events));
    json_free(j);
    strb_clear(&content);
    strb_clear(&events);
    return answer;
}

static void readme(void **state)
{
    (void)state;
    char spec[128];
    prepare();
    const http_answer script[] = {{.bytes = answer_with(TEMPLATE("", "better"))},
                                  {.bytes = answer_with("no template\n")},
                                  {.bytes = answer_with(TEMPLATE("", "other"))}};
    server_start(&asking_server, script, 3);
    (void)snprintf(spec, sizeof spec, "openai:MODEL@%s", asking_server.url);
    const char *const evolve[] = {"evolve",  "copied",   "--llm", spec,          "--record", "run",        "-o",
                                  "best.cl", "--budget", "2",     "--in-flight", "1",        "--no-probe", NULL};
    walk(evolve, "2 candidates asked for: 2 right (1 after a repair)");
    walk(evolve, "test-model: 3 replies, 2 with a template"); /* again: nobody is asked twice */
    assert_int_equal(server_asked(&asking_server), 3);
    assert_non_null(strstr(server_request(&asking_server, 0), "\"model\":\"MODEL\""));
    assert_non_null(strstr(server_request(&asking_server, 0), "Authorization: Bearer " ASKING_KEY));
    server_stop(&asking_server);
    const char *const recorded[] = {"evolve", "copied", "--llm", "replay:run", "--measurements", "recorded", NULL};
    walk(recorded, "2 candidates asked for: 2 right (1 after a repair)");
    const char *const report[] = {"evolve", "--report", "run", NULL};
    walk(report, "2/2 100%");
    const char *const check[] = {"check", "best.cl", NULL};
    walk(check, "best.cl");
}

/* What ends a run is one line that says where and why; what there was until then is kept, and the command goes on. */
static void stopped_by(const char *spec, const char *says)
{
    fs_remove_tree("run");
    const char *const evolve[] = {"evolve", "copied", "--llm", spec, "--record", "run", "--no-probe", NULL};
    subprocess_result r = run_program(evolve);
    const char *errors = strb_text(&r.errors), *last = strstr(errors, "kernwright evolve: ");
    if (r.status != 1 || !last || !strstr(last, says) || strchr(last, '\n') != errors + r.errors.length - 1)
        fail_msg("status %d, \"%s\" in\n%s\n%s", r.status, says, strb_text(&r.output), errors);
    assert_non_null(strstr(strb_text(&r.output), "best: fitness")); /* the seed */
    assert_null(strstr(errors, ASKING_KEY));
    subprocess_result_clear(&r);
    const char *const recorded[] = {"evolve", "copied", "--llm", "replay:run", "--measurements", "recorded", NULL};
    walk(recorded, "best: fitness");
    char *folder = fs_join(asking_folder, "run");
    fs_remove_tree(folder);
    free(folder);
}

static void refused(void **state)
{
    (void)state;
    static const struct {
        int status;
        const char *body, *says;
    } cases[] = {{401, "{\"error\":{\"message\":\"Incorrect API key " ASKING_KEY "\"}}", "401"},
                 {404, "{\"error\":{\"message\":\"The model `m` does not exist\",\"code\":\"model_not_found\"}}",
                  "does not exist"}};
    prepare();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const http_answer script[] = {{.bytes = answer_plain(cases[i].status, "", JSON_TYPE, cases[i].body)}};
        char spec[128];
        server_start(&asking_server, script, 1);
        (void)snprintf(spec, sizeof spec, "openai:m@%s", asking_server.url);
        stopped_by(spec, cases[i].says);
        server_stop(&asking_server);
    }
    const http_answer last[] = {{.bytes = answer_plain(403, "", JSON_TYPE, "{\"error\":\"not for you\"}")}};
    char spec[128];
    server_start(&asking_server, last, 1); /* its only question was out: none follows that would meet it */
    (void)snprintf(spec, sizeof spec, "openai:m@%s", asking_server.url);
    const char *const only[] = {"evolve", "copied", "--llm", spec, "--no-probe", "--budget", "1", NULL};
    subprocess_result r = run_program(only);
    assert_int_equal(r.status, 1);
    assert_non_null(strstr(strb_text(&r.errors), "not for you\n"));
    subprocess_result_clear(&r);
    server_stop(&asking_server);
    stopped_by("openai:m@https://nowhere.invalid/v1", "nowhere.invalid");
}

/* With the key mended the same command goes on, and asks for all that was to be asked for. */
static void mended(void **state)
{
    (void)state;
    prepare();
    const char *wrong = answer_plain(401, "", JSON_TYPE, "{\"error\":{\"message\":\"Incorrect API key\"}}");
    const http_answer script[] = {{.bytes = wrong},
                                  {.bytes = answer_with(TEMPLATE("", "better"))},
                                  {.bytes = answer_with(TEMPLATE("", "other"))}};
    char spec[128];
    server_start(&asking_server, script, 3);
    (void)snprintf(spec, sizeof spec, "openai:m@%s", asking_server.url);
    const char *const evolve[] = {"evolve",   "copied", "--llm",       spec, "--record",   "run",
                                  "--budget", "2",      "--in-flight", "1",  "--no-probe", NULL};
    subprocess_result r = run_program(evolve);
    assert_int_equal(r.status, 1);
    subprocess_result_clear(&r);
    walk(evolve, "2 right");
    server_stop(&asking_server);
    const char *const recorded[] = {"evolve", "copied", "--llm", "replay:run", "--measurements", "recorded", NULL};
    walk(recorded, "2 right");
}

static bool file_has(const char *name, const char *what)
{
    strb text = STRB_INIT;
    char *path = fs_join(asking_folder, name);
    assert_int_equal(fs_read(path, 0, &text, NULL), KW_OK);
    bool found = memmem(strb_text(&text), text.length, what, strlen(what)) != NULL;
    strb_clear(&text);
    free(path);
    return found;
}

/* A server that says the key back within a template, and as the model's name: it gets into no file and no line. */
static void said_back(void **state)
{
    (void)state;
    prepare();
    const http_answer script[] = {{.bytes = answer_with(TEMPLATE("", "better") "// " ASKING_KEY "\n")}};
    char spec[128];
    server_start(&asking_server, script, 1);
    (void)snprintf(spec, sizeof spec, "openai:m@%s", asking_server.url);
    const char *const evolve[] = {"evolve", "copied",  "--llm",  spec,     "--record",   "said", "--budget",
                                  "1",      "--store", "key.db", "--json", "--no-probe", NULL};
    subprocess_result r = run_program(evolve);
    assert_int_equal(r.status, 0);
    assert_non_null(strstr(strb_text(&r.output), "\"right\":1"));
    assert_null(strstr(strb_text(&r.output), ASKING_KEY));
    assert_null(strstr(strb_text(&r.errors), ASKING_KEY));
    subprocess_result_clear(&r);
    server_stop(&asking_server);
    static const char *const files[] = {"said/journal.jsonl",
                                        "said/generate-000001.reply.md",
                                        "said/generate-000001.meta.json",
                                        "said/generate-000001.json",
                                        "said/generate-000001.template.cl",
                                        "said/generate-000001.prompt.md",
                                        "key.db"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        assert_false(file_has(files[i], ASKING_KEY));
    assert_true(file_has("said/generate-000001.reply.md", "// ****"));
}

/* A question that may cost more than what is left is not asked. */
static void hard_limit(void **state)
{
    (void)state;
    prepare();
    const http_answer script[] = {{.bytes = answer_with(TEMPLATE("", "better"))}};
    server_start(&asking_server, script, 1);
    strb text = STRB_INIT;
    strb_printf(&text, "{\"endpoints\": {\"here\": {\"url\": \"%s\", \"price\": {\"input\": 1, \"output\": 1000}}}}",
                asking_server.url);
    put("llm.json", strb_text(&text));
    strb_clear(&text);
    const char *const evolve[] = {"evolve",     "copied",   "--llm",       "openai:m@here", "--budget",   "1",
                                  "--config",   "llm.json", "--max-reply", "1000",          "--max-cost", "0.9",
                                  "--no-probe", NULL};
    walk(evolve, "ended: the budget of 0.9 is spent (0 used, up to 1.0");
    assert_int_equal(server_asked(&asking_server), 0);
    server_stop(&asking_server);
}

/* Prices and limits of a run: what it may cost is said before, which prices held stands in the journal. */
static void prices(void **state)
{
    (void)state;
    char spec[128];
    prepare();
    const http_answer script[] = {{.bytes = answer_with(TEMPLATE("", "better"))},
                                  {.bytes = answer_with(TEMPLATE("", "other"))}};
    server_start(&asking_server, script, 2);
    const char *const prices[] = {"1", "3"};
    (void)snprintf(spec, sizeof spec, "openai:m@here");
    for (size_t i = 0; i < 2; i++) {
        strb text = STRB_INIT;
        strb_printf(&text, "{\"endpoints\": {\"here\": {\"url\": \"%s\", \"price\": {\"input\": %s, \"output\": 10}}}}",
                    asking_server.url, prices[i]);
        put("llm.json", strb_text(&text));
        strb_clear(&text);
        const char *const evolve[] = {"evolve",       "copied",   "--llm",       spec,          "--record",
                                      "run",          "--budget", i ? "2" : "1", "--in-flight", "1",
                                      "--no-probe",   "--config", "llm.json",    "--repairs",   "0",
                                      "--max-prompt", "10000",    "--max-reply", "1000",        NULL};
        subprocess_result r = run_program(evolve);
        const char *errors = strb_text(&r.errors),
                   *says = i ? "at most 22000 tokens and 0.08 in money" : "at most 11000 tokens and 0.02 in money";
        if (r.status != 0 || !strstr(errors, says))
            fail_msg("\"%s\" in\n%s\n%s", says, strb_text(&r.output), errors);
        /* 11 tokens in and 3 out, at the price of its day */
        if (!strstr(strb_text(&r.output), i ? "0.000104 in money" : "4.1e-05 in money"))
            fail_msg("%s", strb_text(&r.output));
        assert_true(!i ==
                    !strstr(errors, "another \"prices\": it was {\"openai:m@here\":{\"input\":1,\"output\":10}}"));
        assert_true(!i == !strstr(errors, "another \"budget\": it was 1, now 2"));
        subprocess_result_clear(&r);
    }
    server_stop(&asking_server);
    strb journal = STRB_INIT;
    char *path = fs_join(asking_folder, "run/journal.jsonl");
    assert_int_equal(fs_read(path, 0, &journal, NULL), KW_OK);
    assert_non_null(strstr(strb_text(&journal), "\"prices\":{\"openai:m@here\":{\"input\":3,\"output\":10}}"));
    free(path);
    strb_clear(&journal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {ASKING_TEST(readme), ASKING_TEST(refused),   ASKING_TEST(mended),
                                       ASKING_TEST(prices), ASKING_TEST(said_back), ASKING_TEST(hard_limit)};
    return cmocka_run_group_tests_name("evolve_walk", tests, NULL, NULL);
}
