#pragma once

/// How many arguments the process was started with, the program's name among them; 0 where the C library does not hand
/// them to constructors.
int keyferry_argument_count(void);

/// One of them.
const char *_Nullable keyferry_argument(int index);
