/* runtime/platform/linux/poller_epoll.c -- readiness with epoll.
 *
 * Design notes.
 * (1) Each handle is registered once, edge-triggered, for both directions and for the peer's end: a wait for a handle
 *     needs no system call.
 * (2) Wakes come through an eventfd, registered edge-triggered as well and never read: each write makes a new edge,
 *     and the counter never reaches 2^64.
 * (3) Its tag, WAKE_TAG, is filtered here and refused in poller_add.
 * (4) Deadlines go to the kernel with nanoseconds (epoll_pwait2). The default timer slack would make each deadline 50
 *     us late, so the waiting thread sets it to the minimum. Kernels before 5.11 get milliseconds, rounded up, so no
 *     wait ends early. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "calls.h"
#include "native.h"

enum { BATCH = 256 };
static const uint64_t WAKE_TAG = UINT64_MAX;

struct pf_poller {
    int epoll;
    int wake;
    int alarm;         /* the timerfd; -1: not made yet */
    int64_t alarm_at;  /* the deadline that it is set to */
    bool milliseconds; /* the kernel has no epoll_pwait2 */
    struct epoll_event events[BATCH];
};

int pf_native_poller_create(struct pf_env *env, struct pf_poller **out)
{
    (void)env;
    int rc;
    struct pf_poller *p = calloc(1, sizeof *p);
    if (p == NULL) return WEFT_ENOMEM;
    p->alarm = -1;
    p->alarm_at = WEFT_FOREVER;
    if ((p->epoll = epoll_create1(EPOLL_CLOEXEC)) < 0) {
        rc = pf_error(errno);
        goto no_epoll;
    }
    if ((p->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) < 0) {
        rc = pf_error(errno);
        goto no_wake;
    }
    struct epoll_event e = {.events = EPOLLIN | EPOLLET, .data.u64 = WAKE_TAG};
    if (epoll_ctl(p->epoll, EPOLL_CTL_ADD, p->wake, &e) < 0) {
        rc = pf_error(errno);
        goto no_registration;
    }
    *out = p;
    return WEFT_OK;
no_registration:
    close(p->wake);
no_wake:
    close(p->epoll);
no_epoll:
    free(p);
    return rc;
}

void pf_native_poller_destroy(struct pf_poller *p)
{
    if (p == NULL) return;
    if (p->alarm >= 0) close(p->alarm);
    close(p->wake);
    close(p->epoll);
    free(p);
}

int pf_native_poller_add(struct pf_poller *p, pf_handle h, uint64_t tag)
{
    if (tag == WAKE_TAG) return WEFT_EINVAL;
    struct epoll_event e = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.u64 = tag};
    if (epoll_ctl(p->epoll, EPOLL_CTL_ADD, (int)h, &e) == 0) return WEFT_OK;
    return errno == EPERM ? WEFT_EINVAL : pf_error(errno);
}

void pf_native_poller_remove(struct pf_poller *p, pf_handle h)
{
    /* A failure means that the handle was closed before, which removed it, too. */
    (void)epoll_ctl(p->epoll, EPOLL_CTL_DEL, (int)h, NULL);
}

int pf_native_poller_arm(struct pf_poller *p, pf_handle h, uint64_t tag, bool for_write)
{
    (void)p, (void)h, (void)tag, (void)for_write;
    return WEFT_OK;
}

bool pf_native_poller_arms(struct pf_poller *p)
{
    (void)p;
    return false;
}

static void give_up_timer_slack(void)
{
    static _Thread_local bool done;
    if (done) return;
    (void)prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    done = true;
}

