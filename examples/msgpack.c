/* msgpack.c -- messages with msgpack-c's own functions: a sensor packs its readings directly into messages, and the
 * receiver reads them as objects, without a description of their fields.
 *
 *     $ weft run msgpack.c          or: cc msgpack.c $(pkg-config --cflags --libs weft) && ./a.out
 *     {"sensor"=>"kitchen", "celsius"=>21.500000}: kitchen has 21.5 degrees
 *     {"sensor"=>"cellar", "celsius"=>9.250000}: cellar has 9.2 degrees
 *     refused: malformed data */
#include <stdio.h>
#include <string.h>

#include <weft.h>
#include <weft/msgpack.h>

enum { READING = 1, ZONE_MAX = 64 * 1024 };

static void pack_text(msgpack_packer *p, const char *text)
{
    msgpack_pack_str_with_body(p, text, strlen(text));
}

/* Returns the value of a key of a map, or NULL. */
static const msgpack_object *find(const msgpack_object *o, const char *key)
{
    if (o->type != MSGPACK_OBJECT_MAP) return NULL;
    for (uint32_t i = 0; i < o->via.map.size; i++) {
        const msgpack_object *k = &o->via.map.ptr[i].key;
        if (k->type == MSGPACK_OBJECT_STR && weft_text_equal(weft_str(k->via.str.ptr, k->via.str.size), key))
            return &o->via.map.ptr[i].val;
    }
    return NULL;
}

static void display(const void *arg, size_t size)
{
    weft_msg *m;
    char text[200];
    (void)arg, (void)size;
    for (; weft_recv(&m, WEFT_FOREVER) == 0; weft_msg_free(m)) {
        msgpack_zone zone;
        msgpack_object o;
        if (!msgpack_zone_init(&zone, 1024)) return;
        int rc = weft_msg_object(m, ZONE_MAX, &zone, &o); /* it may come from any sender, so it is checked first */
        const msgpack_object *name = rc < 0 ? NULL : find(&o, "sensor"), *value = rc < 0 ? NULL : find(&o, "celsius");
        if (name != NULL && name->type == MSGPACK_OBJECT_STR && value != NULL && value->type == MSGPACK_OBJECT_FLOAT)
            printf("%s: %.*s has %.1f degrees\n", weft_msg_print(m, text, sizeof text), (int)name->via.str.size,
                   name->via.str.ptr, value->via.f64);
        else printf("refused: %s\n", rc < 0 ? weft_strerror(rc) : weft_msg_print(m, text, sizeof text));
        msgpack_zone_destroy(&zone);
        if (rc < 0) return; /* messages that an actor still holds are freed with it */
    }
}

static int send_reading(weft_pid to, const char *sensor, double celsius)
{
    weft_msg_packer p;
    weft_msg_packer_init(&p, READING, 0);
    msgpack_pack_map(&p.packer, 2);
    pack_text(&p.packer, "sensor");
    pack_text(&p.packer, sensor);
    pack_text(&p.packer, "celsius");
    msgpack_pack_double(&p.packer, celsius);
    return weft_msg_packer_send(&p, to);
}

static void sensors(const void *arg, size_t size)
{
    weft_pid to;
    (void)arg, (void)size;
    if (weft_spawn(&to, display, NULL, 0, NULL) < 0) return;
    if (send_reading(to, "kitchen", 21.5) < 0 || send_reading(to, "cellar", 9.25) < 0) return;
    static const char bomb[] = "\xDD\xFF\xFF\xFF\xFF"; /* an array of 4 thousand million values that do not exist */
    if (weft_send(to, READING, bomb, sizeof bomb - 1) < 0) return;
}

WEFT_MODULE(sensors) /* for `weft run` */

int main(void)
{
    return weft_main(NULL, sensors, NULL, 0);
}
