/* tests/faults/dropping_vfs.c -- a disk for SQLite that keeps what was not synced in the memory of its process, so that
 * it is lost when the process is killed, as the pages of a machine that loses power are. A random part of it is on the
 * disk all the same: a write may reach the disk as a whole, or in part, before it is synced, in any order.
 *
 * It is SQLite's default VFS in a process that has STORE_DROPS=SEED in its environment and this file linked; beneath it
 * is the real one. A module is loaded before the store is opened. */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sqlite3.h>

enum { PIECE = 4096 };

struct change {
    struct change *next;
    sqlite3_int64 at;
    int size;
    uint8_t data[];
};

/* A file, which several connections may have open. */
struct content {
    struct content *next;
    char name[1024];
    int users;
    struct change *first, **end; /* not synced, in order */
};

struct handle {
    sqlite3_file base;
    struct content *content;
    sqlite3_file real[];
};

static sqlite3_vfs *below;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct content *contents;
static uint64_t state;

static uint64_t random_below(uint64_t limit)
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state % limit;
}

static struct handle *handle_of(sqlite3_file *f)
{
    return (struct handle *)f;
}

static sqlite3_file *real_of(sqlite3_file *f)
{
    return handle_of(f)->real;
}

/* ---- What was not synced --------------------------------------------------------------------------------------- */

static int sync_all(struct content *c, sqlite3_file *real)
{
    int rc = SQLITE_OK;
    for (struct change *w; (w = c->first) != NULL && rc == SQLITE_OK;) {
        rc = real->pMethods->xWrite(real, w->data, w->size, w->at);
        if (rc != SQLITE_OK) break;
        c->first = w->next;
        free(w);
    }
    if (c->first == NULL) c->end = &c->first;
    return rc;
}

static sqlite3_int64 end_of(const struct content *c)
{
    sqlite3_int64 end = 0;
    for (const struct change *w = c->first; w != NULL; w = w->next)
        if (w->at + w->size > end) end = w->at + w->size;
    return end;
}

static void overlay(const struct content *c, uint8_t *out, int size, sqlite3_int64 at)
{
    for (const struct change *w = c->first; w != NULL; w = w->next) {
        sqlite3_int64 from = w->at > at ? w->at : at, end = w->at + w->size < at + size ? w->at + w->size : at + size;
        if (from < end) memcpy(out + (from - at), w->data + (from - w->at), (size_t)(end - from));
    }
}

static int f_size(sqlite3_file *f, sqlite3_int64 *size)
{
    pthread_mutex_lock(&lock);
    int rc = real_of(f)->pMethods->xFileSize(real_of(f), size);
    sqlite3_int64 end = end_of(handle_of(f)->content);
    if (end > *size) *size = end;
    pthread_mutex_unlock(&lock);
    return rc;
}

static int f_read(sqlite3_file *f, void *out, int size, sqlite3_int64 at)
{
    const struct content *c = handle_of(f)->content;
    pthread_mutex_lock(&lock);
    int rc = real_of(f)->pMethods->xRead(real_of(f), out, size, at);
    if (rc == SQLITE_OK || rc == SQLITE_IOERR_SHORT_READ) overlay(c, out, size, at);
    if (rc == SQLITE_IOERR_SHORT_READ && end_of(c) >= at + size) rc = SQLITE_OK;
    pthread_mutex_unlock(&lock);
    return rc;
}

static int write_piece(sqlite3_file *f, const void *data, int size, sqlite3_int64 at)
{
    struct change *w = malloc(sizeof *w + (size_t)size);
    if (w == NULL) return SQLITE_IOERR_NOMEM;
    w->next = NULL;
    w->at = at;
    w->size = size;
    memcpy(w->data, data, (size_t)size);
    pthread_mutex_lock(&lock);
    struct content *c = handle_of(f)->content;
    *c->end = w;
    c->end = &w->next;
    uint64_t fate = random_below(4); /* 0, 1: it stays in memory */
    int rc = SQLITE_OK, now = fate == 2 ? size : fate == 3 ? (int)random_below((uint64_t)size + 1) : 0;
    if (now > 0) rc = real_of(f)->pMethods->xWrite(real_of(f), data, now, at);
    pthread_mutex_unlock(&lock);
    return rc;
}

/* A disk keeps any parts of a large write, not its first bytes only. */
static int f_write(sqlite3_file *f, const void *data, int size, sqlite3_int64 at)
{
    int rc = SQLITE_OK;
    for (int done = 0; done < size && rc == SQLITE_OK; done += PIECE)
        rc = write_piece(f, (const uint8_t *)data + done, size - done < PIECE ? size - done : PIECE, at + done);
    return rc;
}

