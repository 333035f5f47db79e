internal import ExposureKeys
internal import KeyNormalization

/// One state of the store in memory, which its body may change; nobody else sees it before the body has returned.
final class MemoryTransaction: StoreTransaction {
  var state: MemoryState

  init(_ state: MemoryState) { self.state = state }

  // MARK: Sources and documents

  func sources() -> [SourceRecord] { state.sources.values.sorted { $0.name < $1.name } }

  func source(named name: String) -> SourceRecord? { state.sources[name] }

  func documents(of source: String?, in states: Set<DocumentState>, limit: Int) -> [DocumentRecord] {
    let all = state.documents.filter { states.contains($0.state) && (source == nil || $0.source == source) }
    return Array(all.suffix(max(0, limit)))
  }

  func documents(of source: String, rejecting reason: String) -> [DocumentRecord] {
    documents(of: source, in: [.recorded], limit: .max).filter { record in
      record.facts?.rejections[reason] != nil && state.contents[record.id] != nil
    }
  }

  func waitingDocuments(limit: Int) -> WaitingDocuments {
    let all = documents(of: nil, in: [.quarantined, .recorded], limit: .max)
      .map { WaitingDocument($0, holds: holds(of: $0.id)) }.filter { $0.state == .quarantined || $0.held > 0 }
      .sorted { ($0.changed, $0.id.rawValue) > ($1.changed, $1.id.rawValue) }
    return WaitingDocuments(newest: Array(all.prefix(max(0, limit))), count: all.count)
  }

  func document(_ id: DocumentID) -> DocumentRecord? {
    guard let index = index(of: id) else { return nil }
    return state.documents[index]
  }

  func document(named name: String, of source: String) -> DocumentRecord? {
    state.documentIDs[.init(source: source, name: name)].flatMap(document)
  }

  func content(of document: DocumentID) -> [UInt8]? { state.contents[document]?.bytes }

  func salt(of document: DocumentID) -> [UInt8]? { state.contents[document]?.salt }

  func keep(salt: [UInt8], of document: DocumentID) { state.contents[document]?.salt = salt }

  func keptContents() -> [(document: DocumentID, byteCount: Int)] {
    state.contents.map { ($0.key, $0.value.bytes.count) }.sorted { $0.0 < $1.0 }
  }

  func summary(of source: String) -> SourceSummary {
    var summary = SourceSummary()
    for document in state.documents where document.source == source {
      summary.documents[document.state, default: 0] += 1
      guard document.state == .recorded, let facts = document.facts else { continue }
      summary.counts += facts.counts
      summary.counts.allowances = [:]
    }
    return summary
  }

  func uploads(certificate digest: String) -> [UploadRecord] { state.uploads.filter { $0.certificate == digest } }

  func add(documents names: [String], of source: String, at now: Instant) -> DiscoveredDocuments {
    addSource(source)
    var new: [DocumentID] = []
    let all = names.map { name in
      if let known = document(named: name, of: source) { return known }
      let id = DocumentID(rawValue: Int64(state.documents.count + 1))
      let record = DocumentRecord(
        id: id, source: source, name: name, state: .discovered, discovered: now, changed: now)
      state.documents.append(record)
      state.documentIDs[.init(source: source, name: name)] = id
      new.append(id)
      return record
    }
    return DiscoveredDocuments(all: all, new: new)
  }

  func move(
    _ document: DocumentID, to state: DocumentState, fault: DocumentFault?, nextAttempt: Instant?, at now: Instant
  ) throws {
    try change(document) { record in
      record.state = state
      record.fault = state.keepsFault ? fault : nil
      record.nextAttempt = nextAttempt
      record.changed = now
      if state == .quarantined || state == .givenUp { record.attempts += 1 }
    }
  }

  func keep(_ bytes: StoredBytes, of document: DocumentID, until end: Instant) throws {
    guard index(of: document) != nil else { throw StorageFault.noDocument(document) }
    state.contents[document] = .init(bytes: try bytes.bytes(), end: end)
  }

  func complete(_ document: DocumentID, _ facts: DocumentFacts, at now: Instant) throws {
    try change(document) { record in
      record.state = .recorded
      record.fault = nil
      record.nextAttempt = nil
      record.changed = now
      record.facts = facts
    }
  }

  func setCursor(_ cursor: String?, of source: String) {
    addSource(source)
    state.sources[source]?.cursor = cursor
  }

  func setAttempt(_ attempt: SourceAttempt, of source: String) {
    addSource(source)
    state.sources[source]?.note(attempt)
  }

