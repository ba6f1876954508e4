/* cli/top/top_screen.h -- the lines on a terminal. */
#ifndef CLI_TOP_SCREEN_H
#define CLI_TOP_SCREEN_H

#include "top.h"

struct top_feed;

/* Shows snapshots until the user quits, or no more arrive. Returns 0; the signal that ended it; or -1: this terminal
 * cannot show it. The terminal is restored. */
int top_screen(struct top_feed *feed, const struct top_wish *wish);
/* Call it before any other thread is started, so that only the screen's thread receives signals. */
void top_screen_prepare(void);

#endif
