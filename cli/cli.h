/* cli/cli.h -- what the verbs share. One file per verb; its table entry is in main.c. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <limits.h>
#include <stdbool.h>
#include <weft.h>

#include "options.h"

/* ---- The verbs ------------------------------------------------------------------------------------------------- */
int cli_run(const struct cli *c);
int cli_ps(const struct cli *c);
int cli_top(const struct cli *c);
int cli_inspect(const struct cli *c);
int cli_log(const struct cli *c);
int cli_why_dropped(const struct cli *c);
int cli_trace(const struct cli *c);
int cli_nodes(const struct cli *c);
int cli_names(const struct cli *c);
int cli_groups(const struct cli *c);
int cli_publish(const struct cli *c);
int cli_subscribe(const struct cli *c);
int cli_send(const struct cli *c);
int cli_call(const struct cli *c);
int cli_spawn(const struct cli *c);
int cli_stop(const struct cli *c);
int cli_drain(const struct cli *c);
int cli_reload(const struct cli *c);
int cli_bench(const struct cli *c);
int cli_sim(const struct cli *c);
int cli_certs_init(const struct cli *c);
int cli_certs_issue(const struct cli *c);
int cli_certs_show(const struct cli *c);
int cli_certs_reload(const struct cli *c);
int cli_new(const struct cli *c);
int cli_config_check(const struct cli *c);
int cli_config_show(const struct cli *c);
int cli_completion(const struct cli *c);
int cli_manual(const struct cli *c);
/* All of them: main.c. */
extern const struct cli_verb cli_verbs[];
extern const size_t cli_verb_count;
/* The verb that the words begin with (`next` may be NULL), and how many of them are its name; NULL: there is none. */
const struct cli_verb *cli_find_verb(const char *word, const char *next, int *words);

/* ---- compile.c: from a source file to a module ----------------------------------------------------------------- */
/* `*path` is a module, or a source file: then it becomes that of the module made of it, in `made`. CLI_OK, or
 * an exit code after a message. */
int cli_module(const struct cli *c, const char **path, char made[PATH_MAX]);

/* ---- module.c: loading one ------------------------------------------------------------------------------------- */
/* NULL after a message. The module stays loaded until the process ends: actors may run its code to the last. */
weft_actor *cli_load(const struct cli *c, const char *path);
/* module_elf.c, module_any.c: whether it may be one for this machine; false after a message. */
bool cli_looks_loadable(const struct cli *c, const char *path);
/* A wf_load_module of control.h. */
int cli_load_beside(const char *path, weft_migrate **hook, char *why, size_t size);
/* A function of one that is loaded; NULL: it has none of that name. */
void (*cli_find(const char *path, const char *name))(void);

/* ---- config_file.c: the configuration file --------------------------------------------------------------------- */
/* What no flag and no variable says, from the file. CLI_OK or an exit code after a message. */
int cli_configure(struct cli *c);

/* ---- run.c: names of nodes ------------------------------------------------------------------------------------- */
enum { CLI_NODE_NAME_MAX = 64 };
bool cli_is_node_name(const char *name); /* that can also be the name of a file that is seen */
/* CLI_OK or an exit code after a message. */
int cli_check_node_name(const struct cli *c, const char *name);

/* ---- sockets.c, windows.c: the nodes of this user on this machine ---------------------------------------------- */
/* Where the node `name`, which is to be started, shall have its control socket: in $XDG_RUNTIME_DIR/weft or
 * /tmp/weft-UID, made if it is not there, refused unless it is ours alone. "": it has none. CLI_OK or an exit code
 * after a message. */
int cli_control_socket(const struct cli *c, const char *name, char out[PATH_MAX]);
/* Whether somebody listens there. */
bool cli_socket_answers(const char *path);
/* The names of nodes that have a socket here. */
void cli_each_node(const struct cli *c, void (*each)(const char *name, void *arg), void *arg);
/* --node, or the one node that runs here, as a URL to join. */
int cli_node_url(const struct cli *c, char out[PATH_MAX + 8]);

/* ---- json.c: between JSON and msgpack -------------------------------------------------------------------------- */
struct cli_body {
    void *data;
    size_t size;
};
/* Text to msgpack. CLI_OK, or CLI_USAGE after a message that says line and column. */
int cli_body_from_json(const struct cli *c, const char *text, struct cli_body *out);
/* The body asked for by --text or by the `word`-th word; data is to be freed. */
int cli_body(const struct cli *c, int word, struct cli_body *out);
/* Whether it is one well-formed msgpack value. */
bool cli_is_pack(const void *data, size_t size);
/* Writes msgpack that was checked, as JSON in one line. What JSON lacks: bytes become {"$bin": "HEX"}, extensions
 * {"$ext": "HEX"}, NaN and the infinities null; keys that are no text are written as the text of their JSON;
 * lists and maps that are keys within keys as "$pack HEX". */
