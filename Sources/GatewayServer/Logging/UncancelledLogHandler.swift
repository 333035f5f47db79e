internal import Logging
internal import NIOCore

/// Leaves out what the framework reports as an error when its service is cancelled: the service that failed and so ended the others
/// reports the cause.
struct UncancelledLogHandler: LogHandler {
  var handler: any LogHandler

  var logLevel: Logger.Level {
    get { handler.logLevel }
    set { handler.logLevel = newValue }
  }
  var metadata: Logger.Metadata {
    get { handler.metadata }
    set { handler.metadata = newValue }
  }
  var metadataProvider: Logger.MetadataProvider? {
    get { handler.metadataProvider }
    set { handler.metadataProvider = newValue }
  }

  subscript(metadataKey key: String) -> Logger.MetadataValue? {
    get { handler[metadataKey: key] }
    set { handler[metadataKey: key] = newValue }
  }

  func log(event: LogEvent) {
    let message = event.message.description
    let isCancelled = event.error is CancellationError || message.hasSuffix("\(CancellationError())")
    // A socket that the service closed on its own before the framework did.
    let isClosedTwice =
      message.hasPrefix("Server shutdown error: ") && message.hasSuffix("\(ChannelError.alreadyClosed)")
    if !isCancelled, !isClosedTwice { handler.log(event: event) }
  }
}
