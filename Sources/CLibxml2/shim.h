#ifndef KEYFERRY_CLIBXML2_H
#define KEYFERRY_CLIBXML2_H

#include <libxml/xmlversion.h>
// Debian's libxml2 includes the headers of ICU, and Foundation has its own of another version: no module can import both.
#undef LIBXML_ICU_ENABLED
#include <libxml/parser.h>
#include <libxml/tree.h>

#endif
