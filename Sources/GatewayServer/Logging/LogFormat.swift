internal import Glibc
package import Logging
internal import Synchronization

/// How log lines look.
package enum LogFormat: String, Hashable, Sendable, CaseIterable {
  /// One JSON object a line: `time`, `level`, `logger`, `message`, and the metadata as members of `data`.
  case json
  /// For people: `2020-12-01T00:00:00.000Z info keyferry.server: message key=value`.
  case text

  /// Makes every logger of the process write lines like this to standard error. Once in a process.
  ///
  /// - Parameter journal: `JOURNAL_STREAM` of the environment. Where standard error is systemd's journal, each line begins
  ///   with its priority, which the journal takes away and keeps.
  package func bootstrap(level: Logger.Level = .info, journal: String? = nil) {
    let isJournal = journal.map { JournalPriority.isStandardError($0) } ?? false
    LoggingSystem.bootstrap { handler(label: $0, level: level, hasPriority: isJournal) }
  }

  /// A handler that writes lines like this.
  ///
  /// - Parameters:
  ///   - hasPriority: whether a line begins with its priority as systemd's journal reads it: `<4>`.
  ///   - write: takes whole lines with their line feed; standard error by default.
  package func handler(
    label: String, level: Logger.Level = .info, hasPriority: Bool = false,
    write: @escaping @Sendable (String) -> Void = LogFormat.standardError
  ) -> some LogHandler {
    LineLogHandler(format: self, label: label, logLevel: level, hasPriority: hasPriority, write: write)
  }

  /// Lines of several threads do not mix.
  @Sendable package static func standardError(_ line: String) {
    standardErrorLock.withLock { _ in
      var rest = Array(line.utf8)[...]
      while !rest.isEmpty {
        let count = rest.withUnsafeBytes { Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
        if count < 0, errno == EINTR { continue }
        if count <= 0 { return }
        rest = rest.dropFirst(count)
      }
    }
  }
}

private let standardErrorLock = Mutex(())

/// A log handler for whole lines.
private struct LineLogHandler: LogHandler {
  let format: LogFormat
  let label: String
  var logLevel: Logger.Level
  var metadata: Logger.Metadata = [:]
  var metadataProvider: Logger.MetadataProvider?
  let hasPriority: Bool
  let write: @Sendable (String) -> Void

  init(
    format: LogFormat, label: String, logLevel: Logger.Level, hasPriority: Bool,
    write: @escaping @Sendable (String) -> Void
  ) {
    self.format = format
    self.label = label
    self.logLevel = logLevel
    self.hasPriority = hasPriority
    self.write = write
  }

  subscript(metadataKey key: String) -> Logger.MetadataValue? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    var data = metadata
    if let provided = metadataProvider?.get() { data.merge(provided) { _, new in new } }
    if let own = event.metadata { data.merge(own) { _, new in new } }
    if let error = event.error { data["error"] = .string("\(error)") }
    let sorted = data.sorted { $0.key < $1.key }
    let priority = hasPriority ? JournalPriority(event.level).prefix : ""
    switch format {
    case .json: write(priority + jsonLine(event, sorted))
    case .text: write(priority + textLine(event, sorted))
    }
  }

  private func jsonLine(_ event: LogEvent, _ data: [(key: String, value: Logger.MetadataValue)]) -> String {
    var line = "{\"time\":\"\(Self.time())\",\"level\":\"\(event.level.rawValue)\",\"logger\":"
    line += LogText.quoted(label) + ",\"message\":" + LogText.quoted(event.message.description)
    if !data.isEmpty {
      line += ",\"data\":{"
      line += data.map { "\(LogText.quoted($0.key)):\(LogText.json($0.value))" }.joined(separator: ",")
      line += "}"
    }
    return line + "}\n"
  }

  private func textLine(_ event: LogEvent, _ data: [(key: String, value: Logger.MetadataValue)]) -> String {
    var line = "\(Self.time()) \(event.level.rawValue) \(label): \(LogText.oneLine(event.message.description))"
    for (key, value) in data { line += " \(LogText.oneLine(key))=\(LogText.plain(value))" }
    return line + "\n"
  }

  /// RFC 3339 in UTC with milliseconds.
  private static func time() -> String {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return LogText.time(seconds: Int64(time.tv_sec), milliseconds: Int(time.tv_nsec / 1_000_000))
  }
}
