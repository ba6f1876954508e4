/* runtime/platform/windows/poller_iocp.c -- readiness with a completion port.
 *
 * Design notes.
 * (1) A port reports finished operations, not readiness. So readiness is made an operation, too: the driver
 *     of sockets can complete a request when one of several conditions holds for a socket, as it does for select.
 *     poller_arm requests one direction, once: a condition that holds already completes at once, so no change is
 *     missed between a call that returned PF_AGAIN and its arm.
 * (2) Both operations of a handle lie in its registration. The system writes to them until their packets have come
 *     out of the port: removing a registration cancels them, and the registration is freed after the last packet.
 * (3) Registrations are found by handle in a table under a lock; wait takes it once a batch.
 * (4) A wake is a packet of its own. Between two waits one is enough: `woken` is true while it is under way.
 * (5) Shutting down a connection on this side does not complete operations: pf_abort searches all pollers for them
 *     and cancels them.
 * (6) Timeouts are milliseconds of a coarse clock: they are rounded up, and a wait that ends early is repeated. */
#include <stdlib.h>
#include <string.h>

#include "port.h"
#include "socket.h"
/* after windows.h */
#include <mswsock.h>
#include <winternl.h>

enum { BATCH = 256, BUCKETS = 64 };
static const uint64_t WAKE_TAG = UINT64_MAX;

/* The interface of the driver of sockets; the numbers are part of the system's binary interface. */
enum { IOCTL_AFD_POLL = 0x00012024 };
enum {
    AFD_RECEIVE = 0x01,
    AFD_SEND = 0x04,
    AFD_DISCONNECT = 0x08,
    AFD_ABORT = 0x10,
    AFD_LOCAL_CLOSE = 0x20,
    AFD_ACCEPT = 0x80,
    AFD_CONNECT_FAIL = 0x100,
    AFD_BROKEN = AFD_ABORT | AFD_LOCAL_CLOSE | AFD_CONNECT_FAIL,
};
struct afd_poll {
    LARGE_INTEGER timeout;
    ULONG count;
    ULONG exclusive;
    HANDLE handle;
    ULONG events;
    NTSTATUS status;
};
#define STATUS_CANCELLED_POLL ((NTSTATUS)0xC0000120L)
NTSTATUS NTAPI NtCancelIoFileEx(HANDLE file, IO_STATUS_BLOCK *request, IO_STATUS_BLOCK *result);

struct registration;
struct operation {
    IO_STATUS_BLOCK status; /* first: the port hands out its address */
    struct afd_poll poll;
    struct registration *of;
    bool for_write;
    bool under_way; /* the system may write to it */
};

/* All fields are under the poller's lock. */
struct registration {
    struct registration *next; /* in its bucket */
    pf_handle handle;
    SOCKET socket; /* the socket of the driver */
    uint64_t tag;
    bool removed;
    bool aborted;             /* pf_abort was called */
    struct operation side[2]; /* [for_write] */
};

struct pf_poller {
    struct pf_poller *next; /* in the list of all pollers, under all_lock */
    HANDLE port;
    HANDLE driver;
    _Atomic bool woken;
    SRWLOCK lock;
    struct registration **bucket; /* under lock, as are the fields below */
    size_t bucket_count;          /* a power of two */
    size_t count;
    size_t under_way; /* operations under way */
    OVERLAPPED_ENTRY entries[BATCH];
};

static SRWLOCK all_lock = SRWLOCK_INIT;
static struct pf_poller *all;

