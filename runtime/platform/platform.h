/* runtime/platform/platform.h -- the contract between the runtime and an operating system. It states what every
 * platform must provide, and what the runtime may assume. linux/, bsd/ and windows/ implement it for a kernel, posix/
 * has the code that Unix systems share, sim/ drives the clock and randomness from a seed. No other folder makes
 * system calls.
 *
 * Rules for all functions: results are >= 0 or WEFT_E*, or PF_AGAIN where stated; errno does not leave this folder;
 * nothing here knows tasks, actors or messages; a function may be called from any thread unless its comment says
 * otherwise. */
#ifndef PF_PLATFORM_H
#define PF_PLATFORM_H

#include "base.h"

enum {
    PF_AGAIN = -1000,    /* not now: wait for readiness and try again. Never leaves the runtime. */
    PF_BLOCKING = -1001, /* this needs a thread that may block. Never leaves the runtime. */
};

/* Called with each error of the system that is returned as WEFT_ESYSTEM, because no other code fits: `where` is the
 * call that failed, `text` what the system calls the error. It is called by any thread, but by no signal handler, and may
 * be NULL. The thread that registers it stores it with release, the thread that calls it loads it with acquire. */
typedef void pf_unknown_error_fn(const char *where, int system_error, const char *text);
extern _Atomic(pf_unknown_error_fn *) pf_on_unknown_error;

/* A descriptor, socket or HANDLE. */
typedef intptr_t pf_handle;
#define PF_NO_HANDLE ((pf_handle)-1)

/* ---- The environment: everything a simulation replaces --------------------------------------------------------- */
/* The environment of a node. The node gets it when it is created, and uses clock, randomness and readiness only
 * through it. pf_env_native() is the environment of the real system. */
struct pf_poller;
struct pf_ready;
struct pf_file_op;
struct pf_process;
struct pf_cond;
struct pf_mutex;
struct pf_env {
    /* Monotonic nanoseconds, >= WF_CLOCK_BEGIN. Async-signal-safe. */
    int64_t (*now)(struct pf_env *env);
    /* ns between two wakes of a worker for timers: a sleep costs microseconds, and a million timers of one second would
     * be a million sleeps. While timers follow each other so closely, posts do not wake the worker. 0: each timer fires
     * when it is due, and each post wakes */
    int64_t sleep_min;
    /* Nanoseconds since 1970, as far as this machine knows; may jump. */
    int64_t (*wall)(struct pf_env *env);
    /* Fills `out` with random bytes from the system; in a simulation, from its seed. */
    void (*random)(struct pf_env *env, void *out, size_t size);
    /* A thread that is not a worker waits for the node's workers: pf_cond_wait, with a deadline on this clock. In a
     * simulation this same thread also runs all workers, so it makes the simulation proceed. */
    int (*cond_wait)(struct pf_env *env, struct pf_cond *c, struct pf_mutex *m, int64_t deadline);
    /* Wakes all threads in cond_wait. Any thread. */
    void (*cond_broadcast)(struct pf_env *env, struct pf_cond *c);

    /* Poller: one per worker. Only its worker's thread may call wait; each comment states which threads may call the
     * other functions.
     *
     * Readiness is edge-triggered and registered once per handle, for both directions together; `tag` comes back in
     * pf_ready. Its reports are hints: the runtime tries the call, and waits again if needed. So a backend may report
     * too much, but never too little: when a handle becomes readable or writable after a call on it said PF_AGAIN (or
     * a read gave less than asked for and no hang-up was reported before), an entry must follow. */
    int (*poller_create)(struct pf_env *env, struct pf_poller **out);
    void (*poller_destroy)(struct pf_poller *p); /* NULL is fine */
    /* Any thread. Any tag but UINT64_MAX. WEFT_EINVAL: this kind of handle cannot be polled (a regular file): it is
     * always ready. WEFT_EEXIST: the handle is registered in this poller already. */
    int (*poller_add)(struct pf_poller *p, pf_handle h, uint64_t tag);
    /* Any thread. Entries already taken by wait may still carry the tag; the runtime recognises them by their
     * generation. */
    void (*poller_remove)(struct pf_poller *p, pf_handle h);
    /* Any thread: a task is about to wait for this direction, or a call returned PF_AGAIN and an entry must follow.
     * Edge-triggered kernels (epoll, kqueue) do nothing here; a completion kernel (IOCP) requests readiness here, at
     * most once per handle and direction. WEFT_ECLOSED: the handle is not registered. */
    int (*poller_arm)(struct pf_poller *p, pf_handle h, uint64_t tag, bool for_write);
    /* Any thread: false if poller_arm does nothing, so that it need not be called. */
    bool (*poller_arms)(struct pf_poller *p);
    /* Its worker only. Blocks until an entry is ready, `deadline` passes (WEFT_NOW: does not block) or a thread calls
     * wake. Fills at most `max` entries and returns how many; 0 after a wake or at the deadline, also when
     * interrupted. It never returns before the deadline without a reason: the runtime promises that an idle node
     * makes no wake-ups. */
    int (*poller_wait)(struct pf_poller *p, struct pf_ready *out, int max, int64_t deadline);
    /* Any thread and signal handlers. The current or the next wait returns. Many wakes may become one. */
    void (*poller_wake)(struct pf_poller *p);
    /* A descriptor that is readable while wait would not block, for embedding in another loop; PF_NO_HANDLE: this
     * system has no such descriptor. */
    pf_handle (*poller_handle)(struct pf_poller *p);
    /* Its worker only, and only if poller_handle returned a descriptor. The descriptor also becomes readable at
     * `deadline` (WEFT_NOW: at once; WEFT_FOREVER: never), until the next wait; that wait has no entry for it and
     * does not block. There is one such deadline: a call replaces the previous one, and with the same deadline costs
     * no system call. epoll uses a timerfd; kqueue a one-shot EVFILT_TIMER. */
    int (*poller_alarm)(struct pf_poller *p, int64_t deadline);

