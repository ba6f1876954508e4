/* weft/msgpack.h -- messages for programs that know msgpack-c. Its msgpack_packer packs straight into a new message,
 * and what was received is looked at as its msgpack_object. weft.h does not include this header.
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

/* A message that is being packed: give &p.packer to msgpack-c's functions, the rest is weft's. They return 0 or the
 * first error, which sticks: one look at the end is enough. It must not be copied or moved meanwhile. */
typedef struct {
    msgpack_packer packer;
    weft_msg *message;
    size_t size, room; /* packed; that the message has bytes for */
    uint32_t tag;
    int error; /* 0, or WEFT_ENOMEM, WEFT_ETOOBIG, WEFT_EINVAL */
} weft_msg_packer;

/* [T] Begins a message with that tag. `room`: how many bytes it will have, if that is known; with more it grows,
 * which copies what there is. A packer that was begun is ended by one of the next three. */
WEFT_API void weft_msg_packer_init(weft_msg_packer *p, uint32_t tag, size_t room);
/* [T] The message, as weft_msg_new makes it: send it or free it. Whether all values are there that an array or a map
 * has announced is not looked at. WEFT_EINVAL (the tag is reserved), WEFT_ETOOBIG (over WEFT_MESSAGE_MAX),
 * WEFT_ENOMEM; then *out is NULL and there is nothing to free. The packer is empty afterwards, and takes nothing
 * until it is begun again. */
WEFT_API WEFT_CHECKED int weft_msg_packer_done(weft_msg_packer *p, weft_msg **out);
/* [A, W] The same, and sends it as weft_send_msg does. */
WEFT_API WEFT_CHECKED int weft_msg_packer_send(weft_msg_packer *p, weft_pid to);
/* [T] Gives up what was packed. */
WEFT_API void weft_msg_packer_drop(weft_msg_packer *p);

/* [T] What a message says, as an object in the caller's zone. Texts and bodies in it are views of the message: they
 * live as long as it does, and the pointer of one without bytes may be any. Arrays and maps live in the zone; end it
 * with msgpack_zone_destroy or msgpack_zone_free.
 *
 * All of the message is checked before msgpack-c sees it, as msgpack-c reserves whatever a count says. WEFT_EFORMAT:
 * it is not one whole value, or bytes are left over. WEFT_ETOOBIG: more than WEFT_NEST_MAX arrays and maps within
 * each other, more than WEFT_ELEMENTS_MAX values, or they would take more than `bytes_max` of the zone: a value in an
 * array or a map takes sizeof(msgpack_object), which is 24 times the byte that it may have come as. WEFT_ENOMEM. */
WEFT_API WEFT_CHECKED int weft_msg_object(const weft_msg *m, size_t bytes_max, msgpack_zone *zone,
                                          msgpack_object *out);

/* [T] A message that says `object`; send it or free it. WEFT_ETOOBIG: it nests deeper than WEFT_NEST_MAX, or takes
 * more than WEFT_MESSAGE_MAX bytes. Else the errors of weft_msg_packer_done. */
WEFT_API WEFT_CHECKED int weft_msg_of_object(weft_msg **out, uint32_t tag, const msgpack_object *object);

/* [T] What a message says, as text for people, written by msgpack-c: ["tea", 2, 3.5]. It is cut off where `out` ends,
 * always with a NUL; what a terminal must not get is a '?' (weft_printable). A message that is no msgpack, that nests
 * too deep or has more values than `out` has bytes is told by its size: "(5 bytes)". Returns `out`; `size` > 0. */
WEFT_API const char *weft_msg_print(const weft_msg *m, char *out, size_t size);

WEFT_END
#endif
