#pragma once

/// The commit that the program was built from and its date, `3f2a1bc9 2026-11-23`; the commit ends in `-dirty` where the
/// sources were changed. Null where the build was not told.
const char *_Nullable keyferry_build(void);
