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

/// For sqlite3_file_control on the main database: this connection reads pages that are not what was written as they are, to save what
/// is left of a file. Whoever does so looks at what he has read by other means.
#define KEYFERRY_FCNTL_LENIENT 0x4b46525a

/// Puts the layer that does it between SQLite and the system's files, for all connections that are opened from now on.
/// Again is harmless.
///
/// \returns an SQLite result code.
int keyferry_checksums_install(void);

struct sqlite3;

/// What stands in the log of changes stays there when this connection is closed as the last one.
///
/// \returns an SQLite result code.
int keyferry_log_keep(struct sqlite3 *connection);

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

// The write-ahead log as a whole. SQLite reads it, after a crash, up to the first frame whose sum does not hold, and takes
// what stands behind that for writing that was not finished. What was committed there would be gone without a word.

/// What is in a log.
typedef struct {
  /// Of the file; 0 where there is none.
  int64_t byte_count;
  /// Whether the log's header is what was written.
  int header_holds;
  /// Whether the header's bytes are all zeros.
  int header_is_empty;
  /// How many frames hold from the first one on, each sum going on from that before.
  uint64_t frames;
  /// Whether the frame behind them and the one that follows have the salts of the log, or have them but for one byte: both were
  /// written in the log as it is now, so the first is no block that the system never wrote.
  int next_is_of_log;
  /// How many frames behind that one hold by the sum of the frame before them, and end a transaction.
  uint64_t later_commits;
  /// Whether the witness's frame is among those that hold, and has its sum.
  int witness_holds;
} KeyferryLog;

/// The frame up to which transactions were committed, as the memory that processes share says.
typedef struct {
  uint32_t frame;
  uint32_t sum[2];
  unsigned char salts[8];
  /// How many frames have come into the database.
  uint32_t copied;
} KeyferryLogWitness;

/// Reads a log to its end.
///
/// \param page_size the size of pages, where the header does not tell.
/// \param witness what is known of it; NULL where nothing is.
/// \returns 0, or the number of the system's error.
int keyferry_log_examine(const char *path, uint32_t page_size, const KeyferryLogWitness *witness, KeyferryLog *log);

/// Reads the index of a log, the file `-shm`.
///
/// \returns whether it is there and whole, and something was committed.
int keyferry_log_witness(const char *path, KeyferryLogWitness *witness);

#endif
