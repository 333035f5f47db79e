import GatewayTesting

/// The ring `interop/keys` has one key, `test-310` of version `v1`; its private half stands in `interop/keys/private`.
/// The signatures were made once with it (or, where the comment says so, with a key that was thrown away), because
/// ECDSA makes another one each time.
private func info(id: String = "test-310", version: String = "v1", algorithm: String = oid) -> [UInt8] {
  Wire.text(3, version) + Wire.text(4, id) + Wire.text(5, algorithm)
}

private let oid = "1.2.840.10045.4.3.2"

private func export(_ infos: [[UInt8]]) -> [UInt8] {
  let header: [[UInt8]] = [
    ReferenceExport.magic, Wire.fixed64(1, 1_605_657_600), Wire.fixed64(2, 1_605_744_000), Wire.text(3, "310"),
    Wire.varint(4, 1), Wire.varint(5, 1),
  ]
  return (header + infos.map { Wire.bytes(6, $0) } + [key(1), key(2)]).flatMap { $0 }
}

private func key(_ first: UInt8) -> [UInt8] {
  Wire.bytes(
    7, Wire.bytes(1, Array(first..<first + 16)) + Wire.varint(2, 5) + Wire.varint(3, 2_676_096) + Wire.varint(4, 144))
}

private func entry(_ info: [UInt8], _ signature: String) -> [UInt8] {
  Wire.bytes(
    1, Wire.bytes(1, info) + Wire.varint(2, 1) + Wire.varint(3, 1) + Wire.bytes(4, Wire.hexadecimal(signature)))
}

private func signed(
  _ name: String, _ comment: String, _ verdict: String, faults: String = "none", infos: [[UInt8]], _ list: [UInt8]
) -> Recipe {
  var recipe = Recipe(
    "signature/\(name)", comment, format: "gaen-export", keys: 2,
    .bytes(Archive(.init("export.bin", export(infos)), .init("export.sig", list)).bytes))
  recipe.fields += [.init("verdict", verdict), .init("faults", faults)]
  return recipe
}

private let good =
  """
  3046022100882308beae443a842f16eee31658284ea959623fbcfb83ab6d58443b738068aa022100f668bade136a0818a819e432de9a9d4064
  fd8eb848fb098457008425926b1792
  """
private let ofStranger =
  """
  3045022100fd3f106067cc432db169f5913f82d531805bffd394e86ffb02e45020d5f7317002205d923fa3191b0a8f24b737a72f5ca47bf866
  da10d19a77dd3c09ef0c0bd0ed26
  """
private let besideStranger =
  """
  3044022079f502142d5bdbe921e303cab4c4ebe47620b7d0e8b12e8f41126ed5e4cee7490220195a208b0650aaf07263599c5a8ade115caf59
  2e7ebef0517a8c6097c859a818
  """
private let ofApp = Wire.text(1, "org.example.app") + info()
private let stranger = info(id: "test-999")

/// Signed exports; the verdicts are those of the ring `interop/keys`.
let signatureRecipes: [Recipe] = [
  signed("verified", "a signature as it should be", "verified", infos: [info()], entry(info(), good)),
  signed(
    "other_version", "made by the key of version v1, stating v2", "verified-with-other-identity",
    infos: [info(version: "v2")],
    entry(
      info(version: "v2"),
      """
      304402206574266f9aa848155c7c287ed362136553511e280006fce1d7383dcd910fd4df022024c0554972273b6bdbeccf06a44ff88bc9a0e0
      b745dd48cb0e70af54f6c60299
      """)),
  signed(
    "unknown_key", "made by a key that the ring does not have", "unknown-key", infos: [stranger],
    entry(
      stranger,
      """
      304502204decc9e0adb2770b2fba8db0fd721d162d406f41218d21498253e4dcb122671a022100963a8e5a0d2f3d475a0e5eea67d5d339f8be
      94a0fda5b54e6bb51d1c043ce7d0
      """)),
  signed(
    "other_content", "the signature of another export", "does-not-verify", infos: [ofApp], entry(ofApp, good)),
  signed(
    "algorithm_name", "the name that Java has for the algorithm", "wrong-algorithm",
    infos: [info(algorithm: "SHA256withECDSA")],
    entry(
      info(algorithm: "SHA256withECDSA"),
      """
      3044022068d393c0b216659394353fc1c1cea204496ddbb512b1b399310f54ca47e2cf3c0220540de916c8851bed64259435785ac91eefee37
      7f0611f3750935006756ce8866
      """)),
  signed(
    "raw_64_bytes", "two numbers of 32 bytes instead of DER", "raw-signature", infos: [info()],
    entry(
      info(),
      """
      6452b42bc50c571befcf92247c1186eb8ab7008fc40d29a67507e992ac80fe31d1665fa522906a0f78244c127fc55c21acd09dff3558f79132
      26105a06960791
      """)),
  signed(
    "body_without_header", "covers what stands behind the sixteen bytes", "signature-over-body", infos: [info()],
    entry(
      info(),
      """
      3045022100d9d7d7c960bcc51e61abddc7b2037b664238fb0dcaad19a945d247d96e9618e30220609ce3c00392b63ab7bbdbb4dc36f49ff88a
      43f1b27b3ac3a571dacfa03e1bf4
      """)),
  signed(
    "not_a_signature", "five bytes of text", "malformed-signature", infos: [info()], entry(info(), "68656c6c6f")),
  signed(
    "trailing_byte", "DER with a byte behind it", "non-canonical-der", infos: [info()], entry(info(), good + "00")),
  signed(
    "fewer_signatures_than_infos", "two infos, one signature: the list was written by one signer of two", "verified",
    faults: "fewer-signatures-than-infos", infos: [stranger, info()], entry(info(), besideStranger)),
  signed(
    "two_signatures", "a stranger's signature in front of the good one; iOS reads only the first",
    "unknown-key verified", infos: [stranger, info()], entry(stranger, ofStranger) + entry(info(), besideStranger)),
  signed(
    "info_differs", "the signature names an app, the export none", "verified", faults: "info-differs",
    infos: [info()], entry(ofApp, good)),
  signed(
    "empty_signature_file", "no signature, as a server writes it whose keys have all expired", "none",
    faults: "no-signatures fewer-signatures-than-infos", infos: [info()], []),
]
