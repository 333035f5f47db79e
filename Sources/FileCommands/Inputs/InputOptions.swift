public import ArgumentParser
internal import BundleTrust
package import Containers
package import ExposureKeys
internal import Glibc
package import KeyConversion
package import KeyFormats
package import KeyInspection
package import KeyIntake

/// How documents are read: shared by the commands that take any.
package struct InputOptions: ParsableArguments {
  @Option(help: ArgumentHelp("Take every input for this format instead of recognising it.", valueName: "format"))
  package var from: KeyFormat?

  @Option(help: ArgumentHelp("Refuse documents of more bytes than this, counted after inflating.", valueName: "bytes"))
  package var maxBytes: Int = DocumentReading().maxBytes

  package func validate() throws {
    guard maxBytes > 0 else { throw ValidationError("--max-bytes \(maxBytes): allowed are 1 and more") }
  }

  package var reading: DocumentReading { DocumentReading(format: from, maxBytes: maxBytes) }

  /// Opens a path as one document.
  package func open(_ path: String) throws -> SourceDocument { try reading.open(path) }

  /// All documents that these paths lead to.
  package func walk(_ paths: [String], _ containers: ContainerOptions? = nil, outputFolder: String? = nil) -> InputWalk
  {
    reading.walk(paths, containers?.limits ?? ContainerLimits(), outputFolder: outputFolder)
  }

  /// The paths, or standard input where none is given and something is handed over there: a pipe or a file.
  package static func orStandardInput(_ paths: [String]) throws -> [String] {
    guard paths.isEmpty else { return paths }
    var status = stat()
    guard fstat(STDIN_FILENO, &status) == 0, [S_IFIFO, S_IFREG, S_IFSOCK].contains(status.st_mode & S_IFMT),
      status.st_mode & S_IFMT != S_IFREG || status.st_size > 0
    else {
      throw ValidationError("Missing expected argument '<file> ...'; - is standard input")
    }
    return ["-"]
  }

  package static func checkPaths(_ paths: [String]) throws {
    guard paths.count(where: { $0 == "-" }) <= 1 else {
      throw ValidationError("standard input (-) can be given only once")
    }
  }

  package init() {}
}

/// What documents are taken for, and how much of them is read.
package struct DocumentReading {
  /// The format, or `nil` for what the content says.
  package var format: KeyFormat?
  package var maxBytes = ReadLimits().documentBytes

  private var limits: ReadLimits {
    var limits = ReadLimits()
    limits.documentBytes = max(maxBytes, 1)
    return limits
  }

  /// Opens a path, or standard input for `-`, as one document.
  package func open(_ path: String) throws -> SourceDocument {
    guard path == "-" || StreamedFile.isStream(path) else {
      return try SourceDocument(path: path, format: format, limits: limits)
    }
    return SourceDocument(
      name: path == "-" ? "standard input" : path, source: try StreamedFile.document(path, limit: maxBytes),
      format: format, limits: limits)
  }

  /// All documents that these paths lead to.
  ///
  /// - Parameter outputFolder: is not read where it lies in a folder that is.
  package func walk(
    _ paths: [String], _ containers: ContainerLimits = ContainerLimits(), outputFolder: String? = nil,
    fetched: [String: [FetchedDocument]] = [:]
  ) -> InputWalk {
    Console.detail(
      "limits: \(grouped(maxBytes)) bytes a document; archives \(containers.depth) deep, \(grouped(containers.entries)) entries, "
        + "\(grouped(containers.inflatedBytes)) bytes, \(containers.ratio) times their size")
    return InputWalk(
      paths, format: format, limits: limits, containers: containers, outputFolder: outputFolder, fetched: fetched)
  }
}

