/* Plain text tables for people: columns as wide as their widest cell. */
#ifndef KERNWRIGHT_CLI_TABLE_H
#define KERNWRIGHT_CLI_TABLE_H

#include <stdio.h>

typedef struct table table;

table *table_new(const char *titles); /* separated by '|' */
void table_free(table *t);
void table_text(table *t, const char *text);
void table_number(table *t, double x, int digits); /* significant digits; "-" for NaN and infinities; right-aligned */
void table_end_row(table *t);
void table_print(const table *t, FILE *to); /* nothing when there is no row */

#endif
