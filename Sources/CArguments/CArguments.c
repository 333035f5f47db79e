#include "CArguments.h"

#include <stdlib.h>

static int count = 0;
static char **arguments = NULL;

// Other C libraries call constructors without arguments. A header of the library has said which it is.
#if defined(__GLIBC__) || defined(__APPLE__)
__attribute__((constructor)) static void keep(int argc, char **argv) {
  count = argc;
  arguments = argv;
}
#endif

int keyferry_argument_count(void) { return count; }

const char *keyferry_argument(int index) { return index >= 0 && index < count ? arguments[index] : NULL; }
