/* transport/store/sqlite/sqlite_gather.c -- see sqlite_gather.h. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "sqlite_gather.h"

struct handle {
    sqlite3_file base;
    char *held;        /* SQ_GATHER_MAX bytes; NULL: nothing was held yet */
    int size;          /* bytes of it that are not written yet */
    sqlite3_int64 at;  /* their place in the file */
    sqlite3_int64 end; /* of the file: writes before it do not let it grow */
    sqlite3_file real[];
};

static struct handle *handle_of(sqlite3_file *f)
{
    return (struct handle *)f;
}

static sqlite3_file *real_of(sqlite3_file *f)
{
    return handle_of(f)->real;
}

/* The log has got frames up to `end`. Its header was synced before them, so none of the frames behind `end` count any more;
 * before that, zeroes among them would leave the first ones, which are older than the file. Another process may have
 * let the log grow, so its size is asked for. Without space for zeroes it grows in small steps. */
static int grow_log(struct handle *h, sqlite3_int64 end)
{
    const sqlite3_io_methods *m = h->real->pMethods;
    int rc = m->xFileSize(h->real, &h->end);
    if (rc != SQLITE_OK || h->end > end) return rc;
    sqlite3_int64 wanted = (end + SQ_LOG_STEP - 1) / SQ_LOG_STEP * SQ_LOG_STEP;
    memset(h->held, 0, SQ_GATHER_MAX);
    while (h->end < wanted && rc == SQLITE_OK) {
        sqlite3_int64 left = wanted - h->end;
        int size = left < SQ_GATHER_MAX ? (int)left : SQ_GATHER_MAX;
        rc = m->xWrite(h->real, h->held, size, h->end);
        h->end += size;
    }
    return rc == SQLITE_FULL ? SQLITE_OK : rc;
}

/* What cannot be written is not tried again: the caller is told, and takes back the transaction. */
static int pass_on(sqlite3_file *f)
{
    struct handle *h = handle_of(f);
    const int size = h->size;
    h->size = 0;
    if (size == 0) return SQLITE_OK;
    int rc = h->real->pMethods->xWrite(h->real, h->held, size, h->at);
    bool has_frames = h->at > 0; /* the header is at 0 */
    return rc == SQLITE_OK && has_frames && h->at + size > h->end ? grow_log(h, h->at + size) : rc;
}

static int f_write(sqlite3_file *f, const void *data, int size, sqlite3_int64 at)
{
    struct handle *h = handle_of(f);
    int rc = h->size == 0 || (at == h->at + h->size && size <= SQ_GATHER_MAX - h->size) ? SQLITE_OK : pass_on(f);
    if (rc != SQLITE_OK) return rc;
    if (h->held == NULL) h->held = sqlite3_malloc(SQ_GATHER_MAX);
    if (h->held == NULL || size > SQ_GATHER_MAX) return h->real->pMethods->xWrite(h->real, data, size, at);
    if (h->size == 0) h->at = at;
    memcpy(h->held + h->size, data, (size_t)size);
    h->size += size;
    return SQLITE_OK;
}

/* ---- Calls that pass on what is held --------------------------------------------------------------------------- */

static int f_read(sqlite3_file *f, void *out, int size, sqlite3_int64 at)
{
    int rc = pass_on(f);
    return rc == SQLITE_OK ? real_of(f)->pMethods->xRead(real_of(f), out, size, at) : rc;
}

static int f_truncate(sqlite3_file *f, sqlite3_int64 size)
{
    int rc = pass_on(f);
    handle_of(f)->end = 0;
    return rc == SQLITE_OK ? real_of(f)->pMethods->xTruncate(real_of(f), size) : rc;
}

static int f_sync(sqlite3_file *f, int flags)
{
    int rc = pass_on(f);
    return rc == SQLITE_OK ? real_of(f)->pMethods->xSync(real_of(f), flags) : rc;
}

static int f_size(sqlite3_file *f, sqlite3_int64 *size)
{
    int rc = pass_on(f);
    return rc == SQLITE_OK ? real_of(f)->pMethods->xFileSize(real_of(f), size) : rc;
}

static int f_close(sqlite3_file *f)
{
    int rc = pass_on(f), closed = real_of(f)->pMethods->xClose(real_of(f));
    sqlite3_free(handle_of(f)->held);
    return rc == SQLITE_OK ? closed : rc;
}

/* ---- Calls that have nothing to do with the bytes of the file -------------------------------------------------- */

static int f_lock(sqlite3_file *f, int level)
{
    return real_of(f)->pMethods->xLock(real_of(f), level);
}

static int f_unlock(sqlite3_file *f, int level)
{
    return real_of(f)->pMethods->xUnlock(real_of(f), level);
}

static int f_reserved(sqlite3_file *f, int *out)
{
    return real_of(f)->pMethods->xCheckReservedLock(real_of(f), out);
}

static int f_control(sqlite3_file *f, int what, void *arg)
{
    return real_of(f)->pMethods->xFileControl(real_of(f), what, arg);
}

static int f_sector(sqlite3_file *f)
{
    return real_of(f)->pMethods->xSectorSize(real_of(f));
}

static int f_character(sqlite3_file *f)
{
    return real_of(f)->pMethods->xDeviceCharacteristics(real_of(f));
}

static const sqlite3_io_methods methods = {
    .iVersion = 1,
    .xClose = f_close,
    .xRead = f_read,
    .xWrite = f_write,
    .xTruncate = f_truncate,
    .xSync = f_sync,
    .xFileSize = f_size,
    .xLock = f_lock,
    .xUnlock = f_unlock,
    .xCheckReservedLock = f_reserved,
    .xFileControl = f_control,
    .xSectorSize = f_sector,
    .xDeviceCharacteristics = f_character,
};

/* ---- The VFS --------------------------------------------------------------------------------------------------- */

static int v_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags, int *out)
{
    sqlite3_vfs *below = ((struct sq_gather *)vfs)->below;
    if ((flags & SQLITE_OPEN_WAL) == 0) return below->xOpen(below, name, f, flags, out);
    struct handle *h = handle_of(f);
    *h = (struct handle){.size = 0};
    h->real->pMethods = NULL;
    int rc = below->xOpen(below, name, h->real, flags, out);
    if (h->real->pMethods != NULL) f->pMethods = &methods; /* SQLite closes it also if this fails */
    return rc;
}

int sq_gather_begin(struct sq_gather *g, const char *below)
{
    *g = (struct sq_gather){.below = sqlite3_vfs_find(below)};
    if (g->below == NULL) return SQLITE_ERROR;
    g->vfs = *g->below; /* its other functions do not use the VFS that they are called with */
    snprintf(g->name, sizeof g->name, "weft-%p", (void *)g);
    g->vfs.zName = g->name;
    g->vfs.pNext = NULL;
    g->vfs.szOsFile += (int)sizeof(struct handle);
    g->vfs.xOpen = v_open;
    return sqlite3_vfs_register(&g->vfs, 0);
}

void sq_gather_end(struct sq_gather *g)
{
    if (g->below != NULL) (void)sqlite3_vfs_unregister(&g->vfs);
}
