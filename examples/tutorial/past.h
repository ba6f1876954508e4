/* past.h -- the last lines of a room as one text, in plain C. */
#ifndef PAST_H
#define PAST_H

#include <stdio.h>
#include <string.h>

struct past_lines {
    size_t size;
    char text[4000];
};

/* Adds a line, with its newline; the oldest ones make room. */
static inline void past_add(struct past_lines *p, const char *line)
{
    size_t more = strlen(line);
    while (p->size + more > sizeof p->text) {
        const char *end = memchr(p->text, '\n', p->size);
        size_t first = end == NULL ? p->size : (size_t)(end - p->text) + 1;
        memmove(p->text, p->text + first, p->size -= first);
    }
    memcpy(p->text + p->size, line, more);
    p->size += more;
}

/* Where the last `count` lines begin. */
static inline size_t past_last(const struct past_lines *p, int64_t count)
{
    size_t at = p->size;
    while (at > 0 && (p->text[at - 1] != '\n' || count-- > 0)) at--;
    return at;
}

#endif
