/// Something that can be measured for any number of keys.
struct Preparation: Sendable {
  var name: String
  /// Whether it chooses its sizes itself, so that it is measured but once.
  var isOfOneSize: Bool
  var work: @Sendable (Int) throws -> Work

  init(
    _ name: String, isOfOneSize: Bool = false, _ contenders: @escaping @Sendable (Int) throws -> [Contender]
  ) {
    self.name = name
    self.isOfOneSize = isOfOneSize
    work = { count in Work(name: name, count: count, contenders: try contenders(count)) }
  }
}

/// Every row of the table, in its order.
let catalog: [Preparation] =
  keyTextWorks + exportWorks + deflateWorks + bundleWorks + jsonWorks + csvWorks + normalizationWorks + processWorks
  + storageWorks + growthWorks
