/* tests/unit/transport/store/faulty_vfs.c -- files, locks and shared memory of SQLite in memory, for one thread. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "faulty_vfs.h"

enum { NAME_MAX_BYTES = 128, REGIONS_MAX = 64, SHM_LOCKS = 8, CUT_SECTOR = 512, PIECE = 4096 };

struct content {
    uint8_t *bytes;
    size_t size, capacity;
};

/* A write, or with data == NULL a truncation to `at`. */
struct change {
    size_t at, size;
    uint8_t *data;
    struct change *next;
};

struct file {
    char name[NAME_MAX_BYTES];
    struct content now, disk;
    bool created; /* on the disk, too */
    bool off;     /* its machine does not run */
    struct change *first, **end;
    struct handle *handles;
    void *region[REGIONS_MAX];
    int region_size;
    struct file *next;
};

struct handle {
    sqlite3_file base;
    struct file *file;
    int lock;
    bool has_shm;
    int process;
    bool killed;                /* its process was */
    unsigned shared, exclusive; /* bits of locks of the shared memory */
    struct handle *next;
};

static struct {
    uint64_t state, syncs_left, changes_left;
    size_t space;
    bool off, read_only;
    int process, killed_at_failed_sync;
    int64_t (*clock)(void);
    struct file *files;
} disk;

/* ---- Numbers --------------------------------------------------------------------------------------------------- */

