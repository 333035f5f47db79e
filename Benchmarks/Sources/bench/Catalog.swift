/// Something that can be measured for any number of keys.
struct Preparation: Sendable {
  var name: String
  /// What is counted: keys, or something of which there is no number to choose.
  var unit: String
  /// Whether it chooses its sizes itself, so that it is measured but once.
  var isOfOneSize: Bool
  var work: @Sendable (Int) throws -> Work

  init(
    _ name: String, of unit: String = "key", isOfOneSize: Bool = false,
    _ contenders: @escaping @Sendable (Int) throws -> [Contender]
  ) {
    self.name = name
    self.unit = unit
    self.isOfOneSize = isOfOneSize
    work = { count in Work(name: name, unit: unit, count: count, contenders: try contenders(count)) }
  }
}

/// Every row of the table, in its order.
let catalog: [Preparation] =
  keyTextWorks + exportWorks + deflateWorks + inflateWorks + bundleWorks + jsonWorks + csvWorks + normalizationWorks
  + federationWorks + processWorks + storageWorks + roundWorks + logWorks + downloadWorks + growthWorks
