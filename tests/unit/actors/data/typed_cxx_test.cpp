// The public headers and WEFT_MESSAGE, WEFT_STRUCT and WEFT_ENUM in C++17, where every warning is an error.
#include <weft.h>
#include <weft/msgpack.h>

#include <cstring>

#define SAY(F) F(str, nick) F(str, text) F(bool, loud) F(real, weight) F(pid, who)
WEFT_MESSAGE(say, 1, SAY)
#define PING(F)
WEFT_MESSAGE(ping, 2, PING)

namespace shop {
#define STATE(E) E(STATE_OPEN, 0, "open") E(STATE_PAID, 1, "paid")
WEFT_ENUM(state, STATE)
#define ITEM(F) F(str, name) F(maybe(int), count) F(list(item), parts)
WEFT_STRUCT(item, ITEM)
#define ORDER(F) \
    F(state, now) F(item, first) F(list(item), items) F(map(bool), flags) F(maybe(item), gift) F(list(str), tags)
WEFT_MESSAGE(order, 3, ORDER)
} // namespace shop

static_assert(SAY_TAG == 1 && PING_TAG == 2 && shop::ORDER_TAG == 3, "tags are constants");

static void serve(const struct say *args)
{
    weft_exit(args->loud ? 17 : 18);
}
WEFT_EXPORT_ACTOR("cxx.serve", serve, say)
static void plain(const void *arg, size_t size)
{
    static_cast<void>(arg);
    weft_exit(static_cast<int>(size));
}
WEFT_EXPORT_PLAIN("cxx.plain", plain)
static_assert(sizeof(weft_remote_options) > 0, "options are a type");
static int spawns()
{
    struct say args = {};
    return weft_spawn_on("b", "cxx.serve", nullptr, WEFT_ARGS(say, &args), nullptr);
}

static bool says()
{
    unsigned char buffer[64];
    struct say sent = {weft_cstr("ann"), weft_cstr("hello"), true, 0.5, weft_nobody()}, got;
    weft_writer w = weft_writer_on(buffer, sizeof buffer);
    say_put(&w, &sent);
    weft_reader r = weft_reader_on(buffer, w.size);
    say_get(&r, &got, nullptr);
    bool good = r.error == 0 && got.loud && got.weight == 0.5 && got.text.size == 5;
    return good && std::memcmp(got.text.data, "hello", 5) == 0;
}

static bool orders()
{
    unsigned char buffer[256];
    shop::item items[2] = {};
    items[0].name = weft_cstr("tea");
    items[1].count = {true, 2};
    items[1].parts = shop::item_list(items, 1);
    weft_entry_bool flags[1] = {{weft_cstr("urgent"), true}};
    shop::order sent = {}, got;
    sent.now = shop::STATE_PAID;
    sent.items = shop::item_list(items, 2);
    sent.flags = weft_bool_map(flags, 1);
    sent.gift = {true, items[0]};
    weft_writer w = weft_writer_on(buffer, sizeof buffer);
    order_put(&w, &sent);
    weft_reader r = weft_reader_on(buffer, w.size);
    struct weft_why why;
    order_get(&r, &got, &why);
    if (r.error != 0 || !shop::order_equal(&sent, &got)) return false;
    shop::item it;
    bool urgent = false;
    int seen = 0;
    while (shop::item_next(&got.items, &it)) seen++;
    char json[400];
    size_t size = shop::order_json(&sent, json, sizeof json);
    return seen == 2 && it.count.present && it.count.value == 2 && it.parts.count == 1 &&
           weft_bool_find(&got.flags, weft_cstr("urgent"), &urgent) && urgent && size == std::strlen(json) &&
           std::strncmp(json, "{\"now\": \"paid\", ", 16) == 0;
}

#define HELLO(F)
WEFT_MESSAGE(hello, 77, HELLO)

/* Outside of actors nothing is sent; but every function compiles. */
static bool is_silent()
{
    struct weft_answer a = {};
    return hello_send(weft_nobody(), nullptr) == WEFT_ENOTACTOR &&
           hello_publish_retained("a", nullptr) == WEFT_ENOTACTOR &&
           hello_group_send("a", nullptr) == WEFT_ENOTACTOR &&
           hello_reply_msg(nullptr, hello_new(nullptr)) == WEFT_ENOTACTOR &&
           hello_send_after(0, weft_nobody(), nullptr, nullptr) == WEFT_ENOTACTOR &&
           hello_gather(&a, 1, 1, nullptr, 0) == WEFT_ENOTACTOR && weft_text_equal(weft_cstr("a"), "a");
}

static bool packs()
{
    weft_msg_packer p;
    weft_msg *m = nullptr;
    msgpack_zone zone;
    msgpack_object o;
    char text[20];
    weft_msg_packer_init(&p, 1, 0);
    msgpack_pack_array(&p.packer, 1);
    msgpack_pack_int(&p.packer, 7);
    if (weft_msg_packer_done(&p, &m) < 0 || !msgpack_zone_init(&zone, 1024)) return false;
    bool good = weft_msg_object(m, 1000, &zone, &o) == 0 && o.via.array.ptr[0].via.u64 == 7 &&
                std::strcmp(weft_msg_print(m, text, sizeof text), "[7]") == 0;
    weft_msg_free(m);
    good = good && weft_msg_of_object(&m, 2, &o.via.array.ptr[0]) == 0 && weft_size(m) == 1;
    weft_msg_free(m);
    msgpack_zone_destroy(&zone);
    weft_msg_packer_init(&p, 1, 0);
    good = good && weft_msg_packer_send(&p, weft_nobody()) == WEFT_ENOTACTOR;
    weft_msg_packer_drop(&p);
    return good;
}

int main()
{
    return packs() && is_silent() && says() && orders() && spawns() == WEFT_ENOTACTOR ? 0 : 1;
}
