/* cli/options/options.h -- one parser for all verbs, driven by tables, from which --help is made as well.
 *
 * A verb names the options it takes; an option is described once, whatever verbs take it. A value comes from the
 * flag, else from the environment, else from the configuration file (config.h), else the field stays as it was. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <weft/api.h>
#include <weft/log.h>

#include "quote.h"

/* The exit codes of every verb. */
enum cli_exit {
    CLI_OK = 0,
    CLI_FAILED = 1,
    CLI_USAGE = 2,
    CLI_UNREACHABLE = 3,
    CLI_DEADLINE = 4,
    CLI_NOT_DRAINED = 5,
};

/* CLI_OPTIONS_MAX: of one verb; CLI_OPTIONS_ALL: of all together. */
enum { CLI_LIST_MAX = 16, CLI_OPTIONS_MAX = 40, CLI_OPTIONS_ALL = 96 };

/* The source of an option's value. */
enum cli_from { CLI_BY_DEFAULT, CLI_BY_FLAG, CLI_BY_VARIABLE, CLI_BY_FILE };
struct cli_origin {
    enum cli_from from;
    int line; /* the line of the file */
};

struct cli_list {
    size_t count;
    const char *item[CLI_LIST_MAX];
    char *copy; /* a copy of an environment variable, which the items point into */
};

/* The values of all options of all verbs. */
struct cli {
    const struct cli_verb *verb;
    const char *name, *cluster, *carrier, *log, *log_file, *metrics, *node, *text, *dir, *role, *tls, *as,
        *peer_limit, *partition, *minority;
    struct cli_list listen, join, discover, dial_only, san, meta, ws_origin, stored_topics, queues, states;
    const char *store, *from, *cursor, *shared; /* options of stored topics */
    bool stored;
    int64_t workers, tag, count, days;
    int64_t heartbeats_lost, wire, suspicion;
    int64_t max_patterns, max_subscriptions;
    int64_t drain, timeout, heartbeat, resume_window, probe, stuck_after; /* ns */
    const char *faults, *replay, *socket_mode;
    const char *actor, *topic;         /* options of trace */
    const char *order, *kind, *prefix; /* options of lists, as is the next one */
    int64_t limit;                     /* 0: none */
    const char *sort, *filter;         /* options of top, as are the next ones */
    int64_t interval;                  /* ns; 0: not given */
    bool all, once;
    int64_t seeds, first, nodes, jobs, heap; /* options of sim; heap is in MiB, 0: not given */
    int64_t time, settle;                    /* options of sim, in ns */
    int64_t hunt;                            /* minutes; 0: not given */
    bool json, force, insecure, loopback_control, store_standby, report, undo, record, trace, minimise, limits,
        no_body, by_kind;
    bool has_tag, has_count, has_drain, has_timeout, has_days, has_stuck_after; /* the value was given */
    int argc;                                                                   /* words that are no options */
    const char *const *argv;
    int rest_count; /* words behind "--" */
    const char *const *rest;
    const char *config;                        /* the file that was asked for */
    struct cli_config *file;                   /* the configuration file that was read; values point into it */
    struct cli_origin origin[CLI_OPTIONS_ALL]; /* the origin of each option, by its id */
    char *error_text;                          /* not NULL: here cli_fail writes what is wrong, of error_size bytes */
    size_t error_size;
};

enum cli_option_id {
    CLI_END,
    CLI_NAME,
    CLI_LISTEN,
    CLI_JOIN,
    CLI_DISCOVER,
    CLI_DIAL_ONLY,
    CLI_WORKERS,
    CLI_CLUSTER,
    CLI_CARRIER,
    CLI_HEARTBEAT,
    CLI_HEARTBEATS_LOST,
    CLI_STUCK_AFTER,
    CLI_RESUME_WINDOW,
    CLI_WIRE,
    CLI_LOOPBACK_CONTROL,
    CLI_SOCKET_MODE,
    CLI_META,
    CLI_PROBE,
    CLI_SUSPICION,
    CLI_PARTITION,
    CLI_MINORITY,
    CLI_LOG,
    CLI_LOG_FILE,
    CLI_METRICS,
    CLI_DRAIN,
    CLI_NODE,
    CLI_JSON,
    CLI_TAG,
    CLI_TEXT,
    CLI_COUNT,
    CLI_REPORT,
    CLI_UNDO,
    CLI_RECORD,
    CLI_SEEDS,
    CLI_FIRST,
    CLI_NODES,
    CLI_FAULTS,
    CLI_TIME,
    CLI_SETTLE,
    CLI_HEAP,
    CLI_REPLAY,
    CLI_MINIMISE,
    CLI_LIMITS,
    CLI_HUNT,
    CLI_JOBS,
    CLI_TRACE,
    CLI_TIMEOUT,
    CLI_DIR,
    CLI_ROLE,
    CLI_SAN,
    CLI_DAYS,
    CLI_FORCE,
    CLI_TLS,
    CLI_AS,
    CLI_INSECURE,
    CLI_PEER_LIMIT,
    CLI_WS_ORIGIN,
    CLI_MAX_PATTERNS,
    CLI_MAX_SUBSCRIPTIONS,
    CLI_BY_KIND,
    CLI_CONFIG,
    CLI_ACTOR,
    CLI_TOPIC,
    CLI_NO_BODY,
    CLI_ALL,
    CLI_SORT,
    CLI_ORDER,
    CLI_LIMIT,
    CLI_KIND,
    CLI_PREFIX,
    CLI_FILTER,
    CLI_INTERVAL,
    CLI_ONCE,
    CLI_STORE,
    CLI_STORE_STANDBY,
    CLI_STORED_TOPICS,
    CLI_QUEUES,
    CLI_STATES,
    CLI_STORED,
    CLI_FROM,
    CLI_CURSOR,
    CLI_SHARED,
};