static uint64_t next_number(void)
{
    uint64_t z = (disk.state += UINT64_C(0x9E3779B97F4A7C15)); /* splitmix64 */
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

uint64_t faulty_random(uint64_t below)
{
    return next_number() % below;
}

/* ---- Contents -------------------------------------------------------------------------------------------------- */

static void resize(struct content *c, size_t size)
{
    if (size > c->capacity) { /* twice as much each time, as under ASan each realloc copies */
        c->capacity = size > 2 * c->capacity ? size : 2 * c->capacity;
        c->bytes = realloc(c->bytes, c->capacity);
        if (c->bytes == NULL) abort();
    }
    if (size > c->size) memset(c->bytes + c->size, 0, size - c->size);
    c->size = size;
}

static void apply(struct content *to, const struct change *c, size_t size)
{
    if (c->data == NULL) {
        resize(to, c->at);
        return;
    }
    if (size == 0) return;
    if (c->at + size > to->size) resize(to, c->at + size);
    memcpy(to->bytes + c->at, c->data, size);
}

static void forget_changes(struct file *f)
{
    for (struct change *c = f->first, *next; c != NULL; c = next) {
        next = c->next;
        free(c->data);
        free(c);
    }
    f->first = NULL;
    f->end = &f->first;
}

static void sync_all(struct file *f)
{
    for (struct change *c = f->first; c != NULL; c = c->next) apply(&f->disk, c, c->size);
    forget_changes(f);
    f->created = true;
}

/* Each change is there, or not, or up to some sector, or up to some byte. */
static void sync_some(struct file *f)
{
    if (f->first != NULL) f->created = f->created || faulty_random(2) == 0;
    for (struct change *c = f->first; c != NULL; c = c->next) {
        uint64_t fate = faulty_random(4);
        size_t size = fate == 0   ? 0
                      : fate == 1 ? c->size
                      : fate == 2 ? (size_t)faulty_random(c->size + 1)
                                  : (size_t)faulty_random(c->size / CUT_SECTOR + 1) * CUT_SECTOR;
        if (c->data == NULL && fate == 0) continue;
        apply(&f->disk, c, size);
    }
    forget_changes(f);
}

static void record(struct file *f, size_t at, const void *data, size_t size)
{
    struct change *c = calloc(1, sizeof *c);
    if (c == NULL || (data != NULL && (c->data = malloc(size + 1)) == NULL)) abort();
    c->at = at;
    c->size = size;
    if (data != NULL) memcpy(c->data, data, size);
    *f->end = c;
    f->end = &c->next;
    apply(&f->now, c, size);
}

/* ---- The disk -------------------------------------------------------------------------------------------------- */

static struct file *find(const char *name)
{
    struct file *f = disk.files;
    while (f != NULL && strcmp(f->name, name) != 0) f = f->next;
    return f;
}

static void free_regions(struct file *f)
{
    for (int i = 0; i < REGIONS_MAX; i++) {
        free(f->region[i]);
        f->region[i] = NULL;
    }
}

static void free_file(struct file *f)
{
    forget_changes(f);
    free_regions(f);
    free(f->now.bytes);
    free(f->disk.bytes);
    free(f);
}

static void remove_file(struct file *f)
{
    struct file **at = &disk.files;
    while (*at != f) at = &(*at)->next;
    *at = f->next;
    free_file(f);
}

static struct file *create(const char *name)
{
    struct file *f = calloc(1, sizeof *f);
    if (f == NULL) abort();
    snprintf(f->name, sizeof f->name, "%s", name);
    f->end = &f->first;
    f->next = disk.files;
    disk.files = f;
    return f;
}

static void cut_power(void)
{
    disk.off = true;
    for (struct file *f = disk.files; f != NULL; f = f->next) sync_some(f);
}

static bool is_off(const struct file *f)
{
    return disk.off || (f != NULL && f->off);
}

/* Counts a change. False: the power is off, or was just cut. */
static bool goes_on(const struct file *f)
{
    if (is_off(f)) return false;
    if (disk.changes_left != UINT64_MAX && disk.changes_left-- == 0) cut_power();
    return !disk.off;
}

static size_t used(void)
{
    size_t sum = 0;
    for (struct file *f = disk.files; f != NULL; f = f->next) sum += f->now.size;
    return sum;
}

/* ---- Reading and writing --------------------------------------------------------------------------------------- */

static struct file *file_of(sqlite3_file *h)
{
    return ((struct handle *)h)->file;
}

static bool is_dead(sqlite3_file *base)
{
    const struct handle *h = (struct handle *)base;
    return h->killed || is_off(h->file);
}

static int f_read(sqlite3_file *h, void *out, int size, sqlite3_int64 at)
{
    const struct content *c = &file_of(h)->now;
    if (is_dead(h)) return SQLITE_IOERR_READ;
    size_t from = (size_t)at, count = from >= c->size ? 0 : c->size - from;
    if (count > (size_t)size) count = (size_t)size;
    if (count > 0) memcpy(out, c->bytes + from, count);
    if (count == (size_t)size) return SQLITE_OK;
    memset((uint8_t *)out + count, 0, (size_t)size - count);
    return SQLITE_IOERR_SHORT_READ;
}

static int f_write(sqlite3_file *h, const void *data, int size, sqlite3_int64 at)
{
    struct file *f = file_of(h);
    size_t end = (size_t)at + (size_t)size;
    if (is_dead(h) || !goes_on(f)) return SQLITE_IOERR_WRITE;
    if (end > f->now.size && used() + (end - f->now.size) > disk.space) return SQLITE_FULL;
    /* A disk keeps any parts of a large write, not its first bytes only. */
    for (int done = 0; done < size; done += PIECE)
        record(f, (size_t)(at + done), (const uint8_t *)data + done,
               (size_t)(size - done < PIECE ? size - done : PIECE));
    return SQLITE_OK;
}

static int f_truncate(sqlite3_file *h, sqlite3_int64 size)
{
    if (is_dead(h) || !goes_on(file_of(h))) return SQLITE_IOERR_TRUNCATE;
    record(file_of(h), (size_t)size, NULL, 0);
    return SQLITE_OK;
}

static int f_sync(sqlite3_file *h, int flags)
{
    (void)flags;
    if (is_dead(h) || !goes_on(file_of(h))) return SQLITE_IOERR_FSYNC;
    if (disk.syncs_left != UINT64_MAX && disk.syncs_left-- == 0) {
        disk.syncs_left = UINT64_MAX;
        sync_some(file_of(h));
        if (disk.killed_at_failed_sync >= 0) faulty_kill(disk.killed_at_failed_sync);
        return SQLITE_IOERR_FSYNC;
    }
    sync_all(file_of(h));
    return SQLITE_OK;
}

static int f_size(sqlite3_file *h, sqlite3_int64 *size)
{
    if (is_dead(h)) return SQLITE_IOERR_FSTAT;
    *size = (sqlite3_int64)file_of(h)->now.size;
    return SQLITE_OK;
}

/* ---- Locks ----------------------------------------------------------------------------------------------------- */

static int others_lock(struct handle *h)
{
    int most = SQLITE_LOCK_NONE;
    for (struct handle *o = h->file->handles; o != NULL; o = o->next)
        if (o != h && o->lock > most) most = o->lock;
    return most;
}

static int f_lock(sqlite3_file *base, int level)
{
    struct handle *h = (struct handle *)base;
    int others = others_lock(h);
    if (is_dead(base)) return SQLITE_IOERR_LOCK;
    if (h->lock >= level) return SQLITE_OK;
    bool free = level == SQLITE_LOCK_SHARED     ? others < SQLITE_LOCK_PENDING
                : level == SQLITE_LOCK_RESERVED ? others < SQLITE_LOCK_RESERVED
                                                : others == SQLITE_LOCK_NONE;
    if (free) h->lock = level;
    return free ? SQLITE_OK : SQLITE_BUSY;
}

static int f_unlock(sqlite3_file *base, int level)
{
    struct handle *h = (struct handle *)base;
    if (h->lock > level) h->lock = level;
    return SQLITE_OK;
}

static int f_reserved(sqlite3_file *base, int *out)
{
    struct handle *h = (struct handle *)base;
    *out = h->lock >= SQLITE_LOCK_RESERVED || others_lock(h) >= SQLITE_LOCK_RESERVED;
    return SQLITE_OK;
}

static int f_control(sqlite3_file *h, int what, void *arg)
{
    (void)h, (void)what, (void)arg;
    return SQLITE_NOTFOUND;
}

static int f_sector(sqlite3_file *h)
{
    (void)h;
    return 4096;
}

static int f_character(sqlite3_file *h)
{
    (void)h;
    return SQLITE_IOCAP_POWERSAFE_OVERWRITE; /* as SQLite says of each disk on Unix: no write harms bytes beside it */
}

/* ---- Shared memory --------------------------------------------------------------------------------------------- */

static int shm_map(sqlite3_file *base, int number, int size, int extend, void volatile **out)
{
    struct handle *h = (struct handle *)base;
    *out = NULL;
    if (is_dead(base) || number >= REGIONS_MAX) return SQLITE_IOERR_SHMMAP;
    h->has_shm = true;
    void **region = &h->file->region[number];
    if (*region == NULL && extend != 0 && (*region = calloc(1, (size_t)size)) == NULL) abort();
    *out = *region;
    return SQLITE_OK;
}

static int shm_lock(sqlite3_file *base, int first, int count, int flags)
{
    struct handle *h = (struct handle *)base;
    unsigned mask = ((1u << (first + count)) - 1) & ~((1u << first) - 1);
    if ((flags & SQLITE_SHM_UNLOCK) != 0) {
        h->shared &= ~mask;
        h->exclusive &= ~mask;
        return SQLITE_OK;
    }
    if (is_dead(base)) return SQLITE_IOERR_SHMLOCK;
    bool exclusive = (flags & SQLITE_SHM_EXCLUSIVE) != 0;
    for (struct handle *o = h->file->handles; o != NULL; o = o->next)
        if (o != h && ((o->exclusive & mask) != 0 || (exclusive && (o->shared & mask) != 0))) return SQLITE_BUSY;
    if (exclusive) h->exclusive |= mask;
    else h->shared |= mask;
    return SQLITE_OK;
}

static void shm_barrier(sqlite3_file *h)
{
    (void)h;
}

static int shm_unmap(sqlite3_file *base, int delete)
{
    (void)delete;
    struct handle *h = (struct handle *)base;
    h->has_shm = false;
    h->shared = h->exclusive = 0;
    for (struct handle *o = h->file->handles; o != NULL; o = o->next)
        if (o->has_shm) return SQLITE_OK;
    free_regions(h->file);
    return SQLITE_OK;
}

static int f_close(sqlite3_file *base)
{
    struct handle *h = (struct handle *)base;
    shm_unmap(base, 0);
    struct handle **at = &h->file->handles;
    while (*at != h) at = &(*at)->next;
    *at = h->next;
    return SQLITE_OK;
}

static const sqlite3_io_methods methods = {
    .iVersion = 2,
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
    .xShmMap = shm_map,
    .xShmLock = shm_lock,
    .xShmBarrier = shm_barrier,
    .xShmUnmap = shm_unmap,
};

/* ---- The VFS --------------------------------------------------------------------------------------------------- */

static int v_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *base, int flags, int *out)
{
    (void)vfs;
    struct handle *h = (struct handle *)base;
    *h = (struct handle){0};
    struct file *f = name == NULL ? NULL : find(name);
    if (name == NULL || is_off(f)) return SQLITE_CANTOPEN;
    if (f == NULL && ((flags & SQLITE_OPEN_CREATE) == 0 || disk.read_only)) return SQLITE_CANTOPEN;
    if (f == NULL) f = create(name);
    h->base.pMethods = &methods;
    h->file = f;
    h->process = disk.process;
    h->next = f->handles;
    f->handles = h;
    if (out != NULL) *out = disk.read_only ? SQLITE_OPEN_READONLY : flags;
    return SQLITE_OK;
}

