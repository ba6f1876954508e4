/* What a node answers to the tools of the command line: nodes may lie. A tool ends with one of its exit codes, and
 * writes no control characters to a terminal, and with --json nothing but JSON.
 *
 * The tools are real; the macros of meson.build put the functions below in the place of those that reach a node. The
 * first byte of an input chooses the tool, the second one its options. Each answer is a byte that chooses its tag, a
 * size of two bytes, and the body. */
#include "base.h"
#include "fuzz.h"

#include "../../cli/client/client.h"
#include "../../cli/drain.h"
#include "../../cli/inspect/drops.h"
#include "../../cli/inspect/inspect.h"
#include "../../cli/log.h"
#include "../../cli/inspect/record.h"
#include "requests.h"
#include "../../cli/talk.h"
#include "../../cli/os/source_line.h"
#include "../../cli/top/top_text.h"
#include "../../cli/trace.h"

#include <jansson.h>
#include <weft.h>

static struct input in;

/* ---- A node that answers with the bytes of the input ----------------------------------------------------------- */

int answers_start(weft_node **node, const weft_node_options *options);
int answers_wait_up(weft_node *node, uint64_t *peer, char *name, int64_t deadline, char *why, size_t why_size);
void answers_lost(weft_node *node, char *why, size_t why_size);
int answers_spawn(weft_node *node, weft_pid *pid, weft_actor *body, const void *arg, size_t size,
                  const weft_spawn_options *options);
int answers_end(weft_node *node, int64_t deadline);
int answers_call(const char *name, uint32_t tag, const void *data, size_t size, weft_msg **answer, int64_t deadline);
int answers_recv(weft_msg **m, int64_t deadline);
int answers_watch(void);

int answers_start(weft_node **node, const weft_node_options *options)
{
    (void)options;
    *node = NULL;
    return WEFT_OK;
}

int answers_wait_up(weft_node *node, uint64_t *peer, char *name, int64_t deadline, char *why, size_t why_size)
{
    (void)node, (void)peer, (void)deadline, (void)why, (void)why_size;
    memcpy(name, "node", 5);
    return WEFT_OK;
}

void answers_lost(weft_node *node, char *why, size_t why_size)
{
    (void)node;
    snprintf(why, why_size, "no\n\x1b[1mheartbeat");
}

int answers_spawn(weft_node *node, weft_pid *pid, weft_actor *body, const void *arg, size_t size,
                  const weft_spawn_options *options)
{
    (void)node, (void)pid, (void)options;
    body(arg, size);
    return WEFT_OK;
}

int answers_end(weft_node *node, int64_t deadline)
{
    (void)node, (void)deadline;
    return WEFT_OK;
}

/* WEFT_ENONODE: the input is over. */
static int next(weft_msg **m, uint32_t asked)
{
    static const uint32_t tags[] = {WF_CONTROL_ERROR,  WF_CONTROL_NEWS,      WF_CONTROL_TRACE,
                                    WF_CONTROL_TRACED, WF_CONTROL_SUBSCRIBE, WF_CONTROL_MISSED};
    if (input_left(&in) < 3) return WEFT_ENONODE;
    unsigned tag = input_byte(&in);
    size_t size = input_size(&in);
    uint8_t *body = input_copy(&in, &size);
    *m = weft_msg_new(tag < WF_COUNT(tags) ? tags[tag] : asked, size);
    MUST(*m != NULL);
    if (size > 0) memcpy(weft_msg_body(*m), body, size);
    free(body);
    return WEFT_OK;
}

int answers_call(const char *name, uint32_t tag, const void *data, size_t size, weft_msg **answer, int64_t deadline)
{
    (void)name, (void)data, (void)size, (void)deadline;
    return next(answer, tag);
}

int answers_recv(weft_msg **m, int64_t deadline)
{
    (void)deadline;
    return next(m, WF_CONTROL_NEWS);
}

int answers_watch(void)
{
    return WEFT_OK;
}

/* No debugger is started for it. */
bool cli_source_line(const char *file, uint64_t offset, char *out, size_t size)
{
    (void)file, (void)offset, (void)out, (void)size;
    return false;
}

/* ---- weft top, without a screen -------------------------------------------------------------------------------- */

static void check_plain(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) MUST(((unsigned char)text[i] >= 32 && text[i] != 127) || text[i] == '\n');
}

