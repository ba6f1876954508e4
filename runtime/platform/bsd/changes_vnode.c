/* runtime/platform/bsd/changes_vnode.c -- changes of directories and files, with kqueue's EVFILT_VNODE.
 *
 * Design notes.
 * (1) A kqueue reports that a directory has changed, but not which entry, and it reports no writes to its files. So a
 *     changed directory is listed again and compared, and each file in it is watched through a descriptor of its own.
 * (2) Listing may block, so one thread of the process does it for all watches; it runs while there is a watch. It
 *     writes records into a pipe, whose other end is the handle that the runtime reads and closes.
 * (3) Changes to be reported are state of the entries, not a queue: while the pipe is full nothing is lost, as later
 *     changes are merged with earlier ones. A file that is created and removed between two listings is never
 *     reported.
 * (4) A record has the size that every system writes to a pipe in one piece, so no read ends within a record.
 * (5) Only the thread closes descriptors and frees watches, after it has handled a batch of the kqueue's entries: so
 *     no entry of the batch can refer to a newer watch. An entry names its watch by a number that is used once,
 *     because a watch that could not be opened is freed by the thread that wanted it. libkqueue does not notice that
 *     a descriptor is closed, so the registration is deleted explicitly.
 * (6) A wait that fails is repeated, because libkqueue lets each wait fail once when the process ends. If waits keep
 *     failing, all watches end as if the watched files were gone; the next watch gets a new kqueue. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/event.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/types.h>
#include <unistd.h>

#include "native.h"

#ifndef O_EVTONLY /* macOS: with it, the file system of the file can still be unmounted */
#define O_EVTONLY O_RDONLY
#endif

enum { BATCH = 64, NAME = 511, TRIES = 16 };
#ifdef NOTE_TRUNCATE
static const unsigned CONTENTS = NOTE_WRITE | NOTE_EXTEND | NOTE_TRUNCATE;
#else
static const unsigned CONTENTS = NOTE_WRITE | NOTE_EXTEND;
#endif

struct record {
    unsigned char kind;
    char name[NAME];
};
_Static_assert(sizeof(struct record) == 512 && PF_CHANGES_READ % sizeof(struct record) == 0, "whole ones are read");

/* The attributes that change when a file's contents change. */
struct state {
    off_t size;
    struct timespec written;
};

struct entry {
    char *name;
    dev_t device;
    ino_t inode;
    struct state state;
    int fd; /* -1: it cannot be watched, or is not a file */
    enum pf_change_kind untold;
    bool known; /* to the reader: it existed at first, or was reported. Then its removal is reported, too. */
    bool seen;  /* by the listing under way */
};

struct watch {
    struct watch *next;
    uintptr_t number; /* names this watch in the kqueue's entries */
    int fd;           /* of the watched file or directory */
    int out;          /* the pipe */
    bool directory, changed;
    struct state state;         /* of a file */
    bool gone;                  /* the watched file or directory is gone */
    bool over;                  /* the end was reported, or the reader has closed the pipe */
    bool incomplete;            /* something could not be watched, which must be reported */
    enum pf_change_kind untold; /* of the watched file itself */
    struct entry *entries;      /* sorted by name */
    int count, capacity;
};

static struct {
    pthread_mutex_t lock;
    int kqueue; /* while something is watched; -1 */
    struct watch *watches;
    uintptr_t last_number;
    bool runs; /* the thread */
    pthread_cond_t running;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER, .kqueue = -1, .running = PTHREAD_COND_INITIALIZER};

static bool change(const struct watch *w, int fd, int filter, int flags, unsigned notes)
{
    struct kevent k;
    int n;
    EV_SET(&k, (uintptr_t)fd, (short)filter, (unsigned short)flags, notes, 0, (void *)w->number);
    do n = kevent(all.kqueue, &k, 1, NULL, 0, NULL);
    while (n < 0 && errno == EINTR);
    return n >= 0;
}

static bool attach(const struct watch *w, int fd)
{
    return change(w, fd, EVFILT_VNODE, EV_ADD | EV_CLEAR, CONTENTS | NOTE_ATTRIB | NOTE_DELETE | NOTE_RENAME);
}

static void detach(const struct watch *w, int fd, int filter)
{
    (void)change(w, fd, filter, EV_DELETE, 0);
    close(fd);
}

/* ---- Looking at a directory ------------------------------------------------------------------------------------ */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

static struct state state_of(const struct stat *s)
{
#if defined(__APPLE__)
    return (struct state){s->st_size, s->st_mtimespec};
#else
    return (struct state){s->st_size, s->st_mtim};
#endif
}

