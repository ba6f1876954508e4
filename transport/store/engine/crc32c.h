/* transport/store/engine/crc32c.h -- CRC-32C, the checksum of stored records: the polynomial 0x1EDC6F41 of RFC 3720, as
 * iSCSI and ext4 use it. It finds each change of up to 32 neighbouring bits. */
#ifndef WF_CRC32C_H
#define WF_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Continues from `sum`, which is 0 at the beginning. wf_crc32c(0, "123456789", 9) is 0xE3069283. */
uint32_t wf_crc32c(uint32_t sum, const void *data, size_t size);
/* The same, as on a processor without an instruction for it. */
uint32_t wf_crc32c_by_tables(uint32_t sum, const void *data, size_t size);

#endif
