/* actors/data/pack.h -- copies or skips msgpack values without reading them. */
#ifndef WF_PACK_H
#define WF_PACK_H

#include <weft/pack.h>

/* Writes `size` bytes that are already in msgpack format. */
void wf_pack_raw(weft_writer *w, const void *data, size_t size);

/* As weft_skip, but fails if arrays and maps are nested more than `levels` deep. */
void wf_pack_skip(weft_reader *r, uint32_t levels);

#endif
