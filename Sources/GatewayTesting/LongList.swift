internal import Foundation

/// Cases that `make test` leaves out and CI runs.
///
/// A law whose cases take seconds each is shown by a few of them within minutes, and by all of them before a change is accepted.
/// `KEYFERRY_LONG=1 make test` runs them all.
package enum LongList {
  package static let isRun = ProcessInfo.processInfo.environment["KEYFERRY_LONG"] != nil

  /// What a test says that only the long list has.
  package static let advice = "KEYFERRY_LONG=1 runs it, and CI does"

  /// - Returns: `count` cases, evenly spread over all of them, the first one among them; all of them in the long list.
  package static func cases<Case>(_ all: some Collection<Case>, _ count: Int = 1) -> [Case] {
    let all = Array(all)
    guard !isRun, count < all.count else { return all }
    return (0..<count).map { all[$0 * all.count / count] }
  }

  /// Pairs of all, as ``cases(_:_:)``.
  package static func pairs<First, Second>(
    _ first: some Collection<First>, _ second: some Collection<Second>, _ count: Int
  ) -> [(First, Second)] {
    cases(first.flatMap { one in second.map { (one, $0) } }, count)
  }

  /// - Returns: how often or how far, which the long list has in full.
  package static func size(_ usual: Int, long: Int) -> Int { isRun ? long : usual }
}
