/* actors/data/typed_tags.h -- what messages are called, by their tags. */
#ifndef WF_TYPED_TAGS_H
#define WF_TYPED_TAGS_H

#include <weft/typed_desc.h>

/* The first message with that tag that this process has; NULL: none. */
const char *wf_typed_name_of_tag(uint32_t tag);
/* What a message with that tag is called: WEFT_TAG_..., or the typed message; NULL: it has no name. */
const char *wf_tag_name(uint32_t tag);
/* Before a node starts: says which messages have the same tag. Those of modules that come later are said at once. */
void wf_typed_say_conflicts(void);

#endif
