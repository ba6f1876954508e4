/* runtime/log/log_file.c -- log lines in a file that may be renamed under way. */
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "log_file.h"
#include "once.h"
#include "system_errors.h"

static _Atomic(pf_mutex *) lock;
/* Under lock: */
static pf_handle file = PF_NO_HANDLE;
static char *path;

/* The same file, for wf_log_file_is_ready, which does not wait for the lock: a write that hangs has it. */
static _Atomic pf_handle ready_when = PF_NO_HANDLE;
static _Atomic bool is_remote;

static bool write_line(const char *line, size_t size)
{
    pf_mutex *m = wf_mutex_once(&lock);
    int64_t n = 0;
    pf_mutex_lock(m);
    while (size > 0 && file != PF_NO_HANDLE && (n = pf_file_write(file, line, size, PF_FILE_END)) > 0) {
        line += n;
        size -= (size_t)n;
    }
    pf_mutex_unlock(m);
    return size == 0;
}

static int open_file(pf_handle *out, const char *name)
{
    return pf_file_open(out, name, PF_FILE_WRITE | PF_FILE_CREATE | PF_FILE_APPEND, 0640);
}

bool wf_log_file_is_ready(void)
{
    if (atomic_load_explicit(&is_remote, memory_order_relaxed)) return false;
    return pf_is_ready(atomic_load_explicit(&ready_when, memory_order_relaxed), true) !=
           0; /* an error is told by write */
}

/* Under lock. */
static void use_file(pf_handle opened)
{
    file = opened;
    atomic_store_explicit(&is_remote, opened != PF_NO_HANDLE && pf_is_remote(opened), memory_order_relaxed);
    atomic_store_explicit(&ready_when, opened, memory_order_relaxed);
}

static void close_file(void)
{
    if (file != PF_NO_HANDLE) pf_file_close(file);
    file = PF_NO_HANDLE;
}

int weft_log_file(const char *name)
{
    pf_mutex *m = wf_mutex_once(&lock);
    if (m == NULL) return WEFT_ENOMEM;
    pf_handle opened = PF_NO_HANDLE;
    char *kept = NULL;
    if (name != NULL) {
        kept = strdup(name);
        int rc = kept == NULL ? WEFT_ENOMEM : open_file(&opened, name);
        if (rc < 0) {
            free(kept);
            return rc;
        }
    }
    pf_mutex_lock(m);
    close_file();
    free(path);
    use_file(opened);
    path = kept;
    /* Pairs with the load of the thread that logs. */
    atomic_store_explicit(&wf_log_sink, name == NULL ? NULL : write_line, memory_order_release);
    pf_mutex_unlock(m);
    return WEFT_OK;
}

int weft_log_reopen(void)
{
    pf_mutex *m = atomic_load_explicit(&lock, memory_order_acquire); /* pairs with wf_mutex_once */
    if (m == NULL) return WEFT_OK;
    pf_handle opened;
    bool before = wf_system_errors_hide(true);
    pf_mutex_lock(m);
    int rc = path == NULL ? WEFT_OK : open_file(&opened, path);
    if (path != NULL && rc == WEFT_OK) {
        close_file();
        use_file(opened);
    }
    pf_mutex_unlock(m);
    (void)wf_system_errors_hide(before);
    return rc;
}
