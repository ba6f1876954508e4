/* weft/local.h -- memory that belongs to an actor and ends with it: blocks, and one block per key.
 *
 * The order at an actor's end, however it ends: its deferred clean-ups, last first; then the destructors of its keyed
 * blocks, last made first; then all this memory is freed; then what else the actor has opened is closed. So clean-ups
 * may still use any of it. The memory is the actor's own: another actor must not keep a pointer into it. */
#ifndef WEFT_LOCAL_H
#define WEFT_LOCAL_H

#include <weft/api.h>
WEFT_BEGIN

/* [A] `size` zeroed bytes (0 is fine), aligned for any type, freed when the calling actor ends. NULL when out of
 * memory or outside of actors. */
WEFT_API WEFT_CHECKED void *weft_alloc(size_t size);
/* [A] Frees a block of weft_alloc early. NULL is fine. WEFT_EINVAL if the block is another actor's or belongs to a
 * key; then it stays. */
WEFT_API int weft_release(void *block);

/* What each actor has its own one of. The key is its address, so it must be static:
 *
 *     static const weft_local_key statistics = {sizeof(struct statistics), NULL};
 *     struct statistics *mine = weft_local(&statistics); */
typedef struct {
    size_t size; /* of the block, at least 1 */
    /* what to do with it before it is freed; may be NULL. Runs in the actor, as a clean-up */
    void (*drop)(void *block);
} weft_local_key;

/* [A] The calling actor's block for that key: made and zeroed at the first use, the same one from then on. NULL when
 * out of memory, outside of actors, or when the size of the key is 0. */
WEFT_API void *weft_local(const weft_local_key *key);

WEFT_END
#endif
