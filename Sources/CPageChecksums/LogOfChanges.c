#include "CPageChecksums.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Both files as https://sqlite.org/walformat.html has them.

enum { WAL_HEADER = 32, FRAME_HEADER = 24, INDEX_HEADER = 48, INDEX_COPIED_PLACE = 96 };

static uint32_t word_at(const unsigned char *bytes, int is_big) {
  return is_big ? (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3]
                : (uint32_t)bytes[3] << 24 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[1] << 8 | bytes[0];
}

/// \param count a multiple of eight.
static void add(uint32_t sum[2], const unsigned char *bytes, size_t count, int is_big) {
  for (size_t place = 0; place + 8 <= count; place += 8) {
    sum[0] += word_at(bytes + place, is_big) + sum[1];
    sum[1] += word_at(bytes + place + 4, is_big) + sum[0];
  }
}

static int is_host_big(void) {
  const uint16_t one = 1;
  unsigned char first;
  memcpy(&first, &one, 1);
  return first == 0;
}

// MARK: A frame

typedef struct {
  uint32_t sum[2];
  unsigned char salts[8];
  int ends_transaction;
} Frame;

/// Whether a frame's sum goes on from that of the frame before. The frame becomes `frame` in any case.
static int holds_after(const uint32_t before[2], const unsigned char *bytes, uint32_t page_size, int is_big, Frame *frame) {
  uint32_t sum[2] = {before[0], before[1]};
  add(sum, bytes, 8, is_big);
  add(sum, bytes + FRAME_HEADER, page_size, is_big);
  frame->sum[0] = word_at(bytes + 16, 1);
  frame->sum[1] = word_at(bytes + 20, 1);
  memcpy(frame->salts, bytes + 8, 8);
  frame->ends_transaction = word_at(bytes + 4, 1) != 0;
  return sum[0] == frame->sum[0] && sum[1] == frame->sum[1];
}

static int differing_bytes(const unsigned char *one, const unsigned char *other, int count) {
  int differing = 0;
  for (int place = 0; place < count; place++) differing += one[place] != other[place];
  return differing;
}

// MARK: The log

int keyferry_log_examine(const char *path, uint32_t page_size, const KeyferryLogWitness *witness, KeyferryLog *log) {
  memset(log, 0, sizeof *log);
  FILE *file = fopen(path, "re");
  if (file == NULL) return errno == ENOENT ? 0 : errno;
  unsigned char header[WAL_HEADER];
  size_t count = fread(header, 1, sizeof header, file);
  log->byte_count = (int64_t)count;
  if (count < sizeof header) {
    int number = ferror(file) ? EIO : 0;
    fclose(file);
    return number;
  }
  uint32_t magic = word_at(header, 1);
  int is_big = (magic & 0xfffffffeu) == 0x377f0682u ? (int)(magic & 1) : is_host_big();
  uint32_t sum[2] = {0, 0};
  add(sum, header, 24, is_big);
  uint32_t stated = word_at(header + 8, 1);
  log->header_holds = (magic & 0xfffffffeu) == 0x377f0682u && sum[0] == word_at(header + 24, 1)
                      && sum[1] == word_at(header + 28, 1) && stated >= 512 && stated <= 65536
                      && (stated & (stated - 1)) == 0;
  if (log->header_holds) page_size = stated;
  static const unsigned char zeros[WAL_HEADER];
  log->header_is_empty = memcmp(header, zeros, sizeof header) == 0;
  unsigned char salts[8];
  memcpy(salts, header + 16, 8);

  size_t length = FRAME_HEADER + (size_t)page_size;
  unsigned char *bytes = malloc(length);
  if (bytes == NULL) {
    fclose(file);
    return ENOMEM;
  }
  // The first frame is the only one whose predecessor's sum is in the header.
  Frame before = {{word_at(header + 24, 1), word_at(header + 28, 1)}, {0}, 0};
  memcpy(before.salts, salts, 8);
  int is_whole = log->header_holds, is_next = log->header_holds, number = 0;
  uint64_t next = 0;
  for (uint64_t place = 1; (count = fread(bytes, 1, length, file)) > 0; place++) {
    log->byte_count += (int64_t)count;
    if (count < length) break;
    Frame frame;
    int holds = holds_after(before.sum, bytes, page_size, is_big, &frame);
    int differing = differing_bytes(frame.salts, salts, 8);
    if (is_whole && holds && differing == 0) {
      log->frames = place;
      if (witness && witness->frame == place && memcmp(witness->salts, salts, 8) == 0
          && witness->sum[0] == frame.sum[0] && witness->sum[1] == frame.sum[1])
        log->witness_holds = 1;
    } else if (is_next) {
      // The frame behind those that hold.
      log->next_is_of_log = differing <= 1;
      is_whole = is_next = 0;
      next = place;
      before = frame;
      continue;
    }
    if (next && place == next + 1 && differing > 1) log->next_is_of_log = 0;
    if (!is_whole && holds && frame.ends_transaction
               && (log->header_holds ? differing == 0 : memcmp(frame.salts, before.salts, 8) == 0)) {
      log->later_commits++;
    }
    before = frame;
  }
  if (ferror(file)) number = EIO;
  free(bytes);
  fclose(file);
  return number;
}

int keyferry_log_witness(const char *path, KeyferryLogWitness *witness) {
  unsigned char bytes[INDEX_COPIED_PLACE + 4];
  FILE *file = fopen(path, "re");
  if (file == NULL) return 0;
  size_t count = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  if (count < sizeof bytes) return 0;
  // The header stands there twice, so that one that is just being written is seen.
  if (memcmp(bytes, bytes + INDEX_HEADER, INDEX_HEADER) != 0) return 0;
  int is_big = is_host_big();
  uint32_t sum[2] = {0, 0};
  add(sum, bytes, 40, is_big);
  int is_begun = bytes[12] != 0;
  if (word_at(bytes, is_big) != 3007000 || !is_begun || sum[0] != word_at(bytes + 40, is_big)
      || sum[1] != word_at(bytes + 44, is_big))
    return 0;
  witness->frame = word_at(bytes + 16, is_big);
  witness->sum[0] = word_at(bytes + 24, is_big);
  witness->sum[1] = word_at(bytes + 28, is_big);
  memcpy(witness->salts, bytes + 32, 8);
  witness->copied = word_at(bytes + INDEX_COPIED_PLACE, is_big);
  return witness->frame > 0;
}
