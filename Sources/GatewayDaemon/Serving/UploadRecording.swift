internal import BundleTrust
internal import GatewayServer
internal import KeyIntake
internal import KeyReceiving
internal import KeyStorage

/// The server's doors, and the one way in behind them.
struct UploadRecording: UploadRecorder {
  let intake: UploadIntake
  let source: UploadSource
  let health: UploadHealth

  init(_ source: UploadSource, intake: UploadIntake, health: UploadHealth) {
    self.source = source
    self.intake = intake
    self.health = health
  }

  func record(_ upload: ReceivedUpload) async throws -> RecordedUpload {
    try await refusing {
      let receipt = try await intake.accept(
        upload.keys, for: regions(upload.audience), proof: upload.proof, certificate: upload.certificate,
        token: upload.token.map(used),
        byteCount: upload.byteCount)
      return RecordedUpload(
        accepted: receipt.accepted, inserted: receipt.inserted,
        dropped: receipt.dropped.map { DroppedKey(position: $0.position, reason: $0.detail) },
        revisable: receipt.recorded)
    }
  }

  func pass(redeeming token: OneTimeToken?) async throws {
    try await refusing { try await intake.pass(redeeming: token.map(used)) }
  }

  /// Doors may give the same name to two tokens.
  private func used(_ token: OneTimeToken) -> UsedToken {
    UsedToken(digest: FederationDigest.sha256(Array("\(source.name)\n\(token.name)".utf8)), end: token.end)
  }

  /// `nil` is what the door says.
  private func regions(_ audience: UploadAudience) -> [String]? {
    let home = source.origin.uppercased()
    switch audience {
    case .regionsOfDoor: return nil
    case .homeRegion: return [home]
    case .regions(let names): return Set(names + [home]).sorted()
    }
  }

  private func refusing<Result>(_ body: () async throws -> Result) async throws -> Result {
    do {
      let result = try await body()
      health.succeeded()
      return result
    } catch UploadIntake.Refusal.fault(let reason) {
      throw UploadFault(reason: reason)
    } catch UploadIntake.Refusal.noKeys(let reason) {
      throw UploadFault(.noKeys, reason: reason)
    } catch UploadIntake.Refusal.revision(let fault) {
      throw UploadFault(.revision(fault), reason: fault.reason)
    } catch UploadIntake.Refusal.usedToken {
      throw UploadFault(.usedToken, reason: "the token is not valid")
    } catch UploadIntake.Refusal.busy {
      throw UploadFault(.moment, reason: "too many uploads wait; try again later")
    } catch let fault as StorageFault where fault.mayPass {
      health.failed(fault)
      throw UploadFault(.away, reason: fault.reason)
    } catch {
      if !(error is CancellationError) { health.failed(error) }
      throw error
    }
  }
}
