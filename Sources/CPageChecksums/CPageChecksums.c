#include "CPageChecksums.h"

#include <errno.h>
#include <sqlite3.h>
#include <string.h>

// MARK: The checksum

static uint64_t word_at(const unsigned char *bytes) {
  uint64_t word;
  memcpy(&word, bytes, sizeof word);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  word = __builtin_bswap64(word);
#endif
  return word;
}

static uint64_t turned(uint64_t word, int bits) { return word << bits | word >> (64 - bits); }

/// Each step can be undone when the word is known, so one changed word always changes the sum of its lane.
static uint64_t step(uint64_t lane, uint64_t word) { return turned((lane ^ word) * 0x9e3779b97f4a7c15u, 29); }

/// \param count a multiple of eight.
static uint64_t checksum(const unsigned char *bytes, int count, uint32_t page) {
  uint64_t a = 0x243f6a8885a308d3u ^ page, b = 0x13198a2e03707344u, c = 0xa4093822299f31d0u, d = 0x082efa98ec4e6c89u;
  int place = 0;
  for (; place + 32 <= count; place += 32) {
    a = step(a, word_at(bytes + place));
    b = step(b, word_at(bytes + place + 8));
    c = step(c, word_at(bytes + place + 16));
    d = step(d, word_at(bytes + place + 24));
  }
  for (; place + 8 <= count; place += 8) a = step(a, word_at(bytes + place));
  uint64_t sum = step(step(step(step((uint64_t)count, a), b), c), d);
  return sum ^ sum >> 32;
}

int keyferry_checksum_holds(const void *bytes, int count, uint32_t page) {
  const unsigned char *start = bytes;
  int length = count - KEYFERRY_CHECKSUM_BYTES;
  return length > 0 && count % 8 == 0 && checksum(start, length, page) == word_at(start + length);
}

static void seal(unsigned char *bytes, int count, uint32_t page) {
  uint64_t sum = checksum(bytes, count - KEYFERRY_CHECKSUM_BYTES, page);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  sum = __builtin_bswap64(sum);
#endif
  memcpy(bytes + count - KEYFERRY_CHECKSUM_BYTES, &sum, sizeof sum);
}

// MARK: Files

enum { WAL_HEADER = 32, FRAME_HEADER = 24 };

/// A file of SQLite, with the system's behind it in the same memory.
typedef struct {
  sqlite3_file base;
  const char *path;
  /// Whether pages have checksums; only of a main database.
  int is_checked;
  /// Whether the connection is one of the gateway's own, whatever number the file has by now.
  int is_own;
  /// Whether damaged pages are read as they are.
  int is_lenient;
  int is_log;
  /// In a log: from here on stands what this connection has written and not committed, whose checksums are not final.
  sqlite3_int64 open_from;
} CheckedFile;

#define BELOW(file) ((sqlite3_file *)((CheckedFile *)(file) + 1))

/// What of a database's header says that its pages have checksums: eight reserved bytes, and "KFRY" unless the connection
/// is the gateway's own.
static int header_says_checked(const CheckedFile *file, const unsigned char *header) {
  return memcmp(header, "SQLite format 3", 16) == 0 && header[20] == KEYFERRY_CHECKSUM_BYTES
         && (file->is_own || memcmp(header + 68, "KFRY", 4) == 0);
}

static int is_page_size(int count) { return count >= 512 && count <= 65536 && (count & (count - 1)) == 0; }

/// The last damage that was found. The mutex is SQLite's.
static struct {
  char path[1024];
  uint32_t page;
  int is_set;
} last_damage;

static int damaged(const CheckedFile *file, uint32_t page) {
  sqlite3_mutex *mutex = sqlite3_mutex_alloc(SQLITE_MUTEX_STATIC_APP1);
  sqlite3_mutex_enter(mutex);
  last_damage.path[0] = 0;
  if (file->path) strncat(last_damage.path, file->path, sizeof last_damage.path - 1);
  last_damage.page = page;
  last_damage.is_set = 1;
  sqlite3_mutex_leave(mutex);
  return SQLITE_IOERR_DATA;
}

