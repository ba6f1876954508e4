/* runtime/log/log.h -- what the layers above add to a log line, and what the parts of the log share.
 *
 * log.c puts lines together, log_levels.c says which are wanted, log_repeats.c which have been said often enough,
 * log_file.c writes them elsewhere than to standard error. */
#ifndef WF_LOG_H
#define WF_LOG_H

#include "base.h"
#include <weft/log.h>

enum { WF_LOG_LINE_MAX = 2048 }; /* bytes with the newline; what is longer is cut and says truncated=true */

/* Writes fields as "node=a actor=0.17.1" (values without spaces), at most `size` bytes with the NUL; "" where there
 * are none. Called on whatever thread logs. Returns the time on the machine's clock; 0: nothing is held back, as a
 * simulated node has to say the same with the same seed. `*wall` becomes what the node's wall clock
 * says if that is not the machine's. NULL: no fields, and 0. */
typedef int64_t wf_log_context_fn(char *out, size_t size, int64_t *wall);
extern _Atomic(wf_log_context_fn *) wf_log_context; /* release by who registers, acquire by who logs */

/* What else is said of a broken invariant before the process ends; NULL: nothing. As above. */
typedef void wf_last_words_fn(void);
extern _Atomic(wf_last_words_fn *) wf_last_words;

/* Where lines go instead of standard error; false: nowhere. As above. */
typedef bool wf_log_sink_fn(const char *line, size_t size);
extern _Atomic(wf_log_sink_fn *) wf_log_sink;
/* Whether there is a file that SIGHUP is to open anew. */
bool wf_log_has_file(void);
/* Writes what is still held back: the process is about to end. */
void wf_log_tell_repeats(void);

/* ---- log_levels.c ---------------------------------------------------------------------------------------------- */
enum { WF_LOG_MODULE_MAX = 24, WF_LOG_MODULES = 16 };                      /* bytes with the NUL */
extern const char *const wf_log_levels[];                                  /* names, by weft_log_level */
enum { WF_LOG_WORDS_MAX = 16 + WF_LOG_MODULES * (WF_LOG_MODULE_MAX + 8) }; /* of weft_log_words, with the NUL */
bool wf_log_wanted(const char *module, weft_log_level level);
bool wf_log_is_json(void);

/* ---- log_repeats.c --------------------------------------------------------------------------------------------- */
/* A line that is held back: what of it is said again. */
struct wf_repeat {
    uint64_t key;  /* a hash of all that makes it the same line; 0: this slot is free */
    int64_t until; /* when the period is over that began with its first */
    int written;
    uint64_t held;
    weft_log_level level;
    char module[WF_LOG_MODULE_MAX], node[80], text[160]; /* text may be cut */
};
/* Whether that line may be written at `now`; else it is counted. `node`: the field "node=a", or "". */
bool wf_log_may_repeat(const char *module, weft_log_level level, const char *node, const char *text, size_t size,
                       int64_t now);
/* One whose period is over at `now`, or until which lines have been held back; false: there is none. */
bool wf_log_take_repeat(int64_t now, struct wf_repeat *out);

#endif
