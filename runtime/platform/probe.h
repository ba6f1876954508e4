/* runtime/platform/probe.h -- static probes for tracers (docs/debugging.md): each is a `nop`, and a note in the
 * library says where the `nop` and its arguments are. A tracer replaces the nop by a breakpoint while it traces.
 *
 * Design notes. (1) Arguments are values that the code has in a register or in memory anyway, so nothing is computed
 * for them: no probe has a name, or a pid as text. (2) Probes report the events of the flight recorder, and also
 * events that are too frequent for it: messages within a worker, waits for messages and for replies. (3) Actors are
 * 64 bits: generation << 32 | worker << 24 | slot; 0: no actor, for example the parent of a node's first actor, or a
 * publisher outside of actors.
 *
 *     spawn(actor, parent)   exit(actor, reason)   send(actor, to, tag)   receive(actor, from, tag)
 *     wait(actor, char *what)   wake(actor, result) */
#ifndef WF_PROBE_H
#define WF_PROBE_H

#include "base.h"

#ifdef WF_PROBES
#include <sys/sdt.h>
#define WF_PROBE2(name, a, b) DTRACE_PROBE2(weft, name, a, b)
#define WF_PROBE3(name, a, b, c) DTRACE_PROBE3(weft, name, a, b, c)
#else
#define WF_PROBE2(name, a, b) ((void)0)
#define WF_PROBE3(name, a, b, c) ((void)0)
#endif

#endif
