/* runtime/platform/bsd/poller_kqueue.c -- readiness with kqueue: BSD and macOS, and Linux through libkqueue.
 *
 * Design notes.
 * (1) Each handle is registered once, for both directions, with EV_CLEAR, which makes it edge-triggered: a wait needs
 *     no change of the registration. Each direction has an entry of its own; two that follow each other are merged.
 * (2) Wakes come through a pipe, pf_flag. EVFILT_USER would suffice on the BSDs that have it, but libkqueue triggers
 *     it under a mutex, which no signal handler may lock. The pipe is emptied when its entry is taken; if the pipe is
 *     full, no wake is lost, because its entry has not been taken yet.
 * (3) kqueue replaces a registration, whereas epoll refuses a second one, so the poller stores the tag of each
 *     handle. The lock keeps the tags and the kqueue consistent while other threads add and remove.
 * (4) libkqueue takes up to 512 handles from its epoll at a time, makes up to two entries of each, and drops the
 *     entries that do not fit: these edges never come back. So after a full batch all handles and children are
 *     reported once, as ready for everything: too much, but never too little. Native kernels keep the entries that do
 *     not fit.
 * (5) udata is the tag, given with every change: some changes overwrite it.
 * (6) libkqueue consumes the error of a socket (SO_ERROR) and reports it in fflags. A read then finds a clean end, so
 *     the error is handed out with the entry. Native kernels leave the error in the socket, and the read returns it
 *     first. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/event.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "native.h"

enum { BATCH = 512, TRIES = 16 };
static const uint64_t WAKE_TAG = UINT64_MAX; /* as the tag of a handle: it is not registered */
/* One wait lasts a day at most: some kernels refuse more, or compute with an int of milliseconds. */
static const int64_t LONGEST = WEFT_SEC(86400);

#ifdef PF_LIBKQUEUE
static const bool drops_what_does_not_fit = true;
/* A thread of libkqueue frees closed objects; this function waits for it. It is not in the header, and not in older
 * versions. */
__attribute__((weak)) void libkqueue_drain_pending_close(void);
#else
static const bool drops_what_does_not_fit = false;
#endif

/* A watched child. Its number is kept here, because reaping clears it in the child. `child` is NULL in a free
 * place. */
struct watched {
    const struct pf_process *child;
    int64_t pid;
    uint64_t tag;
};

struct pf_poller {
    int kqueue;
    struct pf_flag wake;
    int64_t alarm_at;
    pf_mutex *lock;
    uint64_t *tags; /* by handle; under the lock */
    int tag_count;
    struct watched *children; /* under the lock; a child keeps its place */
    int child_count;
    /* Only its worker uses these: entries taken from the kernel and not handed out yet, and the next handle of a
     * report of all handles. */
    int first, count;
    int sweep; /* first the handles, then the children; -1: none */
    struct kevent events[BATCH];
};

static void change(struct kevent *k, int handle, int filter, int flags, uint64_t tag)
{
    EV_SET(k, (uintptr_t)handle, (short)filter, (unsigned short)flags, 0, 0, (void *)(uintptr_t)tag);
}

/* Returns 0 or an errno. The call has no space for entries, so it returns the error of the change; not every system
 * has EV_RECEIPT. */
static int apply(struct pf_poller *p, const struct kevent *k)
{
    int n;
    do n = kevent(p->kqueue, k, 1, NULL, 0, NULL);
    while (n < 0 && errno == EINTR);
    return n < 0 ? errno : 0;
}

static int kqueue_change(struct pf_poller *p, int64_t ident, int filter, int flags, unsigned fflags, int64_t data,
                         uint64_t tag)
{
    struct kevent k;
    change(&k, (int)ident, filter, flags, tag);
    k.fflags = fflags;
    k.data = (intptr_t)data;
    return apply(p, &k);
}

/* Registers both directions. A pipe has only one, and kernels return different errors for the other one. Reading
 * comes second: libkqueue's epoll gets the second change, and reports the end of the other side only with reading. */
