internal import Containers
internal import ExposureKeys
internal import KeyFormats
package import KeyInspection
internal import KeyIntake

/// A walk over documents that are reported one by one and, where they are several, added up.
struct DocumentSum {
  private let walk: InputWalk
  private var sum = InspectionSum()
  private(set) var leftOut: [LeftOutDocument] = []
  /// How many documents were read.
  private(set) var readCount = 0
  /// Whether documents are added up: one alone is its own sum.
  private(set) var isSummed: Bool

  /// - Parameter isAlways: also of one document.
  init(_ walk: InputWalk, isAlways: Bool) {
    self.walk = walk
    isSummed = isAlways || walk.mayHoldSeveral
  }

  /// Reads all documents.
  ///
  /// - Parameters:
  ///   - read: reports a document; where it is added up, it shows every chunk of its keys to `observe` and returns what is
  ///     in it.
  ///   - leftOut: is told what could not be read; it stands in ``leftOut``, too.
  mutating func visit(
    keepsGoing: Bool,
    _ read: (SourceDocument, _ isSummed: Bool, _ observe: (borrowing KeyChunk) -> Void) throws -> (
      InspectionReport?, isVerified: Bool?
    ),
    leftOut tell: (LeftOutDocument) throws -> Void
  ) throws {
    var sum = self.sum
    var isSummed = self.isSummed
    var leftOut: [LeftOutDocument] = []
    var readCount = 0
    var first: (document: SourceDocument, isVerified: Bool?)?
    func leaveOut(_ document: LeftOutDocument) throws {
      guard keepsGoing else { throw document.fault }
      sum.leaveOut()
      leftOut.append(document)
      try tell(document)
    }
    defer { (self.sum, self.isSummed, self.leftOut, self.readCount) = (sum, isSummed, leftOut, readCount) }
    try walk.visit(
      { found in
        Console.reading(found.document)
        if walk.count > 1, !isSummed {
          isSummed = true
          // One archive was expected to hold one document.
          if let first {
            sum.add(try first.document.examine { sum.observe($0) }, isVerified: first.isVerified)
          }
          first = nil
        }
        do {
          let (report, isVerified) = try read(found.document, isSummed) { if isSummed { sum.observe($0) } }
          readCount += 1
          if !isSummed {
            first = (found.document, isVerified)
          } else if let report {
            sum.add(report, isVerified: isVerified)
          }
        } catch {
          guard let document = LeftOutDocument(found.document.name, error) else { throw error }
          try leaveOut(document)
        }
      }, leaveOut: leaveOut)
  }

  /// Reads all documents, small ones ahead of their turn by all processors. What is reported and added up is the same.
  ///
  /// - Parameters:
  ///   - examine: reads a document on any thread, and shows every chunk of its keys to `observe` where it is added up.
  ///   - report: reports what was read, in the order of the documents; it is told how many came before, those that could not
  ///     be read too.
  ///   - leftOut: as ``visit(keepsGoing:_:leftOut:)``.
  mutating func visitAhead<Examined>(
    keepsGoing: Bool,
    examine:
      @escaping @Sendable (SourceDocument, _ isSummed: Bool, _ observe: (borrowing KeyChunk) -> Void) throws -> Examined,
    report: (Examined, _ before: Int) throws -> (InspectionReport?, isVerified: Bool?),
    leftOut tell: (LeftOutDocument) throws -> Void
  ) throws {
    guard isSummed, Self.threads > 0 else {
      let walk = self.walk
      return try visit(keepsGoing: keepsGoing) { document, isSummed, observe in
        try report(try examine(document, isSummed, observe), walk.count - 1)
      } leftOut: {
        try tell($0)
      }
    }
    var sum = self.sum
    defer { self.sum = sum }
    try visitAhead(keepsGoing: keepsGoing) {
      try examine($0, true, $1)
    } observe: {
      sum.observe($0)
    } observeAhead: { (_, keys: InspectionSum.ObservedKeys) in
      sum.observe(keys)
    } report: { _, examined, before in
      let (one, isVerified) = try report(examined, before)
      if let one { sum.add(one, isVerified: isVerified) }
    } leftOut: {
      sum.leaveOut()
      try tell($0)
    }
  }

