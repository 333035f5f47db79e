// For pipe2 and posix_spawn_file_actions_addclosefrom_np, which Swift does not see.
#define _GNU_SOURCE

#include "CPrograms.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

extern char **environ;

#if defined(__linux__)

int keyferry_pipe(int ends[2]) { return pipe2(ends, O_CLOEXEC) == 0 ? 0 : errno; }

int keyferry_start(
    const char *path, char *const *arguments, int input, int output, int errors, pid_t *process) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  int fault = posix_spawn_file_actions_init(&actions);
  if (fault) return fault;
  fault = posix_spawnattr_init(&attributes);
  if (fault) {
    posix_spawn_file_actions_destroy(&actions);
    return fault;
  }
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  if (!fault) fault = posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  if (!fault) fault = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  if (!fault) fault = posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
  if (!fault) fault = posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
  if (!fault) fault = posix_spawnattr_setsigmask(&attributes, &none);
  if (!fault) fault = posix_spawnattr_setsigdefault(&attributes, &all);
  if (!fault) fault = posix_spawnattr_setpgroup(&attributes, 0);
  if (!fault) {
    fault = posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  if (!fault) fault = posix_spawn(process, path, &actions, &attributes, arguments, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return fault;
}

#else

int keyferry_pipe(int ends[2]) { return ENOSYS; }

int keyferry_start(
    const char *path, char *const *arguments, int input, int output, int errors, pid_t *process) {
  return ENOSYS;
}

#endif
