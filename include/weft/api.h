/* weft/api.h -- what every public header needs: export marks and C++ linkage; and weft_ignore for programs. */
#ifndef WEFT_API_H
#define WEFT_API_H

/* Ids of actors, sizes and times have 64 bits, and the stacks of actors need a large address space. This check stands
 * before any other header, so that it is the first error that a compiler for 32 bits reports. */
#ifdef __cplusplus
static_assert(sizeof(void *) == 8, "weft needs a 64-bit processor");
#else
_Static_assert(sizeof(void *) == 8, "weft needs a 64-bit processor");
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define WEFT_BEGIN extern "C" {
#define WEFT_END }
#else
#define WEFT_BEGIN
#define WEFT_END
#endif

#if defined(__MINGW32__)
#define WEFT_API /* a DLL that marks nothing exports everything */
#define WEFT_PRINTF(text, first) __attribute__((format(gnu_printf, text, first)))
#elif defined(__GNUC__)
#define WEFT_API __attribute__((visibility("default")))
#define WEFT_PRINTF(text, first) __attribute__((format(printf, text, first)))
#endif
#if defined(__GNUC__)
#define WEFT_NORETURN __attribute__((noreturn))
#else
#define WEFT_API
#define WEFT_PRINTF(text, first)
#define WEFT_NORETURN
#endif

/* Marks calls whose result must be looked at: the compiler warns if it is ignored (see weft.h). A program that is
 * compiled with -DWEFT_CHECKED= gets no such warnings. */
#if !defined(WEFT_CHECKED) && defined(__GNUC__)
#define WEFT_CHECKED __attribute__((warn_unused_result))
#elif !defined(WEFT_CHECKED)
#define WEFT_CHECKED
#endif

/* [S] Ignores a result that does not matter; write a comment beside it that says why. (gcc also warns about a cast to
 * void.) */
static inline void weft_ignore(int64_t result)
{
    (void)result;
}

#endif
