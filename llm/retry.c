#include "llm/retry.h"

#include "llm/http.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DOUBLINGS 6

bool retry_status(int status)
{
    static const int worth[] = {408, 409, 429, 500, 502, 503, 504, 522, 523, 524, 529};
    for (size_t i = 0; i < sizeof worth / sizeof *worth; i++) {
        if (worth[i] == status)
            return true;
    }
    return false;
}

/* A number that is not negative and has nothing but spaces behind it, times `scale`; -1 if it is none. */
static int64_t number(const char *text, double scale)
{
    char *end;
    if (!text)
        return -1;
    text += strspn(text, " \t");
    /* no "inf", no hexadecimal */
    if (strspn(text, "+-0123456789.") == 0)
        return -1;
    double v = strtod(text, &end);
    if (end == text || end[strspn(end, " \t\r\n")])
        return -1;
    if (v <= 0)
        return 0;
    v = ceil(v * scale);
    return v < 1e15 ? (int64_t)v : (int64_t)1e15;
}

int64_t retry_after(const char *ms, const char *value, const char *date, int64_t now_s)
{
    int64_t wait = number(ms, 1), when, now = -1;
    if (wait >= 0)
        return wait;
    wait = number(value, 1000);
    if (wait >= 0 || !value)
        return wait;
    when = http_date(value);
    if (when < 0)
        return -1;
    if (date)
        now = http_date(date);
    if (now < 0)
        now = now_s;
    return when > now ? (when - now) * 1000 : 0;
}

int64_t retry_backoff(int n, int64_t base_ms, double u)
{
    int64_t widest = base_ms * ((int64_t)1 << (n < MAX_DOUBLINGS ? n : MAX_DOUBLINGS));
    return (int64_t)((double)widest * u);
}
