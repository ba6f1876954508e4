/* tests/litmus/search.h -- runs a few contexts in every order of their steps.
 *
 * Design notes. An order is a list of choices: which thread takes the next step. The search is depth first and starts
 * each order from the beginning, with the choices of the last one up to the latest that has an alternative. Two steps
 * that use different variables, or only read, have the same effect in either order: sleep sets leave out one of these
 * two orders, and no other order. If there are too many orders, only those are run in which threads that could
 * continue are interrupted a few times at most, but all of these. Every step is sequentially consistent. */
#ifndef WF_LITMUS_SEARCH_H
#define WF_LITMUS_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

#include "steps.h"

enum { THREADS_MAX = 4, STEPS_MAX = 400 };

struct search {
    int threads;
    int interruptions; /* of threads that could go on, in one order at most; 0: any number */
    void (*body[THREADS_MAX])(int self);
    void (*begin)(void);      /* before each order: everything as it was */
    const char *(*end)(void); /* after it: what is wrong, or NULL */
    uint64_t orders;          /* run to their ends; besides those cut off, as one like them was run */
};

/* NULL, or what is wrong in the order that is then printed by search_print. */
const char *search_all(struct search *s);
void search_print(void);

/* In a thread: a step on variable `which`. With STEP_WAIT it comes back when *ready is true. */
void search_step(int which, enum step_kind kind, const bool *ready, const char *function);
/* In a thread: this order is over, for it has gone wrong. */
void search_fail(const char *why);
/* The thread that runs; -1: none. */
int search_self(void);

#endif
