/* weft/msgpack.h -- messages for programs that use msgpack-c. Its msgpack_packer packs directly into a new message,
 * and a received message is read as its msgpack_object. weft.h does not include this header.
 *
 *     weft_msg_packer p;
 *     weft_msg_packer_init(&p, READING, 0);
 *     msgpack_pack_array(&p.packer, 2);
 *     msgpack_pack_int64(&p.packer, 7);
 *     msgpack_pack_double(&p.packer, 21.5);
 *     int rc = weft_msg_packer_send(&p, to);
 *
 * weft/pack.h reads and writes the same bytes without allocating, and weft/typed.h makes structs of them. */
#ifndef WEFT_MSGPACK_H
#define WEFT_MSGPACK_H

#include <msgpack.h>

#include <weft/message.h>
#include <weft/pack.h>
WEFT_BEGIN

/* A message that is being packed. Pass &p.packer to msgpack-c's functions; the other fields are weft's. The functions
 * return 0 or the first error, which is kept, so one check at the end is enough. It must not be copied or moved
 * meanwhile. */
typedef struct {
    msgpack_packer packer;
    weft_msg *message;
    size_t size, room; /* bytes packed; bytes that the message can hold */
    uint32_t tag;
    int error; /* 0, or WEFT_ENOMEM, WEFT_ETOOBIG, WEFT_EINVAL */
} weft_msg_packer;

/* [T] Starts a message with that tag. `room`: the number of bytes that it will have, if known; a larger message
 * grows, which copies its bytes. End every packer that was started with one of the next three calls. */
WEFT_API void weft_msg_packer_init(weft_msg_packer *p, uint32_t tag, size_t room);
/* [T] Finishes the message: `*out` receives it, as weft_msg_new makes it; send it or free it. Whether an array or a
 * map has as many values as it announced is not checked. The packer is empty afterwards and accepts nothing until it
 * is started again. Errors, after which *out is NULL and there is nothing to free: WEFT_EINVAL (the tag is reserved),
 * WEFT_ETOOBIG (over WEFT_MESSAGE_MAX), WEFT_ENOMEM. */
WEFT_API WEFT_CHECKED int weft_msg_packer_done(weft_msg_packer *p, weft_msg **out);
/* [A, W] Finishes the message and sends it as weft_send_msg does. */
WEFT_API WEFT_CHECKED int weft_msg_packer_send(weft_msg_packer *p, weft_pid to);
/* [T] Discards what was packed. */
WEFT_API void weft_msg_packer_drop(weft_msg_packer *p);

/* [T] Reads a message as an object in the caller's zone. Texts and binaries in it are views of the message: they live
 * as long as it does, and the pointer of an empty one may have any value. Arrays and maps live in the zone; release
 * it with msgpack_zone_destroy or msgpack_zone_free.
 *
 * The whole message is checked before msgpack-c sees it, because msgpack-c reserves memory for whatever a count says.
 * Errors: WEFT_EFORMAT (it is not one whole value, or bytes are left over). WEFT_ETOOBIG (arrays and maps nest deeper
 * than WEFT_NEST_MAX, there are more than WEFT_ELEMENTS_MAX values, or they would take more than `bytes_max` of the
 * zone: a value in an array or a map takes sizeof(msgpack_object), which is 24 times the single byte that it may have
 * on the wire). WEFT_ENOMEM. */
WEFT_API WEFT_CHECKED int weft_msg_object(const weft_msg *m, size_t bytes_max, msgpack_zone *zone,
                                          msgpack_object *out);

/* [T] Makes a message from `object`; send it or free it.
 * Errors: WEFT_ETOOBIG (it nests deeper than WEFT_NEST_MAX, or takes more than WEFT_MESSAGE_MAX bytes), and those of
 * weft_msg_packer_done. */
WEFT_API WEFT_CHECKED int weft_msg_of_object(weft_msg **out, uint32_t tag, const msgpack_object *object);

/* [T] Writes a message as text for people, as msgpack-c prints it: ["tea", 2, 3.5]. The text is cut off where `out`
 * ends, and always has a NUL; characters that are not safe for a terminal become '?' (weft_printable). If the message
 * is not msgpack, nests too deep, or has more values than `out` has bytes, the text is its size: "(5 bytes)". Returns
 * `out`; `size` must be > 0. */
WEFT_API const char *weft_msg_print(const weft_msg *m, char *out, size_t size);

WEFT_END
#endif
