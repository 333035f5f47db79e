import ExposureKeys
import Foundation
import GatewayTesting
import KeyPeers
import KeyReceiving
import KeyStorage
import Testing

/// The folder transport on a real folder, with the time given.
@Suite struct FolderTransportTests {
  /// A folder of its own, removed at the end.
  private final class Folder {
    let url: URL
    var path: String { url.path(percentEncoded: false) }

    init(in parent: URL = FileManager.default.temporaryDirectory) throws {
      url = parent.appending(path: "keyferry-folder-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }
    deinit { try? FileManager.default.removeItem(at: url) }

    /// Writes a file that was changed at this time.
    func put(_ name: String, _ text: String = "keys", changed: Int64 = 1000) throws {
      try Data(text.utf8).write(to: url.appending(path: name))
      try touch(name, changed: changed)
    }

    func touch(_ name: String, changed: Int64) throws {
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSince1970: Double(changed))],
        ofItemAtPath: url.appending(path: name).path(percentEncoded: false))
    }

    func text(_ name: String) throws -> String { try String(contentsOf: url.appending(path: name), encoding: .utf8) }
    func has(_ name: String) -> Bool {
      FileManager.default.fileExists(atPath: url.appending(path: name).path(percentEncoded: false))
    }

    func transport(at seconds: Int64 = 2000) -> FolderTransport {
      FolderTransport(path: path) { Instant(secondsSince1970: seconds) }
    }

    /// What the machine would collect now.
    func documents(at seconds: Int64 = 2000) async throws -> [PeerDocument] {
      var machine = try PeerCatalog.machine(
        for: source(.files, location: path), cursor: nil, now: Instant(secondsSince1970: seconds))
      guard case .ask(let request) = machine.next() else { return [] }
      let answer = try await transport(at: seconds).ask(request)
      machine.take(.response(answer.head, answer.body))
      guard case .collect(let documents) = machine.next() else { return [] }
      return documents
    }

