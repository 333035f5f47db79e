package import BundleTrust
package import ExposureKeys
package import KeyFormats
package import KeyNormalization

/// Something that came in: what it is and what it is called, who hands it over, when, and how it is vouched for.
///
/// Peers, files, uploads and the commands that read files differ in how they make one, and in nothing that comes after.
package struct Arrival {
  package enum Content {
    /// Bytes of some format.
    case document(SourceDocument)
    /// Keys that their door had to read already, to see whether it lets them in.
    case decoded(DecodedDocument)
  }

  package let content: Content
  /// What it is called in messages.
  package let name: String
  package let sender: Sender
  package let vouching: Vouching
  package let time: Instant

  /// - Parameter sender: `nil` is a file that speaks for itself, under its own name.
  package init(_ document: SourceDocument, from sender: Sender? = nil, vouching: Vouching, at time: Instant) {
    content = .document(document)
    name = document.name
    self.sender = sender ?? Sender(name: document.name)
    self.vouching = vouching
    self.time = time
  }

  /// Keys that are decoded, of a sender whom the door knows.
  package init(_ keys: DecodedDocument, named name: String, from sender: Sender, vouching: Vouching, at time: Instant) {
    content = .decoded(keys)
    self.name = name
    self.sender = sender
    self.vouching = vouching
    self.time = time
  }
}

/// Who is to stand behind an arrival.
package enum Vouching: Sendable {
  /// A key of this ring, valid at this instant, must have signed it.
  case ring(TrustRing, at: Instant)
  /// The host that it came from, where TLS has proved its name.
  case host(ProvenHost?)
  /// Each origin must have signed its own keys; the entries of the audit answer are JSON. Without them there is no proof.
  case origins(OriginsVerification, audit: [UInt8]?)
  /// Each origin has signed its own keys, as its door has verified.
  case proven(OriginsProof)
  /// Whoever runs the program.
  case `operator`
}

extension Arrival {
  /// Reads what says who stands behind it: of an export its header and signatures, of anything else nothing. No key is
  /// decoded.
  ///
  /// - Throws: `FormatError`, ``FileFault``.
  package func examine() throws -> ExaminedArrival {
    guard case .document(let document) = content else { return ExaminedArrival(self, nil) }
    if case .ring = vouching { return ExaminedArrival(self, try document.survey()) }
    return ExaminedArrival(self, nil)
  }
}

extension Arrival {
  /// Reads it to its end without taking anything, and returns what would stop that; `nil` when nothing does.
  package func faultOfReading() -> (any Error)? {
    do {
      _ = try examine().verify().decode { _, _ in }
      return nil
    } catch {
      return error
    }
  }
}

/// An arrival of which it is known what it says about itself, and not yet whether anybody stands behind it.
package struct ExaminedArrival {
  let arrival: Arrival
  /// `nil` where no signature is asked for, or there is no place for one.
  private let survey: SurveyedExport?

  fileprivate init(_ arrival: Arrival, _ survey: SurveyedExport?) {
    self.arrival = arrival
    self.survey = survey
  }

  /// Finds who stands behind it.
  ///
  /// - Throws: ``DocumentRefusal`` when nobody does who should.
  package func verify() throws -> VerifiedArrival {
    if case .origins(let verification, let audit) = arrival.vouching {
      let finding = try originsFinding(verification, audit)
      return VerifiedArrival(arrival, finding.document, survey?.digests, voucher: finding.words)
    }
    return VerifiedArrival(arrival, try voucher(), survey?.digests)
  }

  private func voucher() throws -> VerifiedDocument {
    let name = arrival.name
    switch arrival.vouching {
    case .ring(let ring, at: let instant):
      guard case .document(let document) = arrival.content, let survey else {
        throw DocumentRefusal.cannotBeSigned(name: name, format: try arrival.format)
      }
      let report = try document.judge(survey, trusting: ring, at: instant)
      guard let verified = report.verifiedDocument else {
        throw DocumentRefusal.untrusted(name: name, lines: report.lines)
      }
      return verified
    case .host(let host):
      guard let host else { throw DocumentRefusal.hostNotProven(name: name) }
      return .host(host)
    case .origins(let verification, let audit): return try originsFinding(verification, audit).document
    case .proven(let proof): return .origins(proof)
    case .operator: return .assertedByOperator()
    }
  }

  private func originsFinding(
    _ verification: OriginsVerification, _ audit: [UInt8]?
  ) throws -> OriginsVerification.Finding {
    let name = arrival.name
    guard case .document(let document) = arrival.content else {
      throw DocumentRefusal.originsNotProven(name: name, reason: "no audit answer came with it")
    }
    let source = document.source
    guard source.byteCount <= document.limits.documentBytes else {
      throw DocumentRefusal.originsNotProven(
        name: name, reason: "\(source.byteCount) bytes are too many to be verified")
    }
    let bytes = try source.bytes(at: 0, count: source.byteCount, what: "the batch")
    guard let audit else {
      do {
        _ = try AuditedBatch.split(bytes)
      } catch {
        throw DocumentRefusal.originsNotProven(
          name: name, reason: "its keys cannot be told apart by their origins: \(error)")
      }
      throw DocumentRefusal.originsNotProven(name: name, reason: "no audit answer came with it")
    }
    return try verification.verify(bytes, audit: audit, named: name)
  }
}

extension Arrival {
  fileprivate var format: KeyFormat {
    get throws {
      switch content {
      case .document(let document): try document.open().format
      case .decoded: .codableJSON
      }
    }
  }
}

