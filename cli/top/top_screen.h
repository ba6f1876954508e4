/* cli/top/top_screen.h -- the lines on a terminal. */
#ifndef CLI_TOP_SCREEN_H
#define CLI_TOP_SCREEN_H

#include "top_model.h"

struct top_feed;

struct top_wish {
    bool everywhere;
    enum top_by by;
    bool reverse;
    char filter[64];
    char inspect[64]; /* a pid; "": none */
};

/* Shows what comes until somebody has had enough, or no more comes. 0; the signal that ended it; -1: it cannot be
 * shown on this terminal. The terminal is as it was. */
int top_screen(struct top_feed *feed, const struct top_wish *wish);
/* Before any other thread is started: signals come to the screen alone. */
void top_screen_prepare(void);

#endif
