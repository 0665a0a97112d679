#include "llm/reply.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "llm/reply_internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Larger kernels are not written by anybody; larger replies are read up to here. */
#define MAX_REPLY ((size_t)4 << 20)
/* What is said of a reply goes into a prompt and the journal. */
enum { MOST_SAID = 4000 };

static const char front_mark[] = "/*kernwright";

void reply_result_clear(reply_result *r)
{
    free(r->text);
    strb_clear(&r->repairs);
    strb_clear(&r->problem);
    memset(r, 0, sizeof *r);
}

/* Does the comment that begins here hold the front matter? Blanks may stand before the word. */
static bool is_front(const char *comment)
{
    const char *word = comment + 2;
    word += strspn(word, " \t\r\n*");
    return strncmp(word, "kernwright", 10) == 0 && word[10 + strspn(word + 10, " \t\r\n")] == '{';
}

/* Where the front matter's comment begins; NULL. */
static const char *find_front(const char *text)
{
    for (const char *at = text; (at = strstr(at, "/*")); at++) {
        if (is_front(at))
            return at;
    }
    return NULL;
}

/* The member "task" of mended or strict JSON; NULL. Caller frees. */
static char *task_of(const char *text, size_t length)
{
    size_t used;
    json *j = json_parse_prefix(text, length, &used, NULL, 1, 1, NULL);
    const char *name = j ? json_text(json_get(j, "task")) : NULL;
    char *copy = name ? mem_strdup(name) : NULL;
    json_free(j);
    return copy;
}

/* A template with its front matter made strict; NULL if its brackets do not match. *task: what it says it is for. */
static char *mend(const char *text, char **task, strb *repairs)
{
    const char *front = find_front(text), *brace = strchr(front, '{');
    size_t length = strlen(brace), used = 0;
    strb out = STRB_INIT, json_text_ = STRB_INIT;
    json *strict = json_parse_prefix(brace, length, &used, NULL, 1, 1, NULL);
    if (strict) {
        json_free(strict);
        strb_add_n(&json_text_, brace, used);
    } else if (!front_matter_mend(brace, length, &used, &json_text_, repairs)) {
        strb_clear(&json_text_);
        return NULL;
    }
    *task = task_of(strb_text(&json_text_), json_text_.length);
    /* What stands before the comment (an include, a licence) would keep the front matter from being first. */
    strb_add(&out, front_mark);
    strb_add_char(&out, ' ');
    strb_add(&out, strb_text(&json_text_));
    strb_add(&out, brace + used);
    if (strspn(text, " \t\r\n") < (size_t)(front - text))
        strb_add(repairs, "text before the front matter was left out\n");
    strb_clear(&json_text_);
    return strb_take(&out);
}

void reply_essence(const char *text, strb *out)
{
    while (*text) {
        if (text[0] == '/' && text[1] == '/') {
            text += strcspn(text, "\n");
        } else if (text[0] == '/' && text[1] == '*' && !is_front(text)) {
            const char *end = strstr(text + 2, "*/");
            text = end ? end + 2 : text + strlen(text);
        } else {
            if (!isspace((unsigned char)*text))
                strb_add_char(out, *text);
            text++;
        }
    }
}

static bool same_essence(const char *a, const char *b)
{
    strb x = STRB_INIT, y = STRB_INIT;
    reply_essence(a, &x);
    reply_essence(b, &y);
    bool same = strcmp(strb_text(&x), strb_text(&y)) == 0;
    strb_clear(&x);
    strb_clear(&y);
    return same;
}

/* Takes `text`, which holds a front matter, as the answer if it is one of this task. */
static bool take_template(const char *text, const reply_context *c, reply_result *out)
{
    char *task = NULL, *mended = mend(text, &task, &out->repairs);
    bool taken = false;
    if (!mended) {
        strb_add(&out->problem, "the brackets of the front matter do not match\n");
    } else if (!task) {
        strb_add(&out->problem, "the front matter has no \"task\"\n");
    } else if (strcmp(task, c->task) != 0) {
        out->kind = REPLY_OTHER_TASK;
        strb_printf(&out->problem, "the template is for the task \"%s\", not \"%s\"\n", task, c->task);
    } else {
        taken = true;
        out->kind = c->parent && same_essence(mended, c->parent) ? REPLY_UNCHANGED : REPLY_WHOLE;
        if (out->kind == REPLY_WHOLE) {
            out->text = mended;
            mended = NULL;
        } else {
            strb_add(&out->problem, "the template is the parent again\n");
        }
    }
    free(task);
    free(mended);
    return taken;
}

