/* weft/trace.h -- ids that follow a message through actors and nodes.
 *
 * A message may carry a trace id. What an actor sends, publishes or answers after it has taken such a message, and
 * before it takes the next one, carries the same id; so does what others then send, on all nodes. Log lines that an
 * actor writes meanwhile have a field trace=. `weft trace` begins an id for each message that it is asked to show,
 * and shows all that follows from it; a program begins one where its work begins, as for a request that came over
 * HTTP. Messages without an id cost nothing for it.
 *
 * News of the system (ends of others, nodes, subscriptions), what weft_send_every sends and what is retained do not
 * carry ids; a new actor begins without one. */
#ifndef WEFT_TRACE_H
#define WEFT_TRACE_H

#include <weft/api.h>
WEFT_BEGIN

/* 128 bits, as the trace id of W3C Trace Context and OpenTelemetry. Both 0: none. */
typedef struct {
    uint64_t high, low;
} weft_trace;

/* [A] Of the message that the calling actor has taken last, or what weft_trace_set has set since. */
WEFT_API weft_trace weft_trace_now(void);
/* [A] What the actor sends from now on, until it takes the next message, carries this id; none: no id. WEFT_ENOMEM:
 * then none. */
WEFT_API int weft_trace_set(weft_trace id);
/* [T] A new one, random. */
WEFT_API weft_trace weft_trace_new(void);

enum { WEFT_TRACE_TEXT = 33 }; /* bytes that weft_trace_format needs */
/* [S] 32 hexadecimal digits, NUL-terminated, into `out`, which has WEFT_TRACE_TEXT bytes. Returns `out`. */
WEFT_API char *weft_trace_format(weft_trace id, char *out);

WEFT_END
#endif
