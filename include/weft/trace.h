/* weft/trace.h -- ids that follow a message through actors and nodes.
 *
 * A message may carry a trace id. After an actor has received such a message, and before it receives the next one,
 * every message, publication and reply that it sends carries the same id. Its receivers do the same, on all nodes.
 * Log lines that an actor writes meanwhile have a field trace=. `weft trace` starts an id for each message that it is
 * asked to show, and shows all messages that follow from it. A program starts an id where its work begins, for
 * example for a request that came over HTTP. For messages without an id tracing costs nothing.
 *
 * Notifications of the system (ends of actors, nodes, subscriptions), messages of weft_send_every and retained
 * messages do not carry ids; a new actor starts without one. */
#ifndef WEFT_TRACE_H
#define WEFT_TRACE_H

#include <weft/api.h>
WEFT_BEGIN

/* 128 bits, like the trace id of W3C Trace Context and OpenTelemetry. Both 0: no id. */
typedef struct {
    uint64_t high, low;
} weft_trace;

/* [A] Returns the id of the message that the calling actor received last, or the id that weft_trace_set has set
 * since. */
WEFT_API weft_trace weft_trace_now(void);
/* [A] Messages that the actor sends from now on, until it receives the next one, carry this id; no id if both parts
 * are 0. WEFT_ENOMEM: they carry no id. */
WEFT_API int weft_trace_set(weft_trace id);
/* [T] Returns a new random id. */
WEFT_API weft_trace weft_trace_new(void);

enum { WEFT_TRACE_TEXT = 33 }; /* bytes that weft_trace_format needs */
/* [S] Writes 32 hexadecimal digits, NUL-terminated, into `out`, which has WEFT_TRACE_TEXT bytes. Returns `out`. */
WEFT_API char *weft_trace_format(weft_trace id, char *out);

WEFT_END
#endif
