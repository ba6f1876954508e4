/* tests/calls/main.c -- runs each scenario once to find the places that it reaches. Then it runs the scenario once
 * for each place and each fault that fits, in a process of its own, and afterwards once more without a fault. The
 * scenario must end and report what has failed, leave no descriptor, thread or memory behind, and the run without a
 * fault must succeed.
 *
 * usage: calls_test [--times N] [SCENARIO...]   N: how often a place is made to fail: the first time, the second, ...
 *        calls_test --one SCENARIO NUMBER       one run of those, in this process, for a debugger */
#include "calls.h"
#include "scenario.h"
#include "base.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <weft.h>

enum { JOBS_MAX = 64, SECONDS_MAX = 40 };
/* Under ASan a run takes ten times as long: it does one in so many, spread over all places. */
#ifdef WF_ASAN
enum { EVERY = 4 };
#else
enum { EVERY = 1 };
#endif

/* One run: a place, for the how many-th time, with which fault. */
struct run {
    struct place place;
    long nth;
    int fault;
};

struct job {
    pid_t pid; /* 0: free */
    int said;  /* what it has written */
    struct run run;
    int number;
};

static struct places *counted; /* shared */
static struct {
    long blocks, mapped; /* that two runs without a fault leave */
    _Atomic long reached;
} * shared;

static int count_of(const char *folder)
{
    DIR *d = opendir(folder);
    int n = 0;
    while (d != NULL && readdir(d) != NULL) n++;
    if (d != NULL) closedir(d);
    return n;
}

/* NNG keeps its threads for the life of the process. */
static bool is_of_nng(const char *thread)
{
    char path[64], name[32] = "";
    snprintf(path, sizeof path, "/proc/self/task/%.20s/comm", thread);
    FILE *f = fopen(path, "r");
    if (f != NULL && fgets(name, sizeof name, f) == NULL) name[0] = '\0';
    if (f != NULL) fclose(f);
    return strncmp(name, "nng:", 4) == 0;
}

/* But ours, which is one of them. */
static int threads_now(void)
{
    DIR *d = opendir("/proc/self/task");
    int n = -1;
    for (const struct dirent *e; d != NULL && (e = readdir(d)) != NULL;)
        n += e->d_name[0] != '.' && !is_of_nng(e->d_name);
    if (d != NULL) closedir(d);
    return n;
}

/* After what is to end by itself has had its moment. */
static int settled(int (*now)(void), int most)
{
    time_t until = time(NULL) + 10;
    int n = now();
    while (n > most && time(NULL) < until) {
        sched_yield();
        n = now();
    }
    return n;
}

static int descriptors_now(void)
{
    return count_of("/proc/self/fd");
}

static int blocks_now(void)
{
    return (int)calls_blocks();
}

#define CHECK(condition, ...)             \
    do {                                  \
        if (!(condition)) {               \
            fprintf(stderr, __VA_ARGS__); \
            _exit(4);                     \
        }                                 \
    } while (0)

/* The child of one run. `run` NULL: without a fault, for the figures to compare with. */
static void child(const struct scenario *s, const struct run *run)
{
    static struct places own;
    int before = descriptors_now();
    const long blocks = calls_blocks(), mapped = calls_mapped();
    weft_log_set(WEFT_SILENT, false);
    (void)alarm(SECONDS_MAX);
    calls_begin(run == NULL ? counted : &own, run == NULL ? NULL : &run->place, run == NULL ? 0 : run->nth,
                run == NULL ? 0 : run->fault);
    s->run();
    long failed = calls_end();
    if (failed > 0) shared->reached++;
    int threads = settled(threads_now, 0);
    CHECK(threads == 0, "%d threads are left\n", threads);
    int after = settled(descriptors_now, before + s->keeps);
    CHECK(after == before || after == before + s->keeps, "%d descriptors are open, %d were\n", after, before);
    calls_begin(&own, NULL, 0, 0);
    s->run();
    (void)calls_end();
    threads = settled(threads_now, 0);
    CHECK(threads == 0, "%d threads are left after all went well\n", threads);
    after = settled(descriptors_now, before + s->keeps);
    CHECK(after == before + s->keeps, "%d descriptors are open after all went well, %d were\n", after, before);
    if (run == NULL) {
        shared->blocks = calls_blocks() - blocks;
        shared->mapped = calls_mapped() - mapped;
    }
    /* NNG frees some connections, and the certificates that they hold, on a thread of its own. */
    const long kept = settled(blocks_now, (int)(blocks + shared->blocks)) - blocks;
    const long kept_mapped = calls_mapped() - mapped;
    /* Fewer: what the process makes for itself once may have been done without. */
    CHECK(kept <= shared->blocks, "%ld blocks have leaked\n", kept - shared->blocks);
    CHECK(kept_mapped == shared->mapped, "%ld mapped bytes have leaked\n", kept_mapped - shared->mapped);
    exit(0); /* a leak checker looks now */
}

