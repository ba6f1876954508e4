/* runtime/platform/platform.h -- the contract between the runtime and an operating system. Prose first: what every
 * platform must give, and what the runtime may assume. linux/, bsd/ and windows/ implement it for a kernel, posix/
 * holds what Unixes share, sim/ drives it from a seed. No other folder makes system calls.
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

/* A descriptor, socket or HANDLE. */
typedef intptr_t pf_handle;
#define PF_NO_HANDLE ((pf_handle)-1)

/* ---- The environment: everything a simulation replaces --------------------------------------------------------- */
/* A node is given one at birth and reaches clock, randomness and readiness only through it. The native one is
 * pf_env_native(). */
struct pf_poller;
struct pf_ready;
struct pf_file_op;
struct pf_process;
struct pf_cond;
struct pf_mutex;
struct pf_env {
    /* Monotonic nanoseconds, >= WF_CLOCK_BEGIN. Async-signal-safe. */
    int64_t (*now)(struct pf_env *env);
    /* Nanoseconds since 1970, as far as this machine knows; may jump. */
    int64_t (*wall)(struct pf_env *env);
    /* Fills `out` with random bytes of the system; in a simulation, of its seed. */
    void (*random)(struct pf_env *env, void *out, size_t size);
    /* A thread that is no worker waits for the node's workers: pf_cond_wait, with a deadline on this clock. In a
     * simulation that thread is also all the workers, and lets their world go on. */
    int (*cond_wait)(struct pf_env *env, struct pf_cond *c, struct pf_mutex *m, int64_t deadline);
    /* Wakes all threads in cond_wait. Any thread. */
    void (*cond_broadcast)(struct pf_env *env, struct pf_cond *c);

    /* Poller: one per worker. Only its worker's thread may call wait; the rest as marked.
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
    /* Any thread. Entries already taken by wait may still carry the tag; the runtime knows them by their
     * generation. */
    void (*poller_remove)(struct pf_poller *p, pf_handle h);
    /* Any thread: a task is about to wait for this direction, or a call said PF_AGAIN and an entry must follow.
     * Nothing to do for edge-triggered kernels (epoll, kqueue); a completion kernel (IOCP) asks for its readiness
     * here, at most once per handle and direction. WEFT_ECLOSED: it is not registered. */
    int (*poller_arm)(struct pf_poller *p, pf_handle h, uint64_t tag, bool for_write);
    /* Its worker only. Blocks until an entry is ready, `deadline` passes (WEFT_NOW: does not block) or a thread calls
     * wake. Fills at most `max` entries and returns how many; 0 after a wake or at the deadline, also when
     * interrupted. Does not return before the deadline for no reason: the runtime promises that an idle node makes no
     * wake-ups. */
    int (*poller_wait)(struct pf_poller *p, struct pf_ready *out, int max, int64_t deadline);
    /* Any thread and signal handlers. The current or the next wait returns. Many wakes may become one. */
    void (*poller_wake)(struct pf_poller *p);
    /* A descriptor that is readable while wait would not block, for embedding in another loop; -1 where there is
     * none. */
    pf_handle (*poller_handle)(struct pf_poller *p);
    /* Its worker only, and only where there is such a descriptor. It also becomes readable when `deadline` comes
     * (WEFT_NOW: at once; WEFT_FOREVER: never), until the next wait; that wait has no entry for it and does not
     * block. There is one such deadline: a call replaces the one before, and with the same one costs
     * no system call. epoll: a timerfd; kqueue: a one-shot EVFILT_TIMER. */
    int (*poller_alarm)(struct pf_poller *p, int64_t deadline);

    /* Positioned reads and writes of files. Its worker only.
     *
     * WEFT_OK: done at once, without waiting for a disk, `result` is set. PF_AGAIN: under way; exactly one entry with
     * `done` and the operation's tag will come from poller_wait, and `result` is set by then. It comes from the
     * poller that the file was first used with, which may be another worker's. PF_BLOCKING: nothing was done, call
     * pf_file_read or pf_file_write on a thread that may block. Errors are the operation's (and come in `result` just
     * as well if they show later). Until it is done, the operation and what `data` points to belong to the platform:
     * the runtime hands in memory of its own, which outlives the actor that asked. With `at_once` it is only tried:
     * WEFT_OK, an error or PF_BLOCKING, and the memory may be the actor's. */
    int (*file_submit)(struct pf_poller *p, struct pf_file_op *op);
    /* Cancels an operation that is under way: its entry still comes, soon, with any result. Any worker of the node;
     * the operation may have been done meanwhile, but its memory is still there. A poller is destroyed only after all
     * operations of its node are done. */
    void (*file_cancel)(struct pf_poller *p, struct pf_file_op *op);

