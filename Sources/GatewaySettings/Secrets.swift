internal import BundleTrust
internal import KeyPeers
internal import PolicyFiles

/// Secrets come from files or from the environment. They are never written in the configuration, and messages never
/// repeat what was.
extension GatewayReader {
  /// In place of a secret that nobody asked for; as long as any has to be.
  private static let unread = Secret(String(repeating: "0", count: 64))

  static let secretForm = Section.secretForm.filter { $0 != "`" }

  /// - Parameters:
  ///   - isPrefixed: whether a `prefix` may say what stands before the secret: `"Bearer "`.
  ///   - isNeeded: whether it is read where no secrets are, because nothing can be said without it.
  func secret(_ setting: Setting, isPrefixed: Bool = false, isNeeded: Bool = false) -> Secret? {
    guard !setting.isText else {
      return setting.fault("a secret is never written here, allowed \(Self.secretForm)")
    }
    guard let section = setting.section(hidesNames: true) else { return nil }
    let file = section.take("file")
    let variable = section.take("env")
    let prefix = isPrefixed ? section.take("prefix").flatMap { $0.text() } ?? "" : ""
    section.finish()
    guard readsSecrets || isNeeded else { return Self.unread }
    let text: String?
    switch (file, variable) {
    case (let file?, nil):
      text = secret(inFile: file)
      // What led to no file may be the secret itself.
      if text != nil { secretFiles[setting.place.path] = resolvedPath(file) }
    case (nil, let variable?): text = secret(inVariable: variable)
    default: return setting.fault("allowed one of \(Self.secretForm)")
    }
    guard let text else { return nil }
    guard !text.isEmpty else { return setting.fault("the secret is empty") }
    return Secret(prefix + text)
  }

  /// A private key as PEM.
  func privateKey(_ setting: Setting) -> Secret? {
    guard let key = secret(setting) else { return nil }
    guard readsSecrets else { return key }
    guard key.disclosed.contains("-----BEGIN "), key.disclosed.contains("PRIVATE KEY-----") else {
      return setting.fault(inFile(at: setting.place, "no PEM block with a private key"))
    }
    return key
  }

  private func secret(inFile setting: Setting) -> String? {
    guard let path = resolvedPath(setting), let bytes = contents(setting, limit: Allowed.secretBytes) else {
      return nil
    }
    if let permissions = files.permissions(of: path) {
      // The group may be the service's own.
      if permissions & 0o007 != 0 {
        setting.add("mode \(octal(permissions)): everyone on this machine may open it; chmod o= it", isWarning: true)
      } else if permissions & 0o020 != 0 {
        setting.add("mode \(octal(permissions)): its group may write it; chmod g-w it", isWarning: true)
      }
    }
    guard let text = String(validating: bytes, as: UTF8.self) else { return setting.fault("the secret is not UTF-8") }
    return text.trimmed
  }

  private func secret(inVariable setting: Setting) -> String? {
    guard let name = setting.text() else { return nil }
    guard let value = environment[name] else {
      return setting.fault("the environment has no variable \(Self.isUsual(variable: name) ? name : "of that name")")
    }
    guard value.utf8.count <= Allowed.secretBytes else {
      return setting.fault("\(value.utf8.count) bytes, allowed 1...\(Allowed.secretBytes)")
    }
    return value.trimmed
  }

  /// Capital letters, digits and `_`. What is no such name may be the secret itself, so it is not repeated.
  private static func isUsual(variable name: String) -> Bool {
    (1...40).contains(name.utf8.count)
      && name.unicodeScalars.allSatisfy { ("A"..."Z").contains($0) || ("0"..."9").contains($0) || $0 == "_" }
  }

  // MARK: Headers

  func headers(_ section: Section) -> [TransportSettings.Header] {
    var headers: [TransportSettings.Header] = []
    section.declareSecret("*", isPrefixed: true)
    section.any(
      "a text if it is no secret; `{file: PATH, prefix: \"Bearer \"}`, `{env: NAME}`", as: .either(.word, .section),
      "The header's value."
    ) { name, setting in
      guard (1...64).contains(name.utf8.count),
        name.unicodeScalars.allSatisfy({ $0.isLetterOrDigit || $0 == "-" || $0 == "_" })
      else { return setting.add("allowed the name of a header: Authorization") }
      guard !headers.contains(where: { $0.name.lowercased() == name.lowercased() }) else {
        return setting.add("the header is stated twice")
      }
      guard let value = headerValue(setting, of: name) else { return }
      guard value.disclosed.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) else {
        return setting.add("the value holds characters that no header may hold")
      }
      headers.append(TransportSettings.Header(name, value))
    }
    return headers
  }

  private func headerValue(_ setting: Setting, of name: String) -> Secret? {
    guard setting.isText else { return secret(setting, isPrefixed: true) }
    guard let text = setting.text() else { return nil }
    guard !Self.isSecret(header: name, value: text) else {
      return setting.fault("a secret is never written here, allowed {file: PATH, prefix: \"Bearer \"} or {env: NAME}")
    }
    return Secret(text)
  }

  /// By the words of its name, or the look of its value.
  private static func isSecret(header name: String, value: String) -> Bool {
    let words = ["auth", "cookie", "token", "key", "secret", "password", "credential", "session", "signature"]
    let name = name.lowercased()
    let value = value.lowercased()
    return words.contains { name.contains($0) } || ["bearer ", "basic ", "digest "].contains { value.hasPrefix($0) }
  }
}

func octal(_ permissions: UInt32) -> String {
  let digits = String(permissions, radix: 8)
  return String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits
}

extension String {
  /// Without the white space around it: files end with a newline.
  fileprivate var trimmed: String {
    let isSpace = { (scalar: Unicode.Scalar) in scalar == " " || ("\t"..."\r").contains(scalar) }
    var text = unicodeScalars[...]
    while let first = text.first, isSpace(first) { text.removeFirst() }
    while let last = text.last, isSpace(last) { text.removeLast() }
    return String(text)
  }
}
