internal import Logging

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
    let isCancelled = event.error is CancellationError || event.message.description.hasSuffix("\(CancellationError())")
    if !isCancelled { handler.log(event: event) }
  }
}
