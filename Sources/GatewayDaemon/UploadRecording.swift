internal import GatewayServer
internal import KeyIntake
internal import KeyReceiving

/// The server's doors, and the one way in behind them.
struct UploadRecording: UploadRecorder {
  let intake: UploadIntake

  func record(_ upload: ReceivedUpload) async throws -> RecordedUpload {
    try await refusing {
      let receipt = try await intake.accept(
        upload.keys, certificate: upload.certificate, byteCount: upload.byteCount)
      return RecordedUpload(
        accepted: receipt.accepted,
        dropped: receipt.dropped.map { DroppedKey(position: $0.position, reason: $0.detail) })
    }
  }

  func pass() async throws { try await refusing { try await intake.pass() } }

  private func refusing<Result>(_ body: () async throws -> Result) async throws -> Result {
    do {
      return try await body()
    } catch UploadIntake.Refusal.fault(let reason) {
      throw UploadFault(reason: reason)
    } catch UploadIntake.Refusal.busy {
      throw UploadFault(reason: "too many uploads wait; try again later", isTemporary: true)
    }
  }
}
