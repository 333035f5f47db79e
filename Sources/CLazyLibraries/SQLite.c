// SQLite is for stores. Who reads a file needs none, and waits for it a tenth of a start.
#include <sqlite3.h>
#include <stdarg.h>

#define LIBRARY "libsqlite3.so.0"
#define PACKAGE "libsqlite3-0"
#define FUNCTIONS(F) \
  F(void *, sqlite3_aggregate_context, (sqlite3_context *a, int b), (a, b)) \
  F(int, sqlite3_backup_finish, (sqlite3_backup *a), (a)) \
  F(sqlite3_backup *, sqlite3_backup_init, (sqlite3 *a, const char *b, sqlite3 *c, const char *d), (a, b, c, d)) \
  F(int, sqlite3_backup_pagecount, (sqlite3_backup *a), (a)) \
  F(int, sqlite3_backup_remaining, (sqlite3_backup *a), (a)) \
  F(int, sqlite3_backup_step, (sqlite3_backup *a, int b), (a, b)) \
  F(int, sqlite3_bind_blob, (sqlite3_stmt *a, int b, const void *c, int d, void (*e)(void *)), (a, b, c, d, e)) \
  F(int, sqlite3_bind_double, (sqlite3_stmt *a, int b, double c), (a, b, c)) \
  F(int, sqlite3_bind_int64, (sqlite3_stmt *a, int b, sqlite3_int64 c), (a, b, c)) \
  F(int, sqlite3_bind_null, (sqlite3_stmt *a, int b), (a, b)) \
  F(int, sqlite3_bind_parameter_count, (sqlite3_stmt *a), (a)) \
  F(const char *, sqlite3_bind_parameter_name, (sqlite3_stmt *a, int b), (a, b)) \
  F(int, sqlite3_bind_text, (sqlite3_stmt *a, int b, const char *c, int d, void (*e)(void *)), (a, b, c, d, e)) \
  F(int, sqlite3_bind_zeroblob64, (sqlite3_stmt *a, int b, sqlite3_uint64 c), (a, b, c)) \
  F(int, sqlite3_blob_close, (sqlite3_blob *a), (a)) \
  F(int, sqlite3_blob_open, \
    (sqlite3 *a, const char *b, const char *c, const char *d, sqlite3_int64 e, int f, sqlite3_blob **g), (a, b, c, d, e, f, g)) \
  F(int, sqlite3_blob_read, (sqlite3_blob *a, void *b, int c, int d), (a, b, c, d)) \
  F(int, sqlite3_blob_write, (sqlite3_blob *a, const void *b, int c, int d), (a, b, c, d)) \
  F(int, sqlite3_busy_handler, (sqlite3 *a, int (*b)(void *, int), void *c), (a, b, c)) \
  F(int, sqlite3_busy_timeout, (sqlite3 *a, int b), (a, b)) \
  F(int, sqlite3_changes, (sqlite3 *a), (a)) \
  F(int, sqlite3_clear_bindings, (sqlite3_stmt *a), (a)) \
  F(int, sqlite3_close, (sqlite3 *a), (a)) \
  F(int, sqlite3_close_v2, (sqlite3 *a), (a)) \
  F(const void *, sqlite3_column_blob, (sqlite3_stmt *a, int b), (a, b)) \
  F(int, sqlite3_column_bytes, (sqlite3_stmt *a, int b), (a, b)) \
  F(int, sqlite3_column_count, (sqlite3_stmt *a), (a)) \
  F(double, sqlite3_column_double, (sqlite3_stmt *a, int b), (a, b)) \
  F(int, sqlite3_column_int, (sqlite3_stmt *a, int b), (a, b)) \
  F(sqlite3_int64, sqlite3_column_int64, (sqlite3_stmt *a, int b), (a, b)) \
  F(const char *, sqlite3_column_name, (sqlite3_stmt *a, int b), (a, b)) \
  F(const unsigned char *, sqlite3_column_text, (sqlite3_stmt *a, int b), (a, b)) \
  F(int, sqlite3_column_type, (sqlite3_stmt *a, int b), (a, b)) \
  F(void *, sqlite3_commit_hook, (sqlite3 *a, int (*b)(void *), void *c), (a, b, c)) \
  F(int, sqlite3_create_collation_v2, \
    (sqlite3 *a, const char *b, int c, void *d, int (*e)(void *, int, const void *, int, const void *), void (*f)(void *)), \
    (a, b, c, d, e, f)) \
  F(int, sqlite3_create_function_v2, \
    (sqlite3 *a, const char *b, int c, int d, void *e, void (*f)(sqlite3_context *, int, sqlite3_value **), \
     void (*g)(sqlite3_context *, int, sqlite3_value **), void (*h)(sqlite3_context *), void (*i)(void *)), \
    (a, b, c, d, e, f, g, h, i)) \
  F(sqlite3 *, sqlite3_db_handle, (sqlite3_stmt *a), (a)) \
  F(int, sqlite3_errcode, (sqlite3 *a), (a)) \
  F(const char *, sqlite3_errmsg, (sqlite3 *a), (a)) \
  F(const char *, sqlite3_errstr, (int a), (a)) \
  F(int, sqlite3_exec, (sqlite3 *a, const char *b, int (*c)(void *, int, char **, char **), void *d, char **e), (a, b, c, d, e)) \
  F(int, sqlite3_extended_result_codes, (sqlite3 *a, int b), (a, b)) \
  F(int, sqlite3_file_control, (sqlite3 *a, const char *b, int c, void *d), (a, b, c, d)) \
  F(int, sqlite3_finalize, (sqlite3_stmt *a), (a)) \
  F(void, sqlite3_free, (void *a), (a)) \
  F(int, sqlite3_get_autocommit, (sqlite3 *a), (a)) \
  F(int, sqlite3_initialize, (void), ()) \
  F(void, sqlite3_interrupt, (sqlite3 *a), (a)) \
  F(sqlite3_int64, sqlite3_last_insert_rowid, (sqlite3 *a), (a)) \
  F(int, sqlite3_libversion_number, (void), ()) \
  F(sqlite3_mutex *, sqlite3_mutex_alloc, (int a), (a)) \
  F(void, sqlite3_mutex_enter, (sqlite3_mutex *a), (a)) \
  F(void, sqlite3_mutex_leave, (sqlite3_mutex *a), (a)) \
  F(sqlite3_stmt *, sqlite3_next_stmt, (sqlite3 *a, sqlite3_stmt *b), (a, b)) \
  F(int, sqlite3_open_v2, (const char *a, sqlite3 **b, int c, const char *d), (a, b, c, d)) \
  F(int, sqlite3_prepare_v2, (sqlite3 *a, const char *b, int c, sqlite3_stmt **d, const char **e), (a, b, c, d, e)) \
  F(int, sqlite3_prepare_v3, \
    (sqlite3 *a, const char *b, int c, unsigned int d, sqlite3_stmt **e, const char **f), (a, b, c, d, e, f)) \
  F(int, sqlite3_reset, (sqlite3_stmt *a), (a)) \
  F(void, sqlite3_result_blob, (sqlite3_context *a, const void *b, int c, void (*d)(void *)), (a, b, c, d)) \
  F(void, sqlite3_result_double, (sqlite3_context *a, double b), (a, b)) \
  F(void, sqlite3_result_error, (sqlite3_context *a, const char *b, int c), (a, b, c)) \
  F(void, sqlite3_result_error_code, (sqlite3_context *a, int b), (a, b)) \
  F(void, sqlite3_result_int64, (sqlite3_context *a, sqlite3_int64 b), (a, b)) \
  F(void, sqlite3_result_null, (sqlite3_context *a), (a)) \
  F(void, sqlite3_result_text, (sqlite3_context *a, const char *b, int c, void (*d)(void *)), (a, b, c, d)) \
  F(void *, sqlite3_rollback_hook, (sqlite3 *a, void (*b)(void *), void *c), (a, b, c)) \
  F(int, sqlite3_set_authorizer, \
    (sqlite3 *a, int (*b)(void *, int, const char *, const char *, const char *, const char *), void *c), (a, b, c)) \
  F(const char *, sqlite3_sql, (sqlite3_stmt *a), (a)) \
  F(int, sqlite3_step, (sqlite3_stmt *a), (a)) \
  F(int, sqlite3_stmt_busy, (sqlite3_stmt *a), (a)) \
  F(int, sqlite3_stmt_readonly, (sqlite3_stmt *a), (a)) \
  F(int, sqlite3_stricmp, (const char *a, const char *b), (a, b)) \
  F(void *, sqlite3_update_hook, \
    (sqlite3 *a, void (*b)(void *, int, const char *, const char *, sqlite3_int64), void *c), (a, b, c)) \
  F(void *, sqlite3_user_data, (sqlite3_context *a), (a)) \
  F(const void *, sqlite3_value_blob, (sqlite3_value *a), (a)) \
  F(int, sqlite3_value_bytes, (sqlite3_value *a), (a)) \
  F(double, sqlite3_value_double, (sqlite3_value *a), (a)) \
  F(sqlite3_int64, sqlite3_value_int64, (sqlite3_value *a), (a)) \
  F(const unsigned char *, sqlite3_value_text, (sqlite3_value *a), (a)) \
  F(int, sqlite3_value_type, (sqlite3_value *a), (a)) \
  F(sqlite3_vfs *, sqlite3_vfs_find, (const char *a), (a)) \
  F(int, sqlite3_vfs_register, (sqlite3_vfs *a, int b), (a, b)) \
  F(int, sqlite3_wal_checkpoint_v2, (sqlite3 *a, const char *b, int c, int *d, int *e), (a, b, c, d, e))

#include "Lazy.h"

static __typeof__(sqlite3_db_config) *configure;

static void load_configure(void) {
  configure = (__typeof__(sqlite3_db_config) *)demand(dlsym(demand(dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL)), "sqlite3_db_config"));
}

// What stands behind the option depends on it: a name, a piece of memory and two numbers, or a number and where the answer goes.
int sqlite3_db_config(sqlite3 *database, int option, ...) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load_configure);
  va_list rest;
  va_start(rest, option);
  int result;
  if (option == SQLITE_DBCONFIG_MAINDBNAME) {
    result = configure(database, option, va_arg(rest, const char *));
  } else if (option == SQLITE_DBCONFIG_LOOKASIDE) {
    void *memory = va_arg(rest, void *);
    int size = va_arg(rest, int);
    result = configure(database, option, memory, size, va_arg(rest, int));
  } else {
    int value = va_arg(rest, int);
    result = configure(database, option, value, va_arg(rest, int *));
  }
  va_end(rest);
  return result;
}