    /* Its worker only. An entry with `readable` and this tag comes when the child has ended, also if it has by now:
     * then pf_process_reap. Until unwatch, which comes before the child is freed. */
    int (*process_watch)(struct pf_poller *p, struct pf_process *c, uint64_t tag);
    void (*process_unwatch)(struct pf_poller *p, struct pf_process *c);
};

struct pf_ready {
    uint64_t tag;
    bool readable, writable; /* an error or hang-up sets both */
    bool hangup;             /* the other side has ended its writing, or the handle is broken */
    bool done;               /* a file operation is done: `tag` is its tag, the rest says nothing */
    int16_t error; /* WEFT_E* with which the handle broke, of a poller that takes it from the handle; else 0 */
};

/* One positioned read or write. The caller fills in what stands before `result`; then neither copies nor moves it. */
struct pf_file_op {
    pf_handle file;
    void *data; /* a write only reads it */
    size_t size;
    int64_t offset; /* PF_FILE_END: see below */
    bool write;
    bool at_once;
    uint64_t tag;
    int64_t result;                         /* as of pf_file_read or pf_file_write */
    alignas(16) unsigned char platform[64]; /* an OVERLAPPED and the like */
};

struct pf_env *pf_env_native(void);

/* ---- Flags: what a loop other than ours waits for -------------------------------------------------------------- */
/* A descriptor that is readable while the flag is up. Raising and lowering: any thread and signal handlers, never
 * block, and doing so twice is as once. Linux: an eventfd, both handles the same; elsewhere a pipe. WEFT_ENOTSUP on
 * systems whose handles no loop could wait for. */
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
/* The thread will not be joined and ends by itself. For a thread that has reported that it runs, and cannot be ended.
 * Frees `t`. */
void pf_thread_detach(pf_thread *t);
/* Called by a thread of pf_thread_start: from now on pf_thread_glimpse works for it. Does nothing on systems without
 * that. */
void pf_glimpse_allow(void);
/* Finds out what another thread, which has allowed it and has not been joined, does now: the addresses of its
 * innermost calls, at most `most` (> 0), the innermost first, each inside of the call; returns how many. `see` is
 * called once on that thread, if it could be interrupted, under async-signal rules, before this returns. Blocks for
 * 0.2 s at most. It does not disturb the thread: a system call that the signal would end is not interrupted, and is
 * then the only address. WEFT_ENOTSUP: not on this system, or it was not allowed; WEFT_ETIMEDOUT: the thread did not
 * answer. Linux: by a realtime signal, docs/platforms.md; nowhere else. */
int pf_thread_glimpse(const pf_thread *t, void (*see)(void *arg), void *arg, uintptr_t *out, int most);
int pf_cpu_count(void); /* that this process may use; >= 1 */

/* Tells the core that this is a short busy wait. */
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
void pf_mutex_unlock(pf_mutex *m);

/* Runs `work` once in this process, on the first thread that calls it; other callers wait until it is done. `done`:
 * static, false before the first call, and used only for this. `work` must not call pf_once with it. */
void pf_once(bool *done, void (*work)(void));

typedef struct pf_cond pf_cond;
int pf_cond_create(pf_cond **out);
void pf_cond_destroy(pf_cond *c);
/* With the mutex held; spurious returns are possible. 0 or WEFT_ETIMEDOUT; deadline on pf_env_native()'s clock. */
int pf_cond_wait(pf_cond *c, pf_mutex *m, int64_t deadline);
void pf_cond_broadcast(pf_cond *c);

/* ---- Stack memory ---------------------------------------------------------------------------------------------- */
/* Reserves address space, never in huge pages, aligned to `align` (a power of two). NULL when there is none. Shown as
 * "weft stacks" in the process's map where the kernel can name it. A part of it may be used after pf_pages_stack. */
void *pf_pages_reserve(size_t size, size_t align);
void pf_pages_release(void *at, size_t size);
/* [at, at + size), of which nothing is in use, becomes a stack: readable and writable from `low` up at once, below
 * that committed page by page as a coroutine that runs on it touches them from above. Also after pf_pages_close.
 * False: no memory; where memory is given on credit it never says so. */