  /// Reads all documents, small ones ahead of their turn by all processors, and leaves it to others to add them up.
  ///
  /// - Parameters:
  ///   - watch: is given a document that is read when its turn comes.
  ///   - examine: reads a document on any thread, and shows every chunk of its keys to `observe`.
  ///   - observe: is shown the keys of a document that is read when its turn comes, in the order of the documents.
  ///   - observeAhead: is given those of one that was read ahead, whole or up to its fault.
  ///   - report: comes behind the keys of the document, in the order of the documents; it is told how many came before,
  ///     those that could not be read too.
  ///   - leftOut: as ``visit(keepsGoing:_:leftOut:)``.
  mutating func visitAhead<Examined, Keys: KeysAhead>(
    keepsGoing: Bool,
    watch: (SourceDocument) -> SourceDocument = { $0 },
    examine: @escaping @Sendable (SourceDocument, _ observe: (borrowing KeyChunk) -> Void) throws -> Examined,
    observe: (borrowing KeyChunk) -> Void,
    observeAhead: (SourceDocument, Keys) -> Void,
    report: (SourceDocument, Examined, _ before: Int) throws -> Void,
    leftOut tell: (LeftOutDocument) throws -> Void
  ) throws {
    let threads = Self.threads
    let work = OrderedWork<Ahead<Examined, Keys>, Ahead<Examined, Keys>>(threads: threads, ahead: 4 * threads) {
      threads > 0 ? $0.worked(examine) : $0
    }
    var before = 0
    func leaveOut(_ document: LeftOutDocument) throws {
      guard keepsGoing else { throw document.fault }
      leftOut.append(document)
      try tell(document)
    }
    func add(_ document: SourceDocument, _ examined: Result<Examined, any Error>) throws {
      do {
        try report(document, try examined.get(), before)
        readCount += 1
      } catch {
        guard let document = LeftOutDocument(document.name, error) else { throw error }
        try leaveOut(document)
      }
    }
    func use(_ result: Ahead<Examined, Keys>) throws {
      switch result {
      case .document(let document):
        let watched = watch(document)
        try add(document, Result { try examine(watched, observe) })
      case .examined(let document, let examined, let keys):
        observeAhead(document, keys)
        try add(document, examined)
      case .leftOut(let document): try leaveOut(document)
      }
      before += 1
    }
    try walk.visit(
      {
        Console.reading($0.document)
        try work.take(.document($0.document), use)
      }, leaveOut: { try work.take(.leftOut($0), use) })
    try work.finish(use)
  }

  /// How many read ahead; none where the one that adds up is alone.
  private static var threads: Int {
    let processors = OrderedWork<Int, Int>.processors
    return processors > 1 ? min(processors, mostThreads) : 0
  }

  /// More would wait for the one that adds up.
  private static let mostThreads = 8

  /// The sum; `nil` of one document.
  func report() -> InspectionSum.Report? { isSummed ? sum.report() : nil }

  /// Lists what was left out.
  func tell() {
    if readCount == 0, leftOut.count == 1 {
      Console.note(leftOut[0].reason)
    } else {
      for line in LeftOutText.lines(leftOut, of: readCount + leftOut.count) { Console.note(line) }
    }
    if let line = LeftOutText.line(walk.passedOver) { Console.note(line) }
  }

  /// - Parameter hasRejections: whether something in documents that could be read is wrong.
  func status(hasRejections: Bool) -> ExitStatus {
    guard !leftOut.isEmpty else { return hasRejections ? .rejected : .done }
    return readCount > 0 ? .rejected : .failed
  }
}

/// The keys of a document of not too many, observed on another thread than the one that adds up.
protocol KeysAhead: Sendable {
  init()
  mutating func observe(_ chunk: borrowing KeyChunk)
  /// Whether there are more keys than are kept here. Such a document is read when its turn comes.
  var isTooLarge: Bool { get }
}

extension InspectionSum.ObservedKeys: KeysAhead {
  package init() { self.init(limit: Self.usualLimit) }
}

extension HistoryCollector.ObservedDocument: KeysAhead {
  package init() { self.init(limit: Self.usualLimit) }
}

/// A document on its way through the threads.
private enum Ahead<Examined, Keys: KeysAhead> {
  /// Not read, or too large for that: it is read when its turn comes.
  case document(SourceDocument)
  case examined(SourceDocument, Result<Examined, any Error>, Keys)
  case leftOut(LeftOutDocument)

  /// Documents of so many bytes at most wait in memory.
  private static var largest: Int { 4 << 20 }

  func worked(
    _ examine: (SourceDocument, _ observe: (borrowing KeyChunk) -> Void) throws -> Examined
  ) -> Ahead {
    guard case .document(let document) = self, document.source.byteCount <= Self.largest,
      document.source is FileSource || document.source is MemorySource
    else { return self }
    var keys = Keys()
    let examined = Result { try examine(document) { keys.observe($0) } }
    return keys.isTooLarge ? self : .examined(document, examined, keys)
  }
}

extension SourceDocument {
  /// Reads all keys, for what is in the document.
  func examine(_ observe: (borrowing KeyChunk) -> Void) throws -> InspectionReport {
    let document = try open()
    return try located { try Inspector().examine(document, name: name) { chunk, _ in observe(chunk) }.report }
  }
}
