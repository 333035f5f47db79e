internal import ExposureKeys

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// The keys that this program believes, from one PEM text, from a folder of PEM files, or from JSON.
///
/// Several keys may share an id and a version, and their validity may overlap: that is how keys rotate.
public struct TrustRing: Sendable {
  /// In the order of the source.
  public let keys: [VerificationKey]
  /// What is odd without being wrong, each with its place: an entry that repeats an earlier one and was left out.
  public let notes: [KeyFault]

  /// The most keys that a ring may hold.
  public static let maximumKeys = 10_000

  public init(keys: [VerificationKey]) {
    self.keys = keys
    notes = []
  }

  /// The keys that a signature with this id and version may have been made with. Keys without a name match all.
  public func keys(id: String?, version: String?) -> [VerificationKey] {
    keys.filter { $0.isNamed(id: id, version: version) }
  }
}

/// Everything that is wrong with the text of a ring, in the order of the text.
public struct TrustRingError: Error, Hashable, Sendable {
  public let faults: [KeyFault]

  public init(faults: [KeyFault]) { self.faults = faults }

  /// The same with this place in front of that of each fault.
  public func within(_ outer: String) -> TrustRingError {
    TrustRingError(faults: faults.map { $0.within(outer) })
  }
}

extension TrustRingError: CustomStringConvertible {
  /// One line a fault.
  public var description: String { faults.map(\.description).joined(separator: "\n") }
}

extension TrustRingError: LocalizedError {
  public var errorDescription: String? { description }
}

extension TrustRing {
  /// JSON when the first character is a brace, else PEM.
  ///
  /// - Parameter document: the bytes of a ring file, at most 4 MiB of UTF-8.
  public init(document: [UInt8]) throws(TrustRingError) {
    let first = document.first { $0 != 0x20 && !(0x09...0x0D).contains($0) }
    if first == UInt8(ascii: "{") || first == UInt8(ascii: "[") {
      try self.init(json: document)
    } else {
      try self.init(pem: String(decoding: document, as: UTF8.self))
    }
  }

  /// One or several PEM blocks `PUBLIC KEY`. They have no names, so they match every id and version.
  public init(pem text: String) throws(TrustRingError) {
    var builder = Builder()
    builder.add(pem: text, id: nil, version: nil, place: "", label: nil)
    self = try builder.ring()
  }

  /// A folder of PEM files, each named `ID-VERSION.pem` and holding one or several blocks `PUBLIC KEY`.
  ///
  /// The version is what follows the last hyphen, so `ch-dp3t-v1.pem` is id `ch-dp3t`, version `v1`.
  public init(files: [(fileName: String, text: String)]) throws(TrustRingError) {
    var builder = Builder()
    for file in files { builder.add(file: file.fileName, text: file.text) }
    self = try builder.ring()
  }

  /// `{"keys": [{"id": "310", "version": "v1", "publicKey": "…", "from": "2020-06-01T00:00:00Z", "until": null}]}`
  ///
  /// `publicKey` is PEM, or base64 of a SubjectPublicKeyInfo or of the uncompressed point. `id` and `version` may be
  /// left out, and then match all; an empty one matches signatures that state none. `from` is inclusive, `until`
  /// exclusive; `null` or absent is no bound. `label` is free text. Any other member is a fault, lest a misspelt
  /// `until` trusts a key for ever; so is a member that stands twice.
  public init(json document: [UInt8]) throws(TrustRingError) {
    var builder = Builder()
    builder.add(json: document)
    self = try builder.ring()
  }
}

/// Collects keys and faults, so that one reading names everything that is wrong.
private struct Builder {
  private var keys: [VerificationKey] = []
  private var seen: Set<VerificationKey> = []
  private var faults: [KeyFault] = []
  private var notes: [KeyFault] = []

  func ring() throws(TrustRingError) -> TrustRing {
    guard faults.isEmpty else { throw TrustRingError(faults: faults) }
    guard !keys.isEmpty else { throw TrustRingError(faults: [KeyFault(.empty, "no public key")]) }
    guard keys.count <= TrustRing.maximumKeys else {
      let reason = "\(keys.count) keys, at most \(TrustRing.maximumKeys) are allowed"
      throw TrustRingError(faults: [KeyFault(.limitExceeded, reason)])
    }
    return TrustRing(keys: keys, notes: notes)
  }

  private mutating func add(_ key: VerificationKey, place: String) {
    var unlabelled = key
    unlabelled.label = nil
    if seen.insert(unlabelled).inserted {
      keys.append(key)
    } else {
      notes.append(KeyFault(.repeated, place: place, "repeats an earlier entry: \(key.identity)"))
    }
  }

  private mutating func report(_ code: KeyFault.Code, _ place: String, _ reason: String) {
    faults.append(KeyFault(code, place: place, reason))
  }

  // MARK: PEM