static int f_truncate(sqlite3_file *f, sqlite3_int64 size)
{
    sqlite3_file *real = real_of(f);
    sqlite3_int64 now;
    pthread_mutex_lock(&lock);
    for (struct change *w = handle_of(f)->content->first; w != NULL; w = w->next)
        if (w->at + w->size > size) w->size = w->at >= size ? 0 : (int)(size - w->at);
    int rc = real->pMethods->xFileSize(real, &now);
    if (rc == SQLITE_OK && now > size) rc = real->pMethods->xTruncate(real, size);
    pthread_mutex_unlock(&lock);
    return rc;
}

/* Hangs while the file STORE_HANGS is there, a FIFO: until somebody opens it to write. */
static void hang(void)
{
    const char *fifo = getenv("STORE_HANGS");
    int fd = fifo == NULL ? -1 : open(fifo, O_RDONLY);
    if (fd >= 0) close(fd);
}

/* The file needs no real sync: a kill leaves what was written to it. */
static int f_sync(sqlite3_file *f, int flags)
{
    (void)flags;
    hang();
    pthread_mutex_lock(&lock);
    int rc = sync_all(handle_of(f)->content, real_of(f));
    pthread_mutex_unlock(&lock);
    return rc;
}

static int f_close(sqlite3_file *f)
{
    struct content *c = handle_of(f)->content;
    pthread_mutex_lock(&lock);
    if (--c->users == 0) {
        (void)sync_all(c, real_of(f)); /* a program that ends loses nothing */
        struct content **at = &contents;
        while (*at != c) at = &(*at)->next;
        *at = c->next;
        free(c);
    }
    pthread_mutex_unlock(&lock);
    return real_of(f)->pMethods->xClose(real_of(f));
}

/* ---- What is passed on ----------------------------------------------------------------------------------------- */

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

/* Not the hints that change the size of the file. */
static int f_control(sqlite3_file *f, int what, void *arg)
{
    if (what == SQLITE_FCNTL_SIZE_HINT || what == SQLITE_FCNTL_CHUNK_SIZE) return SQLITE_OK;
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

static int f_map(sqlite3_file *f, int region, int size, int extend, void volatile **out)
{
    return real_of(f)->pMethods->xShmMap(real_of(f), region, size, extend, out);
}

static int f_shm_lock(sqlite3_file *f, int first, int count, int flags)
{
    return real_of(f)->pMethods->xShmLock(real_of(f), first, count, flags);
}

static void f_barrier(sqlite3_file *f)
{
    real_of(f)->pMethods->xShmBarrier(real_of(f));
}

static int f_unmap(sqlite3_file *f, int delete)
{
    return real_of(f)->pMethods->xShmUnmap(real_of(f), delete);
}

static const sqlite3_io_methods methods = {
    .iVersion = 2, /* without memory maps */
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
    .xShmMap = f_map,
    .xShmLock = f_shm_lock,
    .xShmBarrier = f_barrier,
    .xShmUnmap = f_unmap,
};

/* ---- The VFS --------------------------------------------------------------------------------------------------- */

static struct content *content_of(const char *name)
{
    struct content *c = contents;
    while (c != NULL && strcmp(c->name, name) != 0) c = c->next;
    if (c != NULL) return c;
    c = calloc(1, sizeof *c);
    if (c == NULL) abort();
    snprintf(c->name, sizeof c->name, "%s", name);
    c->end = &c->first;
    c->next = contents;
    return contents = c;
}

static int v_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags, int *out)
{
    (void)vfs;
    f->pMethods = NULL;
    if (name == NULL) return SQLITE_CANTOPEN; /* the store has no temporary files */
    int rc = below->xOpen(below, name, real_of(f), flags, out);
    if (rc != SQLITE_OK) return rc;
    pthread_mutex_lock(&lock);
    handle_of(f)->content = content_of(name);
    handle_of(f)->content->users++;
    pthread_mutex_unlock(&lock);
    f->pMethods = &methods;
    return SQLITE_OK;
}

__attribute__((constructor)) static void begin(void)
{
    static sqlite3_vfs dropping;
    const char *seed = getenv("STORE_DROPS");
    if (seed == NULL || (below = sqlite3_vfs_find(NULL)) == NULL) return;
    state = strtoull(seed, NULL, 10) | 1;
    dropping = *below; /* its other functions do not use the VFS that they are called with */
    dropping.zName = "dropping";
    dropping.szOsFile = (int)sizeof(struct handle) + below->szOsFile;
    dropping.xOpen = v_open;
    if (sqlite3_vfs_register(&dropping, 1) != SQLITE_OK) abort();
}