/// An arrival that somebody stands behind. Only ``ExaminedArrival/verify()`` makes one, and only it can be decoded.
package struct VerifiedArrival {
  package let arrival: Arrival
  package let document: VerifiedDocument
  /// Who that is, for people.
  package let voucher: String
  /// Of `export.bin`, where a signature was asked for.
  private let digests: ExportDigests?

  fileprivate init(
    _ arrival: Arrival, _ document: VerifiedDocument, _ digests: ExportDigests?, voucher: String? = nil
  ) {
    self.arrival = arrival
    self.document = document
    self.digests = digests
    self.voucher = voucher ?? Provenance(document).description
  }

  /// What is known of the whole once all keys are read.
  package struct Reading {
    package let format: KeyFormat
    /// Of each document that stands in the arrival's bytes.
    package let headers: HeaderMerge
    package let notes: ReadingNotes
  }

  /// What is known of the whole while its keys are read.
  package struct Context {
    /// As far as it is known yet.
    package let format: KeyFormat
    /// The numbers of regions refer to it.
    package let regions: RegionTable
    /// What was said of it so far; most formats say it before their keys.
    package let headers: HeaderMerge
  }

  /// Decodes all keys, from the start, and hands them over chunk by chunk: the only place of the program where keys that
  /// somebody stands behind are decoded.
  ///
  /// - Parameter isRefused: whether the document is known to have a fault: the keys of the chunk in which it stands are
  ///   handed over, too, before this throws.
  package func decode(
    isRefused: Bool = false, _ use: (inout KeyChunk, Context) throws -> Void
  ) throws -> Reading {
    switch arrival.content {
    case .document(let document):
      let reader = try ArrivalReader(document)
      do {
        while try reader.next(use) {}
      } catch let fault as FormatError where isRefused {
        try reader.useAgain(use)
        throw fault
      }
      return reader.reading
    case .decoded(let keys):
      var chunk = KeyChunk(capacity: max(keys.keys.count, 1))
      keys.keys.withUnsafeBufferPointer { chunk.keys.append(contentsOf: $0) }
      chunk.rejections = keys.rejections
      try use(
        &chunk, Context(format: .codableJSON, regions: keys.regions, headers: HeaderMerge(keys.header)))
      return Reading(format: .codableJSON, headers: HeaderMerge(keys.header), notes: keys.notes)
    }
  }

  /// The same for who records each chunk before the next is decoded; `nil` where its door has decoded the keys already.
  ///
  /// - Parameter chunkSize: keys at once.
  func reader(chunkSize: Int) throws -> ArrivalReader? {
    guard case .document(let document) = arrival.content else { return nil }
    return try ArrivalReader(document, chunkSize: chunkSize)
  }

  /// How many keys there are, and whether they come in the order of key data, as those of bundles do.
  package struct Extent: Sendable {
    package fileprivate(set) var count = 0
    /// How often a key has lower key data than the one before it.
    fileprivate var descents = 0

    /// A bundle's two lists, and several documents in one file, begin anew.
    package var isInOrder: Bool { descents * 1024 <= count }
  }

  /// Decodes it to its end, so that who records it in pieces knows that it has no fault; `nil` where its door has decoded
  /// the keys already.
  ///
  /// - Throws: `FormatError`, ``FileFault``.
  package func extent() throws -> Extent? {
    guard let reader = try reader(chunkSize: 2048) else { return nil }
    var extent = Extent()
    var last: TemporaryExposureKey?
    func measure(_ chunk: inout KeyChunk, _: Context) {
      extent.count += chunk.keys.count + chunk.rejections.count
      chunk.keys.withKeys { keys in
        for key in keys {
          if let last, key.key < last { extent.descents += 1 }
          last = key.key
        }
      }
    }
    while try reader.next(measure) {}
    return extent
  }

  /// Lower-case hexadecimal SHA-256 of `export.bin`, or of the whole body where there is none: signatures are
  /// randomised, and archives carry the time, so the same keys come in ever other archives.
  ///
  /// - Throws: `FormatError`, ``FileFault``.
  package func contentDigest() throws -> String {
    if let digests { return digests.hexadecimal }
    guard case .document(let document) = arrival.content else { return "" }
    return try document.survey()?.digests.hexadecimal ?? document.digest().hexadecimal
  }
}

/// Decodes an arrival that somebody stands behind, chunk by chunk.
final class ArrivalReader {
  private let source: SourceDocument
  private let document: KeyDocument
  private var chunk: KeyChunk
  private var starts = StartsInSeconds()
  private var hasBegun = false

  fileprivate init(_ source: SourceDocument, chunkSize: Int = 2048) throws {
    self.source = source
    document = try source.open()
    chunk = KeyChunk(capacity: chunkSize)
  }

  private var context: VerifiedArrival.Context {
    VerifiedArrival.Context(
      format: document.format, regions: document.decoder.regions, headers: document.decoder.headers)
  }

  /// What is known of the whole, once all keys are read.
  var reading: VerifiedArrival.Reading {
    VerifiedArrival.Reading(
      format: document.format, headers: document.decoder.headers, notes: starts.added(to: document.decoder.notes))
  }

  /// - Returns: whether there was another chunk.
  func next(_ use: (inout KeyChunk, VerifiedArrival.Context) throws -> Void) throws -> Bool {
    if hasBegun { chunk.advance() }
    hasBegun = true
    guard try source.located({ try document.decoder.decode(into: &chunk) }) else { return false }
    starts.convert(&chunk)
    try use(&chunk, context)
    return true
  }

  /// The chunk that was handed over last, once more.
  func last<Result>(_ use: (borrowing KeyChunk, VerifiedArrival.Context) throws -> Result) rethrows -> Result {
    try use(chunk, context)
  }

  /// Hands over what was decoded last, before a fault.
  func useAgain(_ use: (inout KeyChunk, VerifiedArrival.Context) throws -> Void) throws {
    starts.convert(&chunk)
    try use(&chunk, context)
  }
}
