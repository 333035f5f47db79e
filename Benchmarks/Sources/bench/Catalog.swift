/// Something that can be measured for any number of keys.
struct Preparation: Sendable {
  var name: String
  var work: @Sendable (Int) throws -> Work

  init(_ name: String, _ contenders: @escaping @Sendable (Int) throws -> [Contender]) {
    self.name = name
    work = { count in Work(name: name, count: count, contenders: try contenders(count)) }
  }
}

/// Every row of the table, in its order.
let catalog: [Preparation] =
  keyTextWorks + exportWorks + deflateWorks + jsonWorks + csvWorks + normalizationWorks + storageWorks
