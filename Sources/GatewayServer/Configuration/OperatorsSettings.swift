/// The address at which operators are answered, apart from that of phones.
package struct OperatorsSettings: Hashable, Sendable {
  package var host: String
  package var port: Int
  /// Who is answered there with metrics and the page; anybody who reaches the address is told whether the gateway works.
  package var clients = AddressBlock.ofThisMachine

  package init(host: String = "127.0.0.1", port: Int = 9091) {
    self.host = host
    self.port = port
  }
}
