/* actors/data/pack.h -- msgpack that is passed on, or passed over, as it is. */
#ifndef WF_PACK_H
#define WF_PACK_H

#include <weft/pack.h>

/* Writes `size` bytes that are msgpack already. */
void wf_pack_raw(weft_writer *w, const void *data, size_t size);

/* weft_skip, but of arrays and maps within each other only `levels`. */
void wf_pack_skip(weft_reader *r, uint32_t levels);

#endif