/* Stores the new state and returns whether it differs. */
static bool update(struct state *known, struct state now)
{
    bool same = known->size == now.size && known->written.tv_sec == now.written.tv_sec &&
                known->written.tv_nsec == now.written.tv_nsec;
    *known = now;
    return !same;
}

/* Watches the contents of the entry, if it is a regular file. */
static void watch_entry(struct watch *w, struct entry *e, mode_t mode)
{
    e->fd = -1;
    if (!S_ISREG(mode)) return;
    int fd = openat(w->fd, e->name, O_EVTONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && attach(w, fd)) {
        e->fd = fd;
        return;
    }
    if (fd >= 0 || errno == EMFILE || errno == ENFILE) w->incomplete = true;
    if (fd >= 0) close(fd);
}

/* A removed file takes space on the disk until its descriptor is closed here. */
static void unwatch_entry(struct watch *w, struct entry *e)
{
    if (e->fd >= 0) detach(w, e->fd, EVFILT_VNODE);
    e->fd = -1;
}

static void describe(struct entry *e, const struct stat *s)
{
    e->device = s->st_dev;
    e->inode = s->st_ino;
    e->state = state_of(s);
}

static void compare(struct watch *w, struct entry *e, const struct stat *s)
{
    bool same = e->device == s->st_dev && e->inode == s->st_ino && e->untold != PF_CHANGE_REMOVED;
    bool touched = update(&e->state, state_of(s));
    e->seen = true;
    describe(e, s);
    if (!same) {
        unwatch_entry(w, e);
        watch_entry(w, e, s->st_mode);
        e->untold = PF_CHANGE_CREATED;
    } else if (e->fd < 0 && touched && S_ISREG(s->st_mode) && e->untold == PF_CHANGE_NONE) {
        e->untold = PF_CHANGE_MODIFIED;
    }
}

static bool add_entry(struct watch *w, const char *name, const struct stat *s, bool first)
{
    if (w->count == w->capacity) {
        int capacity = WF_MAX(16, 2 * w->capacity);
        struct entry *more = realloc(w->entries, (size_t)capacity * sizeof *more);
        if (more == NULL) return false;
        w->entries = more;
        w->capacity = capacity;
    }
    struct entry e = {.name = strdup(name), .seen = true};
    if (e.name == NULL) return false;
    e.untold = first ? PF_CHANGE_NONE : PF_CHANGE_CREATED;
    e.known = first;
    describe(&e, s);
    watch_entry(w, &e, s->st_mode);
    w->entries[w->count++] = e;
    return true;
}

static void drop_entry(struct watch *w, struct entry *e)
{
    unwatch_entry(w, e);
    free(e->name);
    e->name = NULL;
}

/* Takes the entries without a name out of the array. */
static void compact(struct watch *w)
{
    int kept = 0;
    for (int i = 0; i < w->count; i++) {
        if (w->entries[i].name != NULL) w->entries[kept++] = w->entries[i];
    }
    w->count = kept;
}

static void note_removed(struct watch *w)
{
    for (int i = 0; i < w->count; i++) {
        struct entry *e = &w->entries[i];
        if (!e->seen && !e->known) {
            drop_entry(w, e);
        } else if (!e->seen) {
            unwatch_entry(w, e);
            e->untold = PF_CHANGE_REMOVED;
        }
        e->seen = false;
    }
    compact(w);
}

static DIR *list(int directory)
{
    int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (d == NULL && fd >= 0) close(fd);
    return d;
}

/* `first`: entries found now are not reported. False: it has not seen all entries, errno says why. */
static bool look(struct watch *w, bool first)
{
    const struct dirent *d;
    struct stat s;
    int known = w->count;
    bool whole = true;
    DIR *dir = list(w->fd);
    if (dir == NULL) return false;
    /* A listing is used by one thread at a time. NOLINTNEXTLINE(concurrency-mt-unsafe) */
    while ((d = readdir(dir)) != NULL) {
        if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0) continue;
        struct entry key = {.name = (char *)(uintptr_t)d->d_name};
        struct entry *e = known == 0 ? NULL : bsearch(&key, w->entries, (size_t)known, sizeof key, by_name);
        if (fstatat(w->fd, d->d_name, &s, AT_SYMLINK_NOFOLLOW) < 0) continue; /* removed since it was listed */
        if (e != NULL) compare(w, e, &s);
        else if (!add_entry(w, d->d_name, &s, first)) whole = false;
    }
    (void)closedir(dir);
    note_removed(w);
    if (w->count > 0) qsort(w->entries, (size_t)w->count, sizeof *w->entries, by_name);
    if (!whole) errno = ENOMEM;
    return whole;
}