int keyferry_checksums_last_damage(char *path, int capacity, uint32_t *page) {
  sqlite3_mutex *mutex = sqlite3_mutex_alloc(SQLITE_MUTEX_STATIC_APP1);
  sqlite3_mutex_enter(mutex);
  int is_set = last_damage.is_set;
  if (is_set && capacity > 0) {
    path[0] = 0;
    strncat(path, last_damage.path, (size_t)capacity - 1);
    *page = last_damage.page;
  }
  sqlite3_mutex_leave(mutex);
  return is_set;
}

// MARK: The write-ahead log

static uint32_t big_word(const unsigned char *bytes) {
  return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static uint32_t little_word(const unsigned char *bytes) {
  return (uint32_t)bytes[3] << 24 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[1] << 8 | bytes[0];
}

/// The log's own sum, as its file format says: over pairs of words, in the order of bytes that its header names.
static void add_to_log_sum(uint32_t sum[2], const unsigned char *bytes, int count, int is_big) {
  for (int place = 0; place + 8 <= count; place += 8) {
    uint32_t first = is_big ? big_word(bytes + place) : little_word(bytes + place);
    uint32_t second = is_big ? big_word(bytes + place + 4) : little_word(bytes + place + 4);
    sum[0] += first + sum[1];
    sum[1] += second + sum[0];
  }
}

static int sum_is_big(void) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  return 1;
#else
  return 0;
#endif
}

static int sum_holds(
  const unsigned char *before, const unsigned char *frame, const unsigned char *bytes, int count, int is_big
) {
  uint32_t sum[2] = {big_word(before), big_word(before + 4)};
  add_to_log_sum(sum, frame, 8, is_big);
  add_to_log_sum(sum, bytes, count, is_big);
  return sum[0] == big_word(frame + 16) && sum[1] == big_word(frame + 20);
}

/// Whether a page of the log is what was written: its frame's sum goes on from that of the frame before.
static int log_page_holds(sqlite3_file *below, const unsigned char *bytes, int count, sqlite3_int64 offset) {
  unsigned char header[WAL_HEADER], frame[FRAME_HEADER], before[8];
  sqlite3_int64 length = FRAME_HEADER + (sqlite3_int64)count;
  sqlite3_int64 start = offset - FRAME_HEADER;
  if (start < WAL_HEADER || (start - WAL_HEADER) % length != 0) return 1;
  if (below->pMethods->xRead(below, header, WAL_HEADER, 0) != SQLITE_OK) return 0;
  if (below->pMethods->xRead(below, frame, FRAME_HEADER, start) != SQLITE_OK) return 0;
  if (start == WAL_HEADER) {
    memcpy(before, header + 24, 8);
  } else if (below->pMethods->xRead(below, before, 8, start - length + 16) != SQLITE_OK) {
    return 0;
  }
  uint32_t magic = big_word(header);
  return (magic & 0xfffffffeu) == 0x377f0682u && sum_holds(before, frame, bytes, count, magic & 1);
}

enum { USUAL_PAGE = 4096 };

/// Reads a page of the log with the sums that it depends on at once: the page before it lies between them, and to read that costs
/// less than to call the system three times more. It is written in the order of bytes of this machine, or looked at again.
///
/// \returns whether it was read and holds; nothing is said otherwise.
static int log_page_read(sqlite3_file *below, void *bytes, int count, sqlite3_int64 offset) {
  unsigned char room[8 + USUAL_PAGE + FRAME_HEADER + USUAL_PAGE];
  sqlite3_int64 start = offset - FRAME_HEADER;
  int length = FRAME_HEADER + count;
  if (count > USUAL_PAGE || start < WAL_HEADER + length || (start - WAL_HEADER) % length != 0) return 0;
  if (below->pMethods->xRead(below, room, 8 + count + length, start - count - 8) != SQLITE_OK) return 0;
  const unsigned char *frame = room + 8 + count;
  if (!sum_holds(room, frame, frame + FRAME_HEADER, count, sum_is_big())) return 0;
  memcpy(bytes, frame + FRAME_HEADER, count);
  return 1;
}

