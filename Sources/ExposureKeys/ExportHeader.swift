/// What an export says about itself beside its keys. Every field keeps its presence.
public struct ExportHeader: Hashable, Sendable {
  /// Start of the arrival window at the server, UTC seconds, inclusive.
  public var startTimestamp: UInt64?
  /// End of the arrival window, UTC seconds, exclusive.
  public var endTimestamp: UInt64?
  /// A country code, a mobile country code, or nothing: never a key to look anything up by.
  public var region: String?
  public var batchNum: Int32?
  public var batchSize: Int32?
  public var signatureInfos: [SignatureInfo]
  /// Encoded fields that this version does not know.
  public var unknownFields: [UInt8]

  public init(
    startTimestamp: UInt64? = nil, endTimestamp: UInt64? = nil, region: String? = nil, batchNum: Int32? = nil,
    batchSize: Int32? = nil, signatureInfos: [SignatureInfo] = [], unknownFields: [UInt8] = []
  ) {
    self.startTimestamp = startTimestamp
    self.endTimestamp = endTimestamp
    self.region = region
    self.batchNum = batchNum
    self.batchSize = batchSize
    self.signatureInfos = signatureInfos
    self.unknownFields = unknownFields
  }
}

/// Which key signs an export, as the platforms are told.
public struct SignatureInfo: Hashable, Sendable {
  public var appBundleID: String?
  public var androidPackage: String?
  public var verificationKeyVersion: String?
  /// By convention the mobile country code: `310`.
  public var verificationKeyID: String?
  /// The dotted object identifier; see ``ecdsaWithSHA256``.
  public var signatureAlgorithm: String?
  public var unknownFields: [UInt8]

  /// ECDSA with SHA-256: the one value that every device accepts.
  public static let ecdsaWithSHA256 = "1.2.840.10045.4.3.2"

  public init(
    appBundleID: String? = nil, androidPackage: String? = nil, verificationKeyVersion: String? = nil,
    verificationKeyID: String? = nil, signatureAlgorithm: String? = nil, unknownFields: [UInt8] = []
  ) {
    self.appBundleID = appBundleID
    self.androidPackage = androidPackage
    self.verificationKeyVersion = verificationKeyVersion
    self.verificationKeyID = verificationKeyID
    self.signatureAlgorithm = signatureAlgorithm
    self.unknownFields = unknownFields
  }
}

/// One entry of `export.sig`.
public struct ExportSignature: Hashable, Sendable {
  public var info: SignatureInfo
  public var batchNum: Int32?
  public var batchSize: Int32?
  /// The signature as it stands in the file: DER, or whatever a server put there.
  public var signature: [UInt8]
  public var unknownFields: [UInt8]

  public init(
    info: SignatureInfo, batchNum: Int32? = nil, batchSize: Int32? = nil, signature: [UInt8],
    unknownFields: [UInt8] = []
  ) {
    self.info = info
    self.batchNum = batchNum
    self.batchSize = batchSize
    self.signature = signature
    self.unknownFields = unknownFields
  }
}
