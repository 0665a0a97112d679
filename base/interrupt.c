#include "base/interrupt.h"

#include <signal.h>
#include <stddef.h>

/* The one thing a signal handler can reach. */
static volatile sig_atomic_t arrived;

static void on_signal(int signum)
{
    (void)signum;
    arrived = 1;
}

static void set_handlers(void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    if (!interrupt_is_ignored(SIGHUP))
        sigaction(SIGHUP, &action, NULL);
}

bool interrupt_is_ignored(int signum)
{
    struct sigaction now;
    return sigaction(signum, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

void interrupt_watch(void)
{
    arrived = 0;
    set_handlers(on_signal, (int)(SA_RESETHAND | SA_RESTART));
}

void interrupt_ignore(void)
{
    set_handlers(SIG_DFL, 0);
}

bool interrupt_arrived(void)
{
    return arrived != 0;
}
