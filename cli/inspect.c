/* cli/inspect.c -- weft ps, nodes, names and groups: what a node says of itself, as a table or as JSON. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "control.h"

/* One object a line; `keys` name the values of the row in order. */
static void print_object(weft_reader *r, const char *const *keys, uint32_t key_count)
{
    uint32_t count = weft_get_array(r);
    putchar('{');
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *start = r->at;
        weft_skip(r);
        if (i >= key_count || r->error != 0) continue; /* a newer node says more */
        printf("%s\"%s\": ", i > 0 ? ", " : "", keys[i]);
        cli_print_json(stdout, start, (size_t)(r->at - start));
    }
    puts("}");
}

static void skip_rest(weft_reader *r, uint32_t left)
{
    while (left-- > 0) weft_skip(r);
}

static void print_actor(weft_reader *r)
{
    uint32_t count = weft_get_array(r);
    weft_text pid = weft_get_str(r), kind = weft_get_str(r), name = weft_get_str(r), state = weft_get_str(r),
              waits = weft_get_str(r);
    uint64_t mailbox = weft_get_uint(r), max = weft_get_uint(r), received = weft_get_uint(r),
             dropped = weft_get_uint(r);
    uint64_t stack = count > 9 ? weft_get_uint(r) : 0; /* an older node does not say */
    if (count > 10) skip_rest(r, count - 10);
    /* The part behind '@' is the node, the same for all. */
    const char *at = memchr(pid.data, '@', pid.size);
    int shown = at == NULL ? (int)pid.size : (int)(at - pid.data);
    char doing[64], mail[48];
    snprintf(doing, sizeof doing, "%.*s%s%.*s", WEFT_STR(state), waits.size > 0 ? ": " : "", WEFT_STR(waits));
    snprintf(mail, sizeof mail, "%" PRIu64 "/%" PRIu64, mailbox, max);
    printf("%-14.*s %-14.*s %-14.*s %-24s %12s %12" PRIu64 " %8" PRIu64 " %8" PRIu64 "\n", shown, pid.data,
           WEFT_STR(kind), WEFT_STR(name), doing, mail, received, dropped, stack);
}

static void print_node(weft_reader *r)
{
    uint32_t count = weft_get_array(r);
    weft_text name = weft_get_str(r);
    uint64_t incarnation = weft_get_uint(r);
    weft_text state = weft_get_str(r), reason = weft_get_str(r), url = weft_str("", 0);
    for (uint32_t i = 0, urls = weft_get_array(r); i < urls; i++) {
        weft_text u = weft_get_str(r);
        if (i == 0) url = u;
    }
    int64_t rtt = weft_get_int(r);
    uint64_t in = weft_get_uint(r), out = weft_get_uint(r);
    if (count > 12) skip_rest(r, 4);
    int64_t slowed = count > 12 ? weft_get_int(r) : 0; /* an older node does not say */
    uint64_t refused = count > 13 ? weft_get_uint(r) : 0, resumes = 0, unacked = 0;
    if (count > 15) {
        resumes = weft_get_uint(r);
        unacked = weft_get_uint(r);
    } else {
        skip_rest(r, count > 14 ? count - 14 : count > 12 ? 0 : count - 8);
    }
    char took[24] = "", limits[64] = "";
    if (slowed > 0 || refused > 0)
        snprintf(limits, sizeof limits, "  slowed %.1f s, %" PRIu64 " refused", (double)slowed / 1e9, refused);
    if (rtt > 0) snprintf(took, sizeof took, "%.2f ms", (double)rtt / 1e6);
    printf("%-16.*s %016" PRIx64 " %-10.*s %10s %12" PRIu64 " %12" PRIu64 " %7" PRIu64 " %7" PRIu64 " %.*s%s%.*s%s",
           WEFT_STR(name), incarnation, WEFT_STR(state), took, in, out, resumes, unacked, WEFT_STR(url),
           reason.size > 0 && url.size > 0 ? "  " : "", WEFT_STR(reason), limits);
    uint32_t meta = count > 16 ? weft_get_map(r) : 0; /* an older node does not say */
    for (uint32_t i = 0; i < meta; i++) {
        weft_text key = weft_get_str(r), value = weft_get_str(r);
        printf("  %.*s=%.*s", WEFT_STR(key), WEFT_STR(value));
    }
    if (count > 17) skip_rest(r, count - 17);
    putchar('\n');
}

