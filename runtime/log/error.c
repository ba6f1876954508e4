/* runtime/log/error.c -- names and texts of the error codes. */
#include <weft/error.h>

const char *weft_strerror(int error)
{
    switch (error) {
#define ENTRY(name, code, text) \
    case code: return text;
        WEFT_ERRORS(ENTRY)
#undef ENTRY
    default: return error >= 0 ? "no error" : "unknown error";
    }
}

const char *weft_error_name(int error)
{
    switch (error) {
#define ENTRY(name, code, text) \
    case code: return "WEFT_" #name;
        WEFT_ERRORS(ENTRY)
#undef ENTRY
    default: return error >= 0 ? "WEFT_OK" : "WEFT_UNKNOWN";
    }
}
