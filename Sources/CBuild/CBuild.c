#include "CBuild.h"

#include <stddef.h>

// Package.swift defines it from the environment. Nothing else is compiled anew where it changes.
const char *keyferry_build(void) {
#ifdef KEYFERRY_BUILD
  return KEYFERRY_BUILD;
#else
  return NULL;
#endif
}