/* As epoll_wait, but `span` is in nanoseconds; < 0: no limit. */
static int wait_once(struct pf_poller *p, int max, int64_t span)
{
    if (span == 0) return epoll_wait(p->epoll, p->events, max, 0);
    if (span < 0) return epoll_wait(p->epoll, p->events, max, -1);
    if (!p->milliseconds) {
        struct timespec t = {.tv_sec = (time_t)(span / 1000000000), .tv_nsec = (long)(span % 1000000000)};
        int n = epoll_pwait2(p->epoll, p->events, max, &t, NULL);
        /* Some sandboxes return EPERM for calls that they do not know. */
        if (n >= 0 || (errno != ENOSYS && errno != EPERM)) return n;
        p->milliseconds = true;
    }
    int64_t ms = (span + 999999) / 1000000;
    return epoll_wait(p->epoll, p->events, max, ms > INT_MAX ? INT_MAX : (int)ms);
}

static int translate(const struct epoll_event *events, int count, struct pf_ready *out)
{
    int n = 0;
    for (int i = 0; i < count; i++) {
        uint32_t e = events[i].events;
        if (events[i].data.u64 == WAKE_TAG) continue;
        bool broken = (e & (EPOLLHUP | EPOLLERR)) != 0;
        bool ended = (e & EPOLLRDHUP) != 0;
        out[n++] = (struct pf_ready){
            .tag = events[i].data.u64,
            .readable = (e & EPOLLIN) != 0 || ended || broken,
            .writable = (e & EPOLLOUT) != 0 || broken,
            .hangup = ended || broken,
        };
    }
    return n;
}

int pf_native_poller_wait(struct pf_poller *p, struct pf_ready *out, int max, int64_t deadline)
{
    WF_ASSERT(max > 0);
    max = WF_MIN(max, BATCH);
    give_up_timer_slack();
    for (;;) {
        int64_t span = 0;
        if (deadline == WEFT_FOREVER) {
            span = -1;
        } else if (deadline > WEFT_NOW) {
            int64_t now = pf_native_now(NULL);
            span = deadline > now ? deadline - now : 0;
        }
        int n = wait_once(p, max, span);
        if (n > 0) return translate(p->events, n, out);
        if (n < 0) {
            WF_ASSERT(errno == EINTR);
            return 0;
        }
        /* No entry: the deadline has passed, unless it was too far away for one call. */
        if (span == 0 || pf_native_now(NULL) >= deadline) return 0;
    }
}

void pf_native_poller_wake(struct pf_poller *p)
{
    int before = errno; /* kept, because signal handlers call this */
    uint64_t one = 1;
    ssize_t n = write(p->wake, &one, sizeof one);
    WF_ASSERT(n == sizeof one);
    errno = before;
}

pf_handle pf_native_poller_handle(struct pf_poller *p)
{
    return p->epoll;
}

static int open_alarm(struct pf_poller *p)
{
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (fd < 0) return pf_error(errno);
    struct epoll_event e = {.events = EPOLLIN | EPOLLET, .data.u64 = WAKE_TAG};
    if (epoll_ctl(p->epoll, EPOLL_CTL_ADD, fd, &e) < 0) {
        int rc = pf_error(errno);
        close(fd);
        return rc;
    }
    p->alarm = fd;
    return WEFT_OK;
}

int pf_native_poller_alarm(struct pf_poller *p, int64_t deadline)
{
    if (deadline == p->alarm_at && deadline > pf_native_now(NULL)) return WEFT_OK;
    int rc = p->alarm < 0 ? open_alarm(p) : WEFT_OK;
    if (rc < 0) return rc;
    struct itimerspec t = {.it_value = {0, 0}}; /* 0: never */
    if (deadline != WEFT_FOREVER) {
        int64_t at = WF_MAX(deadline - WF_CLOCK_BEGIN, 1); /* 0 would mean never */
        t.it_value.tv_sec = (time_t)(at / 1000000000);
        t.it_value.tv_nsec = (long)(at % 1000000000);
    }
    WF_ASSERT(timerfd_settime(p->alarm, TFD_TIMER_ABSTIME, &t, NULL) == 0);
    p->alarm_at = deadline;
    return WEFT_OK;
}
