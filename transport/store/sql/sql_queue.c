/* transport/store/sql/sql_queue.c -- see sql_queue.h. */
#include <stdlib.h>
#include <string.h>

#include "sql_queue.h"

/* Where the first queue is whose name is not before `name`. */
static size_t place_of(const struct sql_store *s, const char *name)
{
    size_t low = 0, high = s->queues;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (strcmp(s->queue[middle]->name, name) < 0) low = middle + 1;
        else high = middle;
    }
    return low;
}

static bool is_named(const struct sql_store *s, size_t place, const char *name)
{
    return place < s->queues && strcmp(s->queue[place]->name, name) == 0;
}

size_t sql_queue_behind(const struct sql_store *s, const char *name)
{
    const size_t place = place_of(s, name);
    return place + is_named(s, place, name);
}

struct sql_queue *sql_queue_find(const struct sql_store *s, const char *name)
{
    const size_t place = place_of(s, name);
    return is_named(s, place, name) ? s->queue[place] : NULL;
}

static bool has_space(struct sql_store *s)
{
    if (s->queues < s->queues_max) return true;
    const size_t more = s->queues_max == 0 ? 64 : 2 * s->queues_max;
    struct sql_queue **grown = realloc(s->queue, more * sizeof(struct sql_queue *));
    if (grown == NULL) return false;
    s->queue = grown;
    s->queues_max = more;
    return true;
}

struct sql_queue *sql_queue_add(struct sql_store *s, const char *name)
{
    struct sql_queue *q = has_space(s) ? calloc(1, sizeof *q) : NULL;
    if (q == NULL) return NULL;
    memcpy(q->name, name, strlen(name) + 1);
    q->later_from = INT64_MAX;
    const size_t place = place_of(s, name);
    memmove(s->queue + place + 1, s->queue + place, (s->queues - place) * sizeof(struct sql_queue *));
    s->queue[place] = q;
    s->queues++;
    return q;
}

void sql_queue_remove(struct sql_store *s, struct sql_queue *q)
{
    const size_t place = place_of(s, q->name);
    s->queues--;
    memmove(s->queue + place, s->queue + place + 1, (s->queues - place) * sizeof(struct sql_queue *));
    free(q);
}

void sql_queues_free(struct sql_store *s)
{
    for (size_t i = 0; i < s->queues; i++) free(s->queue[i]);
    free(s->queue);
    s->queue = NULL;
    s->queues = s->queues_max = 0;
}
