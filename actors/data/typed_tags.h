/* actors/data/typed_tags.h -- names of messages, by tag. */
#ifndef WF_TYPED_TAGS_H
#define WF_TYPED_TAGS_H

#include <weft/typed_desc.h>

/* The first message with that tag that this process has; NULL: none. */
const char *wf_typed_name_of_tag(uint32_t tag);
/* The name of that tag: WEFT_TAG_..., or the name of the typed message; NULL: it has none. */
const char *wf_tag_name(uint32_t tag);
/* Called before a node starts: logs which messages have the same tag. Conflicts of modules that are loaded later are
 * logged at once. */
void wf_typed_say_conflicts(void);

#endif