static int open_driver(struct pf_poller *p)
{
    UNICODE_STRING name;
    OBJECT_ATTRIBUTES attributes;
    IO_STATUS_BLOCK status;
    RtlInitUnicodeString(&name, L"\\Device\\Afd\\weft");
    InitializeObjectAttributes(&attributes, &name, 0, NULL, NULL);
    NTSTATUS rc = NtCreateFile(&p->driver, SYNCHRONIZE, &attributes, &status, NULL, 0,
                               FILE_SHARE_READ | FILE_SHARE_WRITE, FILE_OPEN, 0, NULL, 0);
    if (rc < 0) return pf_unknown_error("NtCreateFile of the driver of sockets", (int)RtlNtStatusToDosError(rc));
    if (CreateIoCompletionPort(p->driver, p->port, PF_KEY_POLL, 0) == NULL ||
        !SetFileCompletionNotificationModes(p->driver, FILE_SKIP_SET_EVENT_ON_HANDLE)) {
        int error = pf_error((int)GetLastError());
        CloseHandle(p->driver);
        return error;
    }
    return WEFT_OK;
}

int pf_native_poller_create(struct pf_env *env, struct pf_poller **out)
{
    (void)env;
    int rc = WEFT_ENOMEM;
    struct pf_poller *p = calloc(1, sizeof *p);
    if (p == NULL) return WEFT_ENOMEM;
    InitializeSRWLock(&p->lock);
    p->bucket_count = BUCKETS;
    if ((p->bucket = calloc(BUCKETS, sizeof *p->bucket)) == NULL) goto no_buckets;
    pf_sockets_load();
    if ((p->port = CreateIoCompletionPort(INVALID_HANDLE_VALUE, NULL, 0, 1)) == NULL) {
        rc = pf_error((int)GetLastError());
        goto no_port;
    }
    if ((rc = open_driver(p)) < 0) goto no_driver;
    AcquireSRWLockExclusive(&all_lock);
    p->next = all;
    all = p;
    ReleaseSRWLockExclusive(&all_lock);
    *out = p;
    return WEFT_OK;
no_driver:
    CloseHandle(p->port);
no_port:
    free(p->bucket);
no_buckets:
    free(p);
    return rc;
}

HANDLE pf_poller_port(struct pf_poller *p)
{
    return p->port;
}

/* ---- Registrations: under the lock ----------------------------------------------------------------------------- */

static struct registration **place_of(struct pf_poller *p, pf_handle h)
{
    uint64_t hash = (uint64_t)h * 0x9E3779B97F4A7C15u >> 32;
    struct registration **at = &p->bucket[hash & (p->bucket_count - 1)];
    while (*at != NULL && (*at)->handle != h) at = &(*at)->next;
    return at;
}

/* If there is no memory, the chains become longer. */
static void grow(struct pf_poller *p)
{
    size_t before = p->bucket_count;
    struct registration **old = p->bucket, **larger = calloc(before * 2, sizeof *larger);
    if (larger == NULL) return;
    p->bucket = larger;
    p->bucket_count = before * 2;
    for (size_t i = 0; i < before; i++) {
        for (struct registration *r = old[i], *next; r != NULL; r = next) {
            next = r->next;
            r->next = NULL;
            *place_of(p, r->handle) = r;
        }
    }
    free(old);
}

static void cancel(struct pf_poller *p, struct operation *o)
{
    IO_STATUS_BLOCK status;
    /* If it has completed meanwhile, there is nothing to cancel. */
    if (o->under_way) (void)NtCancelIoFileEx(p->driver, &o->status, &status);
}

static void free_if_over(struct registration *r)
{
    if (r->removed && !r->side[0].under_way && !r->side[1].under_way) free(r);
}

static int ask(struct pf_poller *p, struct operation *o)
{
    if (o->of->aborted) {
        o->status.Status = STATUS_CANCELLED_POLL;
        if (!PostQueuedCompletionStatus(p->port, 0, PF_KEY_POLL, (OVERLAPPED *)(void *)o)) return WEFT_ENOMEM;
        o->under_way = true;
        p->under_way++;
        return WEFT_OK;
    }
    ULONG events = AFD_BROKEN | (o->for_write ? (ULONG)AFD_SEND : (ULONG)(AFD_RECEIVE | AFD_ACCEPT | AFD_DISCONNECT));
    o->poll = (struct afd_poll){.count = 1, .handle = (HANDLE)o->of->socket, .events = events};
    o->poll.timeout.QuadPart = INT64_MAX;
    o->status.Status = STATUS_PENDING;
    NTSTATUS rc = NtDeviceIoControlFile(p->driver, NULL, NULL, o, &o->status, IOCTL_AFD_POLL, &o->poll,
                                        sizeof o->poll, &o->poll, sizeof o->poll);
    if (rc < 0) return pf_error((int)RtlNtStatusToDosError(rc));
    o->under_way = true; /* also if it is done already, because a packet comes in any case */
    p->under_way++;
    return WEFT_OK;
}