bool pf_pages_stack(void *at, size_t size, const void *low);
/* Makes [at, at + size) fault on any access. `*kind` remembers what the kernel can do across calls (start with
 * PF_GUARD_BEST): guard regions, then page protection for a limited number, then nothing (the caller uses a canary).
 * Returns whether there is a guard now. */
enum pf_guard_kind { PF_GUARD_BEST, PF_GUARD_PROTECT, PF_GUARD_NONE };
bool pf_pages_guard(void *at, size_t size, enum pf_guard_kind *kind);
/* The lower part of a stack, the running one's perhaps, gives its memory back to the system; it grows into it again,
 * and finds zeroes. Guards inside stay. */
void pf_pages_trim(void *at, size_t size);
struct pf_range {
    void *at;
    size_t size;
};
enum { PF_RANGES_MAX = 64 };
/* The same for many ranges (at most PF_RANGES_MAX) with few calls. With PF_GUARD_BEST any access faults from then on,
 * until the range is opened; otherwise it finds zeroes. Page protection is never used for this. Then pf_pages_stack
 * before it is a stack again. */
void pf_pages_close(const struct pf_range *ranges, int count, enum pf_guard_kind kind);
/* Undoes the guard of a closed range, or of a part of one; fine where there is none. */
void pf_pages_open(void *at, size_t size);
/* How many of these bytes are in memory now. Slow. */
size_t pf_pages_resident(const void *at, size_t size);
/* The first page from `at` on that is in memory, or at + size. Slow. */
char *pf_pages_first(void *at, size_t size);
size_t pf_page_size(void);
/* As aligned_alloc; what it gives must be freed by pf_aligned_free. */
void *pf_aligned_alloc(size_t align, size_t size);
void pf_aligned_free(void *at); /* NULL is fine */
/* Gives memory that was freed back to the system, where the C library keeps it otherwise; elsewhere it does nothing.
 * Any thread. Takes milliseconds where much was freed, and other threads may have to wait for memory as long. */
void pf_memory_trim(void);
/* A crash of the calling thread. */
struct pf_fault {
    const char *signal;  /* "SIGSEGV" */
    const void *address; /* that was accessed, or of the instruction where the signal is about that */
    bool is_access;      /* a memory access has failed: SIGSEGV, SIGBUS */
    bool fatal;          /* no other handler takes this signal: it is about to end the process */
    uintptr_t pc, sp;    /* of the thread; 0: not known on this system */
};
/* Whether it was the runtime's business; it then does not return. */
typedef bool pf_fault_report(const struct pf_fault *f);
/* Calls `report` on the alternate stack when a thread crashes: by an access, by an instruction, by abort().
 * Afterwards the handler that was there before runs, or the process dies of the signal. Once per process;
 * async-signal rules apply to report. */
void pf_fault_watch(pf_fault_report *report);
/* From within report: the addresses of the innermost calls, `most` of them, the place of the crash first, each inside
 * of the call. How many; 0 where this system is not known. */
int pf_fault_frames(const struct pf_fault *f, uintptr_t *out, int most);

/* ---- Sockets: all non-blocking, close-on-exec, no SIGPIPE ------------------------------------------------------ */
struct pf_address {
    unsigned char bytes[128]; /* a struct sockaddr_* */
    uint32_t size;
};
/* "127.0.0.1:80", "[::1]:80", "localhost:80", "unix:/path". WEFT_EADDRESS. */
int pf_address_parse(const char *text, struct pf_address *out);
/* The same form back; at most `size` bytes with the NUL. */
int pf_address_format(const struct pf_address *a, char *out, size_t size);
bool pf_address_is_unix(const struct pf_address *a);
/* The bytes of its IP address, in network order: 4, 16, or 0 if it has none. */
size_t pf_address_bytes(const struct pf_address *a, uint8_t out[16]);

/* Writes the stream addresses of `host`, at most `max`, in the order the system would try them, and returns how many;
 * `service` is a port's number or name. Blocks: for threads that may. WEFT_ENOHOST, WEFT_EADDRESS (no such service,
 * no such form of a name), WEFT_ENOMEM, WEFT_ESYSTEM. */
int pf_resolve(const char *host, const char *service, struct pf_address *out, int max);