static int v_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
    (void)vfs, (void)sync;
    struct file *f = find(name);
    if (!goes_on(f)) return SQLITE_IOERR_DELETE;
    if (f == NULL) return SQLITE_IOERR_DELETE_NOENT;
    if (f->handles != NULL) abort(); /* SQLite deletes what it has closed */
    remove_file(f);
    return SQLITE_OK;
}

static int v_access(sqlite3_vfs *vfs, const char *name, int flags, int *out)
{
    (void)vfs;
    const struct file *f = find(name);
    *out = f != NULL && !(disk.read_only && flags == SQLITE_ACCESS_READWRITE);
    return is_off(f) ? SQLITE_IOERR_ACCESS : SQLITE_OK;
}

static int v_full_name(sqlite3_vfs *vfs, const char *name, int size, char *out)
{
    (void)vfs;
    snprintf(out, (size_t)size, "%s", name);
    return SQLITE_OK;
}

static int v_random(sqlite3_vfs *vfs, int size, char *out)
{
    (void)vfs;
    for (int i = 0; i < size; i++) out[i] = (char)next_number();
    return size;
}

static int v_sleep(sqlite3_vfs *vfs, int microseconds)
{
    (void)vfs;
    return microseconds; /* nobody else runs meanwhile */
}

static int v_time_ms(sqlite3_vfs *vfs, sqlite3_int64 *out)
{
    const int64_t day = 86400000, begin = INT64_C(2440587) * day + day / 2; /* of 1970 */
    (void)vfs;
    *out = disk.clock == NULL ? INT64_C(2460000) * day + day / 2 : begin + disk.clock() / 1000000;
    return SQLITE_OK;
}