/* ---- Telling --------------------------------------------------------------------------------------------------- */

/* False: the pipe is full, or its reader has closed it. */
static bool tell(struct watch *w, enum pf_change_kind kind, const char *name)
{
    struct record r = {.kind = (unsigned char)kind};
    ssize_t n;
    size_t size = strlen(name);
    if (size < sizeof r.name) memcpy(r.name, name, size);
    else r.kind = PF_CHANGE_OVERFLOW;
    do n = write(w->out, &r, sizeof r);
    while (n < 0 && errno == EINTR);
    if (n < 0 && errno != EAGAIN) w->over = true;
    return n == (ssize_t)sizeof r;
}

static bool tell_entries(struct watch *w, bool removed)
{
    bool fits = true;
    for (int i = 0; i < w->count && fits; i++) {
        struct entry *e = &w->entries[i];
        if (e->untold == PF_CHANGE_NONE || (e->untold == PF_CHANGE_REMOVED) != removed) continue;
        fits = tell(w, e->untold, e->name);
        if (!fits) break;
        e->untold = PF_CHANGE_NONE;
        e->known = true;
        if (removed) drop_entry(w, e);
    }
    if (removed) compact(w);
    return fits;
}

static void tell_all(struct watch *w)
{
    if (!tell_entries(w, true) || !tell_entries(w, false)) return;
    if (w->untold != PF_CHANGE_NONE && !tell(w, w->untold, "")) return;
    w->untold = PF_CHANGE_NONE;
    if (w->incomplete && !tell(w, PF_CHANGE_OVERFLOW, "")) return;
    w->incomplete = false;
    if (w->gone && tell(w, PF_CHANGE_GONE, "")) w->over = true;
}

/* ---- The thread ------------------------------------------------------------------------------------------------ */

/* Whether this is about a file's contents: where a file is cut, some kernels only say that its attributes change. */
static bool is_written(struct state *known, const struct kevent *k)
{
    struct stat s;
    bool differs = fstat((int)k->ident, &s) == 0 && update(known, state_of(&s));
    return (k->fflags & CONTENTS) != 0 || ((k->fflags & NOTE_ATTRIB) != 0 && differs);
}

static void note(struct watch *w, const struct kevent *k)
{
    if (k->filter != EVFILT_VNODE) {
        struct pollfd reader = {.fd = w->out, .events = POLLOUT};
        bool broken = poll(&reader, 1, 0) == 1 && (reader.revents & (POLLERR | POLLHUP)) != 0;
        if (broken || (k->flags & EV_EOF) != 0) w->over = true;
    } else if ((int)k->ident == w->fd) {
        if ((k->fflags & (NOTE_DELETE | NOTE_RENAME)) != 0) w->gone = true;
        if (w->directory) w->changed |= (k->fflags & CONTENTS) != 0;
        else if (is_written(&w->state, k)) w->untold = PF_CHANGE_MODIFIED;
    } else {
        for (int i = 0; i < w->count; i++) {
            struct entry *e = &w->entries[i];
            if (e->fd != (int)k->ident || !is_written(&e->state, k)) continue;
            if (e->untold == PF_CHANGE_NONE) e->untold = PF_CHANGE_MODIFIED;
        }
    }
}

static void free_watch(struct watch *w)
{
    for (int i = 0; i < w->count; i++) drop_entry(w, &w->entries[i]);
    free(w->entries);
    detach(w, w->fd, EVFILT_VNODE);
    detach(w, w->out, EVFILT_WRITE);
    free(w);
}

static void go_through(const struct kevent *events, int count)
{
    for (struct watch *w = all.watches; w != NULL; w = w->next) {
        for (int i = 0; i < count; i++) {
            if ((uintptr_t)events[i].udata == w->number) note(w, &events[i]);
        }
    }
    for (struct watch **at = &all.watches, *w; (w = *at) != NULL;) {
        if (w->changed && !w->over && !look(w, false)) w->incomplete = !w->gone;
        w->changed = false;
        if (!w->over) tell_all(w);
        if (w->over) {
            *at = w->next;
            free_watch(w);
        } else {
            at = &w->next;
        }
    }
}

/* Returns the number of entries; -1: waits keep failing. */
static int wait_for_some(int kq, struct kevent *events)
{
    for (int failed = 0; failed < TRIES;) {
        int n = kevent(kq, NULL, 0, events, BATCH, NULL);
        if (n >= 0) return n;
        if (errno != EINTR) failed++;
    }
    return -1;
}

