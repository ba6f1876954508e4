/* transport/store/postgres/host_lookup.c -- see host_lookup.h. */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <weft/error.h>
#include <weft/time.h>

#include "host_lookup.h"

struct host_lookup {
    char *name;
    int ended[2]; /* a pipe whose writing end is closed when the name is looked up */
    struct host_lookup *next;
    /* Under `lock`: */
    int users; /* those who wait, and the thread */
    int count;
    char address[HOST_ADDRESSES_MAX][HOST_ADDRESS_SIZE];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct host_lookup *under_way; /* under `lock` */

/* ---- The thread ------------------------------------------------------------------------------------------------- */

static void free_lookup(struct host_lookup *l)
{
    if (l->ended[0] >= 0) close(l->ended[0]);
    if (l->ended[1] >= 0) close(l->ended[1]);
    free(l->name);
    free(l);
}

static void release(struct host_lookup *l)
{
    pthread_mutex_lock(&lock);
    bool is_last = --l->users == 0;
    pthread_mutex_unlock(&lock);
    if (is_last) free_lookup(l);
}

static int write_addresses(const struct addrinfo *found, char out[HOST_ADDRESSES_MAX][HOST_ADDRESS_SIZE])
{
    int count = 0;
    for (; found != NULL && count < HOST_ADDRESSES_MAX; found = found->ai_next)
        if (getnameinfo(found->ai_addr, found->ai_addrlen, out[count], HOST_ADDRESS_SIZE, NULL, 0, NI_NUMERICHOST) ==
            0)
            count++;
    return count;
}

static void *look_up(void *arg)
{
    struct host_lookup *l = arg, **at = &under_way;
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    bool fine = getaddrinfo(l->name, NULL, &hints, &found) == 0;
    pthread_mutex_lock(&lock);
    while (*at != l) at = &(*at)->next;
    *at = l->next;
    l->count = fine ? write_addresses(found, l->address) : 0;
    pthread_mutex_unlock(&lock);
    if (fine) freeaddrinfo(found);
    close(l->ended[1]);
    l->ended[1] = -1;
    release(l);
    return NULL;
}

/* Signals are for the threads of the program. */
static bool start_thread(struct host_lookup *l)
{
    pthread_t thread;
    pthread_attr_t how;
    sigset_t all, before;
    sigfillset(&all);
    if (pthread_attr_init(&how) != 0) return false;
    pthread_attr_setdetachstate(&how, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&thread, &how, look_up, l) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&how);
    return started;
}

/* ---- Those who wait --------------------------------------------------------------------------------------------- */

bool host_is_address(const char *text)
{
    const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST};
    struct addrinfo *found = NULL;
    if (getaddrinfo(text, NULL, &hints, &found) != 0) return false;
    freeaddrinfo(found);
    return true;
}

static struct host_lookup *new_lookup(const char *name)
{
    struct host_lookup *l = calloc(1, sizeof *l);
    if (l == NULL) return NULL;
    l->ended[0] = l->ended[1] = -1;
    l->name = strdup(name);
    bool fine = l->name != NULL && pipe(l->ended) == 0;
    for (int i = 0; i < 2 && fine; i++) fine = fcntl(l->ended[i], F_SETFD, FD_CLOEXEC) == 0;
    if (fine) return l;
    free_lookup(l);
    return NULL;
}

/* Under `lock`. */
static struct host_lookup *start(const char *name)
{
    struct host_lookup *l = new_lookup(name);
    if (l == NULL) return NULL;
    l->users = 2;
    l->next = under_way;
    if (start_thread(l)) return under_way = l;
    free_lookup(l);
    return NULL;
}

int host_lookup_begin(const char *name, struct host_lookup **out)
{
    int count = 0;
    pthread_mutex_lock(&lock);
    struct host_lookup *l = under_way;
    for (; l != NULL && strcmp(l->name, name) != 0; l = l->next) count++;
    if (l != NULL) l->users++;
    else if (count < HOST_LOOKUPS_MAX) l = start(name);
    pthread_mutex_unlock(&lock);
    *out = l;
    return l != NULL ? WEFT_OK : count < HOST_LOOKUPS_MAX ? WEFT_ENOMEM : WEFT_EFULL;
}

/* A wait counts whole milliseconds, and never less than is left. */
static int timeout_of(int64_t deadline)
{
    if (deadline == WEFT_FOREVER) return -1;
    int64_t left = deadline - weft_now();
    int64_t ms = left <= 0 ? 0 : (left + WEFT_MS(1) - 1) / WEFT_MS(1);
    return ms > INT32_MAX ? INT32_MAX : (int)ms;
}

int host_lookup_wait(struct host_lookup *l, int64_t deadline, char out[HOST_ADDRESSES_MAX][HOST_ADDRESS_SIZE])
{
    struct pollfd on = {.fd = l->ended[0], .events = POLLIN};
    int ready;
    do ready = poll(&on, 1, timeout_of(deadline));
    while (ready < 0 && errno == EINTR);
    if (ready <= 0) return WEFT_ETIMEDOUT;
    pthread_mutex_lock(&lock);
    int count = l->count;
    memcpy(out, l->address, sizeof l->address);
    pthread_mutex_unlock(&lock);
    return count;
}

void host_lookup_end(struct host_lookup *l)
{
    if (l != NULL) release(l);
}
