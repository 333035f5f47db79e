// Functions with the names of a library of the system, which is loaded at the first call of one of them. Where it cannot be loaded the
// process ends with 2, as it would not start at all if it were linked with the library: nothing may go on that takes what cannot be
// verified for what does not verify.
//
// Before this, LIBRARY is its file, PACKAGE what Debian calls it, and FUNCTIONS(F) has an F(what it returns, name, parameters, how they
// are handed on) for each function that is called of it. `interop/package/contents.py` reads both for packages, since the linker does
// not tell them.

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#define KEEP(result, name, parameters, arguments) static __typeof__(name) *name##_there;
FUNCTIONS(KEEP)

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void *demand(void *found) {
  if (found) return found;
  const char *reason = dlerror();
  dprintf(
      STDERR_FILENO, "keyferry: %s\nkeyferry: hint: " LIBRARY " is of Debian's package " PACKAGE "\n",
      reason ? reason : LIBRARY ": cannot be loaded");
  _exit(2);
}

#define FIND(result, name, parameters, arguments) name##_there = (__typeof__(name) *)demand(dlsym(library, #name));

static void load(void) {
  void *library = demand(dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL));
  FUNCTIONS(FIND)
}

#define HAND_OVER(result, name, parameters, arguments) \
  result name parameters { \
    pthread_once(&once, load); \
    return name##_there arguments; \
  }
FUNCTIONS(HAND_OVER)
