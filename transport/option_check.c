/* transport/option_check.c -- see option_check.h. */
#include "option_check.h"

#include "discover.h"
#include "frame.h"
#include "learned.h"
#include "members.h"
#include "names.h"
#include "platform.h"
#include "topic_trie.h"
#include "url.h"
#include "ws.h"

#include <stdio.h>
#include <string.h>

_Static_assert((int)WF_OPTION_WHY == (int)WF_REASON_TEXT, "the rooms below write their reasons into it");
_Static_assert((int)WF_OPTION_LISTEN_MAX == (int)WF_FRAME_URLS, "so many URLs a node may listen on");
_Static_assert((int)WF_OPTION_LIST_MAX == (int)WF_SOURCES_MAX, "so many sources it may have");
_Static_assert((int)WF_OPTION_LIST_MAX == (int)WF_LEARNED_RANGES, "and so many ranges");

static int check_url(const char *url, bool listens, char *why)
{
    char text[WF_URL_TEXT + 8];
    struct pf_address address;
    const char *path = wf_url_path(url);
    int rc = wf_url_check(url, listens, why);
    if (rc < 0 || path == NULL) return rc;
    snprintf(text, sizeof text, "unix:%s", path);
    rc = pf_address_parse(text, &address);
    if (rc < 0) snprintf(why, WF_OPTION_WHY, "the path is longer than a local socket of this system may have");
    return rc;
}

const char *wf_option_check(enum wf_option option, const char *value, char why[WF_OPTION_WHY])
{
    int rc = WEFT_OK;
    switch (option) {
    case WF_OPTION_LISTEN: rc = strcmp(value, "none") == 0 ? WEFT_OK : check_url(value, true, why); break;
    case WF_OPTION_JOIN: rc = check_url(value, false, why); break;
    case WF_OPTION_DISCOVER: rc = wf_discover_check(value, why); break;
    case WF_OPTION_DIAL_ONLY:
        return wf_learned_is_range(value) ? NULL : "it is not an address, ADDRESS/BITS, a name or .DOMAIN";
    case WF_OPTION_WS_ORIGIN: return wf_ws_is_origin(value) ? NULL : "it is not an origin like https://board.example";
    case WF_OPTION_META: return wf_meta_check(value);
    case WF_OPTION_NAME:
        return wf_name_check(weft_cstr(value)) == WEFT_OK
                   ? NULL
                   : "it is not a name of an actor: 1 to 64 letters, digits, '.', '_', '-' and '$'";
    case WF_OPTION_TOPIC:
        return wf_topic_check(weft_cstr(value)) == WEFT_OK ? NULL
                                                           : "it is not a topic: a topic is words with dots between";
    case WF_OPTION_PATTERN:
        return wf_pattern_check(weft_cstr(value)) == WEFT_OK
                   ? NULL
                   : "it is not a pattern: a pattern is words with dots between them, such as room.* or room.>";
    }
    return rc == WEFT_OK ? NULL : why;
}