/* A block of JSON with the front matter, and the kernel in another block: joined. */
static char *join_blocks(const code_blocks *b)
{
    const char *front = NULL, *kernel = NULL;
    for (size_t i = 0; i < b->n; i++) {
        const char *text = b->items[i].text + strspn(b->items[i].text, " \t\r\n");
        if (*text == '{' && strstr(text, "launches") && strstr(text, "task"))
            front = text;
        else if (strstr(text, "__kernel") || strstr(text, "__global__"))
            kernel = text;
    }
    if (!front || !kernel)
        return NULL;
    strb joined = STRB_INIT;
    strb_printf(&joined, "%s %s */\n%s", front_mark, front, kernel);
    return strb_take(&joined);
}

static bool read_blocks(const char *text, size_t length, const reply_context *c, reply_result *out)
{
    code_blocks blocks = {0};
    bool found = false, seen = false;
    code_blocks_find(text, length, &blocks);
    /* The last one counts: models show parts first and the whole at the end. */
    for (size_t i = blocks.n; i-- > 0 && !found;) {
        const code_block *b = &blocks.items[i];
        if (!find_front(b->text))
            continue;
        if (!b->closed && c->cut) {
            strb_add(&out->problem, "the reply was cut off inside the template\n");
            seen = true;
            continue;
        }
        seen = true;
        found = take_template(b->text, c, out);
    }
    char *joined = seen ? NULL : join_blocks(&blocks);
    if (joined) {
        strb_add(&out->repairs, "front matter and kernel stood in separate blocks\n");
        found = take_template(joined, c, out);
        seen = true;
        free(joined);
    }
    if (!seen && blocks.n > 0)
        strb_add(&out->problem, "no code block has a front matter (/*kernwright {...} */)\n");
    code_blocks_clear(&blocks);
    return found || seen;
}

static bool read_edits(const char *text, const reply_context *c, reply_result *out)
{
    strb edited = STRB_INIT;
    if (!strstr(text, "<<<<<") || !strstr(text, "SEARCH"))
        return false;
    if (!c->parent) {
        strb_add(&out->problem, "there is no parent that edits could change: write the whole template\n");
        return true;
    }
    out->n_edits = edits_apply(text, c->parent, &edited, &out->n_failed_edits, &out->problem);
    if (out->n_edits == 0) {
        strb_clear(&edited);
        return false;
    }
    /* Half of a change is another change: all or none. */
    if (out->n_failed_edits == 0) {
        out->kind = same_essence(strb_text(&edited), c->parent) ? REPLY_UNCHANGED : REPLY_EDITS;
        if (out->kind == REPLY_EDITS)
            out->text = strb_take(&edited);
        else
            strb_add(&out->problem, "the edits change nothing\n");
    }
    strb_clear(&edited);
    return true;
}

/* Whole lines, as many as there is room for. */
static void shorten(strb *text)
{
    size_t n = MOST_SAID;
    if (text->length <= n)
        return;
    while (n > 0 && strb_text(text)[n - 1] != '\n')
        n--;
    strb_truncate(text, n);
    strb_add(text, "and more of this kind\n");
}

void reply_read(const char *text, size_t length, const reply_context *c, reply_result *out)
{
    strb valid = STRB_INIT, said = STRB_INIT;
    memset(out, 0, sizeof *out);
    length = length < MAX_REPLY ? length : MAX_REPLY;
    utf8_add_valid(&valid, text ? text : "", text ? length : 0);
    for (size_t i = 0; i < valid.length; i++)
        valid.data[i] = valid.data[i] ? valid.data[i] : ' ';
    reply_without_thinking(strb_text(&valid), valid.length, &said);
    const char *answer = strb_text(&said);
    bool done = read_edits(answer, c, out) || read_blocks(answer, said.length, c, out);
    if (!done && find_front(answer) && !c->cut) {
        strb_add(&out->repairs, "the template stood outside of a code block\n");
        done = take_template(find_front(answer), c, out);
    }
    if (!out->text && out->problem.length == 0)
        strb_add(&out->problem, said.length ? "the reply has no code block\n" : "the reply is empty\n");
    shorten(&out->problem);
    shorten(&out->repairs);
    strb_clear(&valid);
    strb_clear(&said);
}
