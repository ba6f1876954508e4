/* weft/local.h -- memory that belongs to an actor and ends with it: blocks, and one block per key.
 *
 * The order at an actor's end, for whatever reason it ends: first its deferred clean-ups, last first; then the
 * destructors of its keyed blocks, last made first; then all this memory is freed; then everything else that the
 * actor has opened is closed. So clean-ups may still use all of it. The memory belongs to the actor: another actor
 * must not keep a pointer into it. */
#ifndef WEFT_LOCAL_H
#define WEFT_LOCAL_H

#include <weft/api.h>
WEFT_BEGIN

/* [A] Returns `size` zeroed bytes (0 is allowed), aligned for any type; they are freed when the calling actor ends.
 * NULL when out of memory or outside of actors. */
WEFT_API WEFT_CHECKED void *weft_alloc(size_t size);
/* [A] Frees a block of weft_alloc early. `block` may be NULL. WEFT_EINVAL: the block belongs to another actor or to a
 * key; it stays. */
WEFT_API int weft_release(void *block);

/* A key: each actor has its own block for it. The key is identified by its address, so it must be static:
 *
 *     static const weft_local_key statistics = {sizeof(struct statistics), NULL};
 *     struct statistics *mine = weft_local(&statistics); */
typedef struct {
    size_t size; /* size of the block, at least 1 */
    /* destructor, called before the block is freed; may be NULL. It runs in the actor, like a clean-up */
    void (*drop)(void *block);
} weft_local_key;

/* [A] Returns the calling actor's block for that key. It is made and zeroed at the first use; later calls return the
 * same block. NULL when out of memory, outside of actors, or when the size of the key is 0; and if a new block has a
 * destructor, when the actor's clean-ups and destructors have run for two grace periods. */
WEFT_API void *weft_local(const weft_local_key *key);

WEFT_END
#endif
