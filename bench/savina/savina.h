/* bench/savina/savina.h -- declarations that the programs of Savina's set share. Each is one function that runs in
 * the first actor of a node, checks its answer, and returns how many messages it took; savina.c measures and reports.
 *
 * After: Imam and Sarkar, "Savina - an actor benchmark suite", 2014. The programs were written for weft. */
#ifndef SAVINA_H
#define SAVINA_H

#include "../bench.h"

#include <math.h>

/* The numbers of the command line. */
struct savina_args {
    int workers;
    long a, b, c;
};
extern struct savina_args savina;

/* The measured time is that of the whole function, unless the function says that it starts later or ends earlier. */
extern int64_t savina_begin, savina_end;
static inline void clock_starts(void)
{
    savina_begin = weft_now();
}

static inline void clock_ends(void)
{
    savina_end = weft_now();
}

/* Receives a message of exactly this size and gives its tag. `from` may be NULL. */
static inline uint32_t take(void *out, size_t size, weft_pid *from)
{
    weft_msg *m = receive();
    uint32_t tag = weft_tag(m);
    if (weft_size(m) != size) fail("a message of the wrong size");
    if (size > 0) memcpy(out, weft_data(m), size);
    if (from != NULL) *from = weft_from(m);
    weft_msg_free(m);
    return tag;
}

/* Receives a message without a body. */
static inline uint32_t signal_from(weft_pid *from)
{
    return take(NULL, 0, from);
}

static inline void give(weft_pid to, uint32_t tag, const void *data, size_t size)
{
    must(weft_send(to, tag, data, size), "send");
}

static inline void tell(weft_pid to, uint32_t tag)
{
    give(to, tag, NULL, 0);
}

/* An actor that lives long: the workers take turns. */
static inline weft_pid start(const char *kind, weft_actor *body, const void *arg, size_t size)
{
    return spawn_on(WEFT_SPREAD, kind, body, arg, size);
}

/* An actor of a swarm: wherever the node puts it. */
static inline weft_pid fork_actor(const char *kind, weft_actor *body, const void *arg, size_t size)
{
    return spawn_on(0, kind, body, arg, size);
}

static inline void check(bool holds, const char *what)
{
    if (!holds) fail(what);
}

static inline void *grab(size_t count, size_t size)
{
    void *p = calloc(count, size);
    if (p == NULL) fail("out of memory");
    return p;
}

static inline uint32_t next_random(uint32_t *state)
{
    *state = (*state * 1103515245u + 12345u) & 0x7fffffffu;
    return *state >> 8;
}

/* messages.c */
long chameneos(void), fork_join(void), fork_join_create(void);
long ping_pong(void), thread_ring(void), counting(void), big(void);
/* people.c */
long philosophers(void), barber(void), smokers(void);
/* sharing.c */
long dictionary(void), sorted_list(void), bounded_buffer(void), bank(void);
/* streams.c */
long logistic_map(void), sieve(void), radix_sort(void), filterbank(void);
/* divide.c */
long quicksort(void), queens(void), matrix(void), cobwebbed_tree(void);
/* paths.c */
long shortest_paths(void), a_star(void);

#endif