static int show(struct cli_client *k, uint32_t verb, const char *head, void (*print)(weft_reader *r),
                const char *const *keys, uint32_t key_count)
{
    weft_msg *m;
    int rc = cli_control(k, verb, NULL, 0, &m);
    if (rc != CLI_OK) return rc;
    weft_reader r = weft_reader_on(weft_data(m), weft_size(m));
    uint32_t count = weft_get_array(&r);
    if (!k->c->json) puts(head);
    for (uint32_t i = 0; i < count && r.error == 0; i++) {
        if (k->c->json) print_object(&r, keys, key_count);
        else print(&r);
    }
    rc = r.error == 0 ? CLI_OK : cli_fail(k->c, CLI_FAILED, "%s: an answer of another form", k->node);
    weft_msg_free(m);
    return rc;
}

static int show_actors(struct cli_client *k)
{
    static const char *const keys[] = {"pid",     "kind",        "name",     "state",   "waits_for",
                                       "mailbox", "mailbox_max", "received", "dropped", "stack_most"};
    return show(k, WF_CONTROL_PS,
                "PID            KIND           NAME           STATE                         MAILBOX     RECEIVED  "
                "DROPPED    STACK",
                print_actor, keys, 10);
}

static int show_nodes(struct cli_client *k)
{
    static const char *const keys[] = {"name",        "incarnation", "state",     "reason",    "urls",
                                       "rtt_ns",      "bytes_in",    "bytes_out", "frames_in", "frames_out",
                                       "frames_lost", "seconds",     "slowed_ns", "refused",   "resumes",
                                       "unacked",     "meta"};
    return show(k, WF_CONTROL_NODES,
                "NAME             INCARNATION      STATE             RTT     BYTES IN    BYTES OUT RESUMES UNACKED "
                "URL, REASON, METADATA",
                print_node, keys, 17);
}

static void print_name(weft_reader *r)
{
    uint32_t count = weft_get_array(r);
    weft_text name = weft_get_str(r), pid = weft_get_str(r), node = weft_get_str(r);
    bool global = weft_get_bool(r), holds = weft_get_bool(r);
    if (count > 5) skip_rest(r, count - 5);
    printf("%-32.*s %-8s %-16.*s %.*s\n", WEFT_STR(name),
           !global ? "node"
           : holds ? "cluster"
                   : "loses",
           WEFT_STR(node), WEFT_STR(pid));
}

static void print_member(weft_reader *r)
{
    uint32_t count = weft_get_array(r);
    weft_text group = weft_get_str(r), pid = weft_get_str(r), node = weft_get_str(r);
    if (count > 3) skip_rest(r, count - 3);
    printf("%-32.*s %-16.*s %.*s\n", WEFT_STR(group), WEFT_STR(node), WEFT_STR(pid));
}

static int show_names(struct cli_client *k)
{
    static const char *const keys[] = {"name", "pid", "node", "global", "holds"};
    return show(k, WF_CONTROL_NAMES, "NAME                             SCOPE    NODE             PID", print_name,
                keys, 5);
}

static int show_groups(struct cli_client *k)
{
    static const char *const keys[] = {"group", "pid", "node"};
    return show(k, WF_CONTROL_GROUPS, "GROUP                            NODE             MEMBER", print_member, keys,
                3);
}

int cli_names(const struct cli *c)
{
    return cli_ask_node(c, show_names);
}

int cli_groups(const struct cli *c)
{
    return cli_ask_node(c, show_groups);
}

int cli_ps(const struct cli *c)
{
    return cli_ask_node(c, show_actors);
}

int cli_nodes(const struct cli *c)
{
    return cli_ask_node(c, show_nodes);
}
