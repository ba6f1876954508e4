/* cli/top/top_screen.h -- the lines on a terminal. */
#ifndef CLI_TOP_SCREEN_H
#define CLI_TOP_SCREEN_H

#include "options.h"
#include "top_model.h"

struct top_feed;

struct top_wish {
    bool everywhere;
    enum top_by by;
    bool reverse;
    char filter[CLI_FILTER_MAX + 1];
    char inspect[64]; /* a pid; "": none */
};

/* Shows snapshots until the user quits, or no more arrive. Returns 0; the signal that ended it; or -1: this terminal
 * cannot show it. The terminal is restored. */
int top_screen(struct top_feed *feed, const struct top_wish *wish);
/* Call it before any other thread is started, so that only the screen's thread receives signals. */
void top_screen_prepare(void);

#endif
