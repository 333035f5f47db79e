import Foundation
import GatewayTesting
import KeyIntake
import KeyPublishing
import S3Objects
import S3Publications
import Testing

/// The places that are published into.
enum Place: String, CaseIterable, CustomTestStringConvertible {
  case folder
  case bucket
  /// A bucket of a store that knows no conditions.
  case plainBucket = "plain bucket"

  var testDescription: String { rawValue }

  func run(_ body: (any PublicationFolder) async throws -> Void) async throws {
    switch self {
    case .folder:
      let path = FileManager.default.temporaryDirectory.appending(path: "keyferry-place-\(UUID().uuidString)").path
      defer { try? FileManager.default.removeItem(atPath: path) }
      try await body(LocalFolder(path))
    case .bucket: try await body(BucketFolder(StrictObjectStore().bucket()))
    case .plainBucket:
      let store = StrictObjectStore()
      store.setIgnoringConditions(true)
      try await body(BucketFolder(store.bucket(), hasConditions: false))
    }
  }
}

/// What rounds of publishing rely on, wherever they publish.
@Suite("Every place that is published into") struct FolderContractTests {
  private let one = Array("one".utf8)
  private let two = Array("two and more".utf8)

  private func code(_ body: () async throws -> Void) async -> FolderFault.Code? {
    do {
      try await body()
      return nil
    } catch {
      return (error as? FolderFault)?.code
    }
  }

  @Test("a file that never changes", arguments: Place.allCases) func create(_ place: Place) async throws {
    try await place.run { folder in
      let path = "NL/day/1.zip"
      #expect(try await folder.byteCount(of: path) == nil)
      #expect(try await folder.content(of: path, limit: 10) == nil)
      try await folder.create(one, at: path)
      #expect(try await folder.byteCount(of: path) == 3)
      #expect(try await folder.content(of: path, limit: 3) == one)
      try await folder.create(one, at: path)
      for other in [two, [], Array("onf".utf8)] {
        #expect(await code { try await folder.create(other, at: path) } == .nameTaken)
      }
      #expect(try await folder.content(of: path, limit: 10) == one)
      await #expect(throws: (any Error).self) { _ = try await folder.content(of: path, limit: 2) }
      try await folder.heal(path, with: two)
      #expect(try await folder.content(of: path, limit: 100) == two)
      try await folder.remove(path)
      try await folder.remove(path)
      #expect(try await folder.byteCount(of: path) == nil)
      try await folder.create([], at: path)
      #expect(try await folder.content(of: path, limit: 1) == [])
    }
  }

  @Test("a list is replaced by who has seen it", arguments: Place.allCases) func replace(_ place: Place) async throws {
    try await place.run { folder in
      let path = "NL/index.txt"
      #expect(try await folder.list(path, limit: 10) == nil)
      let first = try await folder.replace(nil, with: one, at: path)
      #expect(try await folder.list(path, limit: 3) == ShownList(content: one, version: first))
      // Nobody has seen it, or another one.
      #expect(await code { _ = try await folder.replace(nil, with: two, at: path) } == .otherWriter)
      let second = try await folder.replace(first, with: two, at: path)
      #expect(second != first)
      #expect(await code { _ = try await folder.replace(first, with: Array("three".utf8), at: path) } == .otherWriter)
      #expect(try await folder.content(of: path, limit: 100) == two)
      // What is too large has no bytes, and is replaced all the same.
      let large = try #require(try await folder.list(path, limit: 5))
      #expect(large.content == nil && large.version == second)
      let third = try await folder.replace(large.version, with: one, at: path)
      try await folder.remove(path)
      #expect(await code { _ = try await folder.replace(third, with: two, at: path) } == .otherWriter)
      #expect(try await folder.list(path, limit: 10) == nil)
      try await folder.show(one, at: path)
      let shown = try await folder.list(path, limit: 10)
      try await folder.show(one, at: path)
      #expect(try await folder.list(path, limit: 10) == shown, "what says the same already is left alone")
      try await folder.show(two, at: path)
      #expect(try await folder.list(path, limit: 100)?.content == two)
    }
  }

