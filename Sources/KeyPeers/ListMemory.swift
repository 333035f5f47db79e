internal import BundleTrust
internal import ExposureKeys

/// What a source remembers of the list that it read last: how long it was, to notice when it shrinks, and its validators
/// (RFC 9110, 8.8), to ask whether it changed.
///
/// A list that has not changed is not read, so the files that it names are not looked at. The validators are therefore kept only
/// if all of these are recorded, and for one day: then recorded files are due to be looked at again. A mirror needs the list itself.
struct ListMemory {
  private struct Cursor: Codable {
    var entries: Int
    var entityTag: String?
    var lastModified: String?
    /// When it was read, in seconds since 1970.
    var read: Int64?
    /// Of the settings by which it was read.
    var digest: String?
  }

  private static let validSeconds: Int64 = 86_400
  private static let validatorLimit = 256

  private let before: Cursor?
  private let now: Int64
  private let mayAskForChange: Bool
  private let digest: String
  /// `nil` until a list is read.
  private var list: Cursor?

  /// - Parameter settings: decide what a list means; its validators hold for the same ones alone.
  init(cursor: String?, settings: [String], isMirrored: Bool, now: Instant) {
    digest = String(ExportDigests(of: Array(settings.joined(separator: "\n").utf8)).hexadecimal.prefix(16))
    before = cursor.flatMap { PeerJSON.value(Cursor.self, in: $0.utf8) }
    self.now = now.secondsSince1970
    mayAskForChange = !isMirrored
  }

  /// Headers for the request of the list.
  var validators: [PeerRequest.Header] {
    guard mayAskForChange, let before, before.digest == digest else { return [] }
    guard let read = before.read, read >= 0, read <= now, now - read < Self.validSeconds else { return [] }
    let tag = before.entityTag.flatMap(Self.sendable).map { PeerRequest.Header("If-None-Match", $0) }
    let time = before.lastModified.flatMap(Self.sendable).map { PeerRequest.Header("If-Modified-Since", $0) }
    return [tag, time].compactMap(\.self)
  }

  /// What the answer may be.
  var statuses: Set<Int> { validators.isEmpty ? [200] : [200, 304] }

  /// A list was read.
  ///
  /// - Returns: a notice where it lost more than half of its entries.
  mutating func read(_ head: ResponseHead, entries: Int, of what: String) -> DocumentFault? {
    let tag = head["etag"].flatMap(Self.sendable)
    let time = head["last-modified"].flatMap(Self.sendable)
    let hasValidator = mayAskForChange && (tag != nil || time != nil)
    list = Cursor(
      entries: entries, entityTag: hasValidator ? tag : nil, lastModified: hasValidator ? time : nil,
      read: hasValidator ? now : nil, digest: hasValidator ? digest : nil)
    guard let before, entries * 2 < before.entries else { return nil }
    return DocumentFault(
      code: .indexShrank,
      reason: "the \(what) lists \(entries) files, \(before.entries) before; what is recorded stays")
  }

  /// One of the list's files came, or did not.
  mutating func take(_ outcome: CollectionOutcome) {
    if case .recorded = outcome { return }
    list?.entityTag = nil
    list?.lastModified = nil
    list?.read = nil
    list?.digest = nil
  }

  /// `nil` leaves the cursor as it is.
  var cursor: String? { list.flatMap { PeerJSON.text($0) } }

  private static func sendable(_ value: String) -> String? {
    let isVisible = value.utf8.allSatisfy { (0x20...0x7E).contains($0) }
    return isVisible && (1...validatorLimit).contains(value.utf8.count) ? value : nil
  }
}
