/* cli/module/compile.c -- a source file becomes a module: compiled once, then found in the cache.
 *
 * Design notes.
 * (1) The key is a hash of the preprocessed source, the compiler, its flags and its libraries: a changed header, of
 *     the system's or of one's own, is a changed source.
 * (2) The module is made under a name of this process and then renamed, so that two that compile the same file at
 *     once, or one that is interrupted, leave either nothing or a whole module.
 * (3) Headers are those this command came with (a build tree's, or the prefix it was installed to), else those that
 *     pkg-config knows. The library is the one that this process has loaded, so that the module shares it. The same holds for
 *     libweft-store, which only a module that needs it is linked with. */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compile.h"
#include "child.h"

enum { WORDS_MAX = 64 };
/* A function with large variables must touch the guard below an actor's stack; reports of crashes show frames. */
#define FLAGS "-std=gnu11 -O2 -g -fno-omit-frame-pointer -fstack-clash-protection -Wall -fPIC"

struct command {
    size_t count;
    char *word[WORDS_MAX + 1]; /* ends with NULL */
    char *text;                /* some of the others point into this text */
    char include[PATH_MAX + 2];
    char library[PATH_MAX];
    char store[PATH_MAX]; /* libweft-store; "": this command was built without it */
};

/* ---- What to run ----------------------------------------------------------------------------------------------- */

static void add(struct command *k, char *word)
{
    if (k->count < WORDS_MAX) k->word[k->count++] = word;
}

/* Back to the first `count` words: those behind them may point to what is about to go. */
static void forget(struct command *k, size_t count)
{
    k->count = count;
    memset(k->word + count, 0, sizeof k->word - count * sizeof k->word[0]);
}

static void add_words(struct command *k, char *text)
{
    char *word;
    while ((word = strsep(&text, " \t\n")) != NULL) {
        if (word[0] != '\0') add(k, word);
    }
}

/* Finds the folder of weft.h from the path of this command. */
static bool headers_near(char *out, size_t size)
{
    static const char *const above[] = {"/../include", "/../../include"};
    char self[PATH_MAX], probe[PATH_MAX + 32];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0) return false;
    self[length] = '\0';
    char *slash = strrchr(self, '/');
    if (slash == NULL) return false;
    *slash = '\0';
    for (size_t i = 0; i < 2; i++) {
        snprintf(probe, sizeof probe, "%s%s/weft/node.h", self, above[i]);
        if (access(probe, R_OK) != 0) continue;
        int n = snprintf(out, size, "%s%s", self, above[i]);
        return n > 0 && (size_t)n < size;
    }
    return false;
}

static char *read_all(FILE *from)
{
    char *text = NULL, chunk[4096];
    size_t size = 0, n;
    FILE *to = open_memstream(&text, &size);
    if (to == NULL) return NULL;
    while ((n = fread(chunk, 1, sizeof chunk, from)) > 0) fwrite(chunk, 1, n, to);
    fclose(to);
    return text;
}

static char *flags_of_package(void)
{
    char program[] = "pkg-config", flags[] = "--cflags", package[] = "weft";
    struct cli_child child;
    if (cli_child_start(&child, (char *[]){program, flags, package, NULL}, true, true) != 0) return NULL;
    char *text = read_all(child.out);
    if (cli_child_end(&child) == 0) return text;
    free(text);
    return NULL;
}

/* The compiler and the flags that both preprocessing and compiling take. */
static int make_command(const struct cli *c, struct command *k)
{
    const char *cc = getenv("CC"), *flags = getenv("CFLAGS");
    char folder[PATH_MAX], *package = NULL;
    bool near = headers_near(folder, sizeof folder);
    if (!near && (package = flags_of_package()) == NULL) {
        return cli_fail(c, CLI_FAILED, "cannot compile: weft's headers are not installed (%s)",
                        "pkg-config does not know weft; is PKG_CONFIG_PATH set?");
    }
    int n = asprintf(&k->text, "%s " FLAGS " %s %s", cc != NULL && cc[0] != '\0' ? cc : "cc",
                     package != NULL ? package : "", flags != NULL ? flags : "");
    free(package);
    if (n < 0) {
        k->text = NULL;
        return cli_fail(c, CLI_FAILED, "out of memory");
    }
    add_words(k, k->text);
    if (near) {
        snprintf(k->include, sizeof k->include, "-I%s", folder);
        add(k, k->include);
    }
    Dl_info library;
    void *symbol = dlsym(RTLD_DEFAULT, "weft_strerror");
    if (symbol == NULL || dladdr(symbol, &library) == 0 || realpath(library.dli_fname, k->library) == NULL)
        return cli_fail(c, CLI_FAILED, "cannot compile: libweft is not where it was loaded from");
    symbol = dlsym(RTLD_DEFAULT, "weft_store_open");
    if (symbol == NULL || dladdr(symbol, &library) == 0 || realpath(library.dli_fname, k->store) == NULL)
        k->store[0] = '\0';
    return CLI_OK;
}

/* ---- Running it ------------------------------------------------------------------------------------------------ */

/* `out` (may be NULL) gets what it prints; it is to be freed. */
static int run_command(const struct cli *c, const struct command *k, char **out)
{
    struct cli_child child;
    int rc = cli_child_start(&child, k->word, out != NULL, false);
    if (rc != 0) {
        return cli_fail(c, CLI_FAILED, "cannot run the compiler %s: %s; install one, or set CC",
                        CLI_QUOTE(k->word[0]), strerror(rc));
    }
    if (out != NULL) *out = read_all(child.out);
    int status = cli_child_end(&child);
    if (WIFSIGNALED(status)) return cli_fail(c, CLI_FAILED, "%s ended with signal %d", k->word[0], WTERMSIG(status));
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return CLI_FAILED; /* the compiler has said why */
    return out != NULL && *out == NULL ? cli_fail(c, CLI_FAILED, "out of memory") : CLI_OK;
}

