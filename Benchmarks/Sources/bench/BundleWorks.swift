import BundleTrust
import Crypto
import ExposureKeys
import Foundation
import GatewayTesting
import KeyConversion
import KeyFormats
import KeyIntake
import SwiftProtobuf

/// Sorted keys to a bundle on the disk, encoded, hashed, signed, deflated and synced, and that bundle read again, decoded
/// and verified.
let bundleWorks = [
  Preparation("keys to a signed, verified bundle") { count in
    var document = try ReferenceExport.decode(ExportLayout.canonical.export(count))
    document.keys.sort { $0.key < $1.key }
    let folder = try ScratchFolder()
    let key = SigningKey.generate()
    let bundle = Bundle(
      keys: document.keys, path: folder / "ours.zip",
      signer: try SigningIdentity(key: key, keyID: "310", keyVersion: "v1"))
    let reference = ReferenceBundle(keys: document.keys, path: folder / "theirs", key: P256.Signing.PrivateKey())
    let writeAndVerify = {
      _ = folder
      try bundle.write()
      return try bundle.verify() ? count : 0
    }
    return [
      .ours(run: writeAndVerify).onOneCore(),
      .yardstick("Keyferry, all cores", run: writeAndVerify),
      .yardstick("SwiftProtobuf, Crypto, zlib 6", reach: 25) {
        try reference.write()
        return try reference.verify() ? count : 0
      },
    ]
  }
]

private struct Bundle {
  let keys: [ClaimedKey]
  let path: String
  let signer: SigningIdentity

  func write() throws {
    let file = try OutputFile(path: path)
    let header = ExportHeader(
      startTimestamp: 1_606_694_400, endTimestamp: 1_606_780_800, region: "310", batchNum: 1, batchSize: 1,
      signatureInfos: [signer.info])
    let writer = BundleWriter(signers: [signer], packing: .archive)
    _ = try writer.write(header, to: ConversionOutput(document: file)) { encoder in
      try keys.withUnsafeBufferPointer {
        try encoder.encode($0, regions: RegionTable(), unknownFields: UnknownFieldTable())
      }
    }
    try file.commit()
  }

  func verify() throws -> Bool {
    let report = try SourceDocument(path: path)
      .verify(trusting: TrustRing(keys: [signer.verificationKey]), at: Instant(secondsSince1970: 1_606_780_800))
    return report?.isTrusted ?? false
  }
}

/// The same by libraries. Instead of an archive: the stream, behind it the signature.
private final class ReferenceBundle {
  private let keys: [ClaimedKey]
  private let path: String
  private let key: P256.Signing.PrivateKey
  private var streamLength = 0

  init(keys: [ClaimedKey], path: String, key: P256.Signing.PrivateKey) {
    self.keys = keys
    self.path = path
    self.key = key
  }

  func write() throws {
    var export = ProtoTemporaryExposureKeyExport()
    export.startTimestamp = 1_606_694_400
    export.endTimestamp = 1_606_780_800
    export.region = "310"
    export.batchNum = 1
    export.batchSize = 1
    export.keys = keys.map(message)
    let bytes: [UInt8] = try ReferenceExport.magic + export.serializedBytes()
    let stream = try Zlib.deflate(bytes, level: 6)
    streamLength = stream.count
    blackHole(Zlib.checkSum(bytes))
    let file = try OutputFile(path: path)
    try file.write(stream)
    try file.write([UInt8](try key.signature(for: bytes).derRepresentation))
    try file.commit()
  }

  func verify() throws -> Bool {
    let content = [UInt8](try Data(contentsOf: URL(filePath: path)))
    let bytes = try Zlib.inflate(Array(content[..<streamLength]))
    blackHole(Zlib.checkSum(bytes))
    let export = try ProtoTemporaryExposureKeyExport(
      serializedBytes: Array(bytes.dropFirst(ReferenceExport.magic.count)))
    let signature = try P256.Signing.ECDSASignature(derRepresentation: content[streamLength...])
    return key.publicKey.isValidSignature(signature, for: bytes) && export.keys.count == keys.count
  }
}
