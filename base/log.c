#include "base/log.h"

#include "base/clock.h"
#include "base/strb.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define LIVE_INTERVAL_NS (10 * (int64_t)1000000000)

/* The only mutable state of the base layer: how much to say, and what stands on the live line. */
static struct {
    bool ready;
    log_level level;
    bool terminal;
    bool live_on_screen;  /* the cursor stands at the end of a live line */
    bool live_held_back;  /* a log did not get the newest live text yet */
    int64_t live_printed; /* when a log got its last live line, ns; 0: never */
    strb live;
} state;

static void start(void)
{
    if (state.ready)
        return;
    state.ready = true;
    state.level = LOG_INFO;
    state.terminal = isatty(STDERR_FILENO);
    const char *wish = getenv("KERNWRIGHT_LOG");
    static const char *const names[] = {"error", "warn", "info", "debug"};
    for (int i = 0; wish && i < 4; i++)
        if (strcmp(wish, names[i]) == 0)
            state.level = (log_level)i;
}

void log_set_level(log_level level)
{
    start();
    state.level = level;
}

/* How much of the line stands in one row of the terminal: what wraps could not be erased. */
static int fits(const char *text)
{
    struct winsize w;
    size_t n = strlen(text);
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &w) != 0 || w.ws_col < 2 || n < w.ws_col)
        return (int)n;
    for (n = w.ws_col - 1u; n > 0 && (text[n] & 0xc0) == 0x80;) /* within a character */
        n--;
    return (int)n;
}

static void erase_live(void)
{
    if (state.live_on_screen)
        fputs("\r\033[K", stderr);
    state.live_on_screen = false;
}

void log_message(log_level level, const char *format, ...)
{
    start();
    if (level > state.level)
        return;
    static const char *const heads[] = {"error: ", "warning: ", "", "debug: "};
    bool redraw = state.live_on_screen;
    strb text = STRB_INIT;
    strb_add(&text, heads[level]);
    va_list args;
    va_start(args, format);
    strb_vprintf(&text, format, args);
    va_end(args);
    erase_live();
    fprintf(stderr, "%s\n", strb_text(&text));
    if (redraw) {
        fprintf(stderr, "%.*s", fits(strb_text(&state.live)), strb_text(&state.live));
        state.live_on_screen = true;
    }
    fflush(stderr);
    strb_clear(&text);
}

void log_live(const char *format, ...)
{
    start();
    if (state.level < LOG_INFO)
        return;
    strb text = STRB_INIT;
    va_list args;
    va_start(args, format);
    strb_vprintf(&text, format, args);
    va_end(args);
    bool again = state.live_printed && !state.live_held_back && strcmp(strb_text(&text), strb_text(&state.live)) == 0;
    strb_clear(&state.live);
    state.live = text;
    if (again) /* it stands there already */
        return;
    if (state.terminal) {
        erase_live();
        fprintf(stderr, "%.*s", fits(strb_text(&state.live)), strb_text(&state.live));
        state.live_on_screen = true;
        fflush(stderr);
        return;
    }
    int64_t now = clock_now_ns();
    state.live_held_back = state.live_printed && now - state.live_printed < LIVE_INTERVAL_NS;
    if (state.live_held_back)
        return;
    fprintf(stderr, "%s\n", strb_text(&state.live));
    fflush(stderr);
    state.live_printed = now;
}

void log_live_end(void)
{
    start();
    if (state.live_on_screen)
        fputc('\n', stderr);
    else if (state.live_held_back)
        fprintf(stderr, "%s\n", strb_text(&state.live));
    fflush(stderr);
    state.live_on_screen = false;
    state.live_held_back = false;
    state.live_printed = 0;
    strb_clear(&state.live);
}
