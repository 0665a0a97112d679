/* https: the certificate of a server is checked, and one that is named is trusted. */
#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "support_asking.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static bool make_certificate(const char *key, const char *cert)
{
    strb command = STRB_INIT;
    strb_printf(&command,
                "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=localhost "
                "-addext subjectAltName=IP:127.0.0.1 -days 2 -keyout %s -out %s >/dev/null 2>&1",
                key, cert);
    int status = system(strb_text(&command)); /* NOLINT: a fixed command */
    strb_clear(&command);
    return status == 0;
}

/* openssl s_server, at a port that it chooses and says; -1. */
static pid_t start_tls(const char *key, const char *cert, int *port)
{
    int out[2];
    char line[256];
    assert_int_equal(pipe(out), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(out[1], 1);
        int none = open("/dev/null", O_RDWR);
        dup2(none, 0);
        dup2(none, 2);
        execlp("openssl", "openssl", "s_server", "-accept", "127.0.0.1:0", "-key", key, "-cert", cert, "-rev",
               (char *)NULL);
        _exit(127);
    }
    close(out[1]);
    FILE *f = fdopen(out[0], "r");
    *port = 0;
    while (*port == 0 && fgets(line, sizeof line, f)) {
        const char *colon = strrchr(line, ':');
        if (strncmp(line, "ACCEPT", 6) == 0 && colon)
            *port = atoi(colon + 1);
    }
    fclose(f);
    return pid;
}

static void certificates(void **state)
{
    (void)state;
    const provider_options o = asking_options();
    char *key = fs_join(asking_folder, "key.pem"), *cert = fs_join(asking_folder, "cert.pem"), spec[128];
    int port = 0;
    pid_t pid = make_certificate(key, cert) ? start_tls(key, cert, &port) : -1;
    if (port == 0) {
        if (pid > 0) {
            kill(pid, SIGKILL);
            waitpid(pid, NULL, 0);
        }
        free(key);
        free(cert);
        print_message("skipped: no openssl that can serve\n");
        skip();
    }
    snprintf(spec, sizeof spec, "openai:m@https://127.0.0.1:%d", port);
    llm_session *s = asking_open(spec, &o, NULL);
    llm_reply r = asking_one(s);
    assert_int_equal(r.tries, 1);
    assert_non_null(strstr(r.detail, "certificate"));
    asking_expect(&r, LLM_STOPPED, NULL, "trusted certificates: the system's");
    llm_session_close(s);
    /* The certificate is good once its file is named, and the server is heard; it says the lines backwards. */
    const char *variables[] = {"CURL_CA_BUNDLE", "SSL_CERT_FILE"};
    for (size_t i = 0; i < 2; i++) {
        setenv(variables[i], cert, 1);
        s = asking_open(spec, &o, NULL);
        r = asking_one(s);
        assert_null(strstr(r.detail, "certificate"));
        asking_expect(&r, LLM_STOPPED, NULL, "HTTP/0.9");
        llm_session_close(s);
        unsetenv(variables[i]);
    }
    setenv("SSL_CERT_FILE", "/nowhere/at/all.pem", 1);
    s = asking_open(spec, &o, NULL);
    r = asking_one(s);
    asking_expect(&r, LLM_STOPPED, NULL, "SSL_CERT_FILE /nowhere/at/all.pem");
    llm_session_close(s);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    free(key);
    free(cert);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ASKING_TEST(certificates),
    };
    return cmocka_run_group_tests_name("llm_certificates", tests, NULL, NULL);
}
