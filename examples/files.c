/* files.c -- reads files side by side, each at a position of its own, and ends in order on Ctrl-C.
 *
 *     $ weft run files.c -- a.txt b.txt     or: cc files.c $(pkg-config --cflags --libs weft) && ./a.out a.txt b.txt
 *     [1] 1024 bytes at 0
 *     [2] 1024 bytes at 0
 *     [1] 456 bytes at 1024
 *     [1] the end: a.txt has 1480 bytes, 2 of 3 reads at once
 *     ...
 *
 * With -f as the first argument it keeps reading added bytes until Ctrl-C; then every reader's clean-up runs.
 *
 *     [1] closed a.txt at 1480 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <weft.h>

enum { BLOCK = 1024 };

struct reader {
    int number;
    bool follow;
    char path[512];
};

struct progress {
    struct reader r;
    weft_file file;
    int64_t at;
    int reads, at_once;
};

/* Deferred: it runs when the reader has read all, is stopped by Ctrl-C, or fails. */
static void say_closed(void *arg)
{
    const struct progress *p = arg;
    printf("[%d] closed %s at %" PRId64 "\n", p->r.number, p->r.path, p->at);
    fflush(stdout);
}

/* Data that the system has in memory is read at once; for the rest the reader is suspended, and others continue. Each
 * call has one result: a read that did not have to wait is not reported a second time. */
static int64_t read_block(struct progress *p, char *block)
{
    int64_t n = weft_file_read(p->file, block, BLOCK, p->at, WEFT_NOW);
    p->reads++;
    if (n != WEFT_ETIMEDOUT) {
        p->at_once++;
        return n;
    }
    return weft_file_read(p->file, block, BLOCK, p->at, weft_after(WEFT_SEC(10)));
}

/* 0 at the end of the file, which is not an error. */
static int64_t read_on(struct progress *p)
{
    char block[BLOCK];
    int64_t n;
    while ((n = read_block(p, block)) > 0) {
        printf("[%d] %" PRId64 " bytes at %" PRId64 "\n", p->r.number, n, p->at);
        p->at += n;
    }
    fflush(stdout);
    return n;
}

static int64_t follow(struct progress *p)
{
    weft_changes changes;
    weft_change change;
    int64_t rc = weft_changes_open(&changes, p->r.path);
    if (rc < 0) return rc;
    (void)weft_changes_defer_close(changes);
    do rc = read_on(p); /* also reads bytes that were added before the watch began */
    while (rc == 0 && (rc = weft_changes_next(changes, &change, WEFT_FOREVER)) == 1 &&
           change.kind != WEFT_CHANGE_GONE);
    return rc;
}

static int64_t read_file(struct progress *p)
{
    int64_t rc = weft_file_open(&p->file, p->r.path, WEFT_FILE_READ, 0, weft_after(WEFT_SEC(10)));
    if (rc == 0) rc = weft_file_defer_close(p->file);
    if (rc == 0 && p->r.follow) rc = weft_defer(say_closed, p);
    if (rc == 0) rc = read_on(p);
    if (rc < 0) return rc;
    printf("[%d] the end: %s has %" PRId64 " bytes, %d of %d reads at once\n", p->r.number, p->r.path, p->at,
           p->at_once, p->reads);
    fflush(stdout);
    return p->r.follow ? follow(p) : 0;
}

static void reader(const void *arg, size_t size)
{
    struct progress *p = weft_alloc(sizeof *p); /* it outlives this function, for the clean-up */
    if (p == NULL) return;
    *p = (struct progress){0};
    memcpy(&p->r, arg, size);
    int64_t rc = read_file(p);
    if (rc < 0 && rc != WEFT_ECANCELED) printf("[%d] %s: %s\n", p->r.number, p->r.path, weft_strerror((int)rc));
    fflush(stdout);
}

static void start_readers(const void *arg, size_t size)
{
    (void)size;
    const struct weft_args *args = arg;
    struct reader r = {0};
    for (int i = 1; i < args->argc; i++) {
        if (strcmp(args->argv[i], "-f") == 0) {
            r.follow = true;
            continue;
        }
        r.number++;
        snprintf(r.path, sizeof r.path, "%s", args->argv[i]);
        if (weft_spawn(NULL, reader, &r, sizeof r, NULL) < 0) return;
    }
}

WEFT_MODULE(start_readers) /* for `weft run` */

int main(int argc, char **argv)
{
    struct weft_args args = {argc, (const char *const *)argv};
    return weft_main(NULL, start_readers, &args, sizeof args);
}
