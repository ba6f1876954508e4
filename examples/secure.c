/* secure.c -- TLS: a server that answers each line with the same line in capitals, and a client.
 *
 *     $ openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -subj /CN=localhost
 *     $ cc secure.c $(pkg-config --cflags --libs weft) -o secure
 *     $ ./secure serve cert.pem key.pem 4433 &
 *     serving on 127.0.0.1:4433
 *     $ ./secure ask localhost:4433 cert.pem hello
 *     TLSv1.2, CN=localhost
 *     HELLO
 *
 * The other side may as well be `openssl s_client -connect localhost:4433 -CAfile cert.pem` or `openssl s_server`.
 * After weft_stream_secure the stream is used like a plain one. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <weft.h>

#define PATIENCE WEFT_SEC(10)

static weft_tls *tls;

static void serve_client(const void *arg, size_t size)
{
    weft_stream s = *(const weft_stream *)arg;
    char line[1024], why[256];
    int64_t n;
    (void)size;
    weft_defer_close(s);
    if (weft_stream_secure(s, tls, NULL, why, sizeof why, weft_after(PATIENCE)) < 0) {
        printf("refused: %s\n", why);
        fflush(stdout);
        return;
    }
    while ((n = weft_read_until(s, line, sizeof line, '\n', WEFT_FOREVER)) > 0) {
        for (int64_t i = 0; i < n; i++) line[i] = (char)toupper((unsigned char)line[i]);
        if (weft_write(s, line, (size_t)n, weft_after(PATIENCE)) < 0) return;
    }
    printf("%s\n", n == 0 ? "a client has said goodbye" : weft_strerror((int)n));
    fflush(stdout);
    weft_shutdown(s);
}

static void serve(const struct weft_args *args)
{
    char address[WEFT_ADDRESS_TEXT], why[256];
    weft_listener l;
    weft_stream s;
    int rc;
    weft_tls_options options = {.server = true, .certificate = args->argv[2], .key = args->argv[3]};
    if ((rc = weft_tls_open(&tls, &options, why, sizeof why)) < 0) {
        fprintf(stderr, "secure: %s\n", why);
        weft_exit(rc);
    }
    snprintf(address, sizeof address, "127.0.0.1:%s", args->argv[4]);
    if ((rc = weft_listen(&l, address, NULL)) < 0) {
        fprintf(stderr, "secure: cannot listen on %s: %s\n", address, weft_strerror(rc));
        weft_exit(rc);
    }
    weft_listener_defer_close(l);
    weft_listener_address(l, address, sizeof address);
    printf("serving on %s\n", address);
    fflush(stdout);
    while ((rc = weft_accept(l, &s, WEFT_FOREVER)) == 0 || rc == WEFT_EFULL)
        if (rc == 0 && weft_spawn(NULL, serve_client, &s, sizeof s, &(weft_spawn_options){.worker = WEFT_SPREAD}) < 0)
            weft_close(s);
}

static int ask(const struct weft_args *args)
{
    char line[1024], why[256], name[256];
    const char *address = args->argv[2];
    int64_t by = weft_after(PATIENCE);
    weft_stream s;
    weft_tls_info info;
    int rc = weft_tls_open(&tls, &(weft_tls_options){.authority = args->argv[3]}, why, sizeof why);
    if (rc < 0) return fprintf(stderr, "secure: %s\n", why), rc;
    if ((rc = weft_connect(&s, address, by)) < 0)
        return fprintf(stderr, "secure: %s: %s\n", address, weft_strerror(rc)), rc;
    weft_defer_close(s);
    snprintf(name, sizeof name, "%.*s", (int)strcspn(address, ":"), address);
    if ((rc = weft_stream_secure(s, tls, name, why, sizeof why, by)) < 0)
        return fprintf(stderr, "secure: %s: %s\n", address, why), rc;
    weft_stream_tls(s, &info);
    printf("%s, %s\n", info.version, info.peer);
    for (int i = 4; i < args->argc; i++) {
        int64_t n = weft_printf(s, by, "%s\n", args->argv[i]);
        if (n > 0) n = weft_read_until(s, line, sizeof line, '\n', by);
        if (n < 0) return fprintf(stderr, "secure: %s\n", weft_strerror((int)n)), (int)n;
        printf("%.*s", (int)n, line);
    }
    weft_shutdown(s);
    return 0;
}

static void secure(const void *arg, size_t size)
{
    const struct weft_args *args = arg;
    (void)size;
    if (args->argc == 5 && strcmp(args->argv[1], "serve") == 0) {
        serve(args);
    } else if (args->argc >= 5 && strcmp(args->argv[1], "ask") == 0) {
        int rc = ask(args);
        weft_tls_close(tls);
        if (rc < 0) weft_exit(rc);
    } else {
        fprintf(stderr, "usage: secure serve CERTIFICATE KEY PORT | secure ask HOST:PORT AUTHORITY LINE...\n");
        weft_exit(WEFT_EINVAL);
    }
}

WEFT_MODULE(secure) /* for `weft run` */

int main(int argc, char **argv)
{
    struct weft_args args = {argc, (const char *const *)argv};
    return weft_main(NULL, secure, &args, sizeof args);
}