    /* Positioned reads and writes of files. Its worker only.
     *
     * WEFT_OK: done at once, without waiting for a disk, `result` is set. PF_AGAIN: under way; poller_wait will
     * return exactly one entry with `done` and the operation's tag, and `result` is set by then. The entry comes from
     * the poller that the file was first used with, which may belong to another worker. PF_BLOCKING: nothing was
     * done, call pf_file_read or pf_file_write on a thread that may block. Other codes are errors of the operation;
     * errors that occur later are in `result`. Until the operation is done, it and the memory that `data` points to
     * belong to the platform: the runtime passes memory of its own, which outlives the actor that asked. With
     * `at_once` the call never waits: it returns WEFT_OK, an error or PF_BLOCKING, and the memory may be the
     * actor's. */
    int (*file_submit)(struct pf_poller *p, struct pf_file_op *op);
    /* Cancels an operation that is under way: its entry still comes, soon, with any result. Any worker of the node
     * may call it. The operation may be done already, but its memory must still exist. A poller is destroyed only
     * after all operations of its node are done. */
    void (*file_cancel)(struct pf_poller *p, struct pf_file_op *op);

    /* Its worker only. An entry with `readable` and this tag comes when the child has ended, also if it ended before
     * this call; then call pf_process_reap. The watch lasts until process_unwatch, which must come before the child
     * is freed. */
    int (*process_watch)(struct pf_poller *p, struct pf_process *c, uint64_t tag);
    void (*process_unwatch)(struct pf_poller *p, struct pf_process *c);
};

struct pf_ready {
    uint64_t tag;
    bool readable, writable; /* an error or hang-up sets both */
    bool hangup;             /* the other side has closed its sending direction, or the handle is broken */
    bool done;               /* a file operation is done: `tag` is its tag, the other fields mean nothing */
    int16_t error; /* the error of the handle (WEFT_E*), if this poller consumes it from the handle; else 0 */
};

/* One positioned read or write. The caller fills in the fields before `result`; after that it neither copies nor
 * moves the struct. */
struct pf_file_op {
    pf_handle file;
    void *data; /* a write only reads it */
    size_t size;
    int64_t offset; /* PF_FILE_END: see below */
    bool write;
    bool at_once;
    uint64_t tag;
    int64_t result;                         /* as pf_file_read or pf_file_write return it */
    alignas(16) unsigned char platform[64]; /* an OVERLAPPED and the like */
};

struct pf_env *pf_env_native(void);

/* ---- Flags: what a loop other than ours waits for -------------------------------------------------------------- */
/* A descriptor that is readable while the flag is up. Any thread and signal handlers may raise and lower it; that
 * never blocks, and doing it twice has the effect of once. Linux: an eventfd, both handles are the same; other
 * systems: a pipe. WEFT_ENOTSUP: no event loop could wait for handles of this system. */
struct pf_flag {
    pf_handle reading, writing;
};
int pf_flag_open(struct pf_flag *f);
void pf_flag_close(struct pf_flag *f);
void pf_flag_raise(const struct pf_flag *f);
void pf_flag_lower(const struct pf_flag *f);

/* ---- Threads --------------------------------------------------------------------------------------------------- */
typedef struct pf_thread pf_thread;
/* `name` (at most 15 bytes) is shown by debuggers. All signals but the synchronous ones are blocked in the new
 * thread. It has an alternate signal stack, so that pf_fault_watch can report from it. */
int pf_thread_start(pf_thread **out, const char *name, void (*run)(void *), void *arg);
void pf_thread_join(pf_thread *t); /* frees it */
/* The thread will not be joined and ends by itself. This is for threads that have reported that they run, and that
 * cannot be made to end. Frees `t`. */
