/* runtime/platform/linux/changes_inotify.c -- changes of directories and files. */
#include <errno.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "native.h"

static const uint32_t WATCHED = IN_CREATE | IN_MOVED_TO | IN_DELETE | IN_MOVED_FROM | IN_MODIFY | IN_DELETE_SELF |
                                IN_MOVE_SELF;

int pf_changes_open(pf_handle *out, const char *path)
{
    int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (fd < 0) return pf_error(errno);
    if (inotify_add_watch(fd, path, WATCHED) < 0) {
        int rc = errno == ENOSPC ? WEFT_EFULL : pf_file_error(errno);
        close(fd);
        return rc;
    }
    *out = fd;
    return WEFT_OK;
}

static enum pf_change_kind kind_of(uint32_t mask)
{
    if ((mask & IN_Q_OVERFLOW) != 0) return PF_CHANGE_OVERFLOW;
    if ((mask & (IN_CREATE | IN_MOVED_TO)) != 0) return PF_CHANGE_CREATED;
    if ((mask & (IN_DELETE | IN_MOVED_FROM)) != 0) return PF_CHANGE_REMOVED;
    if ((mask & IN_MODIFY) != 0) return PF_CHANGE_MODIFIED;
    if ((mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT)) != 0) return PF_CHANGE_GONE;
    if ((mask & IN_IGNORED) != 0) return PF_CHANGE_END; /* follows the events above, unless the file was only moved */
    return PF_CHANGE_NONE;
}

int64_t pf_changes_parse(const void *data, size_t size, struct pf_change *out)
{
    struct inotify_event e;
    if (size < sizeof e) return WEFT_EFORMAT;
    memcpy(&e, data, sizeof e);
    if (size - sizeof e < e.len || e.len > sizeof out->name) return WEFT_EFORMAT;
    out->kind = kind_of(e.mask);
    memcpy(out->name, (const char *)data + sizeof e, e.len); /* padded with NULs */
    if (e.len == 0) out->name[0] = '\0';
    return (int64_t)(sizeof e + e.len);
}

size_t pf_changes_end(void *out)
{
    struct inotify_event e = {.mask = IN_IGNORED};
    memcpy(out, &e, sizeof e);
    return sizeof e;
}