int pf_listen(pf_handle *out, const struct pf_address *at, int backlog, bool reuse_port);
/* Removes what listening left in the file system, then closes. */
void pf_listen_close(pf_handle h, const struct pf_address *at);
int pf_local_address(pf_handle h, struct pf_address *out);
int pf_peer_address(pf_handle h, struct pf_address *out);
/* PF_AGAIN; WEFT_EFULL: no descriptors are left but PF_RESERVED, which are kept for the code that has to free
 * some. */
int pf_accept(pf_handle listener, pf_handle *out);
enum { PF_RESERVED = 8 };     /* at most; an eighth, if the limit is low */
bool pf_handles_scarce(void); /* whether only the reserved ones are left; costs a system call or three */
/* 0: connected; PF_AGAIN: `*out` becomes writable, then ask: */
int pf_connect(pf_handle *out, const struct pf_address *to);
int pf_connect_result(pf_handle h);                      /* 0, PF_AGAIN, WEFT_EREFUSED, WEFT_ETIMEDOUT, ... */
int64_t pf_read(pf_handle h, void *buffer, size_t size); /* 0 at the end; PF_AGAIN, WEFT_ERESET */
struct pf_slice {
    const void *data;
    size_t size;
};
int64_t pf_write(pf_handle h, const struct pf_slice *slices, int count); /* may write less; PF_AGAIN, WEFT_ERESET */
/* A socket that others have made becomes one of ours: non-blocking, close-on-exec, no SIGPIPE. WEFT_EINVAL: no
 * connected stream socket. */
int pf_adopt(pf_handle h);
/* A duplicate of the descriptor of a connected stream socket that a library has made and does not show: the only one
 * of this process with these addresses, of which it has one descriptor so far. NULL: any address, for one of the two.
 * The duplicate is close-on-exec, and for waiting: what is done to it is done to the library's socket.
 * WEFT_ENOTFOUND: there is none, or more than one, or this system does not say. Any thread; takes as long as there
 * are descriptors. */
int pf_find_stream(const struct pf_address *local, const struct pf_address *remote, pf_handle *out);
/* Options of a socket. Times are whole seconds, sizes are bytes; the system may round sizes. WEFT_EINVAL: this socket
 * has no such option (a Unix socket no PF_NODELAY), or no such value. */
enum pf_option {
    PF_NODELAY,            /* 0 or 1: small writes go out at once */
    PF_KEEPALIVE,          /* 0: off; or after how long a silence the peer is asked for the first time */
    PF_KEEPALIVE_INTERVAL, /* between two such questions */
    PF_KEEPALIVE_COUNT,    /* without an answer: then the connection is broken */
    PF_SEND_BUFFER,
    PF_RECEIVE_BUFFER,
    PF_LINGER,         /* -1: off; 0: closing breaks the connection; how long closing goes on sending */
    PF_NOT_SENT,       /* writable only while fewer bytes than this wait to be sent; 0: no such bound */
    PF_BROADCAST,      /* 0 or 1 */
    PF_MULTICAST_HOPS, /* 1: this network only */
    PF_MULTICAST_LOOP, /* 0 or 1: this machine's members get what this socket sends */
};
int pf_set_option(pf_handle h, enum pf_option option, int value);
int pf_get_option(pf_handle h, enum pf_option option, int *value);
/* One byte with another handle over a Unix socket. WEFT_OK, PF_AGAIN, WEFT_ERESET; WEFT_EINVAL: no Unix socket;
 * WEFT_ENOTSUP: this platform has no such thing. */
int pf_send_handle(pf_handle h, pf_handle sent);
/* One byte from a Unix socket and the handle that came with it, close-on-exec. 1; 0 at the end of the stream;
 * PF_AGAIN; WEFT_EFORMAT: the byte came without a handle; WEFT_EFULL: out of descriptors, the handle is lost. */
int pf_receive_handle(pf_handle h, pf_handle *out);
int pf_shutdown(pf_handle h);
void pf_abort(pf_handle h); /* both directions, for all users of the socket: reads and writes fail from now on */
void pf_close(pf_handle h);
/* Datagrams. `reuse`: several sockets may be bound to this port, for multicast. */
int pf_udp_open(pf_handle *out, const struct pf_address *at, bool reuse);
/* From now on only datagrams from there come in, and errors that its host reports. */
int pf_udp_connect(pf_handle h, const struct pf_address *to);
/* `to`: NULL where the socket is connected. PF_AGAIN, WEFT_ETOOBIG, WEFT_EREFUSED (an earlier one was), WEFT_ENONODE,
 * WEFT_EACCESS (a broadcast address without PF_BROADCAST), WEFT_EINVAL (no address, or one of another family),
 * WEFT_ENOMEM (the interface's queue is full: no readiness tells when it has space). */