/* ---- The contract ---------------------------------------------------------------------------------------------- */

/* Layered providers wrap sockets; the driver accepts only the innermost one. */
static int innermost(pf_handle h, SOCKET *out)
{
    DWORD size = 0;
    if (!pf_is_open(h)) return WEFT_ECLOSED;
    if (WSAIoctl((SOCKET)h, SIO_BASE_HANDLE, NULL, 0, out, sizeof *out, &size, NULL, NULL) == 0) return WEFT_OK;
    return WSAGetLastError() == WSAENOTSOCK ? WEFT_EINVAL : pf_socket_error();
}

int pf_native_poller_add(struct pf_poller *p, pf_handle h, uint64_t tag)
{
    SOCKET socket;
    if (tag == WAKE_TAG) return WEFT_EINVAL;
    int rc = innermost(h, &socket);
    if (rc < 0) return rc;
    struct registration *r = calloc(1, sizeof *r);
    if (r == NULL) return WEFT_ENOMEM;
    *r = (struct registration){.handle = h, .socket = socket, .tag = tag};
    for (int i = 0; i < 2; i++) {
        r->side[i].of = r;
        r->side[i].for_write = i != 0;
    }
    AcquireSRWLockExclusive(&p->lock);
    struct registration **at = place_of(p, h);
    if (*at != NULL) rc = WEFT_EEXIST;
    else *at = r;
    if (rc == WEFT_OK && ++p->count > p->bucket_count) grow(p);
    ReleaseSRWLockExclusive(&p->lock);
    if (rc < 0) free(r);
    return rc;
}

void pf_native_poller_remove(struct pf_poller *p, pf_handle h)
{
    AcquireSRWLockExclusive(&p->lock);
    struct registration **at = place_of(p, h), *r = *at;
    if (r != NULL) {
        *at = r->next;
        p->count--;
        r->removed = true;
        for (int i = 0; i < 2; i++) cancel(p, &r->side[i]);
        free_if_over(r);
    }
    ReleaseSRWLockExclusive(&p->lock);
}

int pf_native_poller_arm(struct pf_poller *p, pf_handle h, uint64_t tag, bool for_write)
{
    (void)tag;
    int rc = WEFT_OK;
    AcquireSRWLockExclusive(&p->lock);
    struct registration *r = *place_of(p, h);
    if (r == NULL) rc = WEFT_ECLOSED;
    else if (!r->side[for_write].under_way) rc = ask(p, &r->side[for_write]);
    ReleaseSRWLockExclusive(&p->lock);
    return rc;
}

bool pf_native_poller_arms(struct pf_poller *p)
{
    (void)p;
    return true;
}

void pf_abort(pf_handle h)
{
    (void)shutdown((SOCKET)h, SD_BOTH);
    /* The shutdown notifies the other side only: waits on this side must be ended, too. */
    AcquireSRWLockShared(&all_lock);
    for (struct pf_poller *p = all; p != NULL; p = p->next) {
        AcquireSRWLockExclusive(&p->lock);
        struct registration *r = *place_of(p, h);
        for (int i = 0; r != NULL && i < 2; i++) {
            r->aborted = true;
            cancel(p, &r->side[i]);
        }
        ReleaseSRWLockExclusive(&p->lock);
    }
    ReleaseSRWLockShared(&all_lock);
}

