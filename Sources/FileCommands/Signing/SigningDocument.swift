/// What `sign --json` prints: `schemas/signing.schema.json`.
struct SigningDocument: Encodable {
  let reportVersion = 1
  let output: String
  let keys: Int
  let signatures: Int
  /// Earlier signatures that are not in the output: replaced, not kept, or over bytes that have changed.
  let dropped: Int
  let exportSHA256: String
}