static int v_time(sqlite3_vfs *vfs, double *out)
{
    sqlite3_int64 ms;
    (void)v_time_ms(vfs, &ms);
    *out = (double)ms / 86400000.0;
    return SQLITE_OK;
}

static int v_error(sqlite3_vfs *vfs, int size, char *out)
{
    (void)vfs;
    if (size > 0) out[0] = '\0';
    return 0;
}

static sqlite3_vfs faulty = {
    .iVersion = 2,
    .szOsFile = sizeof(struct handle),
    .mxPathname = NAME_MAX_BYTES - 16,
    .zName = "faulty",
    .xOpen = v_open,
    .xDelete = v_delete,
    .xAccess = v_access,
    .xFullPathname = v_full_name,
    .xRandomness = v_random,
    .xSleep = v_sleep,
    .xCurrentTime = v_time,
    .xGetLastError = v_error,
    .xCurrentTimeInt64 = v_time_ms,
};

/* ---- For tests ------------------------------------------------------------------------------------------------- */

void faulty_clock(int64_t (*clock)(void))
{
    disk.clock = clock;
}

void faulty_end(void)
{
    while (disk.files != NULL) remove_file(disk.files);
}

void faulty_begin(uint64_t seed)
{
    faulty_end();
    disk.state = seed;
    disk.syncs_left = disk.changes_left = UINT64_MAX;
    disk.space = SIZE_MAX;
    disk.clock = NULL;
    disk.off = disk.read_only = false;
    disk.process = 0;
    disk.killed_at_failed_sync = -1;
    if (sqlite3_vfs_register(&faulty, 1) != SQLITE_OK) abort();
    sqlite3_randomness(0, NULL); /* drawn from this disk again */
}

