/// How a bundle was made, so that it can be made again. What the bytes say is the business of publishing; no key is in them.
package struct StagedRecipe: Hashable, Sendable {
  /// The event that staged the bundle, and its time.
  package var event: EventStamp
  /// The first bundle of that event: whatever was released before it came with a bundle of a lower number.
  package var first: BundleID
  /// The last one.
  package var last: BundleID
  /// What all bundles of the event have in common.
  package var round: [UInt8]
  /// What is the bundle's own.
  package var bundle: [UInt8]

  package init(event: EventStamp, first: BundleID, last: BundleID, round: [UInt8], bundle: [UInt8]) {
    self.event = event
    self.first = first
    self.last = last
    self.round = round
    self.bundle = bundle
  }
}

/// How the bundles of one event are made.
package struct NewRecipe: Hashable, Sendable {
  package var round: [UInt8]
  /// In the order of the bundles.
  package var bundles: [[UInt8]]

  package init(round: [UInt8], bundles: [[UInt8]]) {
    self.round = round
    self.bundles = bundles
  }
}
