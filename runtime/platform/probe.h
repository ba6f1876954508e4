/* runtime/platform/probe.h -- static probes for tracers (docs/debugging.md): a `nop` each, with a note in the library
 * of where it is and where its arguments are. A tracer puts a breakpoint in the nop's place while it looks.
 *
 * Design notes. (1) Arguments are what the place has in a register or in memory anyway, so that nothing is computed
 * for them: no probe has a name, or a pid as text. (2) Probes say what the flight recorder says, and besides what it
 * leaves out for being too frequent: messages within a worker, waiting for mail and for answers. (3) Actors are 64
 * bits: generation << 32 | worker << 24 | slot; 0: nobody, as of who publishes, or starts a node's first actor.
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
