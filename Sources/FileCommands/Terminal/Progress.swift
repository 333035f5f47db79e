internal import ExposureKeys
internal import Glibc
internal import KeyFormats
package import KeyIntake

/// One line on a terminal's standard error that is drawn over and over, and gone in the end. Without a terminal,
/// nothing at all. Short work shows nothing either.
package final class Progress {
  private let isShown: Bool
  private var total = 0
  private var done = 0
  private var label = "reading"
  private var lastDrawn: Double
  private var isDrawn = false

  private static let patience = 0.5
  private static let interval = 0.1

  package init(isShown: Bool = Console.isErrorTerminal) {
    self.isShown = isShown && !Loudness.isQuiet
    lastDrawn = Self.seconds + Self.patience - Self.interval
  }

  deinit { clear() }

  /// Counts what is read of the document.
  package func watching(_ document: SourceDocument) -> SourceDocument {
    guard isShown else { return document }
    total += document.source.byteCount
    return SourceDocument(
      name: document.name, file: document.file, entry: document.entry,
      source: WatchedSource(document.source) { [self] in advance(by: $0) },
      signatureFile: document.signatureFile, format: document.format, limits: document.limits)
  }

  /// A document that was read elsewhere has been taken.
  package func pass(_ document: SourceDocument) {
    total += document.source.byteCount
    advance(by: document.source.byteCount)
  }

  /// What is done now, whose end cannot be foretold.
  package func enter(_ label: String) {
    self.label = label
    total = 0
    draw()
  }

  package func clear() {
    if isDrawn { Console.error("\r\u{1b}[K") }
    isDrawn = false
  }

  private func advance(by count: Int) {
    done += count
    draw()
  }

  private func draw() {
    guard isShown, Self.seconds - lastDrawn >= Self.interval else { return }
    lastDrawn = Self.seconds
    isDrawn = true
    // The last column is left free: some terminals go on to the next line with it.
    let width = (Console.errorWidth ?? 80) - "keyferry: ".count - 1
    Console.error("\r\u{1b}[Kkeyferry: \(Self.line(label, done: done, of: total, width: width))")
  }

  /// `reading [########            ]  40%`, or the label alone where nothing is known of the end.
  ///
  /// - Parameter width: the columns that there are; what is wider could not be drawn over.
  package static func line(_ label: String, done: Int, of total: Int, width: Int = 80) -> String {
    guard total > 0 else { return String(label.prefix(width)) }
    // Documents whose signature is checked are read twice.
    let share = min(1, Double(done % (total + 1)) / Double(total))
    let room = max(0, min(30, width - label.count - " [] 100%".count))
    let filled = Int(share * Double(room))
    let bar = String(repeating: "#", count: filled) + String(repeating: " ", count: room - filled)
    let percent = "\(Int(share * 100))"
    return "\(label) [\(bar)] \(String(repeating: " ", count: 3 - percent.count))\(percent)%"
  }

  private static var seconds: Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}

/// Tells how many bytes were read.
private final class WatchedSource: SeekableSource {
  private let source: any SeekableSource
  private let watch: (Int) -> Void

  init(_ source: any SeekableSource, _ watch: @escaping (Int) -> Void) {
    self.source = source
    self.watch = watch
  }

  var byteCount: Int { source.byteCount }

  func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    let count = try source.read(at: offset, into: buffer)
    watch(count)
    return count
  }
}