/* ---- The cache ------------------------------------------------------------------------------------------------- */

struct hash {
    uint64_t a, b;
};

static void hash_add(struct hash *h, const char *text)
{
    for (const unsigned char *s = (const unsigned char *)text;; s++) {
        h->a = (h->a ^ *s) * UINT64_C(0x100000001B3); /* FNV-1a */
        h->b = (h->b + *s + 1) * UINT64_C(0x9E3779B97F4A7C15);
        h->b ^= h->b >> 29;
        if (*s == '\0') return;
    }
}

static int make_folders(const struct cli *c, char *path)
{
    for (char *at = path + 1;; at++) {
        if (*at != '/' && *at != '\0') continue;
        char end = *at;
        *at = '\0';
        int rc = mkdir(path, 0700);
        if (rc < 0 && errno != EEXIST)
            return cli_fail(c, CLI_FAILED, "cannot make the cache folder %s: %s", path, strerror(errno));
        *at = end;
        if (end == '\0') return CLI_OK;
    }
}

static int cache_folder(const struct cli *c, char out[PATH_MAX])
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    struct stat info;
    int n;
    if (cache != NULL && cache[0] == '/') n = snprintf(out, PATH_MAX, "%s/weft", cache);
    else if (home != NULL && home[0] == '/') n = snprintf(out, PATH_MAX, "%s/.cache/weft", home);
    else return cli_fail(c, CLI_FAILED, "no place for compiled modules: set HOME or XDG_CACHE_HOME");
    if (n >= PATH_MAX - 64) return cli_fail(c, CLI_FAILED, "the cache folder's path is too long");
    int rc = make_folders(c, out);
    if (rc != CLI_OK) return rc;
    if (stat(out, &info) < 0 || info.st_uid != getuid() || (info.st_mode & 022) != 0) {
        return cli_fail(c, CLI_FAILED,
                        "%s contains code that will run: you must own it, and no other user may be able to write it",
                        out);
    }
    return CLI_OK;
}

/* Returns the value of a variable with further flags of the linker, as make has it. They are part of the module's
 * name: a module with other libraries is another module. */
static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value != NULL ? value : "";
}

/* The name that a module of this source has in the cache. */
static int cached_name(const struct cli *c, struct command *k, const char *source, char out[PATH_MAX])
{
    char folder[PATH_MAX], *text = NULL;
    struct hash h = {UINT64_C(0xCBF29CE484222325), 0};
    size_t count = k->count;
    int rc = cache_folder(c, folder);
    if (rc != CLI_OK) return rc;
    for (size_t i = 0; i < k->count; i++) hash_add(&h, k->word[i]);
    hash_add(&h, k->library);
    hash_add(&h, k->store);
    hash_add(&h, variable("LDFLAGS"));
    hash_add(&h, variable("LDLIBS"));
    add(k, (char[]){"-E"});
    add(k, (char *)(uintptr_t)source);
    rc = run_command(c, k, &text);
    if (rc == CLI_OK && text != NULL) hash_add(&h, text);
    free(text);
    forget(k, count);
    snprintf(out, PATH_MAX, "%.*s/%016llx%016llx.so", PATH_MAX - 64, folder, (unsigned long long)h.a,
             (unsigned long long)h.b);
    return rc;
}

static int compile_to(const struct cli *c, struct command *k, const char *source, const char *module)
{
    char made[PATH_MAX + 32], math[] = "-lm", *before = strdup(variable("LDFLAGS")),
                              *after = strdup(variable("LDLIBS"));
    snprintf(made, sizeof made, "%s.%ld", module, (long)getpid());
    size_t count = k->count;
    char shared[] = "-shared", output[] = "-o", no_undefined[] = "-Wl,-z,defs", if_needed[] = "-Wl,--as-needed";
    add(k, shared);
    if (before != NULL) add_words(k, before);
    add(k, (char *)(uintptr_t)source);
    add(k, output);
    add(k, made);
    add(k, no_undefined);
    if (k->store[0] != '\0') {
        add(k, if_needed);
        add(k, k->store);
    }
    add(k, k->library);
    if (after != NULL) add_words(k, after);
    add(k, math);
    bool whole = before != NULL && after != NULL && k->count < WORDS_MAX;
    int rc = whole
                 ? run_command(c, k, NULL)
                 : cli_fail(c, CLI_FAILED, "CC, CFLAGS, LDFLAGS and LDLIBS have more words than %d", WORDS_MAX - 11);
    forget(k, count);
    free(before);
    free(after);
    if (rc == CLI_OK && rename(made, module) < 0)
        rc = cli_fail(c, CLI_FAILED, "cannot write %s: %s", module, strerror(errno));
    if (rc != CLI_OK) (void)unlink(made);
    return rc;
}

static int compile(const struct cli *c, const char *source, char out[PATH_MAX])
{
    struct command k = {0};
    if (access(source, R_OK) < 0)
        return cli_fail(c, CLI_FAILED, "cannot read %s: %s", CLI_PATH(source), strerror(errno));
    int rc = make_command(c, &k);
    if (rc == CLI_OK) rc = cached_name(c, &k, source, out);
    if (rc == CLI_OK && access(out, R_OK) < 0) rc = compile_to(c, &k, source, out);
    free(k.text);
    return rc;
}

int cli_module(const struct cli *c, const char **path, char made[PATH_MAX])
{
    size_t n = strlen(*path);
    if (n <= 2 || strcmp(*path + n - 2, ".c") != 0) return CLI_OK;
    int rc = compile(c, *path, made);
    *path = made;
    return rc;
}
