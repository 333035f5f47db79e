/// All there is to know about one format. Its folder begins with it: what it is, how it is recognised, read and written.
///
/// A class, so that a ``KeyFormat`` is one word.
public final class KeyFormatDefinition: Sendable {
  /// The name on the command line.
  public let name: String
  /// One line for people.
  public let summary: String
  public let fileExtension: String
  /// Whether its bytes would only confuse a terminal.
  public let isBinary: Bool
  public let readers: Readers
  /// What it can carry, for the formats that are written; `nil` for those that are only read.
  public let capabilities: FormatCapabilities?

  let detection: Detection
  let decoder: Decoder
  let encoder: Encoder?
  /// What the format takes for its own among the fields that others do not know; `nil` where it takes none.
  let ownFields: OwnFields?
  /// Which schema gives the fields of its keys their numbers; `nil` for formats without numbers.
  let schema: Schema?

  /// A field that readers do not know means something in its own schema alone.
  enum Schema: Sendable { case export, federation }

  typealias Decoder = @Sendable (InputWindow, ReadLimits) -> any KeyDecoder
  typealias Encoder = @Sendable (OutputBuffer) -> any KeyEncoder

  /// Who reads documents of a format.
  public enum Readers: Sendable {
    /// Apps know exact onsets only.
    case apps
    /// Gateways know all classes of symptom status.
    case gateways
  }

  /// How a document is recognised when nobody says what it is.
  enum Detection: Sendable {
    /// By its first bytes.
    case front(@Sendable (DocumentFront) -> Bool)
    /// It is text of which no other format says that it is its own.
    case otherText
    /// It is JSON that is read by ``JSONKeyDecoder``, which finds out on the way which dialect it is.
    case dialect(JSONDialect)
  }

  /// A format that is read and written.
  init(
    name: String, summary: String, fileExtension: String, isBinary: Bool = false, readers: Readers,
    detection: Detection, decoder: @escaping Decoder, capabilities: FormatCapabilities, ownFields: OwnFields? = nil,
    schema: Schema? = nil, encoder: @escaping Encoder
  ) {
    self.name = name
    self.summary = summary
    self.fileExtension = fileExtension
    self.isBinary = isBinary
    self.readers = readers
    self.detection = detection
    self.decoder = decoder
    self.capabilities = capabilities
    self.ownFields = ownFields
    self.schema = schema
    self.encoder = encoder
  }

  /// A format that is only read.
  init(
    name: String, summary: String, fileExtension: String, isBinary: Bool = false, readers: Readers,
    detection: Detection, schema: Schema? = nil, decoder: @escaping Decoder
  ) {
    self.name = name
    self.summary = summary
    self.fileExtension = fileExtension
    self.isBinary = isBinary
    self.readers = readers
    self.detection = detection
    self.decoder = decoder
    capabilities = nil
    ownFields = nil
    self.schema = schema
    encoder = nil
  }

  public var format: KeyFormat { KeyFormat(self) }

  public var isWritten: Bool { encoder != nil }
}