enum { CLI_ACTOR_MAX = 150, CLI_KIND_MAX = 31, CLI_FILTER_MAX = 63 }; /* bytes */

/* ---- The configuration file: config.h reads it ----------------------------------------------------------------- */
enum { CLI_CONFIG_BYTES = 65536, CLI_CONFIG_LINES = 256 };
enum { CLI_CONFIG_EVERY = -1 }; /* a section: in front of all of them */

struct cli_config_line {
    int number;  /* 1 is the first of the file */
    int section; /* CLI_CONFIG_EVERY, or which of cli_verbs (verbs.h) */
    enum cli_option_id id;
    char *value; /* in the text */
};
struct cli_config {
    char path[PATH_MAX];
    char *text; /* NULL: there is no file */
    size_t count;
    struct cli_config_line line[CLI_CONFIG_LINES];
};

struct cli_verb {
    const char *name;
    const char *arguments; /* as help shows them */
    const char *summary;   /* one line */
    const char *about;     /* paragraphs, or NULL */
    const char *example;
    enum cli_option_id options[CLI_OPTIONS_MAX];
    int args_min, args_max;
    bool takes_rest; /* words behind "--" */
    int (*run)(const struct cli *c);
};

/* Reads the words behind the verb, and the environment; `words` is reordered and must outlive `out`.
 * CLI_OK, CLI_USAGE after a message on standard error, or -1 when --help was asked for. */
int cli_parse(struct cli *out, const struct cli_verb *verb, int count, char **words);
/* The same, but accepts any words that are not options. */
int cli_parse_options(struct cli *out, const struct cli_verb *verb, int count, char **words);
/* The value of an option as text of a variable or of a line of the file, `where`. It may be written to, and must
 * outlive `c`. CLI_OK or CLI_USAGE after a message. */
int cli_set_text(struct cli *c, enum cli_option_id id, struct cli_origin origin, const char *where, char *value);
/* The values of an option that is a list. NULL: the option is not a list. */
struct cli_list *cli_list_of(struct cli *c, enum cli_option_id id);
/* Names the source of an option's value for a message: --name, WEFT_NAME, or FILE:LINE: name. */
enum { CLI_WHERE = 320 };
const char *cli_where(const struct cli *c, enum cli_option_id id, char out[CLI_WHERE]);
void cli_finish(struct cli *c);
/* The option of the verb that the first `size` bytes of the word are, with its dashes: -n, --name; or CLI_END. */
enum cli_option_id cli_find_option(const struct cli_verb *verb, const char *word, size_t size);
/* Whether it is one of the verb's. */
bool cli_has_option(const struct cli_verb *verb, enum cli_option_id id);
/* The help of one verb, made from its table. */
void cli_help(FILE *out, const struct cli_verb *verb);
/* The entry of `known` (`count` names) closest to `word`, or NULL if none is close. */
const char *cli_closest(const char *word, const char *const *known, size_t count);
/* Puts '?' where a terminal would obey the text instead of showing it (weft_printable). */
static inline void cli_plain(char *text, size_t size)
{
    for (size_t at = 0; (at += weft_printable(text + at, size - at, NULL)) < size;) text[at++] = '?';
}

/* "weft VERB: " and the text, on standard error; returns `code`. */
int cli_fail(const struct cli *c, int code, const char *format, ...) WEFT_PRINTF(3, 4);
/* Flushes standard output. True: this failed, or an earlier write has. A verb that prints for as long as it runs then
 * returns; main says what is wrong. Call it soon after what was printed, in the same thread. */
bool cli_output_failed(void);
/* True if the reader of standard output had gone when cli_output_failed first failed, as `head` does. */
bool cli_reader_has_gone(void);

#endif
