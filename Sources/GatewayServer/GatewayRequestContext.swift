package import Hummingbird
internal import NIOCore

/// What the server knows of a request beside the request itself.
package struct GatewayRequestContext: RequestContext {
  package var coreContext: CoreRequestContextStorage
  let channel: any Channel

  package init(source: ApplicationRequestContextSource) {
    coreContext = CoreRequestContextStorage(source: source)
    channel = source.channel
  }

  /// Tells a client that waits for it that its content is about to be read. HTTP/2 has other ways to hold it back.
  func wantContent() {
    channel.eventLoop.execute { [channel] in
      try? channel.pipeline.syncOperations.handler(type: RequestFramingHandler.self).wantContent()
    }
  }
}
