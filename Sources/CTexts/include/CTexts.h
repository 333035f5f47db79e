#pragma once

#include <stddef.h>

// Files that the program carries. The compiler puts them in, and does so again when one of them changes. Each text is UTF-8 without
// a null byte at its end.

/// schemas/openapi.json.
const char *_Nonnull keyferry_openapi(void);
size_t keyferry_openapi_length(void);

/// How many policies the program carries.
size_t keyferry_policy_count(void);

/// A policy's name and its file in Sources/PolicyFiles/Policies, for an index below the count.
const char *_Nonnull keyferry_policy_name(size_t index);
const char *_Nonnull keyferry_policy(size_t index);
size_t keyferry_policy_length(size_t index);
