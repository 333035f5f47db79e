internal import Containers
internal import ExposureKeys
internal import KeyFormats
internal import KeyInspection
internal import KeyIntake

/// A walk over documents that are reported one by one and, where they are several, added up.
struct DocumentSum {
  private let walk: InputWalk
  private var sum = InspectionSum()
  private(set) var leftOut: [LeftOutDocument] = []
  /// How many documents were read.
  private var readCount = 0
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

extension SourceDocument {
  /// Reads all keys, for what is in the document.
  func examine(_ observe: (borrowing KeyChunk) -> Void) throws -> InspectionReport {
    let document = try open()
    return try located { try Inspector().examine(document, name: name) { chunk, _ in observe(chunk) }.report }
  }
}
