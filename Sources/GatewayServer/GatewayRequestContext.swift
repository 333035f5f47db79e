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
}
