/* weft/log.h -- one line per event on standard error, or in a file: logfmt, or JSON objects.
 *
 *   time=2026-11-22T10:03:47.123Z level=warn module=transport node=a actor=0.17.1 msg="..."
 *
 * node and actor: where it is said from, if that is a node's worker or an actor; trace: the id of the message that
 * the actor handles, if it has one (weft/trace.h). module: the part of the program that
 * says it. weft's own are runtime, actors and transport; a program's lines have none, and count as of module "app",
 * unless WEFT_LOG_MODULE is defined before this header is read:
 *
 *   #define WEFT_LOG_MODULE "billing"
 *   #include <weft.h>
 *
 * Where standard error is systemd's journal ($JOURNAL_STREAM says so) a line begins with its priority, <4>, which the
 * journal takes off, and lines of logfmt have no time, as the journal has one.
 *
 * The same line of the same node again and again is held back (weft_log_repeats): in the end it is there once more,
 * with repeated=N for the N lines that were not written. That line comes with the next one of any kind after the
 * period, or at the end of weft_main. */
#ifndef WEFT_LOG_H
#define WEFT_LOG_H

#include <weft/api.h>
WEFT_BEGIN

typedef enum { WEFT_DEBUG, WEFT_INFO, WEFT_WARN, WEFT_ERROR, WEFT_SILENT } weft_log_level;

/* [T] Lines below `level` are not written, whatever their module. Process-wide; the default is WEFT_INFO. */
WEFT_API void weft_log_set(weft_log_level level, bool json);

/* [T] The same from words separated by commas: LEVEL (debug, info, warn, error, silent), MODULE=LEVEL for the lines
 * of one module, logfmt or json, or both as json:LEVEL: "json:warn,transport=debug". What is not said is info and
 * logfmt. WEFT_EINVAL: `*wrong` (may be NULL) points at the word in `words` that means nothing, and nothing has
 * changed; WEFT_EFULL: the same, as it is one of more than 16 modules; WEFT_ENOMEM. A module's name has 1 to 23
 * letters, digits, '_', '-' and '.'. */
WEFT_API int weft_log_configure(const char *words, const char **wrong);

/* [T] The same, but what is not said stays as it is: "transport=debug" changes the level of that module and nothing
 * else, "warn" that of all modules without a level of their own. */
WEFT_API int weft_log_adjust(const char *words, const char **wrong);

/* [T] Writes what is set now, as words for weft_log_configure, with a NUL: "info,transport=debug". At most `size`
 * bytes; returns how many it needs, without the NUL. */
WEFT_API size_t weft_log_words(char *out, size_t size);

/* [T] What weft_log_configure would say, without a change. */
WEFT_API int weft_log_check(const char *words, const char **wrong);

/* [T] From now on lines are appended to the file, which is made if it is not there, with mode 0640; NULL: they go to
 * standard error, as by default. Process-wide. Under weft_main SIGHUP opens it anew. A line that cannot be written
 * goes to standard error. An error of weft_file_open's; then nothing has changed. Blocks for the file system. */
WEFT_API int weft_log_file(const char *path);
/* [T] Opens that file anew: a tool has renamed it, as logrotate does. Without one nothing happens. Lines go to the
 * old one if it fails. */
WEFT_API int weft_log_reopen(void);

/* [T] From now on a line that has been written `lines` times within `period` nanoseconds is held back until it is
 * over. The default is 20 lines in 10 seconds; 0 lines: none is held back. Lines of simulated nodes never are. */
WEFT_API void weft_log_repeats(int lines, int64_t period);

/* [T] How many bytes from the beginning of a text a terminal may get as they are: whole characters of UTF-8, none of
 * them a control character (below U+0020, U+007F to U+009F), or one that breaks the line or turns its direction
 * (U+061C, U+200E, U+200F, U+2028 to U+202E, U+2066 to U+2069, U+FEFF). If that is less than `size`, `*stop` (may be
 * NULL) becomes the code of the character that comes next; U+FFFD where there is none, in bytes that are no UTF-8.
 * What others have chosen goes to a terminal through this function:
 *
 *     for (size_t at = 0; (at += weft_printable(text + at, size - at, NULL)) < size;) text[at++] = '?';
 *
 * Log lines have these characters escaped. */
WEFT_API size_t weft_printable(const char *text, size_t size, uint32_t *stop);

/* [T] Writes one line: time, level, module, node and actor, and the formatted text. A line is written with one write
 * call and never suspends the caller. */
WEFT_API void weft_log(weft_log_level level, const char *format, ...) WEFT_PRINTF(2, 3);
/* [T] The same for a module that is not that of the file. NULL: none. */
WEFT_API void weft_log_in(const char *module, weft_log_level level, const char *format, ...) WEFT_PRINTF(3, 4);
#ifdef WEFT_LOG_MODULE
#define weft_log(...) weft_log_in(WEFT_LOG_MODULE, __VA_ARGS__)
#endif

WEFT_END
#endif
