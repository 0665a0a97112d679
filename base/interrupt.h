/* Ctrl-C during long work in this process: noted, so that the work can end in order. A second one ends the process. */
#ifndef KERNWRIGHT_BASE_INTERRUPT_H
#define KERNWRIGHT_BASE_INTERRUPT_H

#include <stdbool.h>

/* From now on SIGINT, SIGTERM, and SIGHUP where it is not ignored, are noted; interrupt_ignore gives them back their
 * usual effect. Not beside a loop of events that watches signals itself. */
void interrupt_watch(void);
void interrupt_ignore(void);
bool interrupt_arrived(void);
bool interrupt_is_ignored(int signum); /* as nohup leaves SIGHUP */

#endif
