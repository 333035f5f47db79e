import CPageChecksums
import Glibc
import KeyStorage

/// What stands in a store's log of changes, the file that ends in `-wal`, seen as bytes before SQLite reads it.
///
/// SQLite ends at the first frame that is not what was written, and takes the rest for writing that a crash cut off. So one
/// bit of a disk would take everything that was committed behind it, without a word. Two things tell damage from a crash:
///
/// - What is behind the frame. A process that is killed leaves nothing there, and a power failure leaves older bytes, which
///   begin with other salts; where the frame belongs to the log and transactions end behind it, it was whole once.
/// - The file that ends in `-shm`, the memory that the processes of a store share: it names the last transaction and its sum.
///   After a restart of the machine it may say more than the disk was told, and nobody listens to it.
enum LogOfChanges {
  /// What is damaged, in words for the end of a sentence; `nil` where all that was committed is there.
  ///
  /// Somebody who writes meanwhile is waited for.
  ///
  /// - Parameter path: of the store's file.
  /// - Throws: ``StorageFault``.
  static func damage(of path: String) throws -> String? {
    // SQLite takes the log away where the file is empty, for which it takes one byte, too, or begins one anew.
    var status = stat()
    let isThere = stat(path, &status) == 0
    guard isThere, status.st_size > 1 else {
      guard Self.isThere(beside: path) else { return nil }
      return
        "the file that it belongs to is \(isThere ? "empty" : "not there"): what was committed last may stand in it alone; "
        + "keep both, since nobody can read the one without the other"
    }
    var found: String?
    for attempt in 0..<3 {
      if attempt > 0 { usleep(20_000) }
      found = try look(path)
      if found == nil { return nil }
    }
    return found
  }

  /// The same as a line of a list, which names the file.
  static func faults(of path: String) throws -> [String] {
    try damage(of: path).map { ["\(path)\(ending): \($0)"] } ?? []
  }

  /// - Throws: ``StorageFault`` `corrupt`.
  static func check(_ path: String) throws {
    if let damage = try damage(of: path) { throw StorageFault.damaged(path + ending, damage) }
  }

  static let ending = "-wal"

  /// Whether changes stand in the log of a file.
  static func isThere(beside path: String) -> Bool {
    var status = stat()
    return stat(path + ending, &status) == 0 && status.st_size > 0
  }

  private static func look(_ path: String) throws -> String? {
    // What processes share is read first: the log has at least what that says.
    let witness = witness(of: path)
    var log = KeyferryLog()
    let number =
      if var witness {
        keyferry_log_examine(path + ending, UInt32(StoreTuning.pageSize), &witness, &log)
      } else {
        keyferry_log_examine(path + ending, UInt32(StoreTuning.pageSize), nil, &log)
      }
    guard number == 0 else {
      throw StorageFault(.inputOutput, "\(path + ending): \(String(cString: strerror(number)))")
    }
    if let witness {
      if log.witness_holds != 0 { return nil }
      let isSettled = witness.copied >= witness.frame
      if log.byte_count == 0 {
        return isSettled ? nil : "\(witness.frame) changes were committed to it, and it is empty"
      }
      // What has come into the file is there without the log, unless older pages of the log are taken for newer ones.
      return isSettled && log.frames == 0 ? nil : words(log)
    }
    if log.header_holds == 0 { return log.header_is_empty == 0 && log.later_commits > 0 ? words(log) : nil }
    return log.next_is_of_log != 0 && log.later_commits > 0 ? words(log) : nil
  }

  private static func words(_ log: KeyferryLog) -> String {
    guard log.header_holds != 0 else { return "its first bytes are not what was written" }
    let start = 32 + Int64(log.frames) * Int64(24 + StoreTuning.pageSize)
    let place = "change \(log.frames + 1), at byte \(start),"
    return start >= log.byte_count ? "it is cut off behind change \(log.frames)" : "\(place) is not what was written"
  }

  /// What the processes of the store knew last, where the machine has not started again since.
  private static func witness(of path: String) -> KeyferryLogWitness? {
    var witness = KeyferryLogWitness()
    guard keyferry_log_witness(path + "-shm", &witness) != 0 else { return nil }
    var status = stat()
    guard stat(path + ending, &status) == 0 || stat(path + "-shm", &status) == 0 else { return nil }
    var (now, running) = (timespec(), timespec())
    guard clock_gettime(CLOCK_REALTIME, &now) == 0, clock_gettime(bootClock, &running) == 0 else { return nil }
    let written = Int64(status.st_mtim.tv_sec)
    // A clock that was set meanwhile makes it unknown; then the log alone is asked.
    guard written > Int64(now.tv_sec) - Int64(running.tv_sec), written <= Int64(now.tv_sec) else { return nil }
    return witness
  }

  /// `CLOCK_BOOTTIME` of Linux, which goes on while the machine sleeps.
  private static let bootClock = clockid_t(7)
}
