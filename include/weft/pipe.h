/* weft/pipe.h -- pipes, and the process's own standard streams, as streams of weft/stream.h. */
#ifndef WEFT_PIPE_H
#define WEFT_PIPE_H

#include <weft/api.h>
#include <weft/stream.h>
WEFT_BEGIN

/* [A] What is written to one end is read from the other; one way. Closing the writing end ends the stream: the reader
 * gets 0. Closing the reading end gives the writer WEFT_ERESET. WEFT_EFULL (out of descriptors), WEFT_ENOMEM. */
WEFT_API WEFT_CHECKED int weft_pipe(weft_stream *reading, weft_stream *writing);

/* [A] This process's standard input, output or error as a stream of its own: closing it leaves the process's open. A
 * terminal or a pipe is not made non-blocking for others that have it open, such as the shell. Do not mix it with
 * stdio's own buffers. Redirected from or to a regular file it is always ready, and the worker reads and writes that
 * itself: a slow disk holds it up; files of your own are better read by weft/file.h. WEFT_ECLOSED: the process has
 * none. */
WEFT_API int weft_stdin(weft_stream *out);
WEFT_API int weft_stdout(weft_stream *out);
WEFT_API int weft_stderr(weft_stream *out);

WEFT_END
#endif
