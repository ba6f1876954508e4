/* cli/reload.c -- weft reload: other code for the actors of a node. */
#include <stdlib.h>
#include <string.h>

#include "reload.h"
#include "client.h"
#include "json.h"
#include "compile.h"
#include "control.h"
#include "compat.h"

/* A row of the answer; texts are views. */
struct actor {
    weft_text pid, kind, name, why;
    bool moved; /* it runs the new code */
};

/* False: it cannot be decoded. */
static bool read_actor(weft_reader *r, struct actor *a)
{
    uint32_t count = weft_get_array(r);
    a->pid = weft_get_str(r);
    a->kind = weft_get_str(r);
    a->name = weft_get_str(r);
    a->moved = weft_get_bool(r);
    a->why = weft_get_str(r);
    for (; count > 5 && r->error == 0; count--) weft_skip(r); /* a newer node says more */
    return r->error == 0 && count >= 5;
}

static void print_actor(const struct cli *c, const struct actor *a)
{
    if (c->json) {
        putchar('{');
        cli_print_text("pid", a->pid);
        fputs(", ", stdout);
        cli_print_text("kind", a->kind);
        fputs(", ", stdout);
        cli_print_text("name", a->name);
        printf(", \"moved\": %s, ", a->moved ? "true" : "false");
        cli_print_text("why", a->why);
        puts("}");
    } else {
        const weft_text called = a->name.size > 0 ? a->name : a->kind;
        /* its node is the one that was asked */
        const char *at = a->pid.size == 0 ? NULL : memchr(a->pid.data, '@', a->pid.size);
        printf("%.*s %.*s: %s%.*s\n", at == NULL ? (int)a->pid.size : (int)(at - a->pid.data), a->pid.data,
               WEFT_STR(called), a->moved ? "runs the new code" : "runs the old code: ", WEFT_STR(a->why));
    }
}

static int reload(struct cli_client *k)
{
    weft_msg *m;
    struct actor a;
    uint32_t stays = 0;
    int rc = cli_control(k, WF_CONTROL_RELOAD, k->body.data, k->body.size, &m);
    if (rc != CLI_OK) return rc;
    weft_reader r = weft_reader_on(weft_data(m), weft_size(m));
    uint32_t count = weft_get_array(&r), read = 0;
    for (; read < count && read_actor(&r, &a); read++) {
        print_actor(k->c, &a);
        stays += !a.moved;
    }
    rc = r.error < 0 || read < count ? cli_cannot_decode(k)
         : stays == 0                ? CLI_OK
                      : cli_fail(k->c, CLI_FAILED, "%u of %u actors of %s still run the old code", (unsigned)stays,
                                 (unsigned)count, k->node);
    weft_msg_free(m);
    return rc;
}

int cli_reload(const struct cli *c)
{
    char made[PATH_MAX], whole[PATH_MAX], body[PATH_MAX + 8];
    const char *path = c->argv[0];
    int rc = cli_module(c, &path, made);
    if (rc != CLI_OK) return rc;
    weft_writer w = weft_writer_on(body, sizeof body);
    /* The node has its own working folder: a file that does not exist here may exist there. */
    weft_put_str(&w, weft_cstr(cli_whole_path(path, whole) ? whole : path));
    if (w.error < 0) return cli_fail(c, CLI_USAGE, "the path is too long");
    struct cli_client k = {.c = c, .work = reload, .body = {body, w.size}};
    rc = cli_with_node(&k);
    /* The node knows no other name of it than that in the cache. */
    if (rc == CLI_FAILED && path == made) cli_fail(c, 0, "%s was made of %s", CLI_PATH(path), CLI_PATH(c->argv[0]));
    return rc;
}
