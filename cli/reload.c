/* cli/reload.c -- weft reload: other code for the actors of a node. */
#include <stdlib.h>
#include <string.h>

#include "reload.h"
#include "client.h"
#include "json.h"
#include "compile.h"
#include "control.h"
#include "compat.h"

/* Whether that actor runs the new code. */
static bool print_actor(const struct cli *c, weft_reader *r)
{
    (void)weft_get_array(r);
    weft_text pid = weft_get_str(r), kind = weft_get_str(r), name = weft_get_str(r);
    bool moved = weft_get_bool(r);
    weft_text why = weft_get_str(r);
    if (c->json) {
        putchar('{');
        cli_print_text("pid", pid);
        fputs(", ", stdout);
        cli_print_text("kind", kind);
        fputs(", ", stdout);
        cli_print_text("name", name);
        printf(", \"moved\": %s, ", moved ? "true" : "false");
        cli_print_text("why", why);
        puts("}");
    } else {
        const weft_text called = name.size > 0 ? name : kind;
        const char *at = memchr(pid.data, '@', pid.size); /* its node is the one that was asked */
        printf("%.*s %.*s: %s%.*s\n", at == NULL ? (int)pid.size : (int)(at - pid.data), pid.data, (int)called.size,
               called.data, moved ? "runs the new code" : "runs the old code: ", (int)why.size, why.data);
    }
    return moved;
}

static int reload(struct cli_client *k)
{
    weft_msg *m;
    uint32_t stays = 0;
    int rc = cli_control(k, WF_CONTROL_RELOAD, k->body.data, k->body.size, &m);
    if (rc != CLI_OK) return rc;
    weft_reader r = weft_reader_on(weft_data(m), weft_size(m));
    uint32_t count = weft_get_array(&r);
    for (uint32_t i = 0; i < count && r.error == 0; i++) stays += !print_actor(k->c, &r);
    rc = r.error < 0  ? cli_cannot_decode(k)
         : stays == 0 ? CLI_OK
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
