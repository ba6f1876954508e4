/* tests/stress/overflow.c -- endless recursion in one of 100,000 actors ends the process with a message that names
 * it. */
#include "../unit/actors/node_harness.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void idle(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_sleep(WEFT_FOREVER);
}

static volatile int depth_limit = 1 << 30;

static __attribute__((noinline)) int deeper(int depth)
{
    volatile char frame[200];
    frame[0] = (char)depth;
    return depth >= depth_limit ? 0 : deeper(depth + 1) + frame[0];
}

static void deep(const void *arg, size_t size)
{
    (void)arg, (void)size;
    want_int(weft_register("the-deep-one"), 0);
    weft_yield();
    depth_limit += deeper(0);
}

static void begin(const void *arg, size_t size)
{
    (void)size;
    int count = *(const int *)arg;
    for (int i = 0; i < count; i++) {
        bool chosen = i == count / 2;
        weft_spawn_options o = {.kind = chosen ? "diver" : "idle"};
        want_int(weft_spawn(NULL, chosen ? deep : idle, NULL, 0, &o), 0);
        if (i % 1000 == 0) weft_yield();
    }
}

static _Noreturn void child(int out, int count)
{
    dup2(out, STDERR_FILENO);
    weft_node *node = node_of(2);
    want_int(weft_node_spawn(node, NULL, begin, &count, sizeof count, NULL), 0);
    (void)weft_node_wait(node, WEFT_FOREVER);
    _exit(0);
}

int main(int argc, char **argv)
{
#if defined(WF_ASAN) || defined(WF_TSAN)
    return 77; /* the sanitizer takes the signal */
#endif
    int ends[2], status, count = argc > 1 ? atoi(argv[1]) : 100000;
    want_int(pipe(ends), 0);
    pid_t pid = fork();
    want(pid >= 0);
    if (pid == 0) child(ends[1], count);
    close(ends[1]);
    char said[8192];
    size_t size = 0;
    for (ssize_t n; size < sizeof said - 1 && (n = read(ends[0], said + size, sizeof said - 1 - size)) > 0;)
        size += (size_t)n;
    said[size] = 0;
    want(waitpid(pid, &status, 0) == pid);
    fputs(said, stdout);
    want(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    want(strstr(said, "the-deep-one") != NULL && strstr(said, "overflowed its stack") != NULL);
    return 0;
}
