internal import BundleTrust
internal import CTexts
internal import Crypto
internal import ExposureKeys
internal import HTTPTypes
internal import Hummingbird
internal import KeyPublishing
internal import Logging
internal import NIOCore

/// Responds to retrievals: the layouts of the apps, the published files as they are, what operators ask, and the page for
/// people.
///
/// Of a request it sees a ``RetrievalRequest`` alone. Besides, a response follows from what is published and from the
/// second in which it is made; those for operators, which follow from more, are not stored.
struct RetrievalResponder: Sendable {
  let settings: ServerSettings
  let store: PublicationStore
  let catalog: LayoutCatalog
  /// `nil` where operators have an address of their own.
  let watch: WatchAnswers?
  let logger: Logger
  let cache: BundleCache
  let signer: ResponseSigner?

  static let pageRoute = "page"

  /// A response or a fault, and what is told of it.
  struct Retrieved {
    /// The class of the address, a value of few.
    var route = "unknown"
    /// Of what is published.
    var generation: Int
    var result: Result<Response, any Error> = .failure(
      Problem(.notFound, "not-found", "nothing is published under this address"))

    /// Whether what was asked for is not there, and may be somewhere else already.
    var isMissing: Bool {
      guard case .failure(let problem as Problem) = result else { return false }
      return problem.status == .notFound && problem.code == "not-found"
    }
  }

  func response(to request: RetrievalRequest, at now: Instant) async -> Retrieved {
    let retrieved = await retrieved(request, at: now, from: store.current())
    // Another replica may have told of it.
    guard retrieved.isMissing,
      await store.hasLookedAgain(for: request.target.segments, isKnownToLayout: retrieved.route != "unknown")
    else { return retrieved }
    return await self.retrieved(request, at: now, from: store.current())
  }

  private func retrieved(
    _ request: RetrievalRequest, at now: Instant, from snapshot: PublicationSnapshot
  ) async -> Retrieved {
    var retrieved = Retrieved(generation: snapshot.generation)
    do {
      if let response = try await response(to: request, at: now, from: snapshot, route: &retrieved.route) {
        retrieved.result = .success(response)
      }
    } catch {
      retrieved.result = .failure(error)
    }
    return retrieved
  }

  private func response(
    to request: RetrievalRequest, at now: Instant, from snapshot: PublicationSnapshot, route: inout String
  ) async throws -> Response? {
    let path = request.target.path
    switch path {
    case "":
      route = Self.pageRoute
      return try await response(with: page(try report(snapshot, request, now)), to: request, now: now)
    case "api/series":
      route = "api"
      let document = JSONDocument.bytes(try report(snapshot, request, now), inSnakeCase: true)
      return try await response(
        with: Self.text(document, "application/json", cache: .seconds(60)), to: request, now: now)
    case "openapi.json":
      route = "api"
      return try await response(with: Self.description, to: request, now: now)
    default: break
    }
    if let (found, response) = watch?.answer(at: path, snapshot.publications) {
      route = found
      return response
    }
    if let file = snapshot.files[path] {
      route = "file"
      return try await serve(file, to: request, now: now)
    }
    if let ring = PublicKeyRing(at: path, in: snapshot.publications) {
      route = "file"
      return try await response(
        with: Self.text(JSONDocument.bytes(ring), "application/json", cache: .list), to: request, now: now)
    }
    if let kind = logFile(path, snapshot) {
      route = "log"
      return try await serve(kind, at: path, to: request, now: now)
    }
    let layoutRequest = LayoutRequest(
      path: request.target.segments, query: request.target.query, baseURL: try baseURL(request), now: now)
    for layout in catalog.layouts {
      guard let answer = layout.answer(layoutRequest, from: snapshot.publications) else { continue }
      route = type(of: layout).name
      return try await serve(answer, to: request, now: now)
    }
    return nil
  }

  /// A file of the transparency log, or the proof or the attestation beside a bundle.
  private func logFile(_ path: String, _ snapshot: PublicationSnapshot) -> LogFiles.Kind? {
    if let (bundle, kind) = LogFiles.beside(path), case .archive? = snapshot.files[bundle] { return kind }
    return LogFiles(folder: settings.logFolder).kind(of: path)
  }

  private func serve(
    _ kind: LogFiles.Kind, at path: String, to request: RetrievalRequest, now: Instant
  ) async throws -> Response? {
    do {
      guard let (bytes, modified) = try store.file(path, limit: kind.byteLimit) else { return nil }
      var representation = Self.text(bytes, kind.mediaType, cache: kind.cache)
      representation.modified = modified
      return try await response(with: representation, to: request, now: now)
    } catch let fault as PublicationReader.Fault {
      logger.error(
        "a file of the log cannot be served", metadata: ["file": .string(path), "reason": .string("\(fault)")])
      throw Problem(.internalServerError, "damaged-file", "the file of the log cannot be read; it is not served")
    }
  }

  private func serve(_ file: PublishedFile, to request: RetrievalRequest, now: Instant) async throws -> Response {
    switch file {
    case .archive(let bundle): return try await serve(bundle, to: request, now: now)
    case .document(let document):
      let content = ServedContent(buffer: document.content, digest: document.digest)
      let representation = Representation(
        .loaded(content), document.mediaType, modified: document.modified, cache: .list)
      return try await response(with: representation, to: request, now: now)
    }
  }

