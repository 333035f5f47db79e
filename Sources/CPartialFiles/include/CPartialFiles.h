#pragma once

// The files that the process has begun and not finished, so that a signal that ends it leaves none of them behind.

/// Notes a file before it is made.
///
/// \returns what `keyferry_partial_forget` takes; -1 where there is no room for another one, which is then left behind.
int keyferry_partial_note(const char *_Nonnull path);

/// The file has its name, or is gone.
void keyferry_partial_forget(int number);

/// From now on SIGHUP, SIGINT and SIGTERM remove the files that are noted, and then end the process as they do by default.
/// One that the process was started to ignore stays ignored. Whoever takes a signal for itself later has it.
void keyferry_partial_watch(void);

/// Where the memory of the process is limited (RLIMIT_AS, RLIMIT_DATA): from now on a trap, which is how Swift ends when it gets none,
/// removes the files that are noted, says what it most likely was, and ends the process with 2. And a process that waits for seconds for
/// a thread that the system does not give it ends likewise, whatever limits it.
void keyferry_partial_watch_memory(void);