void faulty_space(size_t bytes)
{
    disk.space = bytes == SIZE_MAX ? bytes : used() + bytes;
}

void faulty_fail_sync(uint64_t after)
{
    disk.syncs_left = after;
}

void faulty_read_only(bool read_only)
{
    disk.read_only = read_only;
}

void faulty_cut_power(uint64_t after)
{
    disk.changes_left = after;
    if (after == 0) (void)goes_on(NULL);
}

bool faulty_is_off(void)
{
    return disk.off;
}

/* Programs read what is on the disk. */
static void read_again(struct file *f)
{
    if (!f->created) {
        remove_file(f);
        return;
    }
    resize(&f->now, 0);
    resize(&f->now, f->disk.size);
    if (f->disk.size > 0) memcpy(f->now.bytes, f->disk.bytes, f->disk.size);
}

void faulty_power_on(void)
{
    disk.changes_left = disk.syncs_left = UINT64_MAX;
    for (struct file *f = disk.files, *next; f != NULL; f = next) {
        next = f->next;
        if (f->handles != NULL) abort();
        read_again(f);
    }
    disk.off = false;
}

static bool is_of(const struct file *f, const char *volume)
{
    return strncmp(f->name, volume, strlen(volume)) == 0;
}

void faulty_volume_off(const char *volume, bool power)
{
    for (struct file *f = disk.files; f != NULL; f = f->next) {
        if (!is_of(f, volume)) continue;
        f->off = true;
        if (power) sync_some(f);
    }
}

void faulty_volume_on(const char *volume, bool power)
{
    for (struct file *f = disk.files, *next; f != NULL; f = next) {
        next = f->next;
        if (!is_of(f, volume)) continue;
        if (f->handles != NULL) abort();
        f->off = false;
        if (power) read_again(f);
    }
}

void faulty_process(int number)
{
    disk.process = number;
}

void faulty_kill_at_failed_sync(int number)
{
    disk.killed_at_failed_sync = number;
}

void faulty_kill(int number)
{
    for (struct file *f = disk.files; f != NULL; f = f->next)
        for (struct handle *h = f->handles; h != NULL; h = h->next) {
            if (h->process != number) continue;
            h->killed = true;
            h->lock = SQLITE_LOCK_NONE;
            h->shared = h->exclusive = 0;
        }
}

bool faulty_flip_bit(const char *name)
{
    struct file *f = find(name);
    if (f == NULL || f->disk.size == 0) return false;
    uint64_t bit = faulty_random(f->disk.size * 8);
    f->disk.bytes[bit / 8] ^= (uint8_t)(1u << (bit % 8));
    if (bit / 8 < f->now.size) f->now.bytes[bit / 8] ^= (uint8_t)(1u << (bit % 8));
    return true;
}

uint8_t *faulty_bytes(const char *name, size_t *size)
{
    struct file *f = find(name);
    *size = f == NULL ? 0 : f->disk.size;
    return f == NULL ? NULL : f->disk.bytes;
}