int pf_udp_send(pf_handle h, const struct pf_address *to, const void *data, size_t size);
/* One datagram and its sender (`from` may be NULL). PF_AGAIN; WEFT_EREFUSED on a connected socket; WEFT_ETOOBIG: it
 * was longer than `size`; its beginning and its sender are there, the rest is lost. */
int64_t pf_udp_receive(pf_handle h, void *buffer, size_t size, struct pf_address *from);
/* Joins (or leaves) the multicast group; `interface_name`: of one, NULL: the system's choice. WEFT_EADDRESS: no
 * such interface, or no multicast address. */
int pf_udp_group(pf_handle h, const struct pf_address *group, const char *interface_name, bool join);
/* Raises this process's limit of open handles as far as the system allows without privileges. */
void pf_raise_handle_limit(void);
/* Whether a read (or write) would not say PF_AGAIN now. WEFT_ECLOSED if it is no open handle. */
int pf_is_ready(pf_handle h, bool for_write);

/* ---- Signals --------------------------------------------------------------------------------------------------- */
/* The system's numbers are used as they are; these are the same everywhere. */
enum { PF_SIGHUP = 1, PF_SIGINT = 2, PF_SIGKILL = 9, PF_SIGTERM = 15 };
/* From now on the signal does not have its default effect: `on`, the same function for all numbers, is called with
 * its number on a thread of its own that holds no lock; signals that come faster than it returns may become one.
 * Where there are no signals: what a console sends (SIGINT: Ctrl-C, SIGTERM: its window is closed). WEFT_EINVAL: no
 * such signal, or one that is the program's own fault or cannot be caught; WEFT_EEXIST: it is caught already;
 * WEFT_ENOMEM. */
int pf_signal_catch(int number, void (*on)(int number));
/* Restores the effect that the signal had before. If no signal is caught then, that thread has ended: so do not call
 * this from `on`, or with a lock that `on` takes. */
void pf_signal_release(int number);
/* For turns on a foreign thread: between the two calls, the signals of a failed write (to a pipe without a reader,
 * beyond the file size limit) are blocked on the calling thread. Signals that came meanwhile are discarded; a signal
 * that was pending before stays pending. May be nested. */
struct pf_held_off {
    unsigned take, unblock; /* sets of such signals, the platform's */
};
void pf_signals_hold_off(struct pf_held_off *out);
void pf_signals_let_go(const struct pf_held_off *h);

/* ---- Output ---------------------------------------------------------------------------------------------------- */
/* Async-signal-safe; all of it, to standard error. */
void pf_stderr(const char *data, size_t size);
/* Whether that is the journal of systemd, as $JOURNAL_STREAM says. */
bool pf_stderr_is_journal(void);
/* Writes what stdio keeps of standard output, unless a thread holds its lock for good. */
void pf_flush_stdout(void);
/* What a wall clock says (0: the machine's, now), for log lines: "2026-11-21T03:29:00.123Z"; at least 25 bytes. */
void pf_wall_clock_text(int64_t wall, char *out, size_t size);

/* ---- What started this process, and what it uses --------------------------------------------------------------- */
/* Tells the service manager, in the lines of systemd's sd_notify ("READY=1\nSTATUS=..."), if there is one that
 * wants to hear ($NOTIFY_SOCKET). Any thread; never waits, what the socket has no space for is lost. */
void pf_manager_notify(const char *lines);
/* Within how many nanoseconds it wants to hear WATCHDOG=1 each time; 0: it does not. */
int64_t pf_manager_watchdog(void);
/* A listening stream socket that it has opened and this process was started with (sd_listen_fds_with_names(3):
 * $LISTEN_PID, $LISTEN_FDS, $LISTEN_FDNAMES; the first 64): the first one of that name, or of any (NULL), that was
 * not taken. It is taken then, by whatever thread, non-blocking and close-on-exec. 0; WEFT_ENOTFOUND: there is none;
 * WEFT_EINUSE: all of them are taken; WEFT_EINVAL: what there is is no listening stream socket; WEFT_ENOTSUP: nothing
 * here does that. */