  func use(_ token: UsedToken) throws -> Bool {
    var end: Instant??
    guard state.usedTokens[token.digest] == nil, try !mayBeForgotten(token, knowing: &end) else { return false }
    state.usedTokens[token.digest] = token.end
    return true
  }

  func note(_ upload: UploadRecord) {
    addSource(upload.door)
    state.uploads.append(upload)
  }

  private func addSource(_ name: String) {
    if state.sources[name] == nil { state.sources[name] = SourceRecord(name: name) }
  }

  private func index(of id: DocumentID) -> Int? {
    state.documents.indices.contains(Int(id.rawValue) - 1) ? Int(id.rawValue) - 1 : nil
  }

  private func change(_ id: DocumentID, _ body: (inout DocumentRecord) -> Void) throws {
    guard let index = index(of: id) else { throw StorageFault.noDocument(id) }
    body(&state.documents[index])
  }

  func holds(of document: DocumentID) -> [String: Int] {
    (state.held[document] ?? [:]).values.reduce(into: [:]) { holds, holding in
      if holding.reason != .documentRefused { holds[holding.reason.rawValue, default: 0] += 1 }
    }
  }

  // MARK: Claims

  func claims(from start: TemporaryExposureKey, limit: Int, asOf event: EventID?) -> ClaimPage {
    var page = ClaimSet()
    var embargo = Embargo()
    var index = state.keys.partition { $0 >= start }
    while index < state.keys.count, page.count < max(1, limit) {
      add(state.keys[index], to: &page, asOf: event)
      // What was withdrawn counts; what had not come then does not.
      for (claim, arrival) in state.claims[state.keys[index]] ?? [:]
      where !arrival.stands(asOf: event) && event.map({ arrival.event.id <= $0 }) ?? true {
        embargo.add(claim.statement, about: claim.subject)
      }
      index += 1
    }
    if !page.isEmpty {
      for (claim, holding) in state.held.values.joined()
      where claim.subject.key >= start && event.map({ holding.event <= $0 }) ?? true {
        embargo.add(claim.statement, about: claim.subject)
      }
    }
    // Withdrawn claims at the end would make a page without claims.
    while index < state.keys.count, !hasClaims(state.keys[index], asOf: event) { index += 1 }
    return ClaimPage(claims: page, embargo: embargo, next: index < state.keys.count ? state.keys[index] : nil)
  }

  func claims(about key: TemporaryExposureKey, asOf event: EventID?) -> ClaimSet {
    var claims = ClaimSet()
    add(key, to: &claims, asOf: event)
    return claims
  }

  func claims(about keys: [TemporaryExposureKey]) -> ClaimPage {
    var page = ClaimSet()
    var embargo = Embargo()
    for key in keys where hasClaims(key, asOf: nil) {
      add(key, to: &page, asOf: nil)
      for (claim, place) in state.claims[key] ?? [:] where place.isRecalled {
        embargo.add(claim.statement, about: claim.subject)
      }
    }
    let asked = Set(keys)
    for claim in state.held.values.joined().map(\.key) where asked.contains(claim.subject.key) {
      embargo.add(claim.statement, about: claim.subject)
    }
    return ClaimPage(claims: page, embargo: embargo, next: nil)
  }

  func isWithdrawn(_ subject: KeySubject, asOf event: EventID?) -> Bool {
    state.claims[subject.key]?.contains { claim, place in
      guard claim.subject == subject, let recall = place.recall else { return false }
      return event.map { recall <= $0 } ?? true
    } ?? false
  }

  func record(of key: TemporaryExposureKey) -> KeyRecord {
    let released = state.released.sorted { $0.key < $1.key }.flatMap { series, keys in
      keys.filter { $0.key.key == key }.sorted { $0.key < $1.key }.map { SeriesRelease(series: series, key: $0.value) }
    }
    return KeyRecord(
      claims: (state.claims[key] ?? [:]).map(KeptClaim.init).sorted(by: KeptClaim.precedes),
      held: held(about: [key]), released: released)
  }

  func held(about keys: [TemporaryExposureKey]) -> [HeldClaim] {
    let keys = Set(keys)
    return state.held.flatMap { document, claims in
      claims.filter { keys.contains($0.key.subject.key) }.map {
        HeldClaim(claim: $0.key, document: document, reason: $0.value.reason)
      }
    }.sorted(by: HeldClaim.precedes)
  }

  func keptClaims(about keys: Set<TemporaryExposureKey>) -> [KeptClaim] {
    keys.flatMap { (state.claims[$0] ?? [:]).map(KeptClaim.init) }.sorted(by: KeptClaim.precedes)
  }

