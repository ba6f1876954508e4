/* weft/api.h -- what every public header needs: export marks and C++ linkage. Nothing here is for users. */
#ifndef WEFT_API_H
#define WEFT_API_H

/* Actors' ids, sizes and times are 64 bits, and actors' stacks take their address space. Before any other header, so
 * that this is the first thing a compiler for 32 bits says. */
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
#define WEFT_CHECKED __attribute__((warn_unused_result))
#else
#define WEFT_API
#define WEFT_PRINTF(text, first)
#define WEFT_NORETURN
#define WEFT_CHECKED
#endif

#endif