int pf_manager_listener(const char *name, pf_handle *out);
struct pf_usage {
    uint64_t resident; /* bytes of memory; 0: the system does not say */
    int64_t processor; /* nanoseconds, of all threads */
};
void pf_usage(struct pf_usage *out);

/* Of which file the code at `address` is. False: it is none that was loaded, or the system does not say. */
struct pf_code {
    const void *base; /* where the file was loaded */
    char file[512];
    uint64_t offset;  /* of the address, as tools that read the file count: addr2line */
    char symbol[128]; /* the function with a name that others see, "": there is none */
    uint64_t symbol_offset;
};
bool pf_code_at(uintptr_t address, struct pf_code *out);
/* The function of that place, also one with a name that no other file sees: reads the file it is in, so it blocks,
 * and is not for signal handlers. False: the file does not say, or this system's files are not known. */
bool pf_code_function(const struct pf_code *code, char *out, size_t size);

/* ---- Files ----------------------------------------------------------------------------------------------------- */
/* For files with positions: regular files, disks, and devices like "/dev/zero". All calls may block the thread (for a
 * disk, or a file system on a network): the runtime makes them on threads for that, but for file_submit above.
 * Handles are not inherited by children. Paths are UTF-8. */
enum {
    PF_FILE_READ = 1,
    PF_FILE_WRITE = 2,
    PF_FILE_CREATE = 4,    /* makes it if it is not there */
    PF_FILE_EXCLUSIVE = 8, /* with CREATE: WEFT_EEXIST if it is there */
    PF_FILE_TRUNCATE = 16, /* with WRITE: to 0 bytes */
    PF_FILE_APPEND = 32,   /* written at its end only, wherever that is by then: each write as one */
};
/* As an offset of a write, for files opened with PF_FILE_APPEND, and only for those. */
enum { PF_FILE_END = -1 };
/* `mode`: permissions of a new file, 0644 and the like, as far as the system has them. The handle suits file_submit.
 * WEFT_ENOTFOUND (or a folder on its way is no folder), WEFT_EACCESS, WEFT_EISDIR, WEFT_EEXIST, WEFT_EFULL (out of
 * descriptors), WEFT_ENOSPC, WEFT_EINVAL (a pipe or socket: it has no positions), WEFT_EBUSY (another process has it
 * open and does not share it). */
int pf_file_open(pf_handle *out, const char *path, unsigned flags, unsigned mode);
void pf_file_close(pf_handle h);
/* 1 to `size` bytes; 0 at the end of the file and beyond it, which is no error; or an error: WEFT_EACCESS (not opened
 * for that), WEFT_EINVAL (offset < 0). Any thread, also while others use the handle; no file position is kept. */
int64_t pf_file_read(pf_handle h, void *data, size_t size, int64_t offset);
/* 1 to `size` bytes have been written; or an error: WEFT_ENOSPC, WEFT_ETOOBIG (beyond the largest file allowed),
 * WEFT_EACCESS. Fewer than `size`: try the rest, which says why. */
int64_t pf_file_write(pf_handle h, const void *data, size_t size, int64_t offset);
int64_t pf_file_size(pf_handle h);
/* Returns when what was written is on the disk, as far as the system can tell. */
int pf_file_sync(pf_handle h);
/* Cuts it, or adds zeroes. */
int pf_file_truncate(pf_handle h, int64_t size);

/* Makes the folder a file is to be in, for this user alone, unless it is there. WEFT_EACCESS, WEFT_ENOTFOUND (its own
 * folder is not there). */
int pf_private_directory_of(const char *path);
/* Whether others than its owner may read the file. */
bool pf_file_is_shared(const char *path);

/* ---- Pipes and standard streams -------------------------------------------------------------------------------- */
/* Byte channels for pf_read, pf_write and the poller, none of them inherited by children unless asked for. */
/* An end that is `ours` suits the poller; one that is not is for a child, which expects its calls to block. */
int pf_pipe(pf_handle *reading, pf_handle *writing, bool reading_is_ours, bool writing_is_ours);
/* 0, 1, 2: this process's standard input, output, error, as a handle of our own, without changing what others who
 * have the same terminal or pipe open see, where the system allows that. WEFT_ECLOSED: there is none. */
int pf_standard(pf_handle *out, int which);
/* Where a thread stands between such a handle and the stream: waits a while until what was written to those that are
 * closed is out. */
void pf_standard_drain(void);
/* Another handle of the same thing, not inherited. WEFT_ECLOSED: it is no open handle. */
int pf_duplicate(pf_handle h, pf_handle *out);