  func claims(broughtBy document: DocumentID, about keys: Set<TemporaryExposureKey>) -> [KeptClaim] {
    keptClaims(about: keys).filter { $0.document == document }
  }

  func held(of document: DocumentID) -> [StatedClaim] {
    Array((state.held[document] ?? [:]).keys).sorted(by: StatedClaim.precedes)
  }

  func claimCount() -> Int {
    state.claims.values.reduce(0) { $0 + $1.values.count { !$0.isRecalled } }
  }

  func claimCount(broughtBy document: DocumentID) -> Int {
    state.volumes.reduce(0) { $0 + ($1.key.document == document ? $1.value : 0) }
  }

  func volumes(on day: Day, of source: String) -> [String: Int] {
    state.volumes.reduce(into: [:]) { sum, volume in
      guard volume.key.time.day == day, document(volume.key.document)?.source == source else { return }
      sum[name(of: volume.key), default: 0] += volume.value
    }
  }

  func usualVolumes(before day: Day, of source: String) -> [String: Int] {
    var totals: [String: (claims: Int, days: Set<Day>)] = [:]
    for (arrival, count) in state.volumes
    where arrival.time.day < day && document(arrival.document)?.source == source {
      totals[name(of: arrival), default: (0, [])].claims += count
      totals[name(of: arrival), default: (0, [])].days.insert(arrival.time.day)
    }
    return totals.mapValues { $0.claims / max(1, $0.days.count) }
  }

  func arrivals(since start: Instant) -> [ArrivedClaims] {
    var sums: [ArrivedClaims: Int] = [:]
    for (arrival, count) in state.volumes where arrival.time >= start {
      guard let origin = arrival.origin, let source = document(arrival.document)?.source else { continue }
      sums[ArrivedClaims(day: arrival.time.day, origin: origin, source: source, claims: 0), default: 0] += count
    }
    return sums.map { ArrivedClaims(day: $0.key.day, origin: $0.key.origin, source: $0.key.source, claims: $0.value) }
      .sorted(by: ArrivedClaims.precedes)
  }

  func newestArrivals() -> [String: Instant] {
    state.volumes.keys.reduce(into: [:]) { newest, arrival in
      guard arrival.origin != nil, let source = document(arrival.document)?.source else { return }
      newest[source] = max(newest[source] ?? arrival.time, arrival.time)
    }
  }

  /// Whose volume it is, by the names of ``OriginVolumes``.
  private func name(of arrival: MemoryState.OriginArrival) -> String {
    arrival.origin ?? OriginVolumes.lostOrigin(of: document(arrival.document)?.source ?? "")
  }

  func record(_ batch: AdmittedBatch, of document: DocumentID, in event: EventStamp) throws -> ImportReceipt {
    guard index(of: document) != nil else { throw StorageFault.noDocument(document) }
    var receipt = ImportReceipt(beforeRecording: batch)
    let claims = batch.claims.map { StatedClaim($0, of: batch) }.sorted { $0.subject < $1.subject }
    var aside: [StatedClaim] = []
    for claim in claims {
      if isOtherOrigins(claim) {
        aside.append(claim)
        receipt.heldForOperator += 1
      } else {
        insert(CollectionOfOne(claim), of: document, in: event, counting: &receipt)
      }
    }
    for (claim, reason) in zip(batch.held, batch.heldReasons) {
      let claim = StatedClaim(claim, of: batch)
      // What is known already is no news that anybody would have to decide about.
      if state.claims[claim.subject.key]?[claim] != nil {
        receipt.heldForOperator -= 1
        receipt.known += 1
      }
      putAside(claim, because: reason, of: document, in: event)
    }
    for claim in aside { putAside(claim, because: .otherRollingStart, of: document, in: event) }
    return receipt
  }

  func releaseHeld(of document: DocumentID, in event: EventStamp) throws -> ImportReceipt {
    guard index(of: document) != nil else { throw StorageFault.noDocument(document) }
    let held = (state.held[document] ?? [:]).filter { $0.value.reason != .documentRefused }
    keepHeld(of: document) { held[$0] == nil }
    var receipt = ImportReceipt()
    receipt.received = held.count
    insert(held.keys, of: document, in: event, counting: &receipt)
    try change(document) { $0.facts?.counts.heldWasReleased(new: receipt.new) }
    return receipt
  }

  func forgetRefused(of document: DocumentID) {
    let refused = (state.held[document] ?? [:]).filter { $0.value.reason == .documentRefused }
    keepHeld(of: document) { refused[$0] == nil }
  }

