/* cli/os/child.c -- see child.h; and what only another program knows: lines of sources. */
#include "child.h"
#include "lacks.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <spawn.h>
#include <string.h>
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

bool cli_source_line(const char *file, uint64_t offset, char *out, size_t size)
{
    char program[] = "addr2line", names[] = "-f", plain[] = "-C", of[] = "-e", path[PATH_MAX], at[32];
    char function[256], line[PATH_MAX];
    struct cli_child k;
    snprintf(path, sizeof path, "%s", file);
    snprintf(at, sizeof at, "0x%" PRIx64, offset);
    if (cli_child_start(&k, (char *[]){program, names, plain, of, path, at, NULL}, true, true) != 0) return false;
    bool read = fgets(function, sizeof function, k.out) != NULL && fgets(line, sizeof line, k.out) != NULL;
    (void)cli_child_end(&k);
    if (!read || line[0] == '?') return false;
    function[strcspn(function, "\n")] = line[strcspn(line, "\n")] = '\0';
    char *number = strrchr(line, ':');
    if (number != NULL && number[1] == '?') *number = '\0'; /* built without line numbers */
    snprintf(out, size, "%s at %s", function, line);
    return true;
}