void cli_print_json(FILE *out, const void *data, size_t size);
/* A JSON string of any bytes; what is no UTF-8 becomes U+FFFD, and what a terminal would obey an escape. */
void cli_print_string(FILE *out, const char *text, size_t size);
/* `"key": "text"`, to standard output; `key` is written as it is. */
void cli_print_text(const char *key, weft_text text);
/* A message's body for people: JSON, else text with escapes. */
void cli_print_body(FILE *out, const void *data, size_t size);
/* cli_plain for all texts of an answer, or news, of a node, unless --json is to tell what they were: everything that
 * a node says comes through here before it is printed. */
void cli_plain_answer(const struct cli *c, const weft_msg *m);
/* To standard output, "body": JSON of well-formed msgpack, else "text": the bytes. */
void cli_print_json_body(const void *data, size_t size);

/* ---- client.c: a node of our own that talks to another --------------------------------------------------------- */
struct cli_client {
    const struct cli *c;
    int (*work)(struct cli_client *k); /* runs as an actor; an exit code */
    struct cli_body body;
    int64_t deadline; /* for all of it */
    int result;
    char url[PATH_MAX + 8];
    char node[65]; /* the node that answered */
};
/* Finds the node, joins it as a client, runs `work` and leaves again. */
int cli_with_node(struct cli_client *k);
int cli_ask_node(const struct cli *c,
                 int (*work)(struct cli_client *k)); /* the same, where there is no more to say */
/* Whether the certificate `name` of --tls can be used. CLI_OK or an exit code after a message that says why not. What
 * a node logs as a warning about it (others can read the key, it expires soon) is a message, too, if `warn`. */
int cli_check_tls(const struct cli *c, const char *name, bool warn);
/* Whether the node is on this machine, as its socket is. */
bool cli_is_local(const struct cli_client *k);
/* [A] Asks "$node" of that node: a verb of control.h. CLI_OK and the answer, which is well-formed msgpack; else an
 * exit code after a message. */
int cli_control(struct cli_client *k, uint32_t verb, const void *data, size_t size, weft_msg **answer);
/* [A] The same; the answer may also be an error that the node tells, WF_CONTROL_ERROR: of an older version, say. */
int cli_control_or_error(struct cli_client *k, uint32_t verb, const void *data, size_t size, weft_msg **answer);
/* What the verbs PS, NAMES and GROUPS list, page by page. */
struct cli_pages {
    uint32_t verb;
    const char *kind, *prefix; /* only these; NULL: all. A node that knows no pages heeds neither */
    uint8_t next[64];
    size_t next_size;
    bool last;        /* there is no other page */
    uint32_t count;   /* of rows of this page: arrays */
    weft_reader rows; /* at the first one, in `*m` */
};
/* [A] The next page; `p` is zero but for what is wanted at first. CLI_OK and `*m`, to be freed; else an exit code
 * after a message. */
int cli_page(struct cli_client *k, struct cli_pages *p, weft_msg **m);
/* [A] Says on standard error which actors hold workers of the node up, and what follows from that. */
void cli_tell_stuck(struct cli_client *k, const char *consequence);
/* [A] A message about an error of the runtime; the exit code it means. */
int cli_fail_with(const struct cli *c, int error, const char *what);

/* ---- record.c, look.c: what a node says of its actors ---------------------------------------------------------- */
/* [A] For cli_ask_node: one actor; who waits for whom. */
int cli_inspect_actor(struct cli_client *k);
int cli_inspect_waits(struct cli_client *k);
/* [A] kinds.c: what the actors of each kind take together. */
int cli_actors_by_kind(struct cli_client *k);
/* Says on the standard error how many rows an answer, WAITS or RECORD, has left out: its first row has that behind
 * so many columns. */
void cli_say_cut(const weft_msg *m, uint32_t columns, const char *what);
/* trace.c: what bodies of docs/wire.md say: of a TRACE; of a TRACED, at most so many messages, and how many were
 * shown. */
void cli_print_tracing(const char *what, weft_reader *r);
int64_t cli_print_traced(const struct cli *c, weft_reader *r, int64_t most);

/* ---- talk.c: what a node tells until one has heard enough ----------------------------------------------------- */
/* [A] A verb of control.h that is followed by news; prints them. `what` is what they are about. */
int cli_listen(struct cli_client *k, uint32_t verb, const void *request, size_t size, const char *what);
/* The same for a pattern of topics: the first word, or --topic. */

#endif
