/* cli/top/top_feed.h -- what arrives for the screen of weft top, which another thread asks for. */
#ifndef CLI_TOP_FEED_H
#define CLI_TOP_FEED_H

#include "top.h"

struct top_feed;

struct top_news {
    struct top_snapshot *fresh; /* the newest snapshot, for the thread that takes it; NULL: there is none */
    void *detail;               /* likewise the answer of INSPECT about the wish's actor; `why` has a refusal */
    size_t detail_size;
    char why[512];
    int64_t late; /* ns since the oldest request without an answer; 0: all were answered */
};

/* [the screen's thread] What is wanted from now on; it is asked for at once. */
void top_feed_wish(struct top_feed *f, const struct top_wish *wish);
/* Takes the snapshot that has arrived since the last call. False: no more will arrive. */
bool top_feed_take(struct top_feed *f, struct top_news *out);
/* Can be read from when something has come. */
int top_feed_descriptor(const struct top_feed *f);

#endif