void pf_thread_detach(pf_thread *t);
/* A thread of pf_thread_start calls this: from now on pf_thread_glimpse works for it. Does nothing on systems that
 * have no pf_thread_glimpse. */
void pf_glimpse_allow(void);
/* Finds out what another thread does now. The thread must have allowed it and must not have been joined. Writes the
 * addresses of its innermost calls to `out`, at most `most` (> 0), the innermost first, each inside of the call
 * instruction, and returns their number. If the thread could be interrupted, it calls `see` once, under async-signal
 * rules, before this returns. Blocks for 0.2 s at most. It does not disturb the thread: a system call that the signal
 * would end is not interrupted, and is then the only address. WEFT_ENOTSUP: not on this system, or the thread has not
 * allowed it; WEFT_ETIMEDOUT: the thread did not answer. Only Linux has it, by a realtime signal:
 * docs/platforms.md. */
int pf_thread_glimpse(const pf_thread *t, void (*see)(void *arg), void *arg, uintptr_t *out, int most);
int pf_cpu_count(void); /* processors that this process may use; >= 1 */

/* Tells the processor that this is a short busy wait. */
static inline void pf_cpu_relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

typedef struct pf_mutex pf_mutex; /* neither recursive nor usable in signal handlers */
int pf_mutex_create(pf_mutex **out);
void pf_mutex_destroy(pf_mutex *m); /* NULL is fine */
void pf_mutex_lock(pf_mutex *m);
/* The same for a thread that does much work in pieces and locks the mutex for each: first a thread that is waiting for
 * the mutex gets it, if there is one. With pf_mutex_lock such a thread could wait for all of the pieces: it takes
 * tens of microseconds to wake up, and then the mutex is locked again. */
void pf_mutex_lock_behind(pf_mutex *m);
void pf_mutex_unlock(pf_mutex *m);

/* Runs `work` once in this process, on the first thread that calls it; other callers wait until it is done. `done`:
 * static, false before the first call, and used only for this. `work` must not call pf_once with it. */
void pf_once(bool *done, void (*work)(void));

typedef struct pf_cond pf_cond;
int pf_cond_create(pf_cond **out);
void pf_cond_destroy(pf_cond *c);
/* The caller holds the mutex; spurious returns are possible. Returns 0 or WEFT_ETIMEDOUT; the deadline is on
 * pf_env_native()'s clock. */
int pf_cond_wait(pf_cond *c, pf_mutex *m, int64_t deadline);
void pf_cond_broadcast(pf_cond *c);

/* ---- Stack memory ---------------------------------------------------------------------------------------------- */
/* Reserves address space, never in huge pages, aligned to `align` (a power of two). NULL: the system refused it. The
 * process's map shows it as "weft stacks" if the kernel can name mappings. A part of it may be used after
 * pf_pages_stack. */
void *pf_pages_reserve(size_t size, size_t align);
void pf_pages_release(void *at, size_t size);
/* Makes [at, at + size), which must not be in use, a stack: it is readable and writable from `low` up at once; below
 * `low`, pages are committed one by one as a coroutine that runs on the stack touches them from above. Also for
 * ranges that pf_pages_close has closed. False: no memory; systems that overcommit memory never return it. */
bool pf_pages_stack(void *at, size_t size, const void *low);
struct pf_range {
    void *at;
    size_t size;
};
enum { PF_RANGES_MAX = 64 };
/* Makes the first of `count` ranges (1 to PF_RANGES_MAX) fault on any access, and those after it for which the system
 * needs no further call. `*kind` remembers what the kernel can do across calls (start with PF_GUARD_BEST): guard
 * regions, then page protection for a limited number, then nothing (the caller uses a canary). Returns how many of the
 * ranges, from the first on, have a guard now. */
enum pf_guard_kind { PF_GUARD_BEST, PF_GUARD_PROTECT, PF_GUARD_NONE };
int pf_pages_guard(const struct pf_range *ranges, int count, enum pf_guard_kind *kind);
/* Brings the pages of these ranges (at most PF_RANGES_MAX) into memory, if one call does that for less than a fault for
 * each page costs. Whether it did: if not, each page comes when it is touched, as otherwise. */
bool pf_pages_populate(const struct pf_range *ranges, int count);
/* Gives the memory of the lower part of a stack, which may be the running one, back to the system. The stack can grow
 * into it again and finds zeroes there. Guards inside the range stay. */
void pf_pages_trim(void *at, size_t size);
/* The same for many ranges (at most PF_RANGES_MAX) with few calls. With PF_GUARD_BEST any access faults from then on,
 * until the range is opened; otherwise it finds zeroes. Page protection is never used for this. Call pf_pages_stack
 * before a range is used as a stack again. */