/// Which keys sign: `--sign-key`, `--key-id` and `--key-version` in the same number and order.
struct SigningOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp("Sign with this P-256 private key, PEM. Repeatable, at most ten.", valueName: "key.pem"),
    completion: .file())
  var signKey: [String] = []

  @Option(
    help: ArgumentHelp("The key's id as registered, by convention the mobile country code: 310.", valueName: "id"))
  var keyID: [String] = []

  @Option(help: ArgumentHelp("The key's version as registered.", valueName: "version"))
  var keyVersion: [String] = []

  func validate() throws {
    guard signKey.count == keyID.count, signKey.count == keyVersion.count else {
      throw ValidationError(
        "\(signKey.count) --sign-key, \(keyID.count) --key-id and \(keyVersion.count) --key-version; "
          + "each key needs one of each, in the same order")
    }
    guard signKey.count <= 10 else { throw ValidationError("\(signKey.count) signing keys, allowed are at most 10") }
  }

  func identities() throws -> [SigningIdentity] {
    try signKey.indices.map { index in
      let text = String(decoding: try FileSource.contents(of: signKey[index], limit: 1 << 16), as: UTF8.self)
      do {
        Console.detail("signing with \(signKey[index]), key \(keyID[index]), version \(keyVersion[index])")
        return try SigningIdentity(
          key: try SigningKey(pem: text), keyID: keyID[index], keyVersion: keyVersion[index])
      } catch let error as KeyFault {
        var fault = error
        fault.place = fault.place.isEmpty ? signKey[index] : "\(signKey[index]): \(fault.place)"
        throw fault
      }
    }
  }
}

extension KeyFormat: ExpressibleByArgument {
  package static var allValueStrings: [String] { allCases.map(\.rawValue) }
}

extension Instant {
  /// What can be written for a time, for people.
  package static let forms =
    "a time is 2020-06-01, 2020-06-01T12:00:00Z, 2020-06-01T14:00+02:00, seconds since 1970, or a distance from now: -2h, +1d, now"
}

extension Instant: ExpressibleByArgument {
  /// An instant, also with the distance of its zone from UTC, or a distance from now.
  package init?(argument: String) {
    if let instant = Instant(argument) ?? Self.inZone(argument) {
      self = instant
    } else if let seconds = Self.distance(argument) {
      self.init(secondsSince1970: Clock.now.secondsSince1970 + seconds)
    } else {
      return nil
    }
  }

  /// `2020-06-01T14:00`, with or without seconds and a zone: `Z`, or the distance from UTC, `+02:00`. Without one it is
  /// UTC.
  private static func inZone(_ text: String) -> Instant? {
    var local = text[...]
    var distance: Int64 = 0
    if local.hasSuffix("Z") || local.hasSuffix("z") {
      local = local.dropLast()
    } else if let sign = local.dropFirst(16).lastIndex(where: { $0 == "+" || $0 == "-" }) {
      let digits = local[sign...].dropFirst().split(separator: ":", omittingEmptySubsequences: false)
      guard digits.count == 2,
        digits.allSatisfy({ $0.utf8.count == 2 && $0.utf8.allSatisfy { (48...57).contains($0) } }),
        let hours = Int64(digits[0]), let minutes = Int64(digits[1]), hours < 24, minutes < 60
      else { return nil }
      distance = (hours * 60 + minutes) * (local[sign] == "+" ? -60 : 60)
      local = local[..<sign]
    }
    // A date alone has no time that could be in a zone.
    guard local.utf8.count >= 16, let instant = Instant(local + (local.utf8.count == 16 ? ":00Z" : "Z")) else {
      return nil
    }
    return Instant(secondsSince1970: instant.secondsSince1970 + distance)
  }

  /// `-2h`, `+1d`: seconds, minutes, hours, days or weeks.
  private static func distance(_ text: String) -> Int64? {
    if text == "now" { return 0 }
    let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800]
    guard let sign = text.first, sign == "+" || sign == "-", let unit = text.last.flatMap({ units[$0] }) else {
      return nil
    }
    let digits = text.dropFirst().dropLast()
    guard (1...9).contains(digits.utf8.count), digits.utf8.allSatisfy({ (48...57).contains($0) }),
      let count = Int64(digits)
    else { return nil }
    return (sign == "-" ? -count : count) * unit
  }
}

extension CodableJSONLayout: ExpressibleByArgument {}

extension DeviceProfile: ExpressibleByArgument {}
