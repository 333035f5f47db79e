#ifndef KEYFERRY_CLIBXML2_H
#define KEYFERRY_CLIBXML2_H

#include <libxml/parser.h>
#include <libxml/tree.h>

#endif