  private func keepHeld(of document: DocumentID, where isKept: (StatedClaim) -> Bool) {
    for claim in (state.held[document] ?? [:]).keys where !isKept(claim) { noteLoss(of: claim.subject.key) }
    let left = (state.held[document] ?? [:]).filter { isKept($0.key) }
    state.held[document] = left.isEmpty ? nil : left
  }

  func discardHeld(of document: DocumentID) throws -> Int {
    let holds = holds(of: document)
    try change(document) { $0.facts?.counts.heldWasDiscarded(holds) }
    for claim in (state.held[document] ?? [:]).keys { noteLoss(of: claim.subject.key) }
    return state.held.removeValue(forKey: document)?.count ?? 0
  }

  func reread(
    _ change: ReadingChange, of document: DocumentID, from time: Instant, in event: EventStamp
  ) throws -> Int {
    guard index(of: document) != nil else { throw StorageFault.noDocument(document) }
    var places: [KeySubject: MemoryState.Recording] = [:]
    for claim in change.removed {
      guard let place = state.claims[claim.subject.key]?[claim], place.document == document else { continue }
      noteLoss(of: claim.subject.key)
      if places[claim.subject].map({ place.event.id < $0.event.id }) ?? true { places[claim.subject] = place }
      state.claims[claim.subject.key]?[claim] = nil
      if state.claims[claim.subject.key]?.isEmpty == true {
        state.claims[claim.subject.key] = nil
        state.keys.removeAll { $0 == claim.subject.key }
      }
      if !place.isRecalled { count(-1, claim.origin, place) }
    }
    let arrival = EventStamp(id: event.id, time: time)
    let sources = sourcesOfDocuments
    var new = 0
    // What replaces a claim has come with it, and so before what is new.
    let added = change.added.map { claim in
      (
        claim: claim,
        place: places[claim.subject]
          ?? MemoryState.Recording(document: document, event: arrival, isRereading: true)
      )
    }.sorted { left, right in
      left.place.event.id != right.place.event.id
        ? left.place.event.id < right.place.event.id : StatedClaim.precedes(left.claim, right.claim)
    }
    for (claim, place) in added {
      var place = place
      place.recall =
        state.recalls.first {
          $0.hasWithdrawn(claim.origin, of: document, by: sources[document], thatCameIn: place.arrival)
        }?.event
      if isOtherOrigins(claim) {
        putAside(claim, because: .otherRollingStart, of: document, in: event)
        continue
      }
      let key = claim.subject.key
      guard state.claims[key]?[claim] == nil else { continue }
      if state.claims[key] == nil {
        state.keys.append(key)
        state.keys.sort()
      }
      state.claims[key, default: [:]][claim] = place
      note(claim)
      new += 1
      if !place.isRecalled { count(1, claim.origin, place) }
    }
    for claim in change.heldRemoved {
      state.held[document]?[claim] = nil
      noteLoss(of: claim.subject.key)
    }
    for (claim, reason) in change.heldAdded { putAside(claim, because: reason, of: document, in: event) }
    if state.held[document]?.isEmpty == true { state.held[document] = nil }
    return new
  }

  /// What is known already is nothing to decide about, and what waits keeps the reason for which it waits.
  private func putAside(
    _ claim: StatedClaim, because reason: AdmissionReason, of document: DocumentID, in event: EventStamp
  ) {
    note(claim)
    guard state.claims[claim.subject.key]?[claim] == nil, state.held[document]?[claim] == nil else { return }
    state.held[document, default: [:]][claim] = MemoryState.Holding(reason: reason, event: event.id)
  }

  private func count(_ change: Int, _ origin: String?, _ place: MemoryState.Recording) {
    let arrival = MemoryState.OriginArrival(origin: origin, document: place.document, time: place.event.time)
    let sum = (state.volumes[arrival] ?? 0) + change
    state.volumes[arrival] = sum > 0 ? sum : nil
  }

  func erase(_ key: TemporaryExposureKey, contents: [DocumentID]) -> ErasureReceipt {
    var receipt = ErasureReceipt()
    receipt.claims = state.claims.removeValue(forKey: key)?.count ?? 0
    state.keys.removeAll { $0 == key }
    state.agenda.removeAll { $0.key == key }
    for (document, held) in state.held {
      let left = held.filter { $0.key.subject.key != key }
      receipt.held += held.count - left.count
      state.held[document] = left.isEmpty ? nil : left
    }
    for (series, keys) in state.released {
      let left = keys.filter { $0.key.key != key }
      receipt.released += keys.count - left.count
      state.released[series] = left
      state.earlierReleases[series] = state.earlierReleases[series]?.filter { $0.key.key != key }
    }
    for (destination, keys) in state.pushedKeys {
      for pushed in keys.values where pushed.subject.key == key { pushed.push.map { state.pushContents[$0] = nil } }
      state.pushedKeys[destination] = keys.filter { $0.key.key != key }
      receipt.released += keys.count - (state.pushedKeys[destination]?.count ?? 0)
    }
    receipt.contents = contents.filter { state.contents.removeValue(forKey: $0) != nil }
    state.federation.erase(key)
    return receipt
  }

