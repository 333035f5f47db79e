#ifndef KEYFERRY_CSQLITE_H
#define KEYFERRY_CSQLITE_H

#include <sqlite3.h>

// Swift calls no function whose arguments are open.

/// A text in double quotes is the name of a column, and never a text: what is misspelt is an error.
static inline int keyferry_sqlite_no_quoted_texts(sqlite3 *database) {
  int result = sqlite3_db_config(database, SQLITE_DBCONFIG_DQS_DML, 0, (int *)0);
  return result == SQLITE_OK ? sqlite3_db_config(database, SQLITE_DBCONFIG_DQS_DDL, 0, (int *)0) : result;
}

/// The end of what was bound is nobody's business: SQLite takes a copy.
static inline int keyferry_sqlite_bind_text(sqlite3_stmt *statement, int index, const char *text, int count) {
  // An empty text of Swift's may have no address, which would be NULL.
  return sqlite3_bind_text(statement, index, text ? text : "", count, SQLITE_TRANSIENT);
}

static inline int keyferry_sqlite_bind_bytes(sqlite3_stmt *statement, int index, const void *bytes, int count) {
  return sqlite3_bind_blob(statement, index, bytes, count, SQLITE_TRANSIENT);
}

#endif
