internal import ExposureKeys
internal import HTTPTypes
internal import KeyPublishing
internal import NIOCore

/// What an address stands for at this moment, before a request's conditions are applied to it.
struct Representation: Sendable {
  var content: Content
  var mediaType: String
  var modified: Instant?
  var cache: LayoutAnswer.Cache
  var fields: [(name: String, value: String)] = []
  var isSigned = false

  enum Content: Sendable {
    case loaded(ServedContent)
    /// Is in memory only when its bytes are asked for.
    case archive(PublishedBundle)
  }

  init(
    _ content: Content, _ mediaType: String, modified: Instant? = nil, cache: LayoutAnswer.Cache,
    fields: [(name: String, value: String)] = [], isSigned: Bool = false
  ) {
    self.content = content
    self.mediaType = mediaType
    self.modified = modified
    self.cache = cache
    self.fields = fields
    self.isSigned = isSigned
  }

  /// Lower-case hexadecimal SHA-256 of the bytes.
  var digest: String {
    switch content {
    case .loaded(let content): content.digest
    case .archive(let bundle): bundle.facts.sha256
    }
  }

  var length: Int {
    switch content {
    case .loaded(let content): content.buffer.readableBytes
    case .archive(let bundle): bundle.facts.bytes
    }
  }

  /// Text shrinks; archives and random bytes do not.
  var isText: Bool {
    mediaType.hasPrefix("text/") || mediaType.hasPrefix("application/json") || mediaType.hasSuffix("+json")
      || mediaType.hasSuffix("+xml")
  }
}

extension LayoutAnswer.Cache {
  /// The value of `Cache-Control`.
  var header: String {
    switch self {
    case .immutable: "public, max-age=31536000, immutable"
    case .immutableFor(let seconds): "public, max-age=\(seconds), immutable"
    case .list: "public, max-age=300"
    case .seconds(let seconds): seconds > 0 ? "public, max-age=\(seconds)" : "public, no-cache"
    case .never: "no-store"
    }
  }
}