  private func add(_ key: TemporaryExposureKey, to claims: inout ClaimSet, asOf event: EventID?) {
    for (claim, arrival) in state.claims[key] ?? [:] where arrival.stands(asOf: event) { claims.insert(stored: claim) }
  }

  /// Whether another origin was the first to name this key data, and under another rolling start; not so of a claim that is
  /// known.
  private func isOtherOrigins(_ claim: StatedClaim) -> Bool {
    guard let said = state.claims[claim.subject.key], said[claim] == nil else { return false }
    let standing = said.filter { !$0.value.isRecalled }
    let first = standing.min {
      ($0.value.event.id, $0.key.subject.rollingStart) < ($1.value.event.id, $1.key.subject.rollingStart)
    }
    guard let start = first?.key.subject.rollingStart, start != claim.subject.rollingStart else { return false }
    return !standing.keys.contains { $0.subject.rollingStart == start && $0.origin == claim.origin }
  }

  private func hasClaims(_ key: TemporaryExposureKey, asOf event: EventID?) -> Bool {
    state.claims[key]?.values.contains { $0.stands(asOf: event) } ?? false
  }

  private func insert(
    _ claims: some Sequence<StatedClaim>, of document: DocumentID, in event: EventStamp,
    counting receipt: inout ImportReceipt
  ) {
    let arrival = MemoryState.Recording(document: document, event: event)
    let keyCount = state.keys.count
    for claim in claims {
      let key = claim.subject.key
      if state.claims[key] == nil { state.keys.append(key) }
      guard state.claims[key]?[claim] == nil else {
        receipt.known += 1
        continue
      }
      state.claims[key, default: [:]][claim] = arrival
      note(claim)
      receipt.new += 1
      count(1, claim.origin, arrival)
    }
    if state.keys.count > keyCount { state.keys.sort() }
  }

  // MARK: Pauses and recalls

  func pauses() -> [Pause] { state.pauses.values.sorted { $0.subject < $1.subject } }

  func pause(_ pause: Pause) {
    var pause = pause
    pause.subject = pause.subject.normalized
    if case .source(let name) = pause.subject { addSource(name) }
    state.pauses[pause.subject] = pause
  }

  func resume(_ subject: Pause.Subject) -> Bool { state.pauses.removeValue(forKey: subject.normalized) != nil }

  func recalls() -> [Recall] { state.recalls }

  private var sourcesOfDocuments: [DocumentID: String] {
    Dictionary(state.documents.map { ($0.id, $0.source) }, uniquingKeysWith: { first, _ in first })
  }

  func preview(_ recall: RecallRequest) -> RecallPreview {
    var preview = RecallPreview()
    let sources = sourcesOfDocuments
    for said in state.claims.values {
      var isLeft: [KeySubject: Bool] = [:]
      for (claim, arrival) in said where !arrival.isRecalled {
        let isMeant = recall.means(
          origin: claim.origin, document: arrival.document, of: sources[arrival.document], at: arrival.event.time)
        isLeft[claim.subject] = isLeft[claim.subject] ?? false || !isMeant
        guard isMeant else { continue }
        preview.claims += 1
        preview.documents.insert(arrival.document)
      }
      for (subject, isLeft) in isLeft where !isLeft {
        preview.keysLeftWithoutClaims += 1
        for (series, keys) in state.released {
          guard let last = keys[subject]?.bundle else { continue }
          let earlier = state.earlierReleases[series]?[subject]
          let bundles = Set([last, earlier?.first, earlier?.revision?.bundle].compactMap(\.self))
          preview.releases[.init(of: subject, by: series, with: bundles), default: 0] += 1
        }
      }
    }
    return preview
  }

  func recall(_ request: RecallRequest, in event: EventStamp, by word: OperatorWord?) -> RecallPreview {
    let preview = preview(request)
    let sources = sourcesOfDocuments
    for (key, said) in state.claims {
      for (claim, arrival) in said
      where !arrival.isRecalled
        && request.means(
          origin: claim.origin, document: arrival.document, of: sources[arrival.document], at: arrival.event.time)
      {
        state.claims[key]?[claim]?.recall = event.id
      }
    }
    state.volumes = state.volumes.filter {
      !request.means(
        origin: $0.key.origin, document: $0.key.document, of: sources[$0.key.document], at: $0.key.time)
    }
    state.recalls.append(
      Recall(request: request, event: event.id, time: event.time, claims: preview.claims, word: word))
    return preview
  }

