/* Asks a real server through openai: and looks at what must hold whatever the model writes: texts come, usage is
 * reported and within the limit, a small limit cuts, several questions at once are all answered, and a prompt that is
 * too long is known for one.
 *     ask SPECIFICATION [reported]
 * With "reported", estimated counts of tokens are a failure.
 */
#include "base/clock.h"
#include "llm/session.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define PATIENCE_MS (10 * 60 * 1000)
#define AT_ONCE 4

static int failures;
static bool want_reported;

static void expect(bool holds, const char *what, const llm_reply *r)
{
    if (holds)
        return;
    failures++;
    fprintf(stderr, "check-llm: %s: %s (status %s%s%s)\n", r->key, what, llm_status_name(r->status),
            r->detail ? ": " : "", r->detail ? r->detail : "");
}

static kw_code submit(llm_session *s, const char *key, const char *prompt, int64_t max_tokens, kw_error *err)
{
    llm_request q = {.kind = "generate", .system = "You are terse.", .prompt = prompt, .max_tokens = max_tokens};
    snprintf(q.key, sizeof q.key, "%s", key);
    return llm_submit(s, &q, err);
}

/* The server is started beside this program: until it listens, connections are refused, and the provider's own tries
 * would be over too soon. */
static llm_session *open_when_ready(const llm_session_options *o)
{
    int64_t until = clock_now_ns() + 120 * 1000000000LL;
    llm_session *s = NULL;
    kw_error err = {0};
    while (clock_now_ns() < until) {
        llm_reply r;
        if (llm_session_open(o, &s, &err) != KW_OK || submit(s, "generate-000000", "Say hello.", 4, &err) != KW_OK) {
            fprintf(stderr, "check-llm: %s\n", err.message);
            return NULL;
        }
        bool came = llm_poll(s, PATIENCE_MS, &r), fine = came && r.status <= LLM_CUT;
        if (came)
            llm_reply_clear(&r);
        if (fine)
            return s;
        llm_session_close(s);
        const struct timespec nap = {1, 0};
        nanosleep(&nap, NULL);
    }
    return NULL;
}

static void check(const llm_reply *r, int64_t max_tokens)
{
    expect(r->status <= LLM_CUT, "no reply", r);
    expect(r->text && *r->text, "no text", r);
    expect(r->usage.input > 0 && r->usage.output > 0, "no usage", r);
    expect(!want_reported || !r->usage.estimated, "usage is estimated", r);
    expect(r->usage.output <= max_tokens, "more tokens than allowed", r);
    if (strcmp(r->key, "generate-000001") == 0)
        expect(r->status == LLM_CUT, "a limit of 8 tokens did not cut", r);
    printf("%s: %s, %lld + %lld tokens%s, %lld ms: %.60s\n", r->key, llm_status_name(r->status),
           (long long)r->usage.input, (long long)r->usage.output, r->usage.estimated ? " (estimated)" : "",
           (long long)r->ms, r->text ? r->text : "");
}

/* A prompt that no small context holds: the server's own words for that must be understood. */
static void check_overflow(llm_session *s)
{
    strb prompt = STRB_INIT;
    kw_error err = {0};
    llm_reply r;
    for (int i = 0; i < 5000; i++)
        strb_add(&prompt, "word and word ");
    if (submit(s, "generate-000100", strb_text(&prompt), 16, &err) == KW_OK && llm_poll(s, PATIENCE_MS, &r)) {
        expect(r.status == LLM_FAILED && r.detail && strncmp(r.detail, "context overflow", 16) == 0,
               "a prompt that is too long is not seen as such", &r);
        printf("%s: %s: %.100s\n", r.key, llm_status_name(r.status), r.detail ? r.detail : "");
        llm_reply_clear(&r);
    } else {
        failures++;
    }
    strb_clear(&prompt);
}

int main(int argc, char **argv)
{
    llm_session_options o = {.provider = {.temperature = NAN}, .spec = argc > 1 ? argv[1] : ""};
    want_reported = argc > 2 && strcmp(argv[2], "reported") == 0;
    llm_session *s = open_when_ready(&o);
    if (!s) {
        fprintf(stderr, "check-llm: the server does not answer\n");
        return 1;
    }
    const char *prompts[AT_ONCE] = {"Count from one to two hundred in words.", "What is a matrix?", "Say yes.",
                                    "Write a C function that adds two numbers."};
    const int64_t limits[AT_ONCE] = {8, 48, 32, 64};
    kw_error err = {0};
    for (int i = 0; i < AT_ONCE; i++) {
        char key[32];
        snprintf(key, sizeof key, "generate-%06d", i + 1);
        if (submit(s, key, prompts[i], limits[i], &err) != KW_OK) {
            fprintf(stderr, "check-llm: %s\n", err.message);
            return 1;
        }
    }
    for (int i = 0; i < AT_ONCE; i++) {
        llm_reply r;
        int n = 0;
        if (!llm_poll(s, PATIENCE_MS, &r)) {
            fprintf(stderr, "check-llm: only %d of %d replies came\n", i, AT_ONCE);
            return 1;
        }
        sscanf(r.key, "generate-%d", &n); /* NOLINT: our own key */
        check(&r, limits[n > 0 ? n - 1 : 0]);
        llm_reply_clear(&r);
    }
    check_overflow(s);
    double each = llm_bytes_per_token(s);
    llm_session_close(s);
    printf("check-llm: replies=%d failures=%d bytes_per_token=%.2f\n", AT_ONCE, failures, each);
    return failures ? 1 : 0;
}
