// PeerTransportTests
