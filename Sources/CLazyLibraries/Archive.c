// libarchive brings ten other libraries, and takes longer to load than all else at the start takes.
#include <archive.h>
#include <archive_entry.h>

#define LIBRARY "libarchive.so.13"
#define PACKAGE "libarchive13"
#define FUNCTIONS(F) \
  F(mode_t, archive_entry_filetype, (struct archive_entry *a), (a)) \
  F(const char *, archive_entry_hardlink, (struct archive_entry *a), (a)) \
  F(const char *, archive_entry_pathname, (struct archive_entry *a), (a)) \
  F(const char *, archive_entry_pathname_utf8, (struct archive_entry *a), (a)) \
  F(const char *, archive_error_string, (struct archive *a), (a)) \
  F(int, archive_filter_count, (struct archive *a), (a)) \
  F(la_ssize_t, archive_read_data, (struct archive *a, void *b, size_t c), (a, b, c)) \
  F(int, archive_read_free, (struct archive *a), (a)) \
  F(struct archive *, archive_read_new, (void), ()) \
  F(int, archive_read_next_header, (struct archive *a, struct archive_entry **b), (a, b)) \
  F(int, archive_read_open, \
    (struct archive *a, void *b, archive_open_callback *c, archive_read_callback *d, archive_close_callback *e), (a, b, c, d, e)) \
  F(int, archive_read_set_options, (struct archive *a, const char *b), (a, b)) \
  F(int, archive_read_support_filter_bzip2, (struct archive *a), (a)) \
  F(int, archive_read_support_filter_gzip, (struct archive *a), (a)) \
  F(int, archive_read_support_filter_xz, (struct archive *a), (a)) \
  F(int, archive_read_support_filter_zstd, (struct archive *a), (a)) \
  F(int, archive_read_support_format_empty, (struct archive *a), (a)) \
  F(int, archive_read_support_format_raw, (struct archive *a), (a)) \
  F(int, archive_read_support_format_tar, (struct archive *a), (a))

#include "Lazy.h"
