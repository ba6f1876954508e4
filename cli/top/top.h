/* cli/top/top.h -- weft top: asking nodes, on a thread of its own. */
#ifndef CLI_TOP_H
#define CLI_TOP_H

#include "top_screen.h"

struct cli;
int cli_top(const struct cli *c);

struct top_news {
    struct top_snapshot *fresh; /* the taker's; NULL: there is none */
    void *detail;               /* the same: what INSPECT said of the wish's actor, `why` if it said no */
    size_t detail_size;
    char why[512];
    int64_t late; /* ns since a question that has no answer yet was asked; 0: there is none */
};

/* [the screen's thread] What is wanted from now on; it is asked for at once. */
void top_feed_wish(struct top_feed *f, const struct top_wish *wish);
/* What has come since the last call. False: no more will come. */
bool top_feed_take(struct top_feed *f, struct top_news *out);
/* Can be read from when something has come. */
int top_feed_descriptor(const struct top_feed *f);

#endif