void pf_pages_close(const struct pf_range *ranges, int count, enum pf_guard_kind kind);
/* Removes the guard of a closed range, or of a part of one; does nothing if there is no guard. */
void pf_pages_open(void *at, size_t size);
/* The number of these bytes that are in memory now. Slow. */
size_t pf_pages_resident(const void *at, size_t size);
/* The first page from `at` on that is in memory, or at + size. Slow. */
char *pf_pages_first(void *at, size_t size);
size_t pf_page_size(void);
/* As aligned_alloc; pf_aligned_free must free the memory. */
void *pf_aligned_alloc(size_t align, size_t size);
void pf_aligned_free(void *at); /* NULL is fine */
/* Gives freed memory back to the system, if the C library would keep it; otherwise it does nothing. Any thread. Takes
 * milliseconds if much memory was freed, and allocations of other threads may have to wait that long. */
void pf_memory_trim(void);
/* A crash of the calling thread. */
struct pf_fault {
    const char *signal;  /* "SIGSEGV" */
    const void *address; /* that was accessed; or of the instruction, for signals about instructions */
    bool is_access;      /* a memory access has failed: SIGSEGV, SIGBUS */
    bool fatal;          /* no other handler takes this signal, so it will end the process */
    uintptr_t pc, sp;    /* of the thread; 0: not known on this system */
};
/* Reports a crash. If the runtime knows its cause (an overflown stack, or a use of a parked stack), it aborts the
 * process and does not return; else it returns false, and other handlers follow. */
typedef bool pf_fault_report(const struct pf_fault *f);
/* Calls `report` on the alternate stack when a thread crashes: by an access, by an instruction, by abort().
 * Afterwards the previously installed handler runs, or the signal ends the process. Once per process; async-signal
 * rules apply to report. */
void pf_fault_watch(pf_fault_report *report);
/* Only from within `report`: writes the addresses of the innermost calls, at most `most`, the place of the crash
 * first, each inside of the call instruction. Returns their number; 0 on systems that are not supported. */
int pf_fault_frames(const struct pf_fault *f, uintptr_t *out, int most);

/* ---- Sockets: all non-blocking, close-on-exec, no SIGPIPE ------------------------------------------------------ */
struct pf_address {
    unsigned char bytes[128]; /* a struct sockaddr_* */
    uint32_t size;
};
/* "127.0.0.1:80", "[::1]:80", "localhost:80", "unix:/path". WEFT_EADDRESS. */
int pf_address_parse(const char *text, struct pf_address *out);
/* Writes an address as text that pf_address_parse understands, at most `size` bytes with the NUL. */
int pf_address_format(const struct pf_address *a, char *out, size_t size);
bool pf_address_is_unix(const struct pf_address *a);
/* The bytes of its IP address, in network order: 4, 16, or 0 if it has none. */
size_t pf_address_bytes(const struct pf_address *a, uint8_t out[16]);

/* Writes the stream addresses of `host`, at most `max`, in the order the system would try them, and returns how many;
 * `service` is a port's number or name. It blocks, so only threads that may block call it. WEFT_ENOHOST,
 * WEFT_EADDRESS (no such service, no such form of a name), WEFT_ENOMEM, WEFT_ESYSTEM. */
int pf_resolve(const char *host, const char *service, struct pf_address *out, int max);

int pf_listen(pf_handle *out, const struct pf_address *at, int backlog, bool reuse_port);
/* Closes the handle, and removes the file of a Unix socket unless another socket listens there by now. */
void pf_listen_close(pf_handle h, const struct pf_address *at);
int pf_local_address(pf_handle h, struct pf_address *out);
int pf_peer_address(pf_handle h, struct pf_address *out);
/* PF_AGAIN; WEFT_EFULL: only PF_RESERVED descriptors are left. They are kept for code that has to free other
 * descriptors. */
int pf_accept(pf_handle listener, pf_handle *out);
enum { PF_RESERVED = 8 };     /* at most; an eighth of the limit if that is less */
bool pf_handles_scarce(void); /* whether only the reserved ones are left; costs one to three system calls */
/* 0: connected; PF_AGAIN: wait until `*out` is writable, then call pf_connect_result. */
int pf_connect(pf_handle *out, const struct pf_address *to);
int pf_connect_result(pf_handle h);                      /* 0, PF_AGAIN, WEFT_EREFUSED, WEFT_ETIMEDOUT, ... */
int64_t pf_read(pf_handle h, void *buffer, size_t size); /* 0 at the end; PF_AGAIN, WEFT_ERESET */
struct pf_slice {
    const void *data;
    size_t size;
};
int64_t pf_write(pf_handle h, const struct pf_slice *slices, int count); /* may write less; PF_AGAIN, WEFT_ERESET */
/* Prepares a socket that other code has made: non-blocking, close-on-exec, no SIGPIPE. WEFT_EINVAL: not a connected
 * stream socket. */