/* No changes can be received any more: ends all watches. A reader whose pipe has no space for the record of the end
 * finds the end of the pipe. */
static void give_up(void)
{
    for (struct watch *w = all.watches; w != NULL; w = w->next) {
        w->changed = w->directory; /* list it a last time */
        w->gone = true;
    }
    go_through(NULL, 0);
    for (struct watch *w = all.watches; w != NULL; w = w->next) w->over = true;
    go_through(NULL, 0);
}

static void changes_main(void *arg)
{
    struct kevent events[BATCH];
    int kq = (int)(intptr_t)arg;
    pthread_mutex_lock(&all.lock);
    all.runs = true;
    pthread_cond_signal(&all.running);
    pthread_mutex_unlock(&all.lock);
    for (bool watched = true; watched;) {
        int n = wait_for_some(kq, events);
        pthread_mutex_lock(&all.lock);
        if (n < 0) give_up();
        else go_through(events, n);
        watched = all.watches != NULL;
        if (!watched) {
            close(kq);
            all.kqueue = -1;
        }
        pthread_mutex_unlock(&all.lock);
    }
}

/* The caller holds the lock, which is released until the thread runs. */
static int start_thread(void)
{
    pf_thread *thread;
    all.runs = false;
    int rc = pf_thread_start(&thread, "weft-changes", changes_main, (void *)(intptr_t)all.kqueue);
    if (rc < 0) return rc;
    while (!all.runs) pthread_cond_wait(&all.running, &all.lock);
    pf_thread_detach(thread);
    return WEFT_OK;
}

static int open_error(int error)
{
#ifdef PF_LIBKQUEUE
    /* It reports no other error than EFAULT. The cause is nearly always that the limit of watches is reached. */
    if (error == EFAULT) return WEFT_EFULL;
#endif
    return error == ENOSPC ? WEFT_EFULL : pf_file_error(error);
}

/* The caller holds the lock. */
static int begin(struct watch *w)
{
    bool first = all.kqueue < 0;
    int rc = WEFT_OK;
    w->number = ++all.last_number;
    if (first && (all.kqueue = kqueue()) >= 0) (void)fcntl(all.kqueue, F_SETFD, FD_CLOEXEC);
    if (all.kqueue < 0 || !attach(w, w->fd) || !change(w, w->out, EVFILT_WRITE, EV_ADD | EV_CLEAR, 0) ||
        (w->directory && !look(w, true)))
        rc = open_error(errno);
    if (rc == WEFT_OK) {
        w->next = all.watches;
        all.watches = w;
        if (first) rc = start_thread();
        if (rc < 0) all.watches = w->next;
    }
    if (rc == WEFT_OK) return WEFT_OK;
    free_watch(w);
    if (first && all.kqueue >= 0) {
        close(all.kqueue);
        all.kqueue = -1;
    }
    return rc;
}

/* NULL: `rc` says why. */
static struct watch *open_watch(const char *path, int *rc)
{
    struct stat s;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        *rc = pf_file_error(errno);
        return NULL;
    }
    struct watch *w = calloc(1, sizeof *w);
    if (w == NULL || fstat(fd, &s) < 0) {
        *rc = w == NULL ? WEFT_ENOMEM : pf_file_error(errno);
        free(w);
        close(fd);
        return NULL;
    }
    w->fd = fd;
    w->directory = S_ISDIR(s.st_mode);
    w->state = state_of(&s);
    return w;
}

int pf_changes_open(pf_handle *out, const char *path)
{
    pf_handle reading, writing;
    int rc;
    struct watch *w = open_watch(path, &rc);
    if (w == NULL) return rc;
    if ((rc = pf_pipe(&reading, &writing, true, true)) < 0) {
        close(w->fd);
        free(w);
        return rc;
    }
    w->out = (int)writing;
    pthread_mutex_lock(&all.lock);
    rc = begin(w);
    pthread_mutex_unlock(&all.lock);
    if (rc < 0) close((int)reading);
    else *out = reading;
    return rc;
}

int64_t pf_changes_parse(const void *data, size_t size, struct pf_change *out)
{
    struct record r;
    if (size < sizeof r) return WEFT_EFORMAT;
    memcpy(&r, data, sizeof r);
    if (r.kind > PF_CHANGE_END || r.name[NAME - 1] != '\0') return WEFT_EFORMAT;
    out->kind = (enum pf_change_kind)r.kind;
    memcpy(out->name, r.name, sizeof r.name);
    return sizeof r;
}

size_t pf_changes_end(void *out)
{
    static const struct record end = {.kind = PF_CHANGE_END};
    memcpy(out, &end, sizeof end);
    return sizeof end;
}
