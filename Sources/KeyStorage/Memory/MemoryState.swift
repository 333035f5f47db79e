internal import ExposureKeys
internal import KeyNormalization

/// Everything that the store in memory holds.
struct MemoryState: Sendable {
  var sources: [String: SourceRecord] = [:]
  /// The document with number n stands at n − 1.
  var documents: [DocumentRecord] = []
  var documentIDs: [DocumentName: DocumentID] = [:]
  var contents: [DocumentID: Content] = [:]

  var claims: [TemporaryExposureKey: [StatedClaim: Recording]] = [:]
  /// The keys of `claims` in their order.
  var keys: [TemporaryExposureKey] = []
  var held: [DocumentID: [StatedClaim: Holding]] = [:]
  var agenda: [AgendaEntry] = []
  var agendaFloor = AgendaFloor.none
  /// How many claims of an origin were new in one arrival.
  var volumes: [OriginArrival: Int] = [:]
  var pauses: [Pause.Subject: Pause] = [:]
  var recalls: [Recall] = []

  /// The bundle with number n stands at n − 1.
  var bundles: [BundleRecord] = []
  var bundleContents: [BundleID: [UInt8]] = [:]
  var released: [String: [KeySubject: ReleasedKey]] = [:]
  /// Of released keys what a later bundle of the series changed about them.
  var earlierReleases: [String: [KeySubject: EarlierRelease]] = [:]
  var recipes: [BundleID: StagedRecipe] = [:]
  var notes: [String: [UInt8]] = [:]
  var logHeads: [String: LogHead] = [:]

  var federation = MemoryFederation()

  /// The batch with number n stands at n − 1.
  var pushes: [PushRecord] = []
  var pushContents: [PushID: [UInt8]] = [:]
  var pushedKeys: [String: [KeySubject: PushedKey]] = [:]

  var events: [EventRecord] = []
  var lastEvent = EventID(rawValue: 0)
  /// Claims that one call of expiry removes, about.
  var expiredAtOnce = Int.max
  var uploads: [UploadRecord] = []
  /// When each ends, by its digest.
  var usedTokens: [[UInt8]: Instant] = [:]
  var queue: [QueuedEntry] = []
  var lastQueued = QueuedEntryID(rawValue: 0)

  struct DocumentName: Hashable {
    var source: String
    var name: String
  }

  struct Content {
    var bytes: [UInt8]
    var end: Instant
    var salt: [UInt8]?
  }

  /// When a claim came in first, and with what.
  struct Recording: Hashable {
    var document: DocumentID
    var event: EventStamp
    /// Whether another reading of the document brought it.
    var isRereading = false
    /// The event that withdrew it.
    var recall: EventID?

    var isRecalled: Bool { recall != nil }
    var arrival: ArrivalStamp { ArrivalStamp(id: event.id, time: event.time, isRereading: isRereading) }

    /// Whether the claim was known, and not withdrawn, when an event had happened; `nil` is now.
    func stands(asOf event: EventID?) -> Bool {
      guard let event else { return recall == nil }
      return self.event.id <= event && recall.map { $0 > event } ?? true
    }
  }

  /// With which bundle a key was released first, and as what before its revision.
  struct EarlierRelease {
    var first: BundleID
    var revision: (bundle: BundleID, before: ReleasedKey)?
  }

  struct AgendaEntry: Hashable {
    var event: EventID
    var hour: Int64
    var key: TemporaryExposureKey
  }

  /// Why a claim is put aside for the operator, and since which event.
  struct Holding {
    var reason: AdmissionReason
    var event: EventID
  }

  struct OriginArrival: Hashable {
    /// `nil` where it is lost.
    var origin: String?
    var document: DocumentID
    var time: Instant
  }
}

extension ClaimedKey {
  /// Whether the key is not valid any more at `instant`.
  func isOver(at instant: Instant) -> Bool {
    IntervalNumber(Int64(rollingStartWord) + Int64(rollingPeriodWord)).start <= instant
  }
}