static pid_t start(const struct scenario *s, const struct run *run, int *said)
{
    *said = memfd_create("said", 0);
    fflush(stdout);
    pid_t pid = fork();
    if (pid != 0) return pid;
    dup2(*said, STDERR_FILENO);
    dup2(*said, STDOUT_FILENO);
    close(*said);
    setpgid(0, 0);
    child(s, run);
    return 0;
}

/* ---- Reporting ------------------------------------------------------------------------------------------------- */

static void print_said(int fd)
{
    char line[400];
    FILE *f = fdopen(dup(fd), "r");
    if (f == NULL) return;
    rewind(f);
    for (int i = 0; i < 12 && fgets(line, sizeof line, f) != NULL; i++) printf("        %s", line);
    fclose(f);
}

/* "at" of a place is where the call returns to. */
static void print_source(uintptr_t at)
{
    char command[400], line[200] = "?";
    extern const char __executable_start;
    snprintf(command, sizeof command, "addr2line -fse /proc/%d/exe %#lx | paste -sd' '", getpid(),
             (unsigned long)(at - 1 - (uintptr_t)&__executable_start));
    FILE *f = popen(command, "r");
    if (f != NULL && fgets(line, sizeof line, f) == NULL) line[0] = '\0';
    if (f != NULL) pclose(f);
    printf("        in %s", line);
}

static bool judge(const struct scenario *s, struct job *j, int status)
{
    bool good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (!good) {
        bool late = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;
        printf("FAILED %s %d: %s #%ld gives %s: ", s->name, j->number, call_names[j->run.place.call], j->run.nth,
               fault_name(j->run.place.call, j->run.fault));
        if (late) printf("it does not end\n");
        else if (WIFSIGNALED(status)) printf("ended by signal %d\n", WTERMSIG(status));
        else printf("exit code %d\n", WEXITSTATUS(status));
        print_source(j->run.place.at);
        print_source(j->run.place.from);
        print_said(j->said);
        fflush(stdout);
    }
    close(j->said);
    j->pid = 0;
    return good;
}

/* ---- Running --------------------------------------------------------------------------------------------------- */

static struct job jobs[JOBS_MAX];

/* Waits for one of them. */
static bool reap(const struct scenario *s, int count)
{
    int status;
    pid_t pid = wait(&status);
    for (int i = 0; i < count; i++)
        if (jobs[i].pid == pid) return judge(s, &jobs[i], status);
    return true;
}

static struct job *free_job(int count)
{
    for (int i = 0; i < count; i++)
        if (jobs[i].pid == 0) return &jobs[i];
    return NULL;
}

static int compare(const void *a, const void *b)
{
    const struct run *x = a, *y = b;
    if (x->place.call != y->place.call) return x->place.call < y->place.call ? -1 : 1;
    if (x->place.at != y->place.at) return x->place.at < y->place.at ? -1 : 1;
    if (x->place.from != y->place.from) return x->place.from < y->place.from ? -1 : 1;
    return x->nth != y->nth ? (x->nth < y->nth ? -1 : 1) : x->fault - y->fault;
}

