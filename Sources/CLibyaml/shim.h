#ifndef KEYFERRY_CLIBYAML_H
#define KEYFERRY_CLIBYAML_H

#include <yaml.h>

#endif
