/* tests/unit/runtime/os/file_gate.h -- for tests of files: the linker puts a gate before pf_file_read, so that a
 * blocking read stays where a test wants it. */
#ifndef WF_FILE_GATE_H
#define WF_FILE_GATE_H

#include "../folder.h"
#include "../harness.h"

#include <weft/file.h>

/* ---- The gate -------------------------------------------------------------------------------------------------- */

static struct {
    pf_mutex *lock;
    pf_cond *changed;
    bool closed;
    int arrived, passed;
} gate;

int64_t __real_pf_file_read(pf_handle h, void *data, size_t size, int64_t offset);
int64_t __wrap_pf_file_read(pf_handle h, void *data, size_t size, int64_t offset);

int64_t __wrap_pf_file_read(pf_handle h, void *data, size_t size, int64_t offset)
{
    pf_mutex_lock(gate.lock);
    gate.arrived++;
    pf_cond_broadcast(gate.changed);
    while (gate.closed) (void)pf_cond_wait(gate.changed, gate.lock, WEFT_FOREVER);
    pf_mutex_unlock(gate.lock);
    int64_t n = __real_pf_file_read(h, data, size, offset);
    pf_mutex_lock(gate.lock);
    gate.passed++;
    pf_cond_broadcast(gate.changed);
    pf_mutex_unlock(gate.lock);
    return n;
}

__attribute__((unused)) static void gate_set(bool closed)
{
    pf_mutex_lock(gate.lock);
    gate.closed = closed;
    pf_cond_broadcast(gate.changed);
    pf_mutex_unlock(gate.lock);
}

__attribute__((unused)) static void gate_await(const int *counter, int n)
{
    pf_mutex_lock(gate.lock);
    while (*counter < n) (void)pf_cond_wait(gate.changed, gate.lock, WEFT_FOREVER);
    pf_mutex_unlock(gate.lock);
}

__attribute__((unused)) static int gate_count(const int *counter)
{
    pf_mutex_lock(gate.lock);
    int n = *counter;
    pf_mutex_unlock(gate.lock);
    return n;
}

/* An environment in which nothing is done at once: every read takes a thread. */
static struct pf_env slow_env;

static int submit_never(struct pf_poller *p, struct pf_file_op *op)
{
    (void)p, (void)op;
    return PF_BLOCKING;
}

__attribute__((unused)) static void set_up(void)
{
    memset(&gate, 0, sizeof gate);
    want_int(pf_mutex_create(&gate.lock), 0);
    want_int(pf_cond_create(&gate.changed), 0);
    slow_env = *pf_env_native();
    slow_env.file_submit = submit_never;
    folder_make();
}

static void tear_down(void)
{
    folder_remove();
    pf_cond_destroy(gate.changed);
    pf_mutex_destroy(gate.lock);
}

__attribute__((unused)) static void run_slowly(void (*run)(void *), void *arg)
{
    struct harness h;
    harness_start_in(&h, 2, &slow_env);
    harness_spawn(&h, 0, run, arg);
    harness_stop(&h);
}

static weft_file open_file(const char *path, unsigned flags)
{
    weft_file f;
    want_int(weft_file_open(&f, path, flags, 0600, WEFT_FOREVER), 0);
    return f;
}

static const unsigned BOTH = WEFT_FILE_READ | WEFT_FILE_WRITE | WEFT_FILE_CREATE;

#endif