  @Test("the files of a series", arguments: Place.allCases) func files(_ place: Place) async throws {
    try await place.run { folder in
      #expect(try await folder.files(of: "NL").isEmpty)
      let paths = (0..<12).map { "NL/day/\($0).zip" } + ["NL/index.txt"]
      for path in paths { try await folder.create(one, at: path) }
      for path in ["NL2/a.zip", "N/b.zip"] { try await folder.create(two, at: path) }
      let files = try await folder.files(of: "NL")
      #expect(files.map(\.path) == paths.sorted())
      #expect(Set(files.map(\.byteCount)) == [3])
    }
  }

  @Test("of two at once one is first, each time", arguments: [Place.bucket]) func race(_ place: Place) async throws {
    try await place.run { folder in
      for round in 0..<20 {
        let seen = try await folder.list("NL/index.txt", limit: 100)?.version
        let winners = await withTaskGroup(of: Bool.self) { group in
          for writer in 0..<4 {
            group.addTask {
              (try? await folder.replace(seen, with: Array("\(round) \(writer)".utf8), at: "NL/index.txt")) != nil
            }
          }
          return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(winners == 1)
      }
    }
  }

  // MARK: What buckets do

  @Test("what is served is said with each object, as the server says it") func fields() async throws {
    let store = StrictObjectStore()
    let folder = BucketFolder(store.bucket())
    try await folder.create(one, at: "NL/1.zip")
    for path in ["NL/index.txt", "NL/manifest.json", "NL/SHA256SUMS"] { try await folder.show(two, at: path) }
    func fields(_ path: String) -> [String?] {
      let fields = store.objects["eu/\(path)"]?.fields
      return [fields?["content-type"], fields?["cache-control"]]
    }
    #expect(fields("NL/1.zip") == ["application/zip", "public, max-age=31536000, immutable"])
    #expect(fields("NL/index.txt") == ["text/plain; charset=utf-8", "public, max-age=300"])
    #expect(fields("NL/manifest.json") == ["application/json", "public, max-age=300"])
    #expect(fields("NL/SHA256SUMS") == ["text/plain; charset=utf-8", "public, max-age=300"])
    #expect(store.objects["eu/NL/1.zip"]?.fields["if-none-match"] == "*")
    #expect(store.objects.keys.allSatisfy { !$0.contains("_keyferry") }, "what tried the store is gone again")
  }

  @Test("an answer that was lost is found out, and nothing is written twice") func lostAnswers() async throws {
    let store = StrictObjectStore()
    let folder = BucketFolder(store.bucket())
    try await folder.create(one, at: "NL/0.zip")
    func losing(_ count: Int) {
      store.set { number, method, _ in method == "PUT" && number <= count ? .answerLost : nil }
    }
    losing(1)
    try await folder.create(one, at: "NL/1.zip")
    losing(1)
    let first = try await folder.replace(nil, with: one, at: "NL/index.txt")
    losing(1)
    let second = try await folder.replace(first, with: two, at: "NL/index.txt")
    #expect(try await folder.list("NL/index.txt", limit: 100) == ShownList(content: two, version: second))
    // Somebody else was first: not the same bytes.
    store.set { number, method, _ in
      number == 1 ? .after { $0.overwrite("NL/index.txt", with: Array("theirs".utf8)) } : nil
    }
    #expect(await code { _ = try await folder.replace(second, with: one, at: "NL/index.txt") } == .otherWriter)
    #expect(store["NL/index.txt"] == Array("theirs".utf8))
    store.set { number, _, _ in number == 1 ? .after { $0.overwrite("NL/2.zip", with: Array("theirs".utf8)) } : nil }
    #expect(await code { try await folder.create(one, at: "NL/2.zip") } == .nameTaken)
    // And the same bytes are as good as one's own.
    store.set { [one] number, _, _ in number == 1 ? .after { $0.overwrite("NL/3.zip", with: one) } : nil }
    try await folder.create(one, at: "NL/3.zip")
  }

  @Test("writes at the same time are tried again, lists after a look") func conflicts() async throws {
    let store = StrictObjectStore()
    let folder = BucketFolder(store.bucket())
    try await folder.create(one, at: "NL/0.zip")
    let conflict = StrictObjectStore.Trouble.refuses(status: 409, code: "ConditionalRequestConflict")
    store.set { number, _, _ in number <= 2 ? conflict : nil }
    try await folder.create(one, at: "NL/1.zip")
    store.set { number, _, _ in number == 1 ? conflict : nil }
    let version = try await folder.replace(nil, with: one, at: "NL/index.txt")
    store.set { number, method, _ in
      if number == 1 { return conflict }
      return number == 2 ? .after { $0.overwrite("NL/index.txt", with: Array("theirs".utf8)) } : nil
    }
    #expect(await code { _ = try await folder.replace(version, with: two, at: "NL/index.txt") } == .otherWriter)
    store.set { _, method, _ in method == "PUT" ? conflict : nil }
    #expect(await code { try await folder.create(one, at: "NL/4.zip") } == .unavailable)
  }

  @Test("a right that is missing and an outage are no files that are gone") func told() async throws {
    let store = StrictObjectStore()
    let folder = BucketFolder(store.bucket())
    try await folder.create(one, at: "NL/1.zip")
    let troubles: [(StrictObjectStore.Trouble, FolderFault.Code)] = [
      (.refuses(status: 403, code: "AccessDenied"), .denied), (.refuses(status: 503, code: "SlowDown"), .unavailable),
      (.lost, .unavailable), (.proxy(status: 404, text: ""), .unusable),
      (.refuses(status: 404, code: "NoSuchBucket"), .unusable),
    ]
    for (trouble, expected) in troubles {
      store.set { _, method, _ in method == "GET" ? trouble : method == "HEAD" ? .proxy(status: 404, text: "") : nil }
      #expect(await code { _ = try await folder.byteCount(of: "NL/1.zip") } == expected, "\(trouble)")
      #expect(await code { _ = try await folder.list("NL/index.txt", limit: 10) } == expected, "\(trouble)")
      #expect(await code { _ = try await folder.content(of: "NL/1.zip", limit: 10) } == expected, "\(trouble)")
      #expect(await code { _ = try await folder.files(of: "NL") } == expected, "\(trouble)")
    }
  }

  // MARK: Trying a store

  @Test("a store that keeps to the rules can be used") func sound() async throws {
    let store = StrictObjectStore()
    let probe = try await BucketProbe(store.bucket(), hasConditions: true)
    #expect(probe.faults == [] && probe.findings.count == 3)
    #expect(store.objects.isEmpty)
  }

  @Test("a store that ignores conditions is not published into, and what to do is said") func ignoring() async throws {
    let store = StrictObjectStore()
    store.setIgnoringConditions(true)
    let probe = try await BucketProbe(store.bucket(), hasConditions: true)
    #expect(probe.faults.contains("If-None-Match: * is ignored: an object was overwritten"))
    #expect(probe.faults.contains { $0.hasPrefix("If-Match is ignored where there is no object") })
    #expect(probe.faults.last?.hasSuffix("write publication.s3.conditional-writes: false") == true)
    #expect(store.objects.isEmpty)
    let folder = BucketFolder(store.bucket())
    #expect(await code { try await folder.create(one, at: "NL/1.zip") } == .unusable)
    #expect(await code { _ = try await folder.replace(nil, with: one, at: "NL/index.txt") } == .unusable)
    #expect(store.objects.isEmpty)
    // It was mended: what could not be used is tried again.
    store.setIgnoringConditions(false)
    try await folder.create(one, at: "NL/1.zip")
  }

  @Test("of an old MinIO, of one that knows no conditions, and without rights") func faults() async throws {
    func faults(_ trouble: @escaping @Sendable (Int, String, String) -> StrictObjectStore.Trouble?) async throws
      -> String
    {
      let store = StrictObjectStore()
      store.set(trouble)
      let probe = try await BucketProbe(store.bucket(), hasConditions: true)
      return probe.faults.joined(separator: "\n")
    }
    let unknown = try await faults { _, method, _ in
      method == "PUT" ? .refuses(status: 501, code: "NotImplemented") : nil
    }
    #expect(unknown.contains("501 NotImplemented") && unknown.contains("conditional-writes: false"))
    let denied = try await faults { _, method, _ in method == "PUT" ? .refuses(status: 403, code: "AccessDenied") : nil
    }
    #expect(denied.contains("s3:PutObject"))
    let store = StrictObjectStore()
    store.setMayList(false)
    let blind = try await BucketProbe(store.bucket(), hasConditions: true).faults.joined()
    #expect(blind.contains("s3:ListBucket"), "\(blind)")
    store.setBucket(isThere: false)
    store.setMayList(true)
    #expect(try await BucketProbe(store.bucket(), hasConditions: true).faults.joined().contains("NoSuchBucket"))
  }
}
