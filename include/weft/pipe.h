/* weft/pipe.h -- pipes, and the process's own standard streams, as streams of weft/stream.h. */
#ifndef WEFT_PIPE_H
#define WEFT_PIPE_H

#include <weft/api.h>
#include <weft/stream.h>
WEFT_BEGIN

/* [A] Makes a one-way pipe: bytes written to `writing` are read from `reading`. Closing the writing end ends the
 * stream: the reader gets 0. Closing the reading end gives the writer WEFT_ERESET. Errors: WEFT_EFULL (out of
 * descriptors), WEFT_ENOMEM. */
WEFT_API WEFT_CHECKED int weft_pipe(weft_stream *reading, weft_stream *writing);

/* [A] Opens this process's standard input, output or error as a separate stream: closing it leaves the process's own
 * stream open. A terminal or a pipe is not made non-blocking for other programs that have it open, such as the shell.
 * Do not mix the stream with stdio's own buffers. If it is redirected from or to a regular file, it is always ready,
 * and the worker reads and writes the file itself, so a slow disk blocks the worker; read your own files with
 * weft/file.h. WEFT_ECLOSED: the process has no such stream. */
WEFT_API int weft_stdin(weft_stream *out);
WEFT_API int weft_stdout(weft_stream *out);
WEFT_API int weft_stderr(weft_stream *out);

WEFT_END
#endif
