/* Messages for people, on standard error. Data goes to standard output, never through here. */
#ifndef KERNWRIGHT_BASE_LOG_H
#define KERNWRIGHT_BASE_LOG_H

#include <stdbool.h>

typedef enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG } log_level;

void log_set_level(log_level level); /* default LOG_INFO; $KERNWRIGHT_LOG=error|warn|info|debug at start */
void log_message(log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define log_error(...) log_message(LOG_ERROR, __VA_ARGS__)
#define log_warn(...) log_message(LOG_WARN, __VA_ARGS__)
#define log_info(...) log_message(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_message(LOG_DEBUG, __VA_ARGS__)

/* A live line: on a terminal it overwrites itself; in a log it is printed as a plain line at most every ten
 * seconds. log_message moves it out of the way. log_live_end leaves the last text standing. */
void log_live(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_live_end(void);

#endif
