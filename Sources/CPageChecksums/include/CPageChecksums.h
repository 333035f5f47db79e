#ifndef KEYFERRY_PAGE_CHECKSUMS_H
#define KEYFERRY_PAGE_CHECKSUMS_H

#include <stdint.h>

// Checksums of the pages of a store's SQLite file.
//
// The last eight bytes of each page, which SQLite leaves to others (the "reserved bytes" of its file format), hold a
// checksum of the rest and of the page's number. It is made when a page is written into the file, and looked at whenever
// one is read. A page of the write-ahead log is looked at by the checksums that the log has itself: SQLite does so only
// when a log is found after a crash.
//
// Only files with eight reserved bytes and the application number of Keyferry are treated so; all others pass through.

/// A page's last eight bytes.
#define KEYFERRY_CHECKSUM_BYTES 8

/// For sqlite3_file_control on the main database: the connection is one of Keyferry's own. A file that is empty gets
/// checksums from its first page on, so the connection has to reserve eight bytes a page (SQLITE_FCNTL_RESERVE_BYTES).
#define KEYFERRY_FCNTL_CHECKSUMS 0x4b465259

/// Puts the layer that does it between SQLite and the system's files, for all connections that are opened from now on.
/// Again is harmless.
///
/// \returns an SQLite result code.
int keyferry_checksums_install(void);

/// Whether a page ends with its checksum.
///
/// \param page its number in the file, from 1.
int keyferry_checksum_holds(const void *bytes, int count, uint32_t page);

/// Where damage was found last by this process.
///
/// \param path gets the path, cut off at `capacity` bytes with the zero at its end.
/// \param page gets the number of the page, 0 where it stood in the write-ahead log.
/// \returns whether any was found.
int keyferry_checksums_last_damage(char *path, int capacity, uint32_t *page);

#endif