// MARK: Reading and writing

static int checked_read(sqlite3_file *base, void *bytes, int count, sqlite3_int64 offset) {
  CheckedFile *file = (CheckedFile *)base;
  sqlite3_file *below = BELOW(base);
  int looks = file->is_log && is_page_size(count) && offset < file->open_from;
  if (looks && log_page_read(below, bytes, count, offset)) return SQLITE_OK;
  int result = below->pMethods->xRead(below, bytes, count, offset);
  if (file->is_log) {
    if (result != SQLITE_OK || !is_page_size(count) || offset >= file->open_from) return result;
    return log_page_holds(below, bytes, count, offset) ? SQLITE_OK : damaged(file, 0);
  }
  if (offset == 0 && count >= 100 && result == SQLITE_OK && header_says_checked(file, bytes)) file->is_checked = 1;
  if (!file->is_checked || !is_page_size(count) || offset % count != 0) return result;
  // SQLite takes what is missing at the end for zeros.
  uint32_t page = (uint32_t)(offset / count) + 1;
  if (result == SQLITE_IOERR_SHORT_READ) return damaged(file, page);
  if (result != SQLITE_OK) return result;
  return file->is_lenient || keyferry_checksum_holds(bytes, count, page) ? SQLITE_OK : damaged(file, page);
}

static int checked_write(sqlite3_file *base, const void *bytes, int count, sqlite3_int64 offset) {
  CheckedFile *file = (CheckedFile *)base;
  sqlite3_file *below = BELOW(base);
  if (file->is_log) {
    if (offset == 0) {
      file->open_from = INT64_MAX;
    } else if (count == FRAME_HEADER) {
      // A frame that ends a transaction says how many pages the database has then. SQLite writes headers once more, up to
      // that one, where it had written a page twice in one transaction.
      int ends = big_word((const unsigned char *)bytes + 4) != 0;
      if (ends) {
        file->open_from = INT64_MAX;
      } else if (offset < file->open_from) {
        file->open_from = offset;
      }
    }
  } else if (is_page_size(count) && offset % count == 0) {
    if (offset == 0) {
      if (header_says_checked(file, bytes)) {
        file->is_checked = 1;
      } else if (file->is_checked && ((const unsigned char *)bytes)[20] != KEYFERRY_CHECKSUM_BYTES) {
        // Never a checksum where data is.
        return SQLITE_IOERR_WRITE;
      }
    }
    // The bytes are those that SQLite has reserved for this.
    if (file->is_checked) seal((unsigned char *)bytes, count, (uint32_t)(offset / count) + 1);
  }
  return below->pMethods->xWrite(below, bytes, count, offset);
}

static int checked_control(sqlite3_file *base, int operation, void *argument) {
  CheckedFile *file = (CheckedFile *)base;
  sqlite3_file *below = BELOW(base);
  if (operation == KEYFERRY_FCNTL_LENIENT) {
    file->is_lenient = 1;
    return SQLITE_OK;
  }
  if (operation == KEYFERRY_FCNTL_CHECKSUMS) {
    sqlite3_int64 size = 0;
    int result = below->pMethods->xFileSize(below, &size);
    if (result != SQLITE_OK || file->is_log) return result;
    file->is_own = 1;
    unsigned char header[100];
    if (size == 0) {
      file->is_checked = 1;
    } else if (below->pMethods->xRead(below, header, sizeof header, 0) == SQLITE_OK && header_says_checked(file, header)) {
      file->is_checked = 1;
    }
    return SQLITE_OK;
  }
  return below->pMethods->xFileControl(below, operation, argument);
}

// What passes through.

static int checked_close(sqlite3_file *base) {
  sqlite3_file *below = BELOW(base);
  return below->pMethods->xClose(below);
}

static int checked_truncate(sqlite3_file *base, sqlite3_int64 size) {
  sqlite3_file *below = BELOW(base);
  return below->pMethods->xTruncate(below, size);
}