int pf_adopt(pf_handle h);
/* Duplicates the descriptor of a connected stream socket that a library has made and does not show. It must be the
 * only socket of this process with these addresses, and have one descriptor so far. One of the two addresses may be
 * NULL: any address. The duplicate is close-on-exec and is for waiting only: options set on it are set on the
 * library's socket. WEFT_ENOTFOUND: there is no such socket, or more than one, or this system does not list
 * descriptors. Any thread; the time grows with the number of descriptors. */
int pf_find_stream(const struct pf_address *local, const struct pf_address *remote, pf_handle *out);
/* Options of a socket. Times are whole seconds, sizes are bytes; the system may round sizes. WEFT_EINVAL: this kind
 * of socket has no such option (Unix sockets have no PF_NODELAY), or the value is not allowed. */
enum pf_option {
    PF_NODELAY,            /* 0 or 1: small writes go out at once */
    PF_KEEPALIVE,          /* 0: off; else seconds of silence after which the first probe is sent to the peer */
    PF_KEEPALIVE_INTERVAL, /* seconds between two such probes */
    PF_KEEPALIVE_COUNT,    /* unanswered probes after which the connection is broken */
    PF_SEND_BUFFER,
    PF_RECEIVE_BUFFER,
    PF_LINGER,         /* -1: off; 0: closing resets the connection; else seconds for which closing goes on sending */
    PF_NOT_SENT,       /* the socket is writable only while fewer bytes than this are unsent; 0: no such limit */
    PF_BROADCAST,      /* 0 or 1 */
    PF_MULTICAST_HOPS, /* 1: this network only */
    PF_MULTICAST_LOOP, /* 0 or 1: group members on this machine receive what this socket sends */
};
int pf_set_option(pf_handle h, enum pf_option option, int value);
int pf_get_option(pf_handle h, enum pf_option option, int *value);
/* Sends one byte and another handle over a Unix socket. WEFT_OK, PF_AGAIN, WEFT_ERESET; WEFT_EINVAL: not a Unix
 * socket; WEFT_ENOTSUP: this platform cannot send handles. */
int pf_send_handle(pf_handle h, pf_handle sent);
/* Receives one byte from a Unix socket and the handle that came with it, close-on-exec. Returns 1; 0 at the end of
 * the stream; PF_AGAIN; WEFT_EFORMAT: the byte came without a handle; WEFT_EFULL: out of descriptors, the handle is
 * lost. */
int pf_receive_handle(pf_handle h, pf_handle *out);
int pf_shutdown(pf_handle h);
void pf_abort(pf_handle h); /* shuts down both directions, for all holders of the socket: reads and writes fail from
                             * now on */
void pf_close(pf_handle h);
/* Datagrams. `reuse`: several sockets may be bound to this port, for multicast. */
int pf_udp_open(pf_handle *out, const struct pf_address *at, bool reuse);
/* From now on the socket receives only datagrams from that address, and errors that its host reports. */
int pf_udp_connect(pf_handle h, const struct pf_address *to);
/* `to`: NULL if the socket is connected. PF_AGAIN, WEFT_ETOOBIG, WEFT_EREFUSED (an earlier datagram was refused),
 * WEFT_ENONODE, WEFT_EACCESS (a broadcast address without PF_BROADCAST), WEFT_EINVAL (no address, or one of another
 * family), WEFT_ENOMEM (the interface's queue is full; no readiness is reported when it has space). */
int pf_udp_send(pf_handle h, const struct pf_address *to, const void *data, size_t size);
/* Receives one datagram and its sender (`from` may be NULL). PF_AGAIN; WEFT_EREFUSED on a connected socket;
 * WEFT_ETOOBIG: the datagram was longer than `size`; its beginning and its sender are stored, the rest is lost. */
int64_t pf_udp_receive(pf_handle h, void *buffer, size_t size, struct pf_address *from);
/* Joins (or leaves) the multicast group on the interface `interface_name`; NULL: the system chooses one.
 * WEFT_EADDRESS: no such interface, or not a multicast address. */
int pf_udp_group(pf_handle h, const struct pf_address *group, const char *interface_name, bool join);
/* Raises this process's limit of open handles as far as the system allows without privileges. */
void pf_raise_handle_limit(void);
/* 1: a read (or write) would not return PF_AGAIN now; 0: it would. WEFT_ECLOSED: not an open handle. */
int pf_is_ready(pf_handle h, bool for_write);

