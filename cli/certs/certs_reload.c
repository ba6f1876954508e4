/* cli/certs/certs_reload.c -- weft certs reload: new certificates for a running node. */
#include "certs_reload.h"
#include "client.h"
#include "json.h"
#include "control.h"

static int reload(struct cli_client *k)
{
    weft_msg *m;
    int rc = cli_control(k, WF_CONTROL_CERTS, NULL, 0, &m);
    if (rc != CLI_OK) return rc;
    weft_reader r = weft_reader_on(weft_data(m), weft_size(m));
    (void)weft_get_array(&r);
    weft_text serial = weft_get_str(&r), until = weft_get_str(&r);
    if (r.error < 0) rc = cli_cannot_decode(k);
    else if (k->c->json) {
        printf("{\"node\": \"%s\", ", k->node);
        cli_print_text("serial", serial);
        fputs(", ", stdout);
        cli_print_text("valid_until", until);
        puts("}");
    } else {
        printf("%s shows the certificate with serial %.*s, valid until %.*s\n", k->node, WEFT_STR(serial),
               WEFT_STR(until));
    }
    weft_msg_free(m);
    return rc;
}

int cli_certs_reload(const struct cli *c)
{
    return cli_ask_node(c, reload);
}