static int attach(struct pf_poller *p, int handle, uint64_t tag)
{
    struct kevent read, write;
    change(&read, handle, EVFILT_READ, EV_ADD | EV_CLEAR, tag);
    change(&write, handle, EVFILT_WRITE, EV_ADD | EV_CLEAR, tag);
    int no_write = apply(p, &write), no_read = apply(p, &read);
    return no_read == 0 || no_write == 0 ? 0 : no_read;
}

static void detach(struct pf_poller *p, int handle)
{
    struct kevent read, write;
    change(&read, handle, EVFILT_READ, EV_DELETE, 0);
    change(&write, handle, EVFILT_WRITE, EV_DELETE, 0);
    /* A failure means that the handle was closed before, which removed it, too. */
    (void)apply(p, &read);
    (void)apply(p, &write);
}

static int open_wake(struct pf_poller *p)
{
    int rc = pf_flag_open(&p->wake);
    if (rc < 0) return rc;
    struct kevent k;
    change(&k, (int)p->wake.reading, EVFILT_READ, EV_ADD | EV_CLEAR, WAKE_TAG);
    int error = apply(p, &k);
    if (error != 0) pf_flag_close(&p->wake);
    return pf_error(error);
}

int pf_native_poller_create(struct pf_env *env, struct pf_poller **out)
{
    (void)env;
    int rc;
    struct pf_poller *p = calloc(1, sizeof *p);
    if (p == NULL) return WEFT_ENOMEM;
    p->sweep = -1;
    p->alarm_at = WEFT_FOREVER;
    if ((rc = pf_mutex_create(&p->lock)) < 0) goto no_lock;
    if ((p->kqueue = kqueue()) < 0) {
        rc = pf_error(errno);
        goto no_kqueue;
    }
    (void)fcntl(p->kqueue, F_SETFD, FD_CLOEXEC);
    if ((rc = open_wake(p)) < 0) goto no_wake;
    *out = p;
    return WEFT_OK;
no_wake:
    close(p->kqueue);
no_kqueue:
    pf_mutex_destroy(p->lock);
no_lock:
    free(p);
    return rc;
}

void pf_native_poller_destroy(struct pf_poller *p)
{
    if (p == NULL) return;
    close(p->kqueue);
#ifdef PF_LIBKQUEUE
    if (libkqueue_drain_pending_close != NULL) libkqueue_drain_pending_close();
#endif
    pf_flag_close(&p->wake);
    pf_mutex_destroy(p->lock);
    free(p->tags);
    free(p->children);
    free(p);
}

/* Makes space for this handle's tag. The caller holds the lock. */
static bool make_space(struct pf_poller *p, int handle)
{
    if (handle < p->tag_count) return true;
    int count = WF_MAX(64, p->tag_count);
    while (count <= handle) count *= 2;
    uint64_t *more = realloc(p->tags, (size_t)count * sizeof *more);
    if (more == NULL) return false;
    for (int i = p->tag_count; i < count; i++) more[i] = WAKE_TAG;
    p->tags = more;
    p->tag_count = count;
    return true;
}

/* Files and directories are always ready, but kernels return different errors for them. */
static int is_pollable(int handle)
{
    struct stat s;
    if (fstat(handle, &s) != 0) return pf_error(errno);
    return S_ISREG(s.st_mode) || S_ISDIR(s.st_mode) || S_ISBLK(s.st_mode) ? WEFT_EINVAL : WEFT_OK;
}

static int add_locked(struct pf_poller *p, int handle, uint64_t tag)
{
    if (!make_space(p, handle)) return WEFT_ENOMEM;
    if (p->tags[handle] != WAKE_TAG) return WEFT_EEXIST;
    int error = attach(p, handle, tag);
    /* The error is that of a device without readiness. */
    if (error == EPERM || error == ENODEV || error == EINVAL) return WEFT_EINVAL;
    if (error != 0) return pf_error(error);
    p->tags[handle] = tag;
    return WEFT_OK;
}

int pf_native_poller_add(struct pf_poller *p, pf_handle h, uint64_t tag)
{
    if (tag == WAKE_TAG) return WEFT_EINVAL;
    if (h < 0) return WEFT_ECLOSED;
    int rc = is_pollable((int)h);
    if (rc < 0) return rc;
    pf_mutex_lock(p->lock);
    rc = add_locked(p, (int)h, tag);
    pf_mutex_unlock(p->lock);
    return rc;
}

