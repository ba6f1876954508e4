/* tests/unit/transport/store/postgres_server.h -- a PostgreSQL server of the test's own, on a Unix socket in a temporary
 * folder. The server ends with the test. PostgreSQL does not run as root, so root starts it as "nobody". */
#ifndef WF_POSTGRES_SERVER_H
#define WF_POSTGRES_SERVER_H

#include <fcntl.h>
#include <glob.h>
#include <grp.h>
#include <libpq-fe.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    char programs[200], folder[32], data[48], where[128];
    const char *fsync; /* "fsync=on" */
    pid_t pid;
    int log; /* the read end of what it says */
} server;

/* In the child. Exits with 77 if this root may not become somebody else. */
static void become_somebody(void)
{
    const struct passwd *user = geteuid() == 0 ? getpwnam("nobody") : NULL;
    if (user != NULL && (setgroups(0, NULL) < 0 || setgid(user->pw_gid) < 0 || setuid(user->pw_uid) < 0)) _exit(77);
    prctl(PR_SET_PDEATHSIG, SIGQUIT); /* the server ends with the test, at once */
}

/* Starts a program of PostgreSQL. Its standard error is `err`, or what it was. */
static pid_t start_program(const char *name, char *const arguments[], int err)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", server.programs, name);
    pid_t pid = fork();
    if (pid != 0) return pid;
    become_somebody();
    int null = open("/dev/null", O_RDWR);
    dup2(null, 0);
    dup2(null, 1);
    if (err >= 0) dup2(err, 2);
    execv(path, arguments);
    _exit(127);
}

static int wait_for(pid_t pid)
{
    int status;
    if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status)) return -1;
    return WEXITSTATUS(status);
}

/* Reads what the server says until it is ready. False: it has ended. */
static bool is_ready(void)
{
    static const char ready[] = "ready to accept connections";
    char text[20000];
    size_t size = 0;
    while (size < sizeof text - 1) {
        ssize_t got = read(server.log, text + size, sizeof text - 1 - size);
        if (got <= 0) break;
        size += (size_t)got;
        text[size] = '\0';
        if (strstr(text, ready) != NULL) return true;
    }
    fprintf(stderr, "the server has not started: %s\n", text);
    return false;
}

__attribute__((unused)) static bool server_start(void)
{
    int ends[2];
    char port[8] = "5432";
    char *arguments[] = {"postgres",
                         "-D",
                         server.data,
                         "-k",
                         server.folder,
                         "-p",
                         port,
                         "-c",
                         "listen_addresses=",
                         "-c",
                         (char *)server.fsync,
                         "-c",
                         "shared_buffers=16MB",
                         "-c",
                         "max_connections=30",
                         "-c",
                         "autovacuum=off",
                         "-c",
                         "log_min_messages=log",
                         "-c",
                         "log_checkpoints=off",
                         NULL};
    if (pipe2(ends, O_CLOEXEC) < 0) return false;
    /* Its messages are read until it is ready. Later ones are lost when the pipe is full, and do not block the server. */
    (void)fcntl(ends[1], F_SETFL, O_NONBLOCK);
    server.pid = start_program("postgres", arguments, ends[1]);
    close(ends[1]);
    server.log = ends[0];
    return server.pid > 0 && is_ready();
}

/* At once: as if it had crashed. It is no child of a test that Check has forked; but what it says ends when all of its
 * processes have ended. */
__attribute__((unused)) static void server_stop(void)
{
    char said[4096];
    kill(server.pid, SIGQUIT);
    (void)wait_for(server.pid);
    while (read(server.log, said, sizeof said) > 0) {}
    close(server.log);
}

static void remove_folder(void)
{
    char command[100];
    snprintf(command, sizeof command, "rm -rf '%s'", server.folder);
    if (system(command) != 0) fprintf(stderr, "%s is left\n", server.folder);
}

static void server_end(void)
{
    server_stop();
    remove_folder();
}

/* Not all programs that use this are tests of Check. */
__attribute__((noreturn)) static void sql_failed(PGconn *c)
{
    fprintf(stderr, "%s\n", PQerrorMessage(c));
    abort();
}

/* Runs SQL on a connection of its own; a result of one column and row is written to `out`, if it is not NULL. */
static void run_sql_at(const char *where, const char *sql, char *out, size_t size)
{
    PGconn *c = PQconnectdb(where);
    if (PQstatus(c) != CONNECTION_OK) sql_failed(c);
    PQclear(PQexec(c, "SET client_min_messages TO error; SET search_path TO weft"));
    PGresult *result = PQexec(c, sql);
    ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) sql_failed(c);
    if (out != NULL) snprintf(out, size, "%s", PQgetvalue(result, 0, 0));
    PQclear(result);
    PQfinish(c);
}

__attribute__((unused)) static void run_sql_for(const char *sql, char *out, size_t size)
{
    run_sql_at(server.where, sql, out, size);
}

__attribute__((unused)) static void run_sql(const char *sql)
{
    run_sql_for(sql, NULL, 0);
}

/* An empty database. */
__attribute__((unused)) static void begin_empty(void)
{
    run_sql("DROP SCHEMA IF EXISTS weft CASCADE");
}

/* Makes the server. Returns 0, or the exit code of the test: 77 if PostgreSQL is not installed. */
static int use_a_server(const char *fsync)
{
    glob_t found;
    if (glob("/usr/lib/postgresql/*/bin/initdb", 0, NULL, &found) != 0) {
        fprintf(stderr, "PostgreSQL is not installed (Debian: postgresql)\n");
        return 77;
    }
    snprintf(server.programs, sizeof server.programs, "%s", found.gl_pathv[found.gl_pathc - 1]);
    *strrchr(server.programs, '/') = '\0';
    globfree(&found);
    server.fsync = fsync;
    snprintf(server.folder, sizeof server.folder, "/tmp/weft-pg-XXXXXX");
    const struct passwd *user = geteuid() == 0 ? getpwnam("nobody") : NULL;
    if (mkdtemp(server.folder) == NULL || (user != NULL && chown(server.folder, user->pw_uid, user->pw_gid) < 0))
        return 1;
    snprintf(server.data, sizeof server.data, "%s/data", server.folder);
    snprintf(server.where, sizeof server.where, "host=%s port=5432 user=weft dbname=postgres", server.folder);
    char *arguments[] = {"initdb", "-D", server.data, "-A",         "trust",     "-U",
                         "weft",   "-E", "UTF8",      "--locale=C", "--no-sync", NULL};
    int rc = wait_for(start_program("initdb", arguments, -1));
    if (rc != 0 || !server_start()) {
        remove_folder();
        fprintf(stderr, "the server cannot be made: initdb returns %d\n", rc);
        return rc == 77 ? 77 : 1;
    }
    return 0;
}

#endif
