internal import ExposureKeys
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore

extension RetrievalResponder {
  /// Responds to a retrieval with a representation: validators, ranges and compression (RFC 9110, 13 and 14).
  ///
  /// - Throws: ``Problem``, or ``BundleFault``.
  func response(with representation: Representation, to request: RetrievalRequest, now: Instant) async throws
    -> Response
  {
    var tag = EntityTag(value: representation.digest)
    var fields: HTTPFields = [.contentType: representation.mediaType, .cacheControl: representation.cache.header]
    for (name, value) in representation.fields {
      if let name = HTTPField.Name(name) { fields[name] = value }
    }
    // A second more than the resolution of the header, so that two states never share a date.
    let modified = representation.modified.flatMap { $0.secondsSince1970 + 1 < now.secondsSince1970 ? $0 : nil }
    fields[.lastModified] = modified.map(HTTPDate.text)
    if representation.isSigned, let signer {
      fields[.signature] = signer.signature(
        digest: representation.digest, fields: representation.fields, at: now)
    }

    var encoded: ServedContent?
    if representation.isText {
      fields[.vary] = "Accept-Encoding"
      if request.range == nil, request.acceptsGzip, representation.length >= GzipCompression.worthwhileLength,
        case .loaded(let content) = representation.content
      {
        encoded = await cache.compressed(content)
      }
      if encoded != nil {
        fields[.contentEncoding] = "gzip"
        tag.value += "-gzip"
      }
    }
    fields[.eTag] = tag.text

    if let text = request.ifMatch {
      guard EntityTag.condition(text)?.includes(tag) ?? true else {
        throw Problem(.preconditionFailed, "precondition-failed", "the file has another entity tag by now")
      }
    } else if let modified, let since = request.ifUnmodifiedSince.flatMap(HTTPDate.instant), modified > since {
      throw Problem(.preconditionFailed, "precondition-failed", "the file has changed since then")
    }
    if isFresh(request, tag: tag, modified: modified) {
      fields[.contentType] = nil
      fields[.contentEncoding] = nil
      var response = Response(status: .notModified, headers: fields)
      response.headers[.contentLength] = nil
      return response
    }

    fields[.acceptRanges] = "bytes"
    let length = encoded?.buffer.readableBytes ?? representation.length
    let range =
      encoded == nil && mayServePart(request, tag: tag, modified: modified)
      ? ByteRange(request.range, length: length) : .whole
    switch range {
    case .unsatisfiable:
      throw Problem(.rangeNotSatisfiable, "range-not-satisfiable", "the file has \(length) bytes")
        .with(.contentRange, "bytes */\(length)")
    case .part(let part):
      fields[.contentRange] = "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(length)"
      let content = try await bytes(of: representation)
      guard let slice = content.buffer.getSlice(at: content.buffer.readerIndex + part.lowerBound, length: part.count)
      else { throw BundleFault.changed("it is shorter than the manifest says") }
      return Response(status: .partialContent, headers: fields, body: ResponseBody(inPieces: slice))
    case .whole:
      let content: ServedContent
      if let encoded { content = encoded } else { content = try await bytes(of: representation) }
      return Response(status: .ok, headers: fields, body: ResponseBody(inPieces: content.buffer))
    }
  }

  /// Whether the client has this already. A tag decides before a date (RFC 9110, 13.2.2).
  private func isFresh(_ request: RetrievalRequest, tag: EntityTag, modified: Instant?) -> Bool {
    if let text = request.ifNoneMatch { return EntityTag.condition(text)?.includes(tag) ?? false }
    guard let modified, let since = request.ifModifiedSince.flatMap(HTTPDate.instant) else { return false }
    return modified <= since
  }

  /// Whether `If-Range` lets a part be served: a strong tag or the exact date.
  private func mayServePart(_ request: RetrievalRequest, tag: EntityTag, modified: Instant?) -> Bool {
    guard let text = request.ifRange else { return true }
    if case .tags(let tags) = EntityTag.condition(text) { return tags == [tag] }
    return modified != nil && HTTPDate.instant(text) == modified
  }

  private func bytes(of representation: Representation) async throws -> ServedContent {
    switch representation.content {
    case .loaded(let content): content
    case .archive(let bundle): try await cache.archive(bundle, from: store)
    }
  }
}

extension ResponseBody {
  static let pieceLength = 128 << 10

  /// A large body goes out piece by piece as the client takes it: the connection's clock then runs while it does, and
  /// not from when all of it was handed to the system.
  init(inPieces buffer: ByteBuffer) {
    let size = Self.pieceLength
    guard buffer.readableBytes > size * 2 else {
      self.init(byteBuffer: buffer)
      return
    }
    self.init(contentLength: buffer.readableBytes) { writer in
      var rest = buffer
      while let piece = rest.readSlice(length: min(size, rest.readableBytes)), piece.readableBytes > 0 {
        try await writer.write(piece)
      }
      try await writer.finish(nil)
    }
  }
}

extension HTTPField.Name {
  static let signature = HTTPField.Name("Signature")!
  static let referrerPolicy = HTTPField.Name("Referrer-Policy")!
  static let resourcePolicy = HTTPField.Name("Cross-Origin-Resource-Policy")!
}