  private func serve(_ answer: LayoutAnswer, to request: RetrievalRequest, now: Instant) async throws -> Response {
    let fields = answer.headers
    let isSigned = answer.isSignedResponse
    switch answer.content {
    case .archive(let bundle):
      return try await served(bundle) {
        let representation = Representation(
          .archive(bundle), "application/zip", modified: Instant(secondsSince1970: bundle.facts.published),
          cache: answer.cache, fields: fields + (try await exportFields(answer, of: bundle)), isSigned: isSigned)
        return try await response(with: representation, to: request, now: now)
      }
    case .member(let bundle, let member):
      return try await served(bundle) {
        let representation = Representation(
          .loaded(try await cache.member(member, of: bundle, from: store)), "application/octet-stream",
          modified: Instant(secondsSince1970: bundle.facts.published), cache: answer.cache,
          fields: fields + (try await exportFields(answer, of: bundle)), isSigned: isSigned)
        return try await response(with: representation, to: request, now: now)
      }
    case .page(let bundles, let parameters, let mediaType, let render):
      return try await served(bundles.first) {
        let content = try await cache.page(of: bundles, parameters: parameters, from: store, render: render)
        let representation = Representation(
          .loaded(content), mediaType, cache: answer.cache, fields: fields, isSigned: isSigned)
        return try await response(with: representation, to: request, now: now)
      }
    case .bytes(let bytes, let mediaType):
      var representation = Self.text(bytes, mediaType, cache: answer.cache)
      representation.fields = fields
      representation.isSigned = isSigned
      return try await response(with: representation, to: request, now: now)
    case .nothing:
      var response = Response(status: .noContent, headers: [.cacheControl: answer.cache.header])
      response.headers[.contentLength] = nil
      for (name, value) in fields {
        if let name = HTTPField.Name(name) { response.headers[name] = value }
      }
      if isSigned, let signer {
        let digest = Hexadecimal.encode(SHA256.hash(data: [UInt8]()))
        response.headers[.signature] = signer.signature(digest: digest, fields: fields, at: now)
      }
      return response
    case .notFound(let reason): throw Problem(.notFound, "not-found", reason, cache: answer.cache)
    case .badRequest(let reason): throw Problem(.badRequest, "bad-request", reason)
    }
  }

  private func exportFields(
    _ answer: LayoutAnswer, of bundle: PublishedBundle
  ) async throws -> [(name: String, value: String)] {
    var fields: [(name: String, value: String)] = []
    for header in answer.exportHeaders {
      fields.append((header.name, try await cache.header(header, of: bundle, from: store)))
    }
    return fields
  }

  private func serve(_ bundle: PublishedBundle, to request: RetrievalRequest, now: Instant) async throws -> Response {
    let representation = Representation(
      .archive(bundle), "application/zip", modified: Instant(secondsSince1970: bundle.facts.published),
      cache: .immutable)
    return try await served(bundle) { try await response(with: representation, to: request, now: now) }
  }

  /// What a fault of a published file means to the client, and to the operator.
  private func served<Value>(_ bundle: PublishedBundle?, _ body: () async throws -> Value) async throws -> Value {
    do {
      return try await body()
    } catch BundleFault.missing where bundle?.facts.isListed == false {
      throw Problem(.notFound, "expired", "this bundle has expired, and its file is gone")
    } catch let fault as BundleFault {
      logger.error(
        "a published file is not what the manifest says; it is not served",
        metadata: ["file": .string(bundle?.facts.path ?? ""), "reason": .string("\(fault)")])
      throw Problem(.internalServerError, "damaged-file", "the published file is damaged; it is not served")
    }
  }

  /// What is answered at which address; it is the same for all.
  private static let description = text(
    Array(UnsafeRawBufferPointer(start: keyferry_openapi(), count: keyferry_openapi_length())), "application/json",
    cache: .seconds(3600))

  private func page(_ report: PublicationReport) -> Representation {
    Self.text(Array(FrontPage(report).html.utf8), "text/html; charset=utf-8", cache: .seconds(60))
  }

  static func text(_ bytes: [UInt8], _ mediaType: String, cache: LayoutAnswer.Cache) -> Representation {
    let content = ServedContent(buffer: ByteBuffer(bytes: bytes), digest: Hexadecimal.encode(SHA256.hash(data: bytes)))
    return Representation(.loaded(content), mediaType, cache: cache)
  }

  private func report(
    _ snapshot: PublicationSnapshot, _ request: RetrievalRequest, _ now: Instant
  ) throws(Problem) -> PublicationReport {
    let files = LogFiles(folder: settings.logFolder)
    return PublicationReport(
      snapshot.publications, settings: settings, layouts: catalog.layouts, baseURL: try baseURL(request), now: now,
      log: files.shown(by: store), hasBeside: { files.folder != nil && store.hasFile($0) })
  }

  /// What apps see as the beginning of every address.
  private func baseURL(_ request: RetrievalRequest) throws(Problem) -> String {
    if let url = settings.publicURL { return url.hasSuffix("/") ? String(url.dropLast()) : url }
    let host = request.host ?? "\(settings.host):\(settings.port)"
    guard Self.isHost(host) else {
      throw Problem(.badRequest, "malformed-host", "the host is not a name or an address with an optional port")
    }
    return "\(settings.certificatePEM == nil ? "http" : "https")://\(host)"
  }

  /// Whether it can stand in an address that is shown: a name or an address, with or without a port. Names of containers have an
  /// underscore.
  static func isHost(_ host: String) -> Bool {
    !host.isEmpty && host.utf8.count <= 255
      && host.utf8.allSatisfy { byte in
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
          || ".-_:[]".utf8.contains(byte)
      }
  }
}