/* Returns whether there is an entry to report. */
static bool complete(struct pf_poller *p, struct operation *o, struct pf_ready *out)
{
    struct registration *r = o->of;
    o->under_way = false;
    p->under_way--;
    ULONG events = o->status.Status >= 0 ? (o->poll.count > 0 ? o->poll.events : 0) : (ULONG)AFD_ABORT;
    bool broken = (events & AFD_BROKEN) != 0, ended = (events & AFD_DISCONNECT) != 0;
    *out = (struct pf_ready){
        .tag = r->tag,
        .readable = (events & (AFD_RECEIVE | AFD_ACCEPT)) != 0 || ended || broken,
        .writable = (events & AFD_SEND) != 0 || broken,
        .hangup = ended || broken,
    };
    bool wanted = !r->removed && (o->status.Status != STATUS_CANCELLED_POLL || r->aborted);
    free_if_over(r);
    return wanted;
}

static int translate(struct pf_poller *p, ULONG count, struct pf_ready *out)
{
    int n = 0;
    AcquireSRWLockExclusive(&p->lock);
    for (ULONG i = 0; i < count; i++) {
        const OVERLAPPED_ENTRY *e = &p->entries[i];
        /* It is cleared before the caller looks for the cause of the wake. */
        if (e->lpCompletionKey == PF_KEY_WAKE) atomic_store(&p->woken, false);
        else if (e->lpCompletionKey == PF_KEY_FILE) out[n++] = pf_file_done(e->lpOverlapped);
        else if (e->lpCompletionKey == PF_KEY_PROCESS)
            out[n++] = (struct pf_ready){.tag = (uint64_t)(uintptr_t)e->lpOverlapped, .readable = true};
        else n += complete(p, (struct operation *)(void *)e->lpOverlapped, &out[n]);
    }
    ReleaseSRWLockExclusive(&p->lock);
    return n;
}

int pf_native_poller_wait(struct pf_poller *p, struct pf_ready *out, int max, int64_t deadline)
{
    WF_ASSERT(max > 0);
    max = WF_MIN(max, (int)BATCH);
    for (;;) {
        ULONG count = 0;
        if (GetQueuedCompletionStatusEx(p->port, p->entries, (ULONG)max, &count, pf_milliseconds_until(deadline),
                                        FALSE))
            return translate(p, count, out);
        WF_ASSERT(GetLastError() == WAIT_TIMEOUT);
        if (deadline != WEFT_FOREVER && (deadline <= WEFT_NOW || pf_native_now(NULL) >= deadline)) return 0;
    }
}

void pf_native_poller_wake(struct pf_poller *p)
{
    if (atomic_exchange(&p->woken, true)) return; /* pairs with the store in translate */
    bool posted = PostQueuedCompletionStatus(p->port, 0, PF_KEY_WAKE, NULL);
    WF_ASSERT(posted);
}

pf_handle pf_native_poller_handle(struct pf_poller *p)
{
    (void)p;
    return PF_NO_HANDLE;
}

int pf_native_poller_alarm(struct pf_poller *p, int64_t deadline)
{
    (void)p, (void)deadline;
    return WEFT_ENOTSUP;
}

void pf_native_poller_destroy(struct pf_poller *p)
{
    struct pf_ready ignored[BATCH];
    if (p == NULL) return;
    AcquireSRWLockExclusive(&all_lock);
    struct pf_poller **at = &all;
    while (*at != p) at = &(*at)->next;
    *at = p->next;
    ReleaseSRWLockExclusive(&all_lock);
    for (size_t i = 0; i < p->bucket_count; i++) {
        while (p->bucket[i] != NULL) pf_native_poller_remove(p, p->bucket[i]->handle);
    }
    while (p->under_way > 0) (void)pf_native_poller_wait(p, ignored, BATCH, WEFT_FOREVER);
    CloseHandle(p->driver);
    CloseHandle(p->port);
    free(p->bucket);
    free(p);
}