  mutating func add(pem text: String, id: String?, version: String?, place: String, label: String?) {
    do throws(KeyFault) {
      let blocks = try PEMBlock.blocks(in: text)
      if blocks.isEmpty { report(.notPEM, place, "no PEM block, expected -----BEGIN PUBLIC KEY-----") }
      for block in blocks {
        let place = place.isEmpty ? "line \(block.line)" : "\(place): line \(block.line)"
        do throws(KeyFault) {
          let publicKey = try P256PublicKey(block)
          add(VerificationKey(id: id, version: version, publicKey: publicKey, label: label), place: place)
        } catch {
          faults.append(error.within(place))
        }
      }
    } catch {
      faults.append(error.within(place))
    }
  }

  mutating func add(file name: String, text: String) {
    let place = quoted(name)
    let suffix = ".pem"
    guard name.hasSuffix(suffix) else {
      return report(.fileName, place, "expected a name ID-VERSION.pem")
    }
    let stem = name.dropLast(suffix.count)
    guard let hyphen = stem.lastIndex(of: "-"), hyphen != stem.startIndex, stem.index(after: hyphen) != stem.endIndex
    else { return report(.fileName, place, "expected a name ID-VERSION.pem, found no hyphen between two parts") }
    let version = String(stem[stem.index(after: hyphen)...])
    add(pem: text, id: String(stem[..<hyphen]), version: version, place: place, label: name)
  }

  // MARK: JSON

  mutating func add(json document: [UInt8]) {
    guard document.count <= PEMBlock.maximumTextLength else {
      return report(.limitExceeded, "", "\(document.count) bytes, at most \(PEMBlock.maximumTextLength) are read")
    }
    let root: RingJSON
    do throws(KeyFault) {
      root = try RingJSON(document)
    } catch {
      return faults.append(error)
    }
    guard case .object(let members) = root else {
      return report(.wrongType, "", "\(root.kind), expected an object with the member keys")
    }
    reportUnknown(members, allowed: ["keys"], place: "")
    switch value("keys", members) {
    case nil: report(.missingMember, "keys", "missing, expected an array of keys")
    case .array(let entries)?:
      for (index, entry) in entries.enumerated() { add(entry: entry, place: "keys[\(index)]") }
    case let other?: report(.wrongType, "keys", "\(other.kind), expected an array of keys")
    }
  }

  private mutating func add(entry: RingJSON, place: String) {
    guard case .object(let members) = entry else {
      return report(.wrongType, place, "\(entry.kind), expected an object")
    }
    reportUnknown(
      members, allowed: ["id", "version", "publicKey", "from", "until", "label"], place: place)
    let id = text("id", members, place)
    let version = text("version", members, place)
    let label = text("label", members, place)
    let from = instant("from", members, place)
    let until = instant("until", members, place)
    if let from, let until, from >= until {
      report(.invalidTime, "\(place).until", "\(until) is not after from, \(from)")
    }
    guard let publicKey = publicKey(members, place) else { return }
    add(
      VerificationKey(id: id, version: version, publicKey: publicKey, from: from, until: until, label: label),
      place: place)
  }

  private func value(_ name: String, _ members: RingJSON.Members) -> RingJSON? {
    members.first { $0.name == name }?.value
  }

  private mutating func reportUnknown(_ members: RingJSON.Members, allowed: [String], place: String) {
    for (name, _) in members where !allowed.contains(name) {
      let path = place.isEmpty ? quoted(name) : "\(place).\(quoted(name))"
      report(.unknownMember, path, "unknown member, allowed are \(allowed.joined(separator: ", "))")
    }
  }

  private mutating func text(_ name: String, _ members: RingJSON.Members, _ place: String) -> String? {
    switch value(name, members) {
    case nil, .null?: return nil
    case .string(let text)?: return text
    case let other?:
      report(.wrongType, "\(place).\(name)", "\(other.kind), expected a string")
      return nil
    }
  }

  private mutating func instant(_ name: String, _ members: RingJSON.Members, _ place: String) -> Instant? {
    guard let text = text(name, members, place) else { return nil }
    guard text.utf8.count <= 40, Int64(text) == nil, let instant = Instant(text) else {
      report(.invalidTime, "\(place).\(name)", "\(quoted(text)), expected a time like 2020-06-01T00:00:00Z")
      return nil
    }
    return instant
  }

  private mutating func publicKey(_ members: RingJSON.Members, _ place: String) -> P256PublicKey? {
    let place = "\(place).publicKey"
    switch value("publicKey", members) {
    case nil, .null?: report(.missingMember, place, "missing, expected PEM or base64")
    case .string(let text)?:
      do throws(KeyFault) {
        return try P256PublicKey(text: text)
      } catch {
        faults.append(error.within(place))
      }
    case let other?: report(.wrongType, place, "\(other.kind), expected a string")
    }
    return nil
  }
}

extension TrustRing {
  fileprivate init(keys: [VerificationKey], notes: [KeyFault]) {
    self.keys = keys
    self.notes = notes
  }
}