  // MARK: Agenda

  func agenda(after event: EventID, endingIn hours: ClosedRange<Int64>, limit: Int) -> [TemporaryExposureKey]? {
    guard state.agendaFloor.knows(after: event, endingIn: hours) else { return nil }
    let entries = state.agenda.filter { entry in
      entry.event > event ? entry.hour <= hours.upperBound : hours.contains(entry.hour)
    }
    return entries.count > limit ? nil : Set(entries.map(\.key)).sorted()
  }

  func lookAgain(at keys: [TemporaryExposureKey]) {
    for key in keys { note(key, for: AgendaHour.now) }
  }

  func sweepAgenda(to floor: AgendaFloor) {
    let floor = state.agendaFloor.raised(to: floor)
    state.agenda.removeAll { $0.event <= floor.event && $0.hour <= floor.hour }
    state.agendaFloor = floor
  }

  private func note(_ claim: StatedClaim) {
    let (hour, short) = claim.statement.agendaHours(from: claim.subject.rollingStart)
    note(claim.subject.key, for: hour)
    if let short { note(claim.subject.key, for: short) }
  }

  /// What is not said any more may be due at once. The event may be written down later.
  private func noteLoss(of key: TemporaryExposureKey) { note(key, for: AgendaHour.now, isOpen: false) }

  private func note(_ key: TemporaryExposureKey, for hour: Int64, isOpen: Bool = true) {
    let number = AgendaPiece.number(of: state.lastEvent, isOpen: isOpen, isSmall: false)
    state.agenda.append(MemoryState.AgendaEntry(event: number, hour: hour, key: key))
  }

  // MARK: Expiry

  func expire(keysExpiredBefore: Instant, contentBytes: Int, at now: Instant) throws -> ExpiryReceipt {
    var receipt = ExpiryReceipt(claims: 0, released: 0, contents: 0)
    for (key, said) in state.claims {
      let left = said.filter { !$0.key.key.isOver(at: keysExpiredBefore) }
      if left.count < said.count, receipt.claims >= state.expiredAtOnce {
        receipt.isUnfinished = true
        continue
      }
      receipt.claims += said.count - left.count
      state.claims[key] = left.isEmpty ? nil : left
    }
    state.keys = state.keys.filter { state.claims[$0] != nil }
    state.agenda.removeAll { entry in
      entry.hour > AgendaHour.now && entry.hour * 3600 <= keysExpiredBefore.secondsSince1970
    }
    for (document, held) in state.held {
      let left = held.filter { !$0.key.key.isOver(at: keysExpiredBefore) }
      receipt.claims += held.count - left.count
      state.held[document] = left.isEmpty ? nil : left
    }
    for (series, keys) in state.released {
      let left = keys.filter { !$0.value.key.isOver(at: keysExpiredBefore) }
      receipt.released += keys.count - left.count
      state.released[series] = left
      state.earlierReleases[series] = state.earlierReleases[series]?.filter { left[$0.key] != nil }
    }
    for (destination, keys) in state.pushedKeys {
      let left = keys.filter { !$0.value.isOver(at: keysExpiredBefore) }
      receipt.released += keys.count - left.count
      state.pushedKeys[destination] = left
    }
    let kept = state.contents.filter { $0.value.end > now }
    receipt.contents = state.contents.count - kept.count
    state.contents = kept
    receipt.crowdedOut = makeRoom(within: contentBytes)
    state.federation.expire(at: now)
    let over = UsedToken.forgettable(by: now)
    if let last = state.usedTokens.values.filter({ $0 <= over }).max() {
      try noteForgottenTokens(endedBy: last)
      state.usedTokens = state.usedTokens.filter { $0.value > over }
    }
    expireEvents(before: keysExpiredBefore)
    return receipt
  }

  private func makeRoom(within limit: Int) -> Int {
    let isRecorded = { [state] (id: DocumentID) in
      state.documents.indices.contains(Int(id.rawValue) - 1)
        && state.documents[Int(id.rawValue) - 1].state == .recorded
    }
    // The last ones to go come first.
    let order = state.contents.keys.sorted { left, right in
      isRecorded(left) == isRecorded(right) ? left > right : isRecorded(right)
    }
    var (total, dropped) = (0, 0)
    for id in order {
      total += state.contents[id]?.bytes.count ?? 0
      guard total > limit else { continue }
      state.contents[id] = nil
      dropped += 1
    }
    return dropped
  }

