/// Writes a planned block with prefix codes of its own.
struct KeyBlockWriter {
  /// Four literals are written at once, which leaves fourteen bits for each; a match takes 14 + 5 + 15 + 13.
  private static let longestLiteral = 14

  /// Bits of a literal's code above six bits that say how many they are.
  private let literals: UnsafeMutablePointer<UInt32>
  /// The same for each length of a match with its extra bits; 0 bits for length 0.
  private let lengths: UnsafeMutablePointer<UInt32>
  /// By distance symbol: the code, from bit 12 on, then six bits each for the length with and without the extra bits.
  private let distances: UnsafeMutablePointer<UInt32>

  init() {
    literals = .allocate(capacity: 256)
    lengths = .allocate(capacity: 512)
    distances = .allocate(capacity: 32)
    lengths.initialize(repeating: 0, count: 512)
    distances.initialize(repeating: 0, count: 32)
  }

  func deallocate() {
    literals.deallocate()
    lengths.deallocate()
    distances.deallocate()
  }

  /// The most bytes that a block of `count` bytes can take: a match of four bytes has 47 bits at most.
  static func room(for count: Int) -> Int { count * 2 + 1024 }

  /// Writes the block that `plan` describes, whose bytes begin at `start`.
  func write(_ plan: KeyBlockPlan, _ start: UnsafeRawPointer, isLast: Bool, to out: inout BitWriter) {
    var lengthSymbols = PrefixCode(symbols: 286, maximumLength: Self.longestLiteral)
    var distanceSymbols = PrefixCode(symbols: 30, maximumLength: 15)
    // Each literal gets a code, because some were only sampled.
    for value in 0..<256 { lengthSymbols.frequencies[value] = plan.literalCounts[value] + 1 }
    lengthSymbols.frequencies[DeflateSymbols.endOfBlock] = 1
    for length in DeflateSymbols.shortestMatch...DeflateSymbols.longestMatch where plan.lengthCounts[length] > 0 {
      lengthSymbols.frequencies[DeflateSymbols.length(length).symbol] += plan.lengthCounts[length]
    }
    for symbol in 0..<30 { distanceSymbols.frequencies[symbol] = plan.distanceCounts[symbol] }
    lengthSymbols.build()
    distanceSymbols.build()
    out.put(isLast ? 1 : 0, 1)
    out.put(2, 2)
    writeCodes(lengthSymbols, distanceSymbols, to: &out)
    makeTables(lengthSymbols, distanceSymbols)
    writeSteps(plan, start, to: &out)
    chooseSplits(lengthSymbols, plan)
    let end = DeflateSymbols.endOfBlock
    out.put(UInt64(lengthSymbols.codes[end]), UInt64(lengthSymbols.lengths[end]))
  }

