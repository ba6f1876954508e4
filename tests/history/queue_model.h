/* tests/history/queue_model.h -- one job of a queue, as a model for histories (linearize.h). Its key is the number of
 * the job, which is in its body.
 *
 * The model has no clock. That a time is over is an operation (JOB_DUE), which may take effect at any time after it
 * begins, or never: the caller lets it begin when the delay, or the lease, ends at the earliest. So a job that is given
 * too soon, or to two workers at a time, has a history that is not linearizable.
 *
 * A taking whose result is lost may have taken any job of its queue. An operation has, in its last argument, how many
 * such takings had begun by its end: they may have counted as attempts, and ended leases that were over. */
#ifndef HISTORY_QUEUE_MODEL_H
#define HISTORY_QUEUE_MODEL_H

#include "linearize.h"

enum { JOB_ATTEMPTS = 3 }; /* as often it is given, then it is dead */

/* A number for each span that a job waits or is leased, another one each time: a GRANT. A lease has a number, too. */
enum {
    JOB_PUT,    /* in: the number of this put, whether it is delayed, a grant; out: the id */
    JOB_TAKE,   /* in: the id, the put that made it, the lease (also its grant); out: the attempts */
    JOB_DONE,   /* in: the lease; out: 1, or 0: it was refused as the lease is over */
    JOB_RETURN, /* in: the lease, whether it is delayed, a grant; out: as JOB_DONE */
    JOB_EXTEND, /* in: the lease, -, a grant; out: as JOB_DONE */
    JOB_DUE,    /* in: the grant whose time is over */
    JOB_END,    /* in: the lease whose worker has ended */
    JOB_RETRY,  /* in: the id; out: 1, or 0: it was refused as the job is not dead */
    JOB_FINAL,  /* in: the id, the put, what it is in the store (enum job_found); out: the attempts */
};
enum job_found { FOUND_NOTHING, FOUND_READY, FOUND_LEASED, FOUND_DEAD };

extern const struct lin_model job_model;

#endif
