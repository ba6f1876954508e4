/* runtime/log/log_output.c -- see log_output.h.
 *
 * Design notes.
 * (1) Mostly a line is written at once by the thread that logs it: it has left the process when weft_log returns, and
 *     survives a crash. Before that the thread looks whether the line can be written without waiting.
 * (2) One thread writes at a time. Lines of other threads are queued meanwhile; the one that writes takes them along, up to
 *     a bound.
 * (3) If nobody reads, the lines are queued for a thread that may wait. It is started when there is need for it, and ends
 *     when all lines are written. Where only a write itself shows whether it waits, as with a file on another machine, all
 *     lines go that way, and the thread stays for some time.
 * (4) A pipe that another process writes to, too, may be filled by it between the look and the write. Then one thread waits,
 *     and the lines of the others are queued. */
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "log_file.h"
#include "log_output.h"
#include "once.h"
#include "system_errors.h"

enum {
    CHUNK = 4096,    /* bytes of one write: whole lines, which the lines of other processes do not interrupt */
    ALONG_MAX = 16,  /* chunks of other threads that a thread writes after its own line */
    STAY = 10,       /* seconds without a line for which the thread stays, if it will be needed */
    PATIENCE = 1000, /* ms for which wf_log_flush waits without progress */
};

static _Atomic(pf_mutex *) lock;
/* Under lock: */
static pf_cond *changed;
static char *queue;        /* NULL: it was not needed yet */
static size_t first, used; /* the queue is a ring */
static uint64_t lost, written;
static pf_thread *thread;   /* that has been started last; it detaches itself, when it runs */
static bool writes;         /* a thread writes a line, or waits for lines */
static bool is_idle;        /* it waits for lines */
static int64_t remote = -1; /* whether standard error is on another machine; -1: nobody has looked */
static char chunk[CHUNK];   /* of the thread that writes */

/* ---- The queue ------------------------------------------------------------------------------------------------- */

static size_t space_left(void)
{
    return queue == NULL ? 0 : WF_LOG_QUEUE_BYTES - used;
}

static void append(const char *line, size_t size)
{
    size_t at = (first + used) % WF_LOG_QUEUE_BYTES, part = WF_MIN(size, WF_LOG_QUEUE_BYTES - at);
    memcpy(queue + at, line, part);
    memcpy(queue, line + part, size - part);
    used += size;
    atomic_fetch_add_explicit(&pf_stderr_queued, size, memory_order_relaxed);
}

/* Says first how many lines were lost before this one; NULL: says only that. */
static void enqueue(const char *line, size_t size)
{
    char notice[WF_LOG_LINE_MAX];
    if (queue == NULL) queue = malloc(WF_LOG_QUEUE_BYTES);
    if (space_left() < sizeof notice + size) {
        lost += line != NULL;
        return;
    }
    if (lost > 0) append(notice, wf_log_compose_lost(notice, lost));
    if (line != NULL) append(line, size);
    lost = 0;
}

/* Moves the first lines to `chunk`. Returns their bytes. */
static size_t take_chunk(void)
{
    size_t size = WF_MIN(used, (size_t)CHUNK), part = WF_MIN(size, WF_LOG_QUEUE_BYTES - first);
    memcpy(chunk, queue + first, part);
    memcpy(chunk + part, queue, size - part);
    while (chunk[size - 1] != '\n') size--; /* each line is shorter than a chunk */
    first = (first + size) % WF_LOG_QUEUE_BYTES;
    used -= size;
    if (used == 0) first = 0;
    return size;
}

/* ---- Writing --------------------------------------------------------------------------------------------------- */

static bool is_ready(void)
{
    /* Pairs with the store of weft_log_file. */
    if (atomic_load_explicit(&wf_log_sink, memory_order_acquire) != NULL) return wf_log_file_is_ready();
    if (remote < 0) remote = pf_is_remote(PF_NO_HANDLE);
    return remote == 0 && pf_stderr_is_ready();
}

/* What the log file does not take goes to standard error. False: that would wait, too. */
static bool put_out(const char *lines, size_t size, bool may_wait)
{
    wf_log_sink_fn *sink = atomic_load_explicit(&wf_log_sink, memory_order_acquire); /* as above */
    if (sink != NULL && sink(lines, size)) return true;
    if (sink != NULL && !may_wait && !pf_stderr_is_ready()) return false;
    pf_stderr_patiently(lines, size);
    return true;
}

