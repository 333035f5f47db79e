import BundleTrust
import ExposureKeys
import Foundation
import Testing

/// An export with one header and a body, as far as signatures care.
let sampleExport = Array("EK Export v1    ".utf8) + (0..<200).map { UInt8(truncatingIfNeeded: $0 &* 7) }

let noon = Instant(secondsSince1970: 1_600_000_000)

func identity(
  _ id: String = "310", _ version: String = "v1", key: SigningKey = .generate()
) throws -> SigningIdentity {
  try SigningIdentity(key: key, keyID: id, keyVersion: version)
}

func bytes(hex: String) -> [UInt8] {
  let digits = hex.filter { !$0.isWhitespace }
  return stride(from: 0, to: digits.count, by: 2).compactMap { offset in
    let start = digits.index(digits.startIndex, offsetBy: offset)
    return UInt8(digits[start..<digits.index(start, offsetBy: 2)], radix: 16)
  }
}

// MARK: Protobuf, as much as export.sig and the infos of export.bin need

struct WireField {
  var number: UInt64
  var varint: UInt64
  var bytes: [UInt8]
}

func wireFields(_ message: [UInt8]) throws -> [WireField] {
  var fields: [WireField] = []
  var rest = message[...]
  func varint() throws -> UInt64 {
    var value: UInt64 = 0
    for shift in stride(from: UInt64(0), to: 64, by: 7) {
      let byte = try #require(rest.first)
      rest = rest.dropFirst()
      value |= UInt64(byte & 0x7F) << shift
      if byte < 0x80 { break }
    }
    return value
  }
  while !rest.isEmpty {
    let tag = try varint()
    switch tag & 7 {
    case 0: fields.append(WireField(number: tag >> 3, varint: try varint(), bytes: []))
    case 1:
      fields.append(WireField(number: tag >> 3, varint: 0, bytes: Array(rest.prefix(8))))
      rest = rest.dropFirst(8)
    default:
      let length = Int(try varint())
      fields.append(WireField(number: tag >> 3, varint: 0, bytes: Array(rest.prefix(length))))
      rest = rest.dropFirst(length)
    }
  }
  return fields
}

func signatureInfo(_ message: [UInt8]) throws -> SignatureInfo {
  var info = SignatureInfo()
  for field in try wireFields(message) {
    let text = String(decoding: field.bytes, as: UTF8.self)
    switch field.number {
    case 1: info.appBundleID = text
    case 2: info.androidPackage = text
    case 3: info.verificationKeyVersion = text
    case 4: info.verificationKeyID = text
    case 5: info.signatureAlgorithm = text
    default: Issue.record("field \(field.number) in a signature info")
    }
  }
  return info
}

func signatureInfos(inExport export: [UInt8]) throws -> [SignatureInfo] {
  try wireFields(Array(export.dropFirst(16))).filter { $0.number == 6 }.map { try signatureInfo($0.bytes) }
}

func signatures(inList list: [UInt8]) throws -> [ExportSignature] {
  try wireFields(list).map { entry in
    var signature = ExportSignature(info: SignatureInfo(), signature: [])
    for field in try wireFields(entry.bytes) {
      switch field.number {
      case 1: signature.info = try signatureInfo(field.bytes)
      case 2: signature.batchNum = Int32(field.varint)
      case 3: signature.batchSize = Int32(field.varint)
      default: signature.signature = field.bytes
      }
    }
    return signature
  }
}

// MARK: Other programs

struct ProgramResult {
  var status: Int32
  var output: [UInt8]
}

func run(_ program: String, _ arguments: [String]) throws -> ProgramResult {
  let process = Process()
  process.executableURL = URL(fileURLWithPath: program)
  process.arguments = arguments
  let output = Pipe()
  process.standardOutput = output
  process.standardError = FileHandle.nullDevice
  try process.run()
  let data = output.fileHandleForReading.readDataToEndOfFile()
  process.waitUntilExit()
  return ProgramResult(status: process.terminationStatus, output: Array(data))
}

enum OpenSSL {
  static let path = "/usr/bin/openssl"
  static let isPresent = FileManager.default.isExecutableFile(atPath: path)
  static let absence: Comment = "needs /usr/bin/openssl: apt-get install openssl"
}

/// A folder for one test, removed after it.
func withTemporaryFolder<Result>(_ body: (URL) throws -> Result) throws -> Result {
  let folder = FileManager.default.temporaryDirectory.appendingPathComponent("trust-\(UUID().uuidString)")
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(at: folder) }
  return try body(folder)
}

// MARK: Real files

enum RealData {
  static let folder: URL = {
    if let path = ProcessInfo.processInfo.environment["KEYFERRY_REAL_DATA"] { return URL(fileURLWithPath: path) }
    let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    return package.deletingLastPathComponent().appendingPathComponent("shared/data")
  }()
  static let isPresent =
    FileManager.default.fileExists(atPath: folder.appendingPathComponent("public-keys.json").path)
    && FileManager.default.isExecutableFile(atPath: unzip)
  static let absence: Comment = "needs the real samples: set KEYFERRY_REAL_DATA to their folder; and /usr/bin/unzip"
  static let unzip = "/usr/bin/unzip"

  static func bundle(_ name: String) throws -> (export: [UInt8], signatures: [UInt8]) {
    let path = folder.appendingPathComponent(name).path
    return (
      try run(unzip, ["-p", path, "export.bin"]).output, try run(unzip, ["-p", path, "export.sig"]).output
    )
  }
}
