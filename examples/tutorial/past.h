/* past.h -- the last lines of a chat room as one text, in plain C. */
#ifndef PAST_H
#define PAST_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct past_lines {
    size_t size;
    char text[4000];
};

/* Returns the size of the first line of a text, with its newline. */
static inline size_t past_line(const char *text, size_t size)
{
    const char *end = memchr(text, '\n', size);
    return end == NULL ? size : (size_t)(end - text) + 1;
}

/* Adds a line of `more` bytes, with its newline; the oldest lines are removed if there is no space. */
static inline void past_append(struct past_lines *p, const char *line, size_t more)
{
    while (p->size + more > sizeof p->text) {
        size_t first = past_line(p->text, p->size);
        memmove(p->text, p->text + first, p->size -= first);
    }
    memcpy(p->text + p->size, line, more);
    p->size += more;
}

static inline void past_add(struct past_lines *p, const char *line)
{
    past_append(p, line, strlen(line));
}

static inline bool past_has(const struct past_lines *p, const char *line, size_t size)
{
    for (size_t at = 0, n; at < p->size; at += n) {
        n = past_line(p->text + at, p->size - at);
        if (n == size && memcmp(p->text + at, line, n) == 0) return true;
    }
    return false;
}

/* Puts the lines of an older text that are not known yet before the known ones. */
static inline void past_before(struct past_lines *p, const char *older, size_t size)
{
    struct past_lines known = *p;
    p->size = 0;
    for (size_t at = 0, n; at < size; at += n) {
        n = past_line(older + at, size - at);
        if (!past_has(&known, older + at, n)) past_append(p, older + at, n);
    }
    for (size_t at = 0, n; at < known.size; at += n) {
        n = past_line(known.text + at, known.size - at);
        past_append(p, known.text + at, n);
    }
}

/* Returns the position at which the last `count` lines begin. */
static inline size_t past_last(const struct past_lines *p, int64_t count)
{
    size_t at = p->size;
    while (at > 0 && (p->text[at - 1] != '\n' || count-- > 0)) at--;
    return at;
}

#endif