  private func expireEvents(before end: Instant) {
    let old = Set(state.events.filter { $0.event.time < end }.map(\.id))
    let queued = Set(state.queue.map(\.event))
    state.uploads.removeAll { old.contains($0.event) }
    state.events.removeAll { $0.event.kind.isRoutine && old.contains($0.id) && !queued.contains($0.id) }
  }

  // MARK: Events

  func events(from start: EventID, limit: Int) -> [EventRecord] {
    Array(state.events.lazy.filter { $0.id >= start }.prefix(max(0, limit)))
  }

  func lastEvent() -> EventRecord? { state.events.last }

  func enter(_ event: NewEvent) -> EventStamp {
    state.lastEvent = EventID(rawValue: state.lastEvent.rawValue + 1)
    state.events.append(EventRecord(id: state.lastEvent, event: event))
    return EventStamp(id: state.lastEvent, time: event.time)
  }

  func queuedEntries(limit: Int) -> [QueuedEntry] { Array(state.queue.prefix(max(0, limit))) }

  func queueStanding() -> (count: Int, since: Instant)? {
    state.queue.first.flatMap { first in
      state.events.first { $0.id == first.event }.map { (state.queue.count, $0.event.time) }
    }
  }

  func enqueue(_ bytes: [UInt8], kind: String, event: EventID) {
    state.lastQueued = QueuedEntryID(rawValue: state.lastQueued.rawValue + 1)
    state.queue.append(QueuedEntry(id: state.lastQueued, event: event, kind: kind, bytes: bytes))
  }

  func dequeue(_ entries: [QueuedEntryID]) {
    let taken = Set(entries)
    state.queue.removeAll { taken.contains($0.id) }
  }

  // MARK: Publishing

  func logHead(named name: String) -> LogHead? { state.logHeads[name] }

  func moveLog(named name: String, from seen: LogHead.Tree?, to head: LogHead) throws {
    try head.check(follows: seen, present: state.logHeads[name], named: name)
    state.logHeads[name] = head
  }

  func bundles(of series: String?, in states: Set<BundleState>) -> [BundleRecord] {
    state.bundles.filter { states.contains($0.state) && (series == nil || $0.bundle.series == series) }
  }

  func content(of bundle: BundleID) -> [UInt8]? { state.bundleContents[bundle] }

  func released(
    by series: String, from start: TemporaryExposureKey, limit: Int, before bundle: BundleID?
  ) -> [ReleasedKey] {
    let all = (state.released[series] ?? [:]).filter { $0.key.key >= start }.sorted { $0.key < $1.key }
    guard let bundle else { return all.prefix(max(0, limit)).map(\.value) }
    let then = all.lazy.compactMap { [state] subject, key -> ReleasedKey? in
      let earlier = state.earlierReleases[series]?[subject]
      guard earlier?.first ?? key.bundle < bundle else { return nil }
      if let revision = earlier?.revision, revision.bundle >= bundle { return revision.before }
      return key
    }
    return Array(then.prefix(max(0, limit)))
  }

  func released(by series: String, about keys: [TemporaryExposureKey]) -> [ReleasedKey] {
    let asked = Set(keys)
    return (state.released[series] ?? [:]).filter { asked.contains($0.key.key) }.sorted { $0.key < $1.key }.map(\.value)
  }

  func recipe(of bundle: BundleID) -> StagedRecipe? { state.recipes[bundle] }

  func keep(_ recipe: NewRecipe, of bundles: [BundleID], stagedIn event: EventStamp) {
    guard let first = bundles.first, let last = bundles.last else { return }
    for (bundle, own) in zip(bundles, recipe.bundles) {
      state.recipes[bundle] = StagedRecipe(event: event, first: first, last: last, round: recipe.round, bundle: own)
    }
  }

  func note(named name: String) -> [UInt8]? { state.notes[name] }

  func stage(_ bundle: NewBundle, _ content: StoredBytes, at now: Instant) throws -> BundleRecord {
    let isTaken = state.bundles.contains {
      $0.bundle.series == bundle.series && $0.bundle.kind == bundle.kind && $0.bundle.ordinal == bundle.ordinal
    }
    if isTaken { throw StorageFault.placeTaken(bundle) }
    let id = BundleID(rawValue: Int64(state.bundles.count + 1))
    let record = BundleRecord(id: id, bundle: bundle, state: .staged, changed: now, published: nil)
    state.bundles.append(record)
    state.bundleContents[id] = try content.bytes()
    return record
  }