    func names(at seconds: Int64 = 2000) async throws -> [String] { try await documents(at: seconds).map(\.name) }
  }

  private static func fetch(
    _ name: String, from folder: Folder, into copy: String, limit: Int = 1000
  ) async throws -> ResponseHead {
    try await folder.transport().fetch(PeerRequest(url: name), into: copy, byteLimit: limit)
  }

  @Test func listsRegularFilesOldestFirst() async throws {
    let folder = try Folder()
    try folder.put("b.zip", "12345", changed: 900)
    try folder.put("a.json", changed: 901)
    try folder.put("ä b\n.csv", changed: 901)
    try FileManager.default.createDirectory(at: folder.url.appending(path: "inner"), withIntermediateDirectories: true)
    #expect(
      try await folder.names() == [
        "b.zip@5-900.000000000", "a.json@4-901.000000000", "%c3%a4%20b%0a.csv@4-901.000000000",
      ])
  }

  @Test func copiesWhatItLists() async throws {
    let folder = try Folder()
    try folder.put("ä b.csv", "12345")
    let copy = folder.url.appending(path: ".copy").path()
    let name = try #require(try await folder.names().first)
    #expect(try await Self.fetch(name, from: folder, into: copy).status == 200)
    #expect(try folder.text(".copy") == "12345")
  }

  @Test func filesThatAreBeingWrittenWait() async throws {
    let folder = try Folder()
    for name in [".hidden", "a.zip.part", "a.zip.partial", "b.tmp"] { try folder.put(name) }
    try folder.put("fresh.zip", changed: 1999)
    try folder.put("rested.zip", changed: 1997)
    #expect(try await folder.names() == ["rested.zip@4-1997.000000000"])
    #expect(try await folder.names(at: 2002).count == 2)
  }

  @Test func aFileWhoseTimeIsInTheFutureDoesNotWaitForIt() async throws {
    let folder = try Folder()
    try folder.put("late.zip", changed: 90_000)
    #expect(try await folder.names() == ["late.zip@4-90000.000000000"])
  }

  /// Memory as a file system keeps any number as a time; others clamp it.
  @Test(
    .enabled(if: Self.isMemory("/dev/shm"), "needs memory as a file system at /dev/shm (tmpfs)"),
    arguments: [Int.min, .max])
  func aFileOfAnyTimeIsListed(changed: Int) async throws {
    let folder = try Folder(in: URL(filePath: "/dev/shm"))
    try folder.put("keys.zip")
    let times = [timespec(tv_sec: 0, tv_nsec: 0), timespec(tv_sec: changed, tv_nsec: 0)]
    #expect(utimensat(AT_FDCWD, folder.url.appending(path: "keys.zip").path(), times, 0) == 0)
    #expect(try await folder.names() == ["keys.zip@4-\(changed).000000000"])
  }

  /// Whether a folder is there whose files keep the greatest number as a time.
  private static func isMemory(_ folder: String) -> Bool {
    let path = "\(folder)/keyferry-\(UUID().uuidString)"
    guard FileManager.default.createFile(atPath: path, contents: nil) else { return false }
    defer { unlink(path) }
    let times = [timespec(tv_sec: 0, tv_nsec: 0), timespec(tv_sec: .max, tv_nsec: 0)]
    var status = stat()
    return utimensat(AT_FDCWD, path, times, 0) == 0 && stat(path, &status) == 0 && status.st_mtim.tv_sec == .max
  }

  @Test func aNewFileUnderAnOldNameIsANewDocument() async throws {
    let folder = try Folder()
    try folder.put("keys.zip", "1")
    let first = try await folder.names()
    try folder.put("keys.zip", "2", changed: 1001)
    #expect(try await folder.names() != first)
  }

  @Test func linksLeadNowhere() async throws {
    let folder = try Folder()
    let outside = try Folder()
    try outside.put("secret.zip")
    try FileManager.default.createSymbolicLink(
      at: folder.url.appending(path: "link.zip"), withDestinationURL: outside.url.appending(path: "secret.zip"))
    #expect(try await folder.names().isEmpty)
    let copy = folder.url.appending(path: ".copy").path()
    let fault = await #expect(throws: TransportFault.self) {
      try await Self.fetch("link.zip@4-1000.000000000", from: folder, into: copy)
    }
    #expect(fault?.code == "not-a-file")
    #expect(!folder.has(".copy"))
  }

  @Test(arguments: [
    "..%2fpasswd@4-1.000000000", "../passwd@4-1.000000000", "..@4-1.000000000", "keys.zip", "", "@4-1.000000000",
    "a%00@1-1.000000000", "gone.zip@4-1.000000000",
  ])
  func whatIsNoFileOfTheFolderIsNotThere(address: String) async throws {
    let folder = try Folder()
    let copy = folder.url.appending(path: ".copy").path()
    #expect(try await Self.fetch(address, from: folder, into: copy).status == 404)
    #expect(!folder.has(".copy"))
  }

  @Test func aFileThatWasChangedSinceIsNotCopied() async throws {
    let folder = try Folder()
    try folder.put("keys.zip", "1")
    let name = try #require(try await folder.names().first)
    try folder.put("keys.zip", "22")
    let copy = folder.url.appending(path: ".copy").path()
    let fault = await #expect(throws: TransportFault.self) { try await Self.fetch(name, from: folder, into: copy) }
    #expect(fault?.code == "changed")
    #expect(fault?.isTemporary == true)
  }

  @Test func aFileBeyondTheLimitLeavesNothingBehind() async throws {
    let folder = try Folder()
    try folder.put("keys.zip", String(repeating: "x", count: 1001))
    let name = try #require(try await folder.names().first)
    let copy = folder.url.appending(path: ".copy").path()
    let fault = await #expect(throws: TransportFault.self) { try await Self.fetch(name, from: folder, into: copy) }
    #expect(fault?.code == "too-large")
    #expect(!folder.has(".copy"))
  }

  @Test func aSignatureGoesWithItsExport() async throws {
    let folder = try Folder()
    try folder.put("export.bin", "export")
    try folder.put("export.sig", "signature")
    try folder.put("alone.sig", "alone")
    let names = try await folder.names()
    #expect(names == ["alone.sig@5-1000.000000000", "export.bin@6-1000.000000000"])
    let copy = folder.url.appending(path: ".copy").path()
    _ = try await Self.fetch(names[1], from: folder, into: copy)
    #expect(try folder.text(".copy.sig") == "signature")
    try folder.transport().setAside(names[1], reason: "no")
    #expect(try folder.text("refused/export.sig") == "signature")
  }

  @Test func refusedFilesAreMovedAsideAndExplained() async throws {
    let folder = try Folder()
    for round in 1...3 {
      try folder.put("keys.zip", "bad \(round)")
      let name = try #require(try await folder.names().first)
      let place = try folder.transport().setAside(name, reason: "reason \(round)")
      #expect(place?.hasSuffix(round == 1 ? "refused/keys.zip" : "refused/keys.\(round).zip") == true)
    }
    #expect(try folder.text("refused/keys.zip") == "bad 1")
    #expect(try folder.text("refused/keys.zip.why.txt") == "reason 1\n")
    #expect(try folder.text("refused/keys.3.zip") == "bad 3")
    #expect(try folder.text("refused/keys.3.zip.why.txt") == "reason 3\n")
    #expect(try await folder.names().isEmpty)
    // Moved back, the file is tried again, and the text is no document.
    for name in ["keys.3.zip", "keys.3.zip.why.txt"] { try folder.put(name, folder.text("refused/\(name)")) }
    #expect(try await folder.names() == ["keys.3.zip@5-1000.000000000"])
  }

  @Test func anotherFileUnderTheNameStays() async throws {
    let folder = try Folder()
    try folder.put("keys.zip", "bad")
    let name = try #require(try await folder.names().first)
    try folder.put("keys.zip", "better")
    #expect(try folder.transport().setAside(name, reason: "no") == nil)
    #expect(try folder.text("keys.zip") == "better")
    #expect(!folder.has("refused"))
  }

  @Test func aFolderOfRefusedFilesThatIsALinkIsNotFollowed() async throws {
    let folder = try Folder()
    let outside = try Folder()
    try FileManager.default.createSymbolicLink(
      at: folder.url.appending(path: "refused"), withDestinationURL: outside.url)
    try folder.put("keys.zip", "bad")
    let name = try #require(try await folder.names().first)
    #expect(throws: TransportFault.self) { try folder.transport().setAside(name, reason: "no") }
    #expect(folder.has("keys.zip"))
    #expect(!outside.has("keys.zip"))
  }

  @Test func aMissingFolderIsAFaultThatMayPass() async throws {
    let transport = FolderTransport(path: "/nonexistent/keyferry") { Instant(secondsSince1970: 0) }
    let fault = await #expect(throws: TransportFault.self) { try await transport.ask(PeerRequest(url: "")) }
    #expect(fault?.code == "not-found")
    #expect(fault?.isTemporary == true)
  }
}
