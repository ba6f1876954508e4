/* transport/store/sql/sql_queue.c -- see sql_queue.h. */
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "sql_queue.h"

static size_t bucket_of(const struct sql_store *s, const char *name)
{
    return wf_hash(name, strlen(name), s->base.secret) % SQL_QUEUE_BUCKETS;
}

struct sql_queue *sql_queue_find(const struct sql_store *s, const char *name)
{
    struct sql_queue *q = s->queue[bucket_of(s, name)];
    while (q != NULL && strcmp(q->name, name) != 0) q = q->next;
    return q;
}

struct sql_queue *sql_queue_add(struct sql_store *s, const char *name)
{
    struct sql_queue *q = calloc(1, sizeof *q), **to = &s->queue[bucket_of(s, name)];
    if (q == NULL) return NULL;
    memcpy(q->name, name, strlen(name) + 1);
    q->later_from = INT64_MAX;
    q->next = *to;
    *to = q;
    s->queues++;
    return q;
}

void sql_queue_remove(struct sql_store *s, struct sql_queue *q)
{
    struct sql_queue **at = &s->queue[bucket_of(s, q->name)];
    while (*at != q) at = &(*at)->next;
    *at = q->next;
    free(q);
    s->queues--;
}

void sql_queues_free(struct sql_store *s)
{
    for (int i = 0; i < SQL_QUEUE_BUCKETS; i++)
        for (struct sql_queue *q = s->queue[i], *next; q != NULL; q = next) {
            next = q->next;
            free(q);
        }
    memset(s->queue, 0, sizeof s->queue);
    s->queues = 0;
}