  /// The head of the block: the lengths of all codes, by runs, in a prefix code of their own (RFC 1951, 3.2.7).
  private func writeCodes(_ first: PrefixCode, _ second: PrefixCode, to out: inout BitWriter) {
    var firstCount = 286
    while first.lengths[firstCount - 1] == 0 { firstCount -= 1 }
    var secondCount = 30
    while second.lengths[secondCount - 1] == 0 { secondCount -= 1 }
    func length(_ index: Int) -> UInt8 {
      index < firstCount ? first.lengths[index] : second.lengths[index - firstCount]
    }
    // Symbol, extra bits, number of extra bits.
    var runs: [(symbol: Int, extra: UInt64, extraBits: UInt64)] = []
    runs.reserveCapacity(320)
    var index = 0
    while index < firstCount + secondCount {
      let value = length(index)
      var count = 1
      while index + count < firstCount + secondCount, length(index + count) == value { count += 1 }
      index += count
      if value > 0 {
        runs.append((Int(value), 0, 0))
        count -= 1
      }
      while count >= 3 {
        let most = value > 0 ? 6 : 138
        let taken = min(count, most)
        if value > 0 {
          runs.append((16, UInt64(taken - 3), 2))
        } else if taken <= 10 {
          runs.append((17, UInt64(taken - 3), 3))
        } else {
          runs.append((18, UInt64(taken - 11), 7))
        }
        count -= taken
      }
      for _ in 0..<count { runs.append((Int(value), 0, 0)) }
    }
    var code = PrefixCode(symbols: 19, maximumLength: 7)
    for run in runs { code.frequencies[run.symbol] += 1 }
    code.build()
    let order: InlineArray<19, Int> = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]
    var orderCount = 19
    while orderCount > 4, code.lengths[order[orderCount - 1]] == 0 { orderCount -= 1 }
    out.put(UInt64(firstCount - 257), 5)
    out.put(UInt64(secondCount - 1), 5)
    out.put(UInt64(orderCount - 4), 4)
    for index in 0..<orderCount { out.put(UInt64(code.lengths[order[index]]), 3) }
    for run in runs {
      out.put(UInt64(code.codes[run.symbol]), UInt64(code.lengths[run.symbol]))
      out.put(run.extra, run.extraBits)
    }
  }

  private func makeTables(_ first: PrefixCode, _ second: PrefixCode) {
    for value in 0..<256 { literals[value] = UInt32(first.codes[value]) << 6 | UInt32(first.lengths[value]) }
    for length in DeflateSymbols.shortestMatch...DeflateSymbols.longestMatch {
      let (symbol, base, extraBits) = DeflateSymbols.length(length)
      let codeLength = UInt32(first.lengths[symbol])
      let bits = UInt32(first.codes[symbol]) | UInt32(length - base) << codeLength
      lengths[length] = bits << 6 | (codeLength + UInt32(extraBits))
    }
    for symbol in 0..<30 {
      let extraBits = UInt32(max(0, symbol / 2 - 1))
      let codeLength = UInt32(second.lengths[symbol])
      distances[symbol] = UInt32(second.codes[symbol]) << 12 | (codeLength + extraBits) << 6 | codeLength
    }
  }

  private func chooseSplits(_ code: PrefixCode, _ plan: KeyBlockPlan) {
    func cost(_ length: Int) -> Int {
      let (symbol, _, extraBits) = DeflateSymbols.length(length)
      return extraBits + (code.lengths[symbol] == 0 ? 9 : Int(code.lengths[symbol]))
    }
    for total in 11..<32 {
      var best = Int(plan.splits[total])
      for first in 7...min(11, total - 3) where cost(first) + cost(total - first) < cost(best) + cost(total - best) {
        best = first
      }
      plan.splits[total] = UInt8(best)
    }
  }

  /// The hot loop: two matches without a branch, then four times four literals.
  private func writeSteps(_ plan: KeyBlockPlan, _ start: UnsafeRawPointer, to writer: inout BitWriter) {
    var out = writer
    var place = start
    var token = plan.tokens
    for index in 0..<plan.stepCount {
      let step = plan.steps[index]
      let reach = Step.reach(step)
      if step & Step.isListed != 0 {
        // A copy, so that the loop's own writer stays in registers.
        let count = Int(step & 0x7ff_ffff)
        (out, place) = writeTokens(UnsafeBufferPointer(start: token, count: count), place, to: out)
        token += count
        if reach == Step.noKey { continue }
      } else {
        let first = UInt32(truncatingIfNeeded: step)
        let second = UInt32(truncatingIfNeeded: step >> 32)
        writeMatch(first, to: &out)
        writeMatch(second, to: &out)
        place += MatchToken.length(first) + MatchToken.length(second)
      }
      let key = place - Int(reach)
      // The literals that a match has taken already are put as no bits.
      let taken = UInt32(truncatingIfNeeded: key.loadUnaligned(as: UInt32.self).littleEndian)
      writeFour(
        reach > 0 ? 0 : literals[Int(taken & 0xff)], reach > 1 ? 0 : literals[Int(taken >> 8 & 0xff)],
        reach > 2 ? 0 : literals[Int(taken >> 16 & 0xff)], reach > 3 ? 0 : literals[Int(taken >> 24)], to: &out)
      for offset in stride(from: 4, to: 16, by: 4) {
        let four = (key + offset).loadUnaligned(as: UInt32.self).littleEndian
        writeFour(
          literals[Int(four & 0xff)], literals[Int(four >> 8 & 0xff)], literals[Int(four >> 16 & 0xff)],
          literals[Int(four >> 24)], to: &out)
      }
      place = key + 16
    }
    writer = out
  }

  /// Pairs are joined first, so that the processor can do them at the same time. Lengths are in the lowest six bits,
  /// which is all that a masking shift looks at.
  @inline(__always)
  private func writeFour(_ a: UInt32, _ b: UInt32, _ c: UInt32, _ d: UInt32, to out: inout BitWriter) {
    let (a, b, c, d) = (UInt64(a), UInt64(b), UInt64(c), UInt64(d))
    let front = a >> 6 | (b >> 6) &<< a
    let back = c >> 6 | (d >> 6) &<< c
    out.put(front | back &<< (a &+ b), a &+ b &+ c &+ d)
  }

  @inline(__always)
  private func writeMatch(_ token: UInt32, to out: inout BitWriter) {
    let length = UInt64(lengths[MatchToken.length(token)])
    let distance = UInt64(distances[MatchToken.symbol(token)])
    let distanceBits = distance >> 12 | MatchToken.extra(token) &<< distance
    out.put(length >> 6 | distanceBits &<< length, length &+ distance >> 6)
  }

  @inline(never)
  private func writeTokens(
    _ tokens: UnsafeBufferPointer<UInt32>, _ start: UnsafeRawPointer, to writer: BitWriter
  ) -> (BitWriter, UnsafeRawPointer) {
    var out = writer
    var place = start
    for token in tokens {
      if token & LiteralToken.flag == 0 {
        writeMatch(token, to: &out)
        place += MatchToken.length(token)
        continue
      }
      for _ in 0..<Int(token & ~LiteralToken.flag) {
        let literal = UInt64(literals[Int(place.load(as: UInt8.self))])
        out.put(literal >> 6, literal)
        place += 1
      }
    }
    return (out, place)
  }
}