void pf_native_poller_remove(struct pf_poller *p, pf_handle h)
{
    pf_mutex_lock(p->lock);
    if (h >= 0 && h < p->tag_count && p->tags[h] != WAKE_TAG) {
        p->tags[h] = WAKE_TAG;
        detach(p, (int)h);
    }
    pf_mutex_unlock(p->lock);
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

static struct pf_ready translate(const struct kevent *k)
{
    bool ended = (k->flags & EV_EOF) != 0, broken = (k->flags & EV_ERROR) != 0 || (ended && k->fflags != 0);
    bool write = k->filter == EVFILT_WRITE;
    return (struct pf_ready){
        .tag = (uint64_t)(uintptr_t)k->udata,
        .readable = !write || ended || broken,
        .writable = write || broken,
        .hangup = ended || broken,
        .error = (int16_t)(ended && k->fflags != 0 ? pf_error((int)k->fflags) : 0),
    };
}

/* Hands out as many of the entries taken from the kernel as fit. */
static int hand_out(struct pf_poller *p, struct pf_ready *out, int max)
{
    int n = 0;
    while (p->first < p->count) {
        const struct kevent *k = &p->events[p->first];
        struct pf_ready r = translate(k);
        if (r.tag == WAKE_TAG) {
            pf_flag_lower(&p->wake);
        } else if (n > 0 && out[n - 1].tag == r.tag) {
            out[n - 1].readable |= r.readable;
            out[n - 1].writable |= r.writable;
            out[n - 1].hangup |= r.hangup;
            if (r.error != 0) out[n - 1].error = r.error;
        } else {
            if (n == max) break;
            out[n++] = r;
        }
        p->first++;
    }
    return n;
}

static uint64_t swept(const struct pf_poller *p, int at)
{
    if (at < p->tag_count) return p->tags[at];
    const struct watched *w = &p->children[at - p->tag_count];
    return w->child != NULL ? w->tag : WAKE_TAG;
}

static int report_all(struct pf_poller *p, struct pf_ready *out, int max)
{
    int n = 0;
    pf_mutex_lock(p->lock);
    for (; p->sweep < p->tag_count + p->child_count && n < max; p->sweep++) {
        uint64_t tag = swept(p, p->sweep);
        if (tag != WAKE_TAG) out[n++] = (struct pf_ready){.tag = tag, .readable = true, .writable = true};
    }
    if (p->sweep >= p->tag_count + p->child_count) p->sweep = -1;
    pf_mutex_unlock(p->lock);
    return n;
}

/* Takes entries from the kernel; `span` is in nanoseconds, < 0: no limit. Returns the result of kevent, or -1 when it
 * was interrupted. Repeats a wait that fails, because libkqueue lets each wait fail once when the process ends, and
 * workers may still run then. */
static int take(struct pf_poller *p, int64_t span)
{
    struct timespec t = {.tv_sec = (time_t)(span / 1000000000), .tv_nsec = (long)(span % 1000000000)};
    int n, failed = 0;
    do n = kevent(p->kqueue, NULL, 0, p->events, BATCH, span < 0 ? NULL : &t);
    while (n < 0 && errno != EINTR && ++failed < TRIES);
    WF_ASSERT(n >= 0 || errno == EINTR);
    p->first = 0;
    p->count = WF_MAX(n, 0);
    if (n == BATCH && drops_what_does_not_fit) {
        p->sweep = 0;
        pf_flag_lower(&p->wake);
    }
    return n;
}

int pf_native_poller_wait(struct pf_poller *p, struct pf_ready *out, int max, int64_t deadline)
{
    WF_ASSERT(max > 0);
    for (;;) {
        if (p->first < p->count) return hand_out(p, out, max); /* 0: the entry was a wake */
        if (p->sweep >= 0) return report_all(p, out, max);
        int64_t span = 0;
        if (deadline == WEFT_FOREVER) {
            span = -1;
        } else if (deadline > WEFT_NOW) {
            int64_t now = pf_native_now(NULL);
            span = deadline > now ? WF_MIN(deadline - now, LONGEST) : 0;
        }
        int taken = take(p, span);
        if (taken < 0) return 0;
        if (taken > 0) continue;
        /* No entry: the deadline has passed, unless it was too far away for one call. */
        if (span == 0 || pf_native_now(NULL) >= deadline) return 0;
    }
}

void pf_native_poller_wake(struct pf_poller *p)
{
    pf_flag_raise(&p->wake);
}

pf_handle pf_native_poller_handle(struct pf_poller *p)
{
#ifdef PF_LIBKQUEUE
    (void)p;
    return PF_NO_HANDLE; /* libkqueue's descriptor is the end of a pipe, not the one it waits with */
#else
    return p->kqueue;
#endif
}

/* Starts a timer that fires once, not before `span` nanoseconds have passed. Returns 0 or an errno. */
static int start_timer(struct pf_poller *p, int64_t ident, int64_t span, uint64_t tag)
{
#ifdef NOTE_USECONDS
    enum { UNIT = 1000 };
    unsigned unit = NOTE_USECONDS;
#else /* NetBSD 9, older OpenBSD, DragonFly have milliseconds only */
    enum { UNIT = 1000 * 1000 };
    unsigned unit = 0;
#endif
    int64_t count = (WF_MAX(span, 1) + UNIT - 1) / UNIT;
    return kqueue_change(p, ident, EVFILT_TIMER, EV_ADD | EV_ONESHOT, unit, count, tag);
}

/* A timer of the kqueue, whose entry is treated as a wake. */
int pf_native_poller_alarm(struct pf_poller *p, int64_t deadline)
{
    enum { ALARM = 1 };
    int64_t now = pf_native_now(NULL);
    if (deadline == p->alarm_at && deadline > now) return WEFT_OK;
    (void)kqueue_change(p, ALARM, EVFILT_TIMER, EV_DELETE, 0, 0, WAKE_TAG); /* ENOENT: there is no timer */
    p->alarm_at = deadline;
    if (deadline == WEFT_FOREVER) return WEFT_OK;
    return pf_error(start_timer(p, ALARM, WF_MIN(deadline - now, LONGEST), WAKE_TAG));
}

/* ---- Children -------------------------------------------------------------------------------------------------- */

/* Returns the place of this child; for NULL a free place, or NULL if there is no memory. The caller holds the
 * lock. */
static struct watched *place_of(struct pf_poller *p, const struct pf_process *c)
{
    for (int i = 0; i < p->child_count; i++) {
        if (p->children[i].child == c) return &p->children[i];
    }
    if (c != NULL) return NULL;
    int count = WF_MAX(8, 2 * p->child_count);
    struct watched *more = realloc(p->children, (size_t)count * sizeof *more);
    if (more == NULL) return NULL;
    for (int i = p->child_count; i < count; i++) more[i] = (struct watched){0};
    struct watched *first = &more[p->child_count];
    p->children = more;
    p->child_count = count;
    return first;
}

int pf_native_process_watch(struct pf_poller *p, struct pf_process *c, uint64_t tag)
{
    pf_mutex_lock(p->lock);
    struct watched *w = place_of(p, NULL);
    if (w != NULL) *w = (struct watched){c, c->id, tag};
    pf_mutex_unlock(p->lock);
    if (w == NULL) return WEFT_ENOMEM;
    int error = kqueue_change(p, c->id, EVFILT_PROC, EV_ADD | EV_ONESHOT, NOTE_EXIT, 0, tag);
    /* Some kernels do not accept a child that has ended, so a timer reports it. The child's number identifies the
     * timer; no other timer has it. */
    if (error == ESRCH) error = start_timer(p, c->id, 0, tag);
    if (error != 0) pf_native_process_unwatch(p, c);
    return pf_error(error);
}

void pf_native_process_unwatch(struct pf_poller *p, struct pf_process *c)
{
    pf_mutex_lock(p->lock);
    struct watched *w = place_of(p, c), was = {0};
    if (w != NULL) {
        was = *w;
        *w = (struct watched){0};
    }
    pf_mutex_unlock(p->lock);
    if (w == NULL) return;
    (void)kqueue_change(p, was.pid, EVFILT_PROC, EV_DELETE, NOTE_EXIT, 0, 0);
    (void)kqueue_change(p, was.pid, EVFILT_TIMER, EV_DELETE, 0, 0, 0);
}
