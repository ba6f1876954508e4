/* cli/os/child.c -- see child.h. */
#include "child.h"
#include "compat.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

static int open_pipe(int ends[2])
{
    if (pipe(ends) < 0) return errno;
    (void)fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    (void)fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    return 0;
}

int cli_child_start(struct cli_child *k, char *const words[], bool read, bool mute)
{
    int ends[2] = {-1, -1};
    posix_spawn_file_actions_t actions;
    k->out = NULL;
    int rc = read ? open_pipe(ends) : 0;
    if (rc == 0 && read && (k->out = fdopen(ends[0], "r")) == NULL) {
        rc = errno;
        close(ends[0]);
    }
    if (rc == 0) {
        posix_spawn_file_actions_init(&actions);
        if (read) posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
        if (mute) posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
        rc = posix_spawnp(&k->pid, words[0], &actions, NULL, words, cli_environment());
        posix_spawn_file_actions_destroy(&actions);
    }
    if (ends[1] >= 0) close(ends[1]);
    if (rc != 0 && k->out != NULL) fclose(k->out);
    return rc;
}

int cli_child_end(struct cli_child *k)
{
    int status = -1;
    if (k->out != NULL) fclose(k->out);
    while (waitpid(k->pid, &status, 0) < 0 && errno == EINTR) {}
    return status;
}
