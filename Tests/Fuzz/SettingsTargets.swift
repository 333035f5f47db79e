import KeyNormalization
import PolicyFiles

/// What operators write: YAML.
let settingsTargets: [String: FuzzTarget] = ["settings": fuzzSettings]

/// A text is a policy or has faults, the same ones each time, and each stands in the text or says no place.
@Sendable private func fuzzSettings(_ input: UnsafeRawBufferPointer) {
  let text = String(decoding: input, as: UTF8.self)
  let found = read(text)
  precondition(found == read(text))
  guard case .refused(let faults) = found else { return }
  precondition(!faults.isEmpty)
  // YAML ends lines at more than line feeds.
  let lines = text.unicodeScalars.count { ["\n", "\r", "\u{85}", "\u{2028}", "\u{2029}"].contains($0) } + 1
  for fault in faults {
    precondition((0...lines + 1).contains(fault.line) && fault.column >= 0)
    precondition((fault.line == 0) == (fault.column == 0))
    precondition(fault.reason.utf8.count < 4096)
  }
}

private enum Found: Equatable {
  case policy(Policy)
  case refused([PolicyFault])
}

private func read(_ text: String) -> Found {
  do {
    return .policy(try PolicyFile.parse(text, named: "fuzz.yaml"))
  } catch {
    return .refused(error.faults)
  }
}
