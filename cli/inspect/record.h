/* cli/record.h -- between the files of weft inspect --record. */
#ifndef CLI_RECORD_H
#define CLI_RECORD_H

#include <weft/pack.h>
#include <weft/record.h>

#include <stdbool.h>
#include <stddef.h>

struct cli_event {
    struct weft_record r; /* r.what: the text below */
    char what[64];
    char tag_name[64]; /* of what is sent or received: its WEFT_MESSAGE; "": not known */
};

/* "spawn", "send", ... */
const char *cli_event_name(const struct weft_record *e);

/* As JSON for trace viewers, oldest event first. `name_all` calls cli_record_trace_name(to, ...) for each actor of
 * which more is known than its pid. False: out of memory. */
bool cli_print_record_trace(const struct cli_event *events, size_t count, const char *node,
                            void (*name_all)(void *to, void *arg), void *arg);
void cli_record_trace_name(void *to, weft_pid pid, weft_text kind, weft_text name);

#endif
