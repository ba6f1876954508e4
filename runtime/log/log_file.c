/* runtime/log/log_file.c -- log lines in a file that may be renamed under way. */
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "once.h"

static _Atomic(pf_mutex *) lock;
/* Under lock: */
static pf_handle file = PF_NO_HANDLE;
static char *path;

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
    file = opened;
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
    pf_mutex_lock(m);
    int rc = path == NULL ? WEFT_OK : open_file(&opened, path);
    if (path != NULL && rc == WEFT_OK) {
        close_file();
        file = opened;
    }
    pf_mutex_unlock(m);
    return rc;
}
