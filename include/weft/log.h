/* weft/log.h -- one line per event on standard error, or in a file: logfmt, or JSON objects.
 *
 *     time=2026-11-22T10:03:47.123Z level=warn module=transport node=a actor=0.17.1 msg="..."
 *
 * node and actor: the origin of the line, if it is a node's worker or an actor. trace: the id of the message that the
 * actor handles, if it has one (weft/trace.h). module: the part of the program that writes the line. weft's own
 * modules are runtime, actors, transport and store. A program's lines have no module, and count as module "app",
 * unless the program defines WEFT_LOG_MODULE before it includes this header:
 *
 *     #define WEFT_LOG_MODULE "billing"
 *     #include <weft.h>
 *
 * If standard error is systemd's journal ($JOURNAL_STREAM says so), each line begins with its priority, such as <4>,
 * which the journal removes; and logfmt lines have no time, because the journal adds one.
 *
 * If the same node repeats a line often, the line is held back (weft_log_repeats). Later it is written once more,
 * with repeated=N for the N lines that were not written: together with the next line of any kind after the period, or
 * at the end of weft_main. Lines about actors that fail, and about children of supervisors that end, count together: of
 * each of these two kinds, five times as many lines are written as of a repeated line. */
#ifndef WEFT_LOG_H
#define WEFT_LOG_H

#include <weft/api.h>
WEFT_BEGIN

typedef enum { WEFT_DEBUG, WEFT_INFO, WEFT_WARN, WEFT_ERROR, WEFT_SILENT } weft_log_level;

/* [T] Lines below `level` are not written, whatever their module; `json` selects JSON instead of logfmt. The setting
 * is for the whole process; the default is WEFT_INFO. */
WEFT_API void weft_log_set(weft_log_level level, bool json);

/* [T] Sets the log from words separated by commas: LEVEL (debug, info, warn, error, silent), MODULE=LEVEL for the
 * lines of one module, logfmt or json, or both as json:LEVEL. Example: "json:warn,transport=debug". Anything not
 * given is info and logfmt. The name of a module has 1 to 23 letters, digits, '_', '-' and '.'.
 * Errors: WEFT_EINVAL: `*wrong` (may be NULL) points at the word in `words` that is not understood, and nothing has
 * changed. WEFT_EFULL: the same, because the word names one of more than 16 modules. WEFT_ENOMEM. */
WEFT_API int weft_log_configure(const char *words, const char **wrong);

/* [T] As weft_log_configure, but anything not given stays as it is: "transport=debug" changes only the level of that
 * module, "warn" only the level of the modules without a level of their own. */
WEFT_API int weft_log_adjust(const char *words, const char **wrong);

/* [T] Writes the present settings as words for weft_log_configure, with a NUL: "info,transport=debug". Writes at most
 * `size` bytes; returns the number of bytes needed, without the NUL. */
WEFT_API size_t weft_log_words(char *out, size_t size);

/* [T] Returns what weft_log_configure would return, without changing anything. */
WEFT_API int weft_log_check(const char *words, const char **wrong);

/* [T] From now on lines are appended to this file, which is created with mode 0640 if it does not exist; NULL: they
 * go to standard error, which is the default. The setting is for the whole process. Under weft_main SIGHUP reopens
 * the file. A line that cannot be written goes to standard error. Blocks for the file system. On an error (one of
 * weft_file_open) nothing has changed. */
WEFT_API int weft_log_file(const char *path);
/* [T] Reopens that file, after a tool such as logrotate has renamed it. Without a file it does nothing. On an error
 * (one of weft_file_open) lines still go to the old file. */
WEFT_API int weft_log_reopen(void);

/* [T] From now on a line that has been written `lines` times within `period` nanoseconds is held back until the
 * period is over. The default is 20 lines in 10 seconds; 0 lines: no line is held back. Lines of simulated nodes are
 * never held back. */
WEFT_API void weft_log_repeats(int lines, int64_t period);

/* [T] Returns how many bytes from the beginning of a text can safely be written to a terminal: whole UTF-8 characters
 * that are not control characters (below U+0020, U+007F to U+009F) and do not break the line or turn its direction
 * (U+061C, U+200E, U+200F, U+2028 to U+202E, U+2066 to U+2069, U+FEFF). If the result is less than `size`, `*stop`
 * (may be NULL) receives the code of the next character; U+FFFD if the bytes there are not UTF-8. Pass every text
 * that comes from others through this function before it goes to a terminal:
 *
 *     for (size_t at = 0; (at += weft_printable(text + at, size - at, NULL)) < size;) text[at++] = '?';
 *
 * Log lines have these characters escaped. */
WEFT_API size_t weft_printable(const char *text, size_t size, uint32_t *stop);

/* [T] Writes one line: time, level, module, node and actor, and the formatted text. A line is written with one write
 * call. This neither suspends the caller nor waits for a reader. If no program reads the log, the line is queued; if
 * more than 1 MiB waits already, the line is lost and counted (docs/operations.md). */
WEFT_API void weft_log(weft_log_level level, const char *format, ...) WEFT_PRINTF(2, 3);
/* [T] As weft_log, for a module other than that of the source file. NULL: no module. */
WEFT_API void weft_log_in(const char *module, weft_log_level level, const char *format, ...) WEFT_PRINTF(3, 4);
#ifdef WEFT_LOG_MODULE
#define weft_log(...) weft_log_in(WEFT_LOG_MODULE, __VA_ARGS__)
#endif

WEFT_END
#endif