static uint64_t count_lines(const char *lines, size_t size)
{
    uint64_t count = 0;
    for (size_t i = 0; i < size; i++) count += lines[i] == '\n';
    return count;
}

/* Writes without the lock. The caller holds it, and no other thread writes. */
static void write_unlocked(pf_mutex *m, const char *lines, size_t size, bool may_wait)
{
    writes = true;
    pf_mutex_unlock(m);
    bool fine = put_out(lines, size, may_wait);
    pf_mutex_lock(m);
    writes = false;
    written++;
    if (!fine) lost += count_lines(lines, size);
}

static void write_chunk(pf_mutex *m, bool may_wait)
{
    size_t size = take_chunk();
    write_unlocked(m, chunk, size, may_wait);
    atomic_fetch_sub_explicit(&pf_stderr_queued, size, memory_order_relaxed);
}

/* ---- The thread that may wait ---------------------------------------------------------------------------------- */

/* Waits for lines; false: none came. */
static bool await_lines(pf_mutex *m)
{
    int64_t until = pf_env_native()->now(pf_env_native()) + WEFT_SEC(STAY);
    int rc = WEFT_OK;
    writes = is_idle = true;
    pf_cond_broadcast(changed);
    while (used == 0 && rc == WEFT_OK) rc = pf_cond_wait(changed, m, until);
    writes = is_idle = false;
    return used > 0;
}

static void write_all(void *arg)
{
    pf_mutex *m = arg;
    (void)wf_system_errors_hide(true);
    pf_mutex_lock(m);
    pf_thread_detach(thread);
    do {
        while (used > 0) {
            write_chunk(m, true);
            if (lost > 0) enqueue(NULL, 0);
        }
    } while (!is_ready() && await_lines(m));
    free(queue);
    queue = NULL;
    writes = false;
    pf_cond_broadcast(changed);
    pf_mutex_unlock(m);
}

/* Without a thread the lines stay, until one that is logged later finds that somebody reads. */
static void start_thread(pf_mutex *m)
{
    static bool is_known;
    if (changed == NULL && pf_cond_create(&changed) < 0) return;
    if (!is_known && atexit(wf_log_flush) == 0) is_known = true;
    if (pf_thread_start(&thread, "weft log", write_all, m) < 0) return;
    writes = true;
}

/* ---- Lines ------------------------------------------------------------------------------------------------------ */

/* Writes what is queued, as far as that is this thread's. */
static void write_queued(pf_mutex *m)
{
    for (int i = 0; used > 0 && !writes; i++) {
        if (i == ALONG_MAX || !is_ready()) {
            start_thread(m);
            return;
        }
        write_chunk(m, false);
    }
    if (used == 0 && changed != NULL) pf_cond_broadcast(changed); /* for wf_log_flush */
}

void wf_log_put(const char *line, size_t size)
{
    pf_mutex *m = wf_mutex_once(&lock);
    if (m == NULL) return; /* no memory */
    bool before = wf_system_errors_hide(true);
    pf_mutex_lock(m);
    if (writes || used > 0 || lost > 0 || !is_ready()) {
        enqueue(line, size);
        if (is_idle) pf_cond_broadcast(changed);
    } else {
        write_unlocked(m, line, size, false);
    }
    write_queued(m);
    pf_mutex_unlock(m);
    (void)wf_system_errors_hide(before);
}

static bool is_busy(void)
{
    return used > 0 || (writes && !is_idle);
}

void wf_log_flush(void)
{
    static uint64_t gave_up_at = UINT64_MAX; /* under the lock; a second call does not wait for the same */
    pf_mutex *m = atomic_load_explicit(&lock, memory_order_acquire); /* pairs with wf_mutex_once */
    if (m == NULL) return;
    pf_mutex_lock(m);
    if (changed == NULL && is_busy()) (void)pf_cond_create(&changed);
    bool goes_on = changed != NULL && gave_up_at != written;
    while (goes_on && is_busy()) {
        uint64_t before = written;
        int64_t until = pf_env_native()->now(pf_env_native()) + WEFT_MS(PATIENCE);
        while (is_busy() && pf_cond_wait(changed, m, until) == WEFT_OK) continue;
        goes_on = written != before;
    }
    gave_up_at = is_busy() ? written : UINT64_MAX;
    pf_mutex_unlock(m);
}
