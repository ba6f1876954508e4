/* runtime/wait/semaphore.c -- counting semaphores and latches: events with a count, see event.h. */
#include "event.h"

#include <weft/latch.h>
#include <weft/semaphore.h>
#include <weft/wait.h>

enum { OF_SEMAPHORES = 1 << WF_SEMAPHORE, OF_LATCHES = 1 << WF_LATCH };
_Static_assert((int)WEFT_SEMAPHORE_MAX == (int)WF_EVENT_COUNT_MAX && (int)WEFT_LATCH_MAX == (int)WF_EVENT_COUNT_MAX,
               "what an event can count");

static weft_event in(weft_semaphore s)
{
    return (weft_event){.node = s.node, .id = s.id};
}

static weft_event under(weft_latch l)
{
    return (weft_event){.node = l.node, .id = l.id};
}

/* ---- Semaphores ------------------------------------------------------------------------------------------------ */
int weft_semaphore_open(weft_semaphore *out, uint32_t initial)
{
    weft_event e;
    if (out == NULL) return WEFT_EINVAL;
    int rc = wf_event_open(&e, WF_SEMAPHORE, initial);
    if (rc == 0) *out = (weft_semaphore){.node = e.node, .id = e.id};
    return rc;
}

int weft_semaphore_post(weft_semaphore s, uint32_t n)
{
    return wf_event_count_up(in(s), n);
}

int weft_semaphore_take(weft_semaphore s)
{
    return wf_event_take(in(s), OF_SEMAPHORES);
}

int64_t weft_semaphore_count(weft_semaphore s)
{
    return wf_event_count(in(s), WF_SEMAPHORE);
}

int weft_semaphore_await(weft_semaphore s, int64_t deadline)
{
    return wf_event_await(in(s), OF_SEMAPHORES, deadline, "semaphore");
}

int weft_semaphore_fd(weft_semaphore s, int *fd)
{
    return weft_event_fd(in(s), fd);
}

int weft_semaphore_close(weft_semaphore s)
{
    return weft_event_close(in(s));
}

weft_wait weft_on_semaphore(weft_semaphore s)
{
    return weft_on_event(in(s));
}

/* ---- Latches --------------------------------------------------------------------------------------------------- */
int weft_latch_open(weft_latch *out, uint32_t count)
{
    weft_event e;
    if (out == NULL) return WEFT_EINVAL;
    int rc = wf_event_open(&e, WF_LATCH, count);
    if (rc == 0) *out = (weft_latch){.node = e.node, .id = e.id};
    return rc;
}

int weft_latch_count_down(weft_latch l, uint32_t n)
{
    return wf_event_count_down(under(l), n);
}

int64_t weft_latch_count(weft_latch l)
{
    return wf_event_count(under(l), WF_LATCH);
}

int weft_latch_await(weft_latch l, int64_t deadline)
{
    return wf_event_await(under(l), OF_LATCHES, deadline, "latch");
}

int weft_latch_fd(weft_latch l, int *fd)
{
    return weft_event_fd(under(l), fd);
}

int weft_latch_close(weft_latch l)
{
    return weft_event_close(under(l));
}

weft_wait weft_on_latch(weft_latch l)
{
    return weft_on_event(under(l));
}
