#ifndef KEYFERRY_CLIBXML2_H
#define KEYFERRY_CLIBXML2_H

#include <libxml/xmlversion.h>
// ICU's headers are not those of the ICU that Foundation brings, and nothing of ICU is used here.
#undef LIBXML_ICU_ENABLED
#include <libxml/parser.h>
#include <libxml/tree.h>

#endif
