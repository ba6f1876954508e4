/* tests/installed/cmake/user_store.c -- a user's program that stores a message, and prints its offset. */
#include <stdio.h>

#include <weft.h>
#include <weft/store.h>

static void first(const void *arg, size_t size)
{
    const struct weft_stored_topics topics = {.pattern = "room.>"};
    const weft_store_options options = {.url = "sqlite:s.db", .topics = &topics, .topic_count = 1};
    struct weft_position at;
    weft_pid store;
    (void)arg, (void)size;
    if (weft_store_open(&options, &store, weft_after(WEFT_SEC(20))) < 0) return;
    if (weft_publish_stored("room.tea", 1, "hello", 5, &at, weft_after(WEFT_SEC(20))) == 0)
        printf("stored as %d\n", (int)at.offset);
    weft_stop(store);
}

int main(void)
{
    return weft_main(NULL, first, NULL, 0);
}