/* ---- Child processes ------------------------------------------------------------------------------------------- */
enum pf_stdio { PF_STDIO_INHERIT, PF_STDIO_NULL, PF_STDIO_HANDLE };
struct pf_process_options {
    const char *const *argv; /* NULL at the end; [0] is searched for in PATH if it has no slash */
    /* "NAME=value", NULL at the end; NULL: this process's, without what is said to it alone: $LISTEN_PID and so on */
    const char *const *env;
    const char *directory;  /* NULL: this process's */
    enum pf_stdio stdio[3]; /* input, output, error */
    pf_handle handle[3];    /* PF_STDIO_HANDLE: the child gets a copy; it stays the caller's */
    bool detached;          /* of a session (group) of its own: what a terminal sends does not reach it */
};
/* One child, from its start until pf_process_free. */
struct pf_process {
    int64_t id;       /* as other programs name it */
    pf_handle handle; /* the platform's */
};
struct pf_exit {
    int code;   /* what it returned; -1: a signal ended it */
    int signal; /* which; 0: none */
};
/* Starts it. Blocks until the program runs. The child inherits the three streams and no other handle, blocks no
 * signal, and nothing of this process runs in it in between. WEFT_ENOTFOUND (program or directory), WEFT_EACCESS,
 * WEFT_EFORMAT (no program), WEFT_ETOOBIG (arguments), WEFT_ENOMEM, WEFT_EFULL, WEFT_ENOTSUP. */
int pf_process_start(struct pf_process *out, const struct pf_process_options *options);
/* PF_AGAIN while it runs; then how it ended, and the system has forgotten it. Call it again only after PF_AGAIN.
 * WEFT_ESYSTEM: other code has reaped it before. */
int pf_process_reap(struct pf_process *c, struct pf_exit *out);
/* The same, but blocks. */
int pf_process_wait(struct pf_process *c, struct pf_exit *out);
/* Before it was reaped. `number`: SIGTERM, SIGKILL, ... ; where there are no signals, those two end it at once and
 * others are WEFT_ENOTSUP. WEFT_ECLOSED: it has ended; WEFT_EINVAL: no such number; WEFT_EACCESS. */
int pf_process_signal(struct pf_process *c, int number);
void pf_process_free(struct pf_process *c);

/* ---- Directories, and what changes in them --------------------------------------------------------------------- */
enum pf_entry_kind { PF_ENTRY_UNKNOWN, PF_ENTRY_FILE, PF_ENTRY_DIRECTORY, PF_ENTRY_LINK, PF_ENTRY_OTHER };
struct pf_entry {
    enum pf_entry_kind kind;
    char name[1024];
};
typedef struct pf_listing pf_listing;
/* All may block; one thread at a time. WEFT_ENOTFOUND (also: no directory), WEFT_EACCESS, WEFT_EFULL. */
int pf_listing_open(pf_listing **out, const char *path);
/* 1, 0 at the end. Without "." and "..". */
int pf_listing_next(pf_listing *l, struct pf_entry *out);
void pf_listing_close(pf_listing *l); /* NULL is fine */

enum pf_change_kind {
    PF_CHANGE_NONE, /* nothing to tell */
    PF_CHANGE_CREATED,
    PF_CHANGE_REMOVED,
    PF_CHANGE_MODIFIED,
    PF_CHANGE_OVERFLOW, /* some are lost */
    PF_CHANGE_GONE,     /* what is watched is */
    PF_CHANGE_END       /* nothing comes after it */
};
struct pf_change {
    enum pf_change_kind kind;
    char name[1024]; /* "": the watched thing itself */
};
enum { PF_CHANGES_READ = 4096 }; /* bytes that hold at least one record */
/* A handle for pf_read and the poller; what it reads are records.
 * WEFT_ENOTFOUND, WEFT_EACCESS, WEFT_EFULL, WEFT_ENOTSUP. */
int pf_changes_open(pf_handle *out, const char *path);
/* The first record of those bytes; how many of them it takes. 0: it is only its beginning, on systems
 * whose reads may cut one. WEFT_EFORMAT. */
int64_t pf_changes_parse(const void *data, size_t size, struct pf_change *out);
/* Writes a record that is parsed as PF_CHANGE_END; its size, at most PF_CHANGES_READ. */
size_t pf_changes_end(void *out);

#endif