  func release(_ keys: [ReleasedKey], by series: String) throws {
    for key in keys {
      guard state.bundles.indices.contains(Int(key.bundle.rawValue) - 1) else {
        throw StorageFault.noBundle(key.bundle)
      }
      var tidied = key.withoutTables
      let subject = KeySubject(key: tidied.key.key, rollingStart: tidied.key.rollingStartWord)
      if let known = state.released[series]?[subject] {
        tidied.origins = known.origins
        var earlier =
          state.earlierReleases[series]?[subject] ?? MemoryState.EarlierRelease(first: known.bundle, revision: nil)
        if tidied.revisions > known.revisions { earlier.revision = (tidied.bundle, known) }
        state.earlierReleases[series, default: [:]][subject] = earlier
      }
      state.released[series, default: [:]][subject] = tidied
    }
  }

  func move(_ bundle: BundleID, to end: BundleState, at now: Instant) throws {
    let index = Int(bundle.rawValue) - 1
    guard state.bundles.indices.contains(index) else { throw StorageFault.noBundle(bundle) }
    state.bundles[index].state = end
    state.bundles[index].changed = now
    if end == .published, state.bundles[index].published == nil { state.bundles[index].published = now }
    if end != .staged { state.bundleContents[bundle] = nil }
  }

  func setNote(_ value: [UInt8]?, named name: String) { state.notes[name] = value }

  // MARK: Pushing

  func pushes(to destination: String?, in states: Set<PushState>) -> [PushRecord] {
    state.pushes.filter {
      states.contains($0.state) && destination.map { [push = $0.push] in push.destination == $0 } ?? true
    }
  }

  func pushCount(to destination: String, since start: Instant) -> Int {
    state.pushes.count { $0.push.destination == destination && $0.staged >= start }
  }

  func content(of push: PushID) -> [UInt8]? { state.pushContents[push] }

  func pushedKeys(
    to destination: String, from start: TemporaryExposureKey, before end: TemporaryExposureKey?
  ) -> [PushedKey] {
    (state.pushedKeys[destination] ?? [:]).filter {
      $0.key.key >= start && end.map { [key = $0.key.key] in key < $0 } ?? true
    }
    .sorted { $0.key < $1.key }.map(\.value)
  }

  func keys(of push: PushID) -> [PushedKey] {
    state.pushedKeys.values.flatMap(\.values).filter { $0.push == push && $0.state == .batched }
      .sorted { $0.position < $1.position }
  }

  func pushes(of key: TemporaryExposureKey) -> [KeyPush] {
    state.pushedKeys.sorted { $0.key < $1.key }.flatMap { destination, keys in
      keys.filter { $0.key.key == key }.sorted { $0.key < $1.key }
        .map { KeyPush(destination: destination, key: $0.value) }
    }
  }

  func pushedKeyCounts(to destination: String) -> [PushedKeyState: Int] {
    (state.pushedKeys[destination] ?? [:]).values.reduce(into: [:]) { $0[$1.state, default: 0] += 1 }
  }

  func stage(_ push: NewPush, _ content: [UInt8], at now: Instant) throws -> PushRecord {
    let isTaken = state.pushes.contains { $0.push.destination == push.destination && $0.push.tag == push.tag }
    if isTaken { throw StorageFault.tagTaken(push) }
    let id = PushID(rawValue: Int64(state.pushes.count + 1))
    let record = PushRecord(id: id, push: push, state: .staged, staged: now, changed: now)
    state.pushes.append(record)
    state.pushContents[id] = content
    return record
  }

  func move(_ push: PushID, to end: PushState, at now: Instant) throws {
    let index = Int(push.rawValue) - 1
    guard state.pushes.indices.contains(index) else { throw StorageFault.noPush(push) }
    (state.pushes[index].state, state.pushes[index].changed) = (end, now)
    if end != .staged { state.pushContents[push] = nil }
  }

  func note(_ keys: [PushedKey], to destination: String) {
    for key in keys { state.pushedKeys[destination, default: [:]][key.subject] = key }
  }
}

extension PushedKey {
  fileprivate func isOver(at instant: Instant) -> Bool {
    IntervalNumber(Int64(subject.rollingStart) + Int64(row.rollingPeriod)).start <= instant
  }
}

extension KeptClaim {
  fileprivate init(_ claim: StatedClaim, _ place: MemoryState.Recording) {
    self.init(
      claim: claim, document: place.document, event: place.event.id, arrived: place.event.time, recall: place.recall)
  }
}

extension [TemporaryExposureKey] {
  /// The first position for which `isLater` holds, in an array where it holds from some position on.
  fileprivate func partition(_ isLater: (Element) -> Bool) -> Int {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if isLater(self[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