/// A disk without room is no disk that fails, which is all that SQLite says of it where it does not write a page.
static int disk_result(int result) {
  if ((result & 0xff) != SQLITE_IOERR || (errno != ENOSPC && errno != EDQUOT)) return result;
  return SQLITE_FULL;
}

static int checked_sync(sqlite3_file *base, int flags) {
  sqlite3_file *below = BELOW(base);
  errno = 0;
  return disk_result(below->pMethods->xSync(below, flags));
}

static int checked_file_size(sqlite3_file *base, sqlite3_int64 *size) {
  sqlite3_file *below = BELOW(base);
  return below->pMethods->xFileSize(below, size);
}

static int checked_lock(sqlite3_file *base, int level) {
  sqlite3_file *below = BELOW(base);
  return below->pMethods->xLock(below, level);
}

static int checked_unlock(sqlite3_file *base, int level) {
  sqlite3_file *below = BELOW(base);
  return below->pMethods->xUnlock(below, level);
}

static int checked_check_lock(sqlite3_file *base, int *is_reserved) {
  sqlite3_file *below = BELOW(base);
  return below->pMethods->xCheckReservedLock(below, is_reserved);
}

static int checked_sector_size(sqlite3_file *base) {
  sqlite3_file *below = BELOW(base);
  return below->pMethods->xSectorSize(below);
}

static int checked_characteristics(sqlite3_file *base) {
  sqlite3_file *below = BELOW(base);
  int characteristics = below->pMethods->xDeviceCharacteristics(below);
#ifdef SQLITE_IOCAP_SUBPAGE_READ
  // Pages are read as a whole, or nobody could look at them.
  characteristics &= ~SQLITE_IOCAP_SUBPAGE_READ;
#endif
  return characteristics;
}

static int checked_shm_map(sqlite3_file *base, int region, int size, int extends, void volatile **memory) {
  sqlite3_file *below = BELOW(base);
  errno = 0;
  return disk_result(below->pMethods->xShmMap(below, region, size, extends, memory));
}

static int checked_shm_lock(sqlite3_file *base, int offset, int count, int flags) {
  sqlite3_file *below = BELOW(base);
  return below->pMethods->xShmLock(below, offset, count, flags);
}

static void checked_shm_barrier(sqlite3_file *base) {
  sqlite3_file *below = BELOW(base);
  below->pMethods->xShmBarrier(below);
}

static int checked_shm_unmap(sqlite3_file *base, int deletes) {
  sqlite3_file *below = BELOW(base);
  return below->pMethods->xShmUnmap(below, deletes);
}

/// Of version 2: files are not mapped into memory, where nobody would see a page being read.
static const sqlite3_io_methods checked_methods = {
  .iVersion = 2,
  .xClose = checked_close,
  .xRead = checked_read,
  .xWrite = checked_write,
  .xTruncate = checked_truncate,
  .xSync = checked_sync,
  .xFileSize = checked_file_size,
  .xLock = checked_lock,
  .xUnlock = checked_unlock,
  .xCheckReservedLock = checked_check_lock,
  .xFileControl = checked_control,
  .xSectorSize = checked_sector_size,
  .xDeviceCharacteristics = checked_characteristics,
  .xShmMap = checked_shm_map,
  .xShmLock = checked_shm_lock,
  .xShmBarrier = checked_shm_barrier,
  .xShmUnmap = checked_shm_unmap,
};

// MARK: The layer

#define SYSTEM(vfs) ((sqlite3_vfs *)(vfs)->pAppData)

static int layer_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *base, int flags, int *opened) {
  sqlite3_vfs *system = SYSTEM(vfs);
  if ((flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL)) == 0) return system->xOpen(system, path, base, flags, opened);
  CheckedFile *file = (CheckedFile *)base;
  memset(file, 0, sizeof *file);
  int result = system->xOpen(system, path, BELOW(base), flags, opened);
  if (result != SQLITE_OK) return result;
  // Stays where it is while the file is open.
  file->path = path;
  file->is_log = (flags & SQLITE_OPEN_WAL) != 0;
  file->open_from = INT64_MAX;
  file->base.pMethods = &checked_methods;
  return SQLITE_OK;
}

