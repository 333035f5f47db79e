/// A table of bounded weight: when it is full, what was used least recently goes. Each step takes constant time.
///
/// An entry weighs what its user says, plus ``entryWeight`` for its place in the table.
struct LeastRecentlyUsed<Key: Hashable, Value> {
  /// Bytes that the table itself takes for an entry, its share of free places included; more than was measured.
  static var entryWeight: Int { 256 }

  private struct Entry {
    var key: Key
    var value: Value
    var weight: Int
    /// Places of the neighbours: towards what was used more recently, and less.
    var newer: Int?
    var older: Int?
  }

  let limit: Int
  private(set) var weight = 0
  private var places: [Key: Int] = [:]
  private var entries: [Entry?] = []
  private var free: [Int] = []
  private var newest: Int?
  private var oldest: Int?

  init(limit: Int) { self.limit = limit }

  var count: Int { places.count }

  /// The value, which counts as used now.
  mutating func value(for key: Key) -> Value? {
    guard let place = places[key], let value = entries[place]?.value else { return nil }
    if place != newest {
      unlink(place)
      link(place)
    }
    return value
  }

  /// Takes a value in, unless it alone is too heavy. An old one under this key goes.
  mutating func keep(_ value: Value, for key: Key, weight: Int) {
    remove(key)
    let weight = weight + Self.entryWeight
    guard weight <= limit else { return }
    while self.weight > limit - weight, let oldest, let key = entries[oldest]?.key { remove(key) }
    let place = free.popLast() ?? entries.count
    if place == entries.count { entries.append(nil) }
    entries[place] = Entry(key: key, value: value, weight: weight)
    places[key] = place
    self.weight += weight
    link(place)
  }

  mutating func remove(_ key: Key) {
    guard let place = places.removeValue(forKey: key) else { return }
    unlink(place)
    weight -= entries[place]?.weight ?? 0
    entries[place] = nil
    free.append(place)
  }

  private mutating func link(_ place: Int) {
    entries[place]?.newer = nil
    entries[place]?.older = newest
    if let newest { entries[newest]?.newer = place }
    newest = place
    if oldest == nil { oldest = place }
  }

  private mutating func unlink(_ place: Int) {
    let (newer, older) = (entries[place]?.newer, entries[place]?.older)
    if let newer { entries[newer]?.older = older } else { newest = older }
    if let older { entries[older]?.newer = newer } else { oldest = newer }
  }
}
