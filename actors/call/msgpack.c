/* actors/call/msgpack.c -- messages as msgpack-c's packer and objects. See include/weft/msgpack.h.
 *
 * Design notes.
 * (1) A message grows as a packer writes: a larger message replaces it. `size` is the number of bytes used. The block
 *     has a size of its own, so a message may be smaller than its block.
 * (2) msgpack-c takes sizeof(msgpack_object) for each value of a message except the outermost. So a limit of bytes is
 *     also a limit of values, which weft_pack_check enforces before msgpack-c allocates anything.
 * (3) msgpack-c's functions recurse over objects. Actors have small stacks: so the depth of an object is checked
 *     first. */
#include <string.h>

#include "misuse.h"
#include "msg.h"

#include <weft/error.h>
#include <weft/log.h>
#include <weft/msgpack.h>

enum { FIRST_ROOM = 192 }; /* fills a block of 256 bytes together with the envelope */

/* ---- Packing --------------------------------------------------------------------------------------------------- */

/* Replaces the message by one that can hold `size` bytes and copies the packed bytes. False: p->error says why. */
static bool grow(weft_msg_packer *p, size_t size)
{
    if (size > WEFT_MESSAGE_MAX) {
        p->error = WEFT_ETOOBIG;
        return false;
    }
    size_t room = WF_MIN(WF_MAX(size, p->room * 2), (size_t)WEFT_MESSAGE_MAX);
    weft_msg *m = weft_msg_new(p->tag, room);
    if (m == NULL) {
        p->error = p->tag >= WEFT_TAG_SYSTEM ? WEFT_EINVAL : WEFT_ENOMEM;
        return false;
    }
    if (p->size > 0) memcpy(weft_msg_body(m), weft_data(p->message), p->size);
    weft_msg_free(p->message);
    p->message = m;
    p->room = room;
    return true;
}

/* The msgpack_packer_write function of the packer. */
static int append(void *packer, const char *bytes, size_t size)
{
    weft_msg_packer *p = packer;
    if (p->error != 0) return p->error;
    if (size > SIZE_MAX - p->size) return p->error = WEFT_ETOOBIG;
    if (size > p->room - p->size && !grow(p, p->size + size)) return p->error;
    if (size > 0) memcpy((uint8_t *)weft_msg_body(p->message) + p->size, bytes, size);
    p->size += size;
    return 0;
}

void weft_msg_packer_init(weft_msg_packer *p, uint32_t tag, size_t room)
{
    *p = (weft_msg_packer){.packer = {p, append}, .tag = tag};
    (void)grow(p, room == 0 ? FIRST_ROOM : WF_MIN(room, (size_t)WEFT_MESSAGE_MAX));
}

int weft_msg_packer_done(weft_msg_packer *p, weft_msg **out)
{
    int rc = p->error;
    *out = NULL;
    if (rc == 0) {
        p->message->size = (uint32_t)p->size;
        *out = p->message;
        p->message = NULL;
    }
    weft_msg_packer_drop(p);
    return rc;
}

int weft_msg_packer_send(weft_msg_packer *p, weft_pid to)
{
    weft_msg *m;
    int rc = weft_msg_packer_done(p, &m);
    return rc == 0 ? weft_send_msg(to, m) : rc;
}

void weft_msg_packer_drop(weft_msg_packer *p)
{
    weft_msg_free(p->message);
    p->message = NULL;
    p->size = p->room = 0;
    if (p->error == 0) p->error = WEFT_EINVAL; /* all later calls that pack into it fail */
}

/* ---- Objects --------------------------------------------------------------------------------------------------- */

static int object_of(const weft_msg *m, size_t values_max, msgpack_zone *zone, msgpack_object *out)
{
    size_t size = weft_size(m), end = 0;
    int rc = weft_pack_check(weft_data(m), size, values_max, NULL);
    if (rc < 0) return rc;
    int read = msgpack_unpack(weft_data(m), size, &end, zone, out);
    return read == MSGPACK_UNPACK_SUCCESS ? WEFT_OK : WEFT_ENOMEM; /* all other errors were excluded before */
}

int weft_msg_object(const weft_msg *m, size_t bytes_max, msgpack_zone *zone, msgpack_object *out)
{
    size_t values = bytes_max / sizeof(msgpack_object);
    return object_of(m, WF_MIN(values, (size_t)WEFT_ELEMENTS_MAX - 1) + 1, zone, out);
}

/* Whether arrays and maps nest no deeper than `levels`. */
static bool is_flat(const msgpack_object *o, uint32_t levels)
{
    bool flat = true;
    if (o->type != MSGPACK_OBJECT_ARRAY && o->type != MSGPACK_OBJECT_MAP) return true;
    if (levels == 0) return false;
    if (o->type == MSGPACK_OBJECT_ARRAY) {
        for (uint32_t i = 0; i < o->via.array.size && flat; i++) flat = is_flat(&o->via.array.ptr[i], levels - 1);
        return flat;
    }
    for (uint32_t i = 0; i < o->via.map.size && flat; i++) {
        const msgpack_object_kv *pair = &o->via.map.ptr[i];
        flat = is_flat(&pair->key, levels - 1) && is_flat(&pair->val, levels - 1);
    }
    return flat;
}

static int only_count(void *size, const char *bytes, size_t more)
{
    (void)bytes;
    *(size_t *)size += more;
    return 0;
}

int weft_msg_of_object(weft_msg **out, uint32_t tag, const msgpack_object *object)
{
    size_t size = 0;
    msgpack_packer measure = {&size, only_count};
    *out = NULL;
    if (!is_flat(object, WEFT_NEST_MAX)) return WEFT_ETOOBIG;
    int rc = msgpack_pack_object(&measure, *object);
    if (rc != 0) return WEFT_EINVAL; /* the object has a type that msgpack does not have */
    if (size > WEFT_MESSAGE_MAX) return WEFT_ETOOBIG;
    weft_msg_packer p;
    weft_msg_packer_init(&p, tag, size);
    if (p.error == 0) (void)msgpack_pack_object(&p.packer, *object);
    return weft_msg_packer_done(&p, out);
}

/* ---- Printing -------------------------------------------------------------------------------------------------- */

const char *weft_msg_print(const weft_msg *m, char *out, size_t size)
{
    msgpack_zone zone;
    msgpack_object o;
    bool known = false;
    memset(out, 0, size); /* msgpack-c does not end a truncated text with a NUL */
    if (size > 1 && msgpack_zone_init(&zone, MSGPACK_ZONE_CHUNK_SIZE)) {
        known = object_of(m, WF_MIN(size, (size_t)WEFT_ELEMENTS_MAX), &zone, &o) == 0;
        if (known) (void)msgpack_object_print_buffer(out, size - 1, o);
        msgpack_zone_destroy(&zone);
    }
    if (!known) snprintf(out, size, "(%zu bytes)", weft_size(m));
    size_t length = strlen(out);
    for (size_t at = 0; (at += weft_printable(out + at, length - at, NULL)) < length; at++) out[at] = '?';
    return out;
}