/* ---- Signals --------------------------------------------------------------------------------------------------- */
/* Signal numbers are those of the system; these are the same on all systems. */
enum { PF_SIGHUP = 1, PF_SIGINT = 2, PF_SIGKILL = 9, PF_SIGTERM = 15 };
/* From now on the signal does not have its default effect: `on`, the same function for all numbers, is called with
 * its number on a thread of its own that holds no lock; signals that come faster than it returns may be merged into
 * one. On systems without signals these are the events of a console (SIGINT: Ctrl-C, SIGTERM: its window is closed).
 * WEFT_EINVAL: no such signal, or one that the program's own fault raises, or that cannot be caught; WEFT_EEXIST: it
 * is caught already; WEFT_ENOMEM. */
int pf_signal_catch(int number, void (*on)(int number));
/* Restores the effect that the signal had before. If no caught signal is left, the thread has ended when this
 * returns: so do not call it from `on`, or while holding a lock that `on` takes. */
void pf_signal_release(int number);
/* For turns of a worker on a thread that is not weft's: between the two calls no write of this platform raises a signal, to
 * a pipe without a reader or beyond the file size limit. The signals are blocked on the calling thread from the first write on
 * that may raise one, which a write to a socket does not: so most turns make no system call for this. Such signals that
 * arrive from then on are discarded; a signal that was pending before stays pending. The calls may be nested. */
struct pf_held_off {
    struct pf_held_off *outer;
    unsigned take, unblock; /* sets of such signals, in a form of the platform; not set before they are blocked */
    bool are_blocked;
};
void pf_signals_hold_off(struct pf_held_off *out);
void pf_signals_let_go(const struct pf_held_off *h);
/* Before a write of another library, which may raise one. */
void pf_signals_before_write(void);

/* ---- Output ---------------------------------------------------------------------------------------------------- */
/* Writes last words to standard error: the process is about to end, so it waits for a second at most, in all calls, until
 * somebody reads; and until what is queued is written, which comes before it. Async-signal-safe. */
void pf_stderr(const char *data, size_t size);
/* The bytes that other threads still have to write there (log_output.h). */
extern _Atomic size_t pf_stderr_queued;
/* Whether a text of 4096 bytes or less can be written without waiting for a reader: not to a full pipe, or to a terminal that
 * was stopped. True where the system cannot tell. */
bool pf_stderr_is_ready(void);
void pf_stderr_patiently(const char *data, size_t size); /* writes all of it, however long that takes */
/* Whether writing to the file may block for as long as another machine wants, which pf_is_ready does not tell: it is on a
 * file system of a network. PF_NO_HANDLE: standard error. */
bool pf_is_remote(pf_handle h);
/* Whether standard error is the journal of systemd, according to $JOURNAL_STREAM. */
bool pf_stderr_is_journal(void);
/* Opens each of the three standard descriptors that is closed, so that it cannot become a pipe or a socket of ours, into which
 * the program would write. To read or to write it still fails. To be called before anything is opened. */
void pf_standard_hold(void);
/* Writes what stdio has buffered for standard output, unless a thread keeps holding its lock. */
void pf_flush_stdout(void);
/* Writes a wall clock time (0: the current time of this machine) for log lines: "2026-11-21T03:29:00.123Z". `size`
 * must be 25 or more. */
void pf_wall_clock_text(int64_t wall, char *out, size_t size);

/* ---- What started this process, and what it uses --------------------------------------------------------------- */
/* Notifies the service manager, in the lines of systemd's sd_notify ("READY=1\nSTATUS=..."), if it asked for that
 * ($NOTIFY_SOCKET). Any thread; never waits: if the socket has no space, the message is lost. */
void pf_manager_notify(const char *lines);
/* The nanoseconds within which the service manager expects WATCHDOG=1 again and again; 0: it does not expect it. */
int64_t pf_manager_watchdog(void);
/* Takes a listening stream socket that the service manager opened and passed to this process
 * (sd_listen_fds_with_names(3): $LISTEN_PID, $LISTEN_FDS, $LISTEN_FDNAMES; the first 64): the first socket of that
 * name (NULL: of any name) that was not taken yet. Any thread. The socket is then non-blocking and close-on-exec.
 * Returns 0; WEFT_ENOTFOUND: no socket has that name; WEFT_EINUSE: all of them are taken; WEFT_EINVAL: the descriptor
 * is not a listening stream socket; WEFT_ENOTSUP: this system has no such service manager. */
int pf_manager_listener(const char *name, pf_handle *out);
struct pf_usage {
    uint64_t resident; /* bytes of memory; 0: this system does not report it */
    int64_t processor; /* nanoseconds, of all threads */
};
void pf_usage(struct pf_usage *out);

/* Finds the loaded file that contains the code at `address`. False: no loaded file does, or the system does not
 * tell. */
