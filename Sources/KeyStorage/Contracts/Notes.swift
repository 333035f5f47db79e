package import ExposureKeys

/// What publishing and receiving keep under a name.
package enum StoredNote: Hashable, Sendable {
  /// The secret behind look-alikes. It is made once, and bundles that are out cannot be made again without it.
  case paddingSecret
  /// How many rounds of look-alikes the keys of a day have: in all series, or as one series has released them.
  case paddingRounds(Day, series: String?)
  /// Where a series stands: its window, its key, the recalls that it knows.
  case seriesState(String)
  /// Which keys were erased, and when: what was published stays, and nothing is made of it any more that holds them.
  case erasures
  /// What the gateway's clock has seen; where replicas share the store, the clock of each.
  case clock(replica: ReplicaName?)
  /// The operator's last word about the clock.
  case clockWord
  /// The first event of the newest day on which uploads came in by a door: its number and its time.
  case firstUploads(door: String)
  /// The uploads of a door that no entry of the log covers yet.
  case openUploads(door: String)
  /// The hours of a door that the log was told of, with what opens their entries.
  case uploadHours(door: String)
  /// What the peer of a source listed when it was asked last: a name a line.
  case listing(source: String)
  /// What a mirror has shown.
  case mirror(String)
  /// Which national back ends want to be called, where, and how far each is.
  case callbacks
  /// How pushing to a destination went last.
  case push(destination: String)
  /// The policy by which a series was published last, as the log was told: the SHA-256 of its file.
  case loggedPolicy(series: String)
  /// How many entries the transparency log of this name had when it took entries last.
  case logSize(name: String)
  /// When what had been kept long enough was removed last: seconds since 1970.
  case retention
  /// Which replicas are to have no work.
  case drainedReplicas
  /// That an operator had this store begin beside what was published before; see ``StoreBeginning``.
  case begun
  /// When the last token ended of those that were used and are forgotten: seconds since 1970.
  case forgottenTokens
  /// What was written to see whether the store can be.
  case probe
  /// What an operator lets a source send on a day, and which limit held its keys last.
  case volumes(source: String)

  /// What stores call it. A name never changes, because old stores have it.
  package var name: String {
    switch self {
    case .paddingSecret: "publishing/padding-secret"
    case .paddingRounds(let day, series: nil): "publishing/padding/\(day)"
    case .paddingRounds(let day, let series?): "publishing/padding/\(series)/\(day)"
    case .seriesState(let series): "publishing/series/\(series)"
    case .erasures: "publishing/erasures"
    case .clock(replica: nil): "gateway/clock"
    case .clock(let replica?): "gateway/clock/\(replica)"
    case .clockWord: "gateway/clock-word"
    case .firstUploads(let door): "receiving/uploads/\(door)"
    case .openUploads(let door): "receiving/uploads-open/\(door)"
    case .uploadHours(let door): "receiving/upload-hours/\(door)"
    case .listing(let source): "receiving/listing/\(source)"
    case .mirror(let name): "publishing/mirror/\(name)"
    case .callbacks: "federation/callbacks"
    case .push(let destination): "publishing/push/\(destination)"
    case .loggedPolicy(let series): "publishing/policy/\(series)"
    case .logSize(let name): "publishing/log/\(name)"
    case .retention: "operating/retention"
    case .drainedReplicas: "operating/drained"
    case .begun: "operating/begun"
    case .forgottenTokens: "receiving/forgotten-tokens"
    case .probe: "operating/probe"
    case .volumes(let source): "receiving/volumes/\(source)"
    }
  }
}

/// A note that gets another value; `nil` removes it.
package struct NoteChange: Hashable, Sendable {
  package var note: StoredNote
  package var value: [UInt8]?

  package init(_ note: StoredNote, _ value: [UInt8]?) {
    self.note = note
    self.value = value
  }
}

/// The names that a peer listed, as a note.
package enum SourceListing {
  package static func note(of names: [String]) -> [UInt8] { Array(names.joined(separator: "\n").utf8) }

  package static func names(in note: [UInt8]) -> [String] {
    String(decoding: note, as: UTF8.self).split(separator: "\n").map(String.init)
  }
}
