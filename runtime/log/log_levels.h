/* runtime/log/log_levels.h -- which lines are wanted: a level for all modules, others for some. */
#ifndef WF_LOG_LEVELS_H
#define WF_LOG_LEVELS_H

#include "base.h"
#include <weft/log.h>

enum { WF_LOG_MODULE_MAX = 24, WF_LOG_MODULES = 16 };                      /* bytes with the NUL */
extern const char *const wf_log_levels[];                                  /* names, by weft_log_level */
enum { WF_LOG_WORDS_MAX = 16 + WF_LOG_MODULES * (WF_LOG_MODULE_MAX + 8) }; /* of weft_log_words, with the NUL */
bool wf_log_wanted(const char *module, weft_log_level level);
bool wf_log_is_json(void);

#endif