struct pf_code {
    const void *base; /* where the file was loaded */
    char file[512];
    uint64_t offset;  /* of the address in the file, as addr2line and similar tools expect it */
    char symbol[128]; /* the exported function there; "": there is none */
    uint64_t symbol_offset;
};
bool pf_code_at(uintptr_t address, struct pf_code *out);
/* Finds the name of the function at that place, also of a static function. It reads the file, so it blocks and must
 * not be called in signal handlers. False: the file does not have the name, or weft cannot read files of this
 * system. */
bool pf_code_function(const struct pf_code *code, char *out, size_t size);
/* A function of a shared library, by its name. */
struct pf_library_row {
    const char *name;
    void *out; /* a pointer to a pointer to a function */
};
/* Loads a shared library, which stays loaded, and finds its functions. `file` without a slash is searched where programs
 * find their libraries. False: it or one of the functions is not there, and `why` says so. Any thread; it reads files. */
bool pf_library(const char *file, const struct pf_library_row *rows, size_t count, char *why, size_t size);

/* ---- Files ----------------------------------------------------------------------------------------------------- */
/* For files with positions: regular files, disks, and devices like "/dev/zero". All calls may block the thread (for a
 * disk, or a file system on a network): the runtime makes them on threads that may block. Only file_submit, above,
 * does not block. Handles are not inherited by children. Paths are UTF-8. */
enum {
    PF_FILE_READ = 1,
    PF_FILE_WRITE = 2,
    PF_FILE_CREATE = 4,    /* creates the file if it does not exist */
    PF_FILE_EXCLUSIVE = 8, /* with CREATE: WEFT_EEXIST if it exists */
    PF_FILE_TRUNCATE = 16, /* with WRITE: truncates it to 0 bytes */
    PF_FILE_APPEND = 32,   /* each write goes, as a whole, to the end that the file has at that moment */
};
/* The offset of a write to a file opened with PF_FILE_APPEND; only such files have it. */
enum { PF_FILE_END = -1 };
/* `mode`: permissions of a new file, such as 0644, as far as the system has them. file_submit accepts the handle.
 * WEFT_ENOTFOUND (also: a part of the path is not a directory), WEFT_EACCESS, WEFT_EISDIR, WEFT_EEXIST, WEFT_EFULL
 * (out of descriptors), WEFT_ENOSPC, WEFT_EINVAL (a pipe or socket, which has no positions), WEFT_EBUSY (another
 * process has the file open and does not share it). */
int pf_file_open(pf_handle *out, const char *path, unsigned flags, unsigned mode);
void pf_file_close(pf_handle h);
/* Returns the number of bytes read, 1 to `size`; 0 at the end of the file and beyond it, which is no error; or an
 * error: WEFT_EACCESS (not opened for reading), WEFT_EINVAL (offset < 0). Any thread, also while other threads use
 * the handle; there is no file position. */
int64_t pf_file_read(pf_handle h, void *data, size_t size, int64_t offset);
/* Returns the number of bytes written, 1 to `size`; or an error: WEFT_ENOSPC, WEFT_ETOOBIG (beyond the largest file
 * allowed), WEFT_EACCESS. If fewer than `size` bytes were written, write the rest: that call returns the error. */
int64_t pf_file_write(pf_handle h, const void *data, size_t size, int64_t offset);
int64_t pf_file_size(pf_handle h);
/* Returns when the written data is on the disk, as far as the system can tell. */
int pf_file_sync(pf_handle h);
/* Shortens the file, or extends it with zeroes. */
int pf_file_truncate(pf_handle h, int64_t size);

/* Creates the directory in which the file `path` will be, accessible to this user only, unless the directory exists.
 * WEFT_EACCESS, WEFT_ENOTFOUND (its parent directory does not exist). */
int pf_private_directory_of(const char *path);
/* Whether something is there that is no socket. Where sockets are no files: false. */
bool pf_is_other_file(const char *path);
/* Which socket's file is at `path`, to learn later whether it has been replaced. While the socket is open, no other
 * file gets the same identity. All zeroes: there is none, or sockets are no files on this system. */
struct pf_socket_file {
    uint64_t device, file;
};
struct pf_socket_file pf_socket_file_at(const char *path);
/* Whether users other than its owner may read the file. */
bool pf_file_is_shared(const char *path);

/* ---- Pipes and standard streams -------------------------------------------------------------------------------- */
/* Byte channels for pf_read, pf_write and the poller. Children inherit one only if a pf_process_options names it. */
/* An end that is `ours` can be used with the poller; an end that is not `ours` is for a child, which expects its
 * calls to block. */
int pf_pipe(pf_handle *reading, pf_handle *writing, bool reading_is_ours, bool writing_is_ours);
/* 0, 1, 2: this process's standard input, output, error, as a handle of our own. Where the system allows it, this
 * does not change the terminal or pipe for other processes that have it open. WEFT_ECLOSED: the process has no such
 * stream. */
int pf_standard(pf_handle *out, int which);
/* On systems where a thread copies between such a handle and the stream (Windows): waits, for a limited time, until
 * the data written to closed handles has reached the stream. */