/* All runs of a scenario, in an order that stays as long as the program does. */
static struct run *runs_of(const struct scenario *s, long times, int *count, int *places)
{
    int said, status, n = 0, capacity = 0;
    struct run *runs = NULL;
    memset(counted, 0, sizeof *counted);
    pid_t pid = start(s, NULL, &said);
    waitpid(pid, &status, 0);
    if (status != 0) {
        printf("FAILED %s without a fault\n", s->name);
        print_said(said);
    }
    close(said);
    *places = *count = 0;
    if (status != 0) return NULL;
    for (int i = 0; i < PLACES_MAX; i++) {
        const struct place *p = &counted->entry[i].place;
        const int *fault = faults_of(p->call);
        if (counted->entry[i].state != 2 || call_is_nng(p->call) != s->nng) continue;
        (*places)++;
        for (; *fault != FAULT_NONE; fault++)
            for (long nth = 1; nth <= counted->entry[i].times && nth <= times; nth++) {
                if (n == capacity) runs = realloc(runs, (size_t)(capacity = capacity * 2 + 64) * sizeof *runs);
                runs[n++] = (struct run){*p, nth, *fault};
            }
    }
    if (runs != NULL) qsort(runs, (size_t)n, sizeof *runs, compare);
    *count = n;
    return runs;
}

static bool run_scenario(const struct scenario *s, long times, int processes)
{
    int count, places, under_way = 0;
    bool good = true;
    struct timespec begin, end;
    shared->reached = 0;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    struct run *runs = runs_of(s, times, &count, &places);
    if (runs == NULL) return false;
    for (int i = 0; i < count; i += EVERY) {
        struct job *j = free_job(processes);
        if (j == NULL) {
            good &= reap(s, processes);
            under_way--;
            j = free_job(processes);
        }
        j->run = runs[i];
        j->number = i;
        j->pid = start(s, &runs[i], &j->said);
        under_way++;
    }
    while (under_way-- > 0) good &= reap(s, processes);
    clock_gettime(CLOCK_MONOTONIC, &end);
    printf("%-9s %4d places, %5d runs, in %5ld of them the fault came, %.1f s\n", s->name, places,
           (count + EVERY - 1) / EVERY, (long)shared->reached,
           (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9);
    fflush(stdout);
    free(runs);
    return good && shared->reached > 0;
}

static void *share(size_t size)
{
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) abort();
    return at;
}

static bool is_named(const char *name, char *const names[])
{
    if (*names == NULL) return true;
    for (; *names != NULL; names++)
        if (strcmp(*names, name) == 0) return true;
    return false;
}

int main(int argc, char **argv)
{
    bool good = true;
    long times = 1;
    int at = 1;
    counted = share(sizeof *counted);
    shared = share(sizeof *shared);
    if (argc > at + 1 && strcmp(argv[at], "--times") == 0) times = atol(argv[at + 1]), at += 2;
    bool one = argc == at + 3 && strcmp(argv[at], "--one") == 0;
    int number = one ? atoi(argv[at + 2]) : 0, count, places;
    if (one) argv[at + 2] = NULL, at++;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    for (size_t i = 0; i < scenario_count; i++) {
        if (!is_named(scenarios[i].name, argv + at)) continue;
        if (scenarios[i].tls && !certificates_make()) {
            printf("%-9s skipped: WEFT, the path of the command, is not set, or it makes no certificates\n",
                   scenarios[i].name);
            continue;
        }
        if (one) {
            struct run *runs = runs_of(&scenarios[i], times, &count, &places);
            if (number < count) child(&scenarios[i], &runs[number]);
            return 1;
        }
        /* Most of them wait most of the time. */
        good &= run_scenario(&scenarios[i], times, (int)(cores * 4 < JOBS_MAX ? cores * 4 : JOBS_MAX));
    }
    certificates_remove();
    return good ? 0 : 1;
}
