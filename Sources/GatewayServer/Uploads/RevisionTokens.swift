internal import BundleTrust
internal import Crypto
internal import ExposureKeys
internal import FoundationEssentials
internal import KeyFormats
internal import KeyIntake

/// What a phone is given for its upload, so that it may say something new about its keys later: the keys, sealed. Nothing
/// of it is kept here.
///
/// Every token has the same length, up to ``keyCount`` keys; there is a multiple of that then.
///
/// A token is base64 of a version, the name of the key, and AES-256-GCM (nonce, ciphertext, tag) over entries of 22 bytes:
/// key data, rolling start, rolling period, padded with zeros.
struct RevisionTokens: Sendable {
  static let keyCount = 32
  private static let entryLength = 22
  private static let version: UInt8 = 1
  private static let textLimit = 16_384
  /// Keys that expired longer ago are not carried on, in intervals: 360 hours.
  private static let retention: Int64 = 15 * 144

  private let key: SymmetricKey
  private let name: [UInt8]
  private let associatedData: Data

  /// - Parameter door: what the doors are called; a token of others is none here.
  init(_ secret: Secret, scope: UploadScope, of door: String = UploadSettings.usualName) {
    let material = SymmetricKey(data: Array(secret.disclosed.utf8))
    func derived(_ purpose: String, _ count: Int) -> SymmetricKey {
      HKDF<SHA256>.deriveKey(inputKeyMaterial: material, info: Data(purpose.utf8), outputByteCount: count)
    }
    key = derived("keyferry revision token", 32)
    name = derived("keyferry revision token, its key's name", 4).withUnsafeBytes(Array.init)
    let owner = door == UploadSettings.usualName ? scope.home : "\(scope.home) by \(door)"
    associatedData = Data("keyferry revision token of \(owner)".utf8)
  }

  /// Who has nothing to revise is given one that stands for nothing. `nil` where the random numbers fail.
  func token(of keys: [RevisableKey], carrying earlier: [RevisableKey], now: Instant) -> String? {
    let oldest = IntervalNumber(containing: now).rawValue - Self.retention
    var all: [RevisableKey] = []
    for key in keys + earlier where !all.contains(key) {
      if Int64(key.rollingStart) + Int64(key.rollingPeriod) >= oldest { all.append(key) }
    }
    var plain = all.prefix(4 * Self.keyCount).flatMap(Self.entry)
    let block = Self.keyCount * Self.entryLength
    plain += [UInt8](repeating: 0, count: max(1, (plain.count + block - 1) / block) * block - plain.count)
    guard let box = try? AES.GCM.seal(Data(plain), using: key, authenticating: associatedData),
      let sealed = box.combined
    else { return nil }
    return Base64.encode([Self.version] + name + Array(sealed))
  }

  /// An empty text shows nothing.
  func proof(in text: String) -> RevisionProof {
    if text.isEmpty { return .missing }
    guard text.utf8.count <= Self.textLimit, let bytes = Base64.decode(Array(text.utf8)), bytes.first == Self.version,
      bytes.dropFirst().starts(with: name),
      let box = try? AES.GCM.SealedBox(combined: Data(bytes.dropFirst(1 + name.count))),
      let plain = try? AES.GCM.open(box, using: key, authenticating: associatedData)
    else { return .unreadable }
    let entries = stride(from: 0, to: plain.count - Self.entryLength + 1, by: Self.entryLength)
    return .keys(entries.compactMap { Self.key(in: Array(plain.dropFirst($0).prefix(Self.entryLength))) })
  }

  private static func entry(_ key: RevisableKey) -> [UInt8] {
    let start = UInt32(bitPattern: key.rollingStart)
    let period = UInt16(truncatingIfNeeded: key.rollingPeriod)
    return key.key.bytes + stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: start >> UInt32($0)) }
      + [UInt8(period >> 8), UInt8(period & 0xFF)]
  }

  /// `nil` is padding.
  private static func key(in entry: [UInt8]) -> RevisableKey? {
    let start = entry[16..<20].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
    let period = Int32(entry[20]) << 8 | Int32(entry[21])
    guard start != 0 || period != 0, let key = TemporaryExposureKey(Array(entry.prefix(16))) else { return nil }
    return RevisableKey(key: key, rollingStart: Int32(bitPattern: start), rollingPeriod: period)
  }
}