void pf_standard_drain(void);
/* Duplicates the handle; children do not inherit the duplicate. WEFT_ECLOSED: not an open handle. */
int pf_duplicate(pf_handle h, pf_handle *out);

/* ---- Child processes ------------------------------------------------------------------------------------------- */
enum pf_stdio { PF_STDIO_INHERIT, PF_STDIO_NULL, PF_STDIO_HANDLE };
struct pf_process_options {
    const char *const *argv; /* NULL at the end; [0] is searched for in PATH if it has no slash */
    /* "NAME=value", NULL at the end; NULL: this process's environment, without the variables that are for this
     * process only: $LISTEN_PID and so on */
    const char *const *env;
    const char *directory;  /* NULL: this process's */
    enum pf_stdio stdio[3]; /* input, output, error */
    pf_handle handle[3];    /* PF_STDIO_HANDLE: the child gets a copy; it stays the caller's */
    bool detached;          /* in a session (group) of its own, so signals from a terminal do not reach it */
};
/* One child, from its start until pf_process_free. */
struct pf_process {
    int64_t id;       /* as other programs name it */
    pf_handle handle; /* the platform's */
};
struct pf_exit {
    int code;   /* its exit code; -1: a signal ended it */
    int signal; /* the signal that ended it; 0: none */
};
/* Starts a child. Blocks until the program runs. The child inherits the three streams and no other handle, blocks no
 * signal, and runs no code of this process before the program. WEFT_ENOTFOUND (program or directory), WEFT_EACCESS,
 * WEFT_EFORMAT (no program), WEFT_ETOOBIG (arguments), WEFT_ENOMEM, WEFT_EFULL, WEFT_ENOTSUP. */
int pf_process_start(struct pf_process *out, const struct pf_process_options *options);
/* PF_AGAIN while the child runs. WEFT_OK: `out` says how it ended, and the system has no record of it any more. Call
 * it again only after PF_AGAIN. WEFT_ESYSTEM: other code has reaped the child. */
int pf_process_reap(struct pf_process *c, struct pf_exit *out);
/* The same, but blocks. */
int pf_process_wait(struct pf_process *c, struct pf_exit *out);
/* Sends a signal to a child that was not reaped. `number`: SIGTERM, SIGKILL, ... ; on systems without signals, these
 * two end the child at once and others return WEFT_ENOTSUP. WEFT_ECLOSED: the child has ended; WEFT_EINVAL: no such
 * number; WEFT_EACCESS. */
int pf_process_signal(struct pf_process *c, int number);
void pf_process_free(struct pf_process *c);

/* ---- Directories, and what changes in them --------------------------------------------------------------------- */
enum pf_entry_kind { PF_ENTRY_UNKNOWN, PF_ENTRY_FILE, PF_ENTRY_DIRECTORY, PF_ENTRY_LINK, PF_ENTRY_OTHER };
struct pf_entry {
    enum pf_entry_kind kind;
    char name[1024];
};
typedef struct pf_listing pf_listing;
/* All three calls may block; one thread at a time may use a listing. WEFT_ENOTFOUND (also: not a directory),
 * WEFT_EACCESS, WEFT_EFULL. */
int pf_listing_open(pf_listing **out, const char *path);
/* Returns 1, or 0 at the end. Leaves out "." and "..". */
int pf_listing_next(pf_listing *l, struct pf_entry *out);
void pf_listing_close(pf_listing *l); /* NULL is fine */

enum pf_change_kind {
    PF_CHANGE_NONE, /* a record that reports no change */
    PF_CHANGE_CREATED,
    PF_CHANGE_REMOVED,
    PF_CHANGE_MODIFIED,
    PF_CHANGE_OVERFLOW, /* some changes were lost */
    PF_CHANGE_GONE,     /* the watched file or directory is gone */
    PF_CHANGE_END       /* the last record */
};
struct pf_change {
    enum pf_change_kind kind;
    char name[1024]; /* "": the watched file or directory itself */
};
enum { PF_CHANGES_READ = 4096 }; /* bytes that hold at least one record */
/* Opens a handle for pf_read and the poller, from which change records are read. WEFT_ENOTFOUND, WEFT_EACCESS,
 * WEFT_EFULL, WEFT_ENOTSUP. */
int pf_changes_open(pf_handle *out, const char *path);
/* Parses the first record of these bytes and returns its size. 0: the record is incomplete; this happens only on
 * systems whose reads may cut a record. WEFT_EFORMAT. */
int64_t pf_changes_parse(const void *data, size_t size, struct pf_change *out);
/* Writes a record that is parsed as PF_CHANGE_END; returns its size, at most PF_CHANGES_READ. */
size_t pf_changes_end(void *out);

#endif