static int layer_delete(sqlite3_vfs *vfs, const char *path, int syncs) {
  return SYSTEM(vfs)->xDelete(SYSTEM(vfs), path, syncs);
}

static int layer_access(sqlite3_vfs *vfs, const char *path, int flags, int *result) {
  return SYSTEM(vfs)->xAccess(SYSTEM(vfs), path, flags, result);
}

static int layer_full_path(sqlite3_vfs *vfs, const char *path, int capacity, char *full) {
  return SYSTEM(vfs)->xFullPathname(SYSTEM(vfs), path, capacity, full);
}

static void *layer_dl_open(sqlite3_vfs *vfs, const char *path) { return SYSTEM(vfs)->xDlOpen(SYSTEM(vfs), path); }

static void layer_dl_error(sqlite3_vfs *vfs, int capacity, char *message) {
  SYSTEM(vfs)->xDlError(SYSTEM(vfs), capacity, message);
}

static void (*layer_dl_symbol(sqlite3_vfs *vfs, void *library, const char *name))(void) {
  return SYSTEM(vfs)->xDlSym(SYSTEM(vfs), library, name);
}

static void layer_dl_close(sqlite3_vfs *vfs, void *library) { SYSTEM(vfs)->xDlClose(SYSTEM(vfs), library); }

static int layer_randomness(sqlite3_vfs *vfs, int count, char *bytes) {
  return SYSTEM(vfs)->xRandomness(SYSTEM(vfs), count, bytes);
}

static int layer_sleep(sqlite3_vfs *vfs, int microseconds) { return SYSTEM(vfs)->xSleep(SYSTEM(vfs), microseconds); }

static int layer_time(sqlite3_vfs *vfs, double *day) { return SYSTEM(vfs)->xCurrentTime(SYSTEM(vfs), day); }

static int layer_last_error(sqlite3_vfs *vfs, int capacity, char *message) {
  return SYSTEM(vfs)->xGetLastError(SYSTEM(vfs), capacity, message);
}

static int layer_precise_time(sqlite3_vfs *vfs, sqlite3_int64 *milliseconds) {
  return SYSTEM(vfs)->xCurrentTimeInt64(SYSTEM(vfs), milliseconds);
}

int keyferry_log_keep(sqlite3 *connection) {
  return sqlite3_db_config(connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
}

int keyferry_checksums_install(void) {
  static sqlite3_vfs layer;
  int result = sqlite3_initialize();
  if (result != SQLITE_OK) return result;
  sqlite3_mutex *mutex = sqlite3_mutex_alloc(SQLITE_MUTEX_STATIC_APP2);
  sqlite3_mutex_enter(mutex);
  if (layer.zName == NULL) {
    sqlite3_vfs *system = sqlite3_vfs_find(NULL);
    if (system == NULL || system->iVersion < 2) {
      result = SQLITE_ERROR;
    } else {
      layer.iVersion = 2;
      layer.szOsFile = (int)sizeof(CheckedFile) + system->szOsFile;
      layer.mxPathname = system->mxPathname;
      layer.zName = "keyferry-checksums";
      layer.pAppData = system;
      layer.xOpen = layer_open;
      layer.xDelete = layer_delete;
      layer.xAccess = layer_access;
      layer.xFullPathname = layer_full_path;
      layer.xDlOpen = layer_dl_open;
      layer.xDlError = layer_dl_error;
      layer.xDlSym = layer_dl_symbol;
      layer.xDlClose = layer_dl_close;
      layer.xRandomness = layer_randomness;
      layer.xSleep = layer_sleep;
      layer.xCurrentTime = layer_time;
      layer.xGetLastError = layer_last_error;
      layer.xCurrentTimeInt64 = layer_precise_time;
      result = sqlite3_vfs_register(&layer, 1);
      if (result != SQLITE_OK) layer.zName = NULL;
    }
  }
  sqlite3_mutex_leave(mutex);
  return result;
}
