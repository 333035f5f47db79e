import ExposureKeys
import Foundation
import GatewayTesting
import KeyFormats

/// Each input of the fuzzer goes to the one target that `KEYFERRY_FUZZ_TARGET` names.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafeRawPointer?, _ count: Int) -> CInt {
  chosenTarget(UnsafeRawBufferPointer(start: start, count: count))
  return 0
}

@_cdecl("LLVMFuzzerInitialize")
public func initializeFuzzer(_: UnsafeMutableRawPointer?, _: UnsafeMutableRawPointer?) -> CInt {
  _ = chosenTarget
  return 0
}

private let chosenTarget: FuzzTarget = {
  let name = ProcessInfo.processInfo.environment["KEYFERRY_FUZZ_TARGET"] ?? ""
  if let target = fuzzTargets[name] { return target }
  let names = fuzzTargets.keys.sorted()
  if name == "list" {
    for name in names { print(name) }
    exit(0)
  }
  FileHandle.standardError.write(Data("fuzz: no target \(name); there are \(names.joined(separator: ", "))\n".utf8))
  exit(64)
}()

/// A few kilobytes at most of everything, so that no input is slow and every limit is reached.
let fuzzLimits = ReadLimits(documentBytes: 1 << 16, recordBytes: 1 << 12, signatureBytes: 1 << 12, nesting: 16)

/// A target that reads the input with a decoder to its end, twice: byte by byte through the smallest window into chunks
/// of one key, and all at once. Where a record is cut and where a chunk is full must make no difference.
func fuzzDecoder(_ open: @escaping @Sendable (InputWindow, ReadLimits) throws -> any KeyDecoder) -> FuzzTarget {
  return { input in
    let bytes = Array(input)
    let slow = Outcome(chunkCapacity: 1) {
      try open(InputWindow(PiecewiseSource(bytes, longest: 1), limits: fuzzLimits, capacity: 16), fuzzLimits)
    }
    let fast = Outcome(chunkCapacity: 1000) {
      let window = InputWindow(MemorySource(bytes), limits: fuzzLimits, capacity: fuzzLimits.recordBytes)
      return try open(window, fuzzLimits)
    }
    check(slow == fast, "depends on where the input is cut:\n\(slow)\n\(fast)")
  }
}

/// A target that reads the input with a decoder, and wherever the reference reads it too, compares what both say.
func fuzzDecoder(
  against reference: @escaping @Sendable ([UInt8]) throws -> DecodedDocument,
  _ open: @escaping @Sendable (InputWindow, ReadLimits) throws -> any KeyDecoder
) -> FuzzTarget {
  let alone = fuzzDecoder(open)
  return { input in
    alone(input)
    let bytes = Array(input)
    guard let expected = try? reference(bytes) else { return }
    let read = Outcome(chunkCapacity: 100) { try open(InputWindow(MemorySource(bytes)), ReadLimits()) }
    guard case .read(let content, _) = read else { return }
    check(content == expected.content, "the reference reads something else:\n\(content)\n\(expected.content)")
  }
}

/// Stops the fuzzer, and unlike `precondition` says why in optimized code too.
func check(_ isTrue: Bool, _ text: @autoclosure () -> String) {
  if !isTrue { fatalError(text()) }
}

/// What came of reading a document.
private enum Outcome: Equatable {
  case read(DecodedDocument.Content, notes: ReadingNotes)
  case refused(FormatError.Code)
  case failed(String)

  init(chunkCapacity: Int, _ open: () throws -> any KeyDecoder) {
    do {
      let document = try DecodedDocument(decoding: open(), chunkCapacity: chunkCapacity)
      self = .read(document.content, notes: document.notes)
    } catch let error as FormatError {
      // A decoder may meet the damage or the end first, so these two count as one.
      self = .refused(error.code == .truncated ? .malformed : error.code)
    } catch {
      self = .failed("\(error)")
    }
  }
}

/// Gives so many bytes at a time.
final class PiecewiseSource: ByteSource {
  private var rest: ArraySlice<UInt8>
  private let longest: Int

  init(_ bytes: [UInt8], longest: Int) {
    rest = bytes[...]
    self.longest = longest
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    let piece = rest.prefix(min(buffer.count, longest))
    buffer.copyBytes(from: piece)
    rest = rest.dropFirst(piece.count)
    return piece.count
  }
}
