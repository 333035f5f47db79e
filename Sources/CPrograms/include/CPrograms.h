#pragma once

#include <sys/types.h>

/// A pipe whose ends no other program inherits: `ends[0]` is read, `ends[1]` is written.
///
/// Returns 0, or the number of the fault.
int keyferry_pipe(int ends[_Nonnull 2]);

/// Starts a program in a process group of its own, with these three descriptors as its standard ones and no other, and with
/// signals as a program expects them.
///
/// - path: of the program; no shell is between.
/// - arguments: with the program's name first, and NULL at the end.
/// - process: its number.
///
/// Returns 0, or the number of the fault.
int keyferry_start(
    const char *_Nonnull path, char *_Nullable const *_Nonnull arguments, int input, int output, int errors,
    pid_t *_Nonnull process);
