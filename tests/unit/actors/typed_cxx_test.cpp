// The public headers and WEFT_MESSAGE in C++17, where every warning is an error.
#include <weft.h>

#include <cstring>

#define SAY(F) F(str, nick) F(str, text) F(bool, loud) F(real, weight) F(pid, who)
WEFT_MESSAGE(say, 1, SAY)
#define PING(F)
WEFT_MESSAGE(ping, 2, PING)

static_assert(SAY_TAG == 1 && PING_TAG == 2, "tags are constants");

int main()
{
    unsigned char buffer[64];
    struct say sent = {weft_cstr("ann"), weft_cstr("hello"), true, 0.5, weft_nobody()}, got;
    weft_writer w = weft_writer_on(buffer, sizeof buffer);
    say_put(&w, &sent);
    weft_reader r = weft_reader_on(buffer, w.size);
    say_get(&r, &got, nullptr);
    bool good = r.error == 0 && got.loud && got.weight == 0.5 && got.text.size == 5;
    return good && std::memcmp(got.text.data, "hello", 5) == 0 ? 0 : 1;
}