static void check_lines(struct top_lines *l)
{
    for (uint32_t i = 0; i < l->count; i++) check_plain(l->line[i].text, strlen(l->line[i].text));
    top_lines_clear(l);
}

static struct top_snapshot *next_snapshot(void)
{
    weft_msg *m;
    if (next(&m, 18) < 0) return NULL;
    struct top_snapshot *s = NULL;
    const struct cli c = {.json = false};
    cli_plain_answer(&c, m);
    if (cli_is_pack(weft_data(m), weft_size(m))) s = top_read(weft_data(m), weft_size(m));
    weft_msg_free(m);
    return s;
}

static void top(void)
{
    struct top_lines l = {.width = 80};
    struct top_snapshot *before = next_snapshot(), *now = next_snapshot();
    if (now != NULL) {
        top_compare(now, before);
        uint32_t count = 0;
        for (int by = 0; by < TOP_BYS; by++)
            count = top_arrange(now, (enum top_by)by, by % 2 == 0, by % 3 ? "a" : "");
        (void)top_search(now, count, count / 2, "a");
        top_put_nodes(&l, now, 20);
        top_put_actors(&l, now, 0, count, TOP_RATE);
        check_lines(&l);
    }
    top_free(before);
    top_free(now);
    weft_msg *m;
    if (next(&m, WF_CONTROL_INSPECT) < 0) return;
    const struct cli c = {.json = false};
    cli_plain_answer(&c, m);
    if (cli_is_pack(weft_data(m), weft_size(m))) (void)top_put_detail(&l, weft_data(m), weft_size(m));
    check_lines(&l);
    weft_msg_free(m);
}

/* ---- The tools ------------------------------------------------------------------------------------------------- */

static int (*const tools[])(const struct cli *c) = {cli_ps,      cli_nodes,       cli_names, cli_groups,
                                                    cli_inspect, cli_why_dropped, cli_trace, cli_log,
                                                    cli_drain,   cli_subscribe,   cli_call};

static bool is_json(const char *text, size_t size)
{
    json_error_t error;
    json_t *json = json_loadb(text, size, JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, &error);
    if (json != NULL) json_decref(json);
    return json != NULL;
}

/* One text for all, or one in each line. */
static void check_json(char *text, size_t size)
{
    /* It is right in a key, too, but Jansson cannot keep such a key. */
    for (char *nul = text; (nul = strstr(nul, "\\u0000")) != NULL;) nul[5] = '1';
    if (is_json(text, size)) return;
    for (size_t at = 0, line; at < size; at += line + 1) {
        line = strcspn(text + at, "\n");
        MUST(is_json(text + at, line));
    }
}

/* What a tool writes goes to memory. */
static int run(int (*tool)(const struct cli *c), const struct cli *c)
{
    FILE *was_out = stdout, *was_err = stderr;
    char *out = NULL, *err = NULL;
    size_t out_size = 0, err_size = 0;
    stdout = open_memstream(&out, &out_size);
    stderr = open_memstream(&err, &err_size);
    int code = tool(c);
    fclose(stdout), fclose(stderr);
    stdout = was_out;
    stderr = was_err;
    check_plain(out, out_size);
    check_plain(err, err_size);
    if (c->json) check_json(out, out_size);
    free(out), free(err);
    return code;
}

int fuzz_one_input(const uint8_t *data, size_t size)
{
    in = (struct input){data, data + size};
    static const char *const words[] = {"0.1.1", "x"};
    unsigned tool = input_byte(&in), o = input_byte(&in);
    if (tool == WF_COUNT(tools)) top();
    if (tool >= WF_COUNT(tools)) return 0;
    static const struct cli_verb verb = {.name = "tool"};
    struct cli c = {.verb = &verb,
                    .node = "tcp://127.0.0.1:1",
                    .json = (o & 1) != 0,
                    .by_kind = (o & 2) != 0,
                    .record = (o & 2) != 0,
                    .undo = (o & 2) != 0,
                    .trace = (o & 4) != 0,
                    .all = (o & 4) != 0,
                    .argc = (o & 8) != 0 ? 1 + (tools[tool] == cli_call) : 0,
                    .argv = words,
                    .limit = o & 16 ? 3 : 0,
                    .count = 3,
                    .has_count = (o & 32) != 0,
                    .order = o & 64 ? "mailbox" : NULL};
    int code = run(tools[tool], &c);
    MUST(code >= CLI_OK && code <= CLI_NOT_DRAINED);
    return 0;
}
