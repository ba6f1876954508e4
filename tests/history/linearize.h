/* tests/history/linearize.h -- whether a history of operations is linearizable: whether each operation can be given one
 * moment between its begin and its end, so that all of them, done one after the other at these moments, have the results
 * that they had.
 *
 * The search is that of Wing and Gong ("Testing and verifying concurrent objects", J. Parallel and Distributed Computing
 * 17, 1993), with the cache of Lowe ("Testing for linearizability", Concurrency and Computation 29(4), 2017): which
 * operations are placed, and the state they lead to. No such pair is looked at twice. Knossos (Jepsen) and Porcupine are
 * checkers of that kind, too.
 *
 * Design notes.
 * (1) An operation whose result is not known (its answer was lost) may take effect at any time after its begin, or never.
 *     One that failed takes no effect; it is kept for the report, and a value that only it has written was never there.
 * (2) Operations with different keys have nothing to do with each other, so each key is checked by itself (Herlihy and
 *     Wing's locality; Lowe's P-compositionality).
 * (3) An operation that changes nothing is placed as soon as the state allows it: whatever order follows, it follows
 *     without this operation, too.
 * (4) A state is plain bytes, which are hashed and compared. So a model sets all of them, also those between fields. */
#ifndef HISTORY_LINEARIZE_H
#define HISTORY_LINEARIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { LIN_STATE_MAX = 1024, LIN_TEXT = 160 };

enum lin_status { LIN_UNKNOWN, LIN_OK, LIN_FAIL };

struct lin_op {
    int64_t begin, end; /* ns; `end` says nothing if the result is not known */
    enum lin_status status;
    uint32_t who, what; /* who calls; which operation of the model */
    uint64_t key;
    uint64_t in[4], out; /* arguments and result, as the model has them; `out` says nothing unless LIN_OK */
};

struct lin_model {
    size_t state_size; /* at most LIN_STATE_MAX */
    void (*init)(void *state);
    /* Does the operation. Returns false if it cannot happen in this state, with this result if it is LIN_OK. */
    bool (*step)(void *state, const struct lin_op *op);
    bool (*is_read)(const struct lin_op *op); /* it changes no state */
    /* Write one line without its end, for the report. */
    void (*describe)(char out[LIN_TEXT], const struct lin_op *op);
    void (*describe_state)(char out[LIN_TEXT], const void *state);
};

/* All zeroes: an empty history. The owner calls lin_free. A lack of memory ends the process. */
struct lin_history {
    struct lin_op *op;
    size_t count, capacity;
    int64_t last; /* the time of the last record: the next one is later, so two records never have the same time */
};

/* An operation begins: `op` has who, what, key and arguments. Until lin_end its result is unknown. Returns its number. */
size_t lin_begin(struct lin_history *h, int64_t now, struct lin_op op);
void lin_end(struct lin_history *h, size_t number, int64_t now, enum lin_status status, uint64_t out);
/* Adds an operation as it is, whose times the caller has chosen. */
void lin_add(struct lin_history *h, struct lin_op op);
void lin_free(struct lin_history *h);

enum lin_verdict { LIN_LINEARIZABLE, LIN_NOT_LINEARIZABLE, LIN_NOT_DECIDED /* it takes too long */ };

/* Unless it is linearizable, `report` (may be NULL) gets the smallest part that is not: of the first key that is not, up
 * to the earliest end that makes it so, without what is not needed for that. */
enum lin_verdict lin_check(const struct lin_history *h, const struct lin_model *model, FILE *report);

#endif
