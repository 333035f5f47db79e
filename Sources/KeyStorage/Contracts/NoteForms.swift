internal import FoundationEssentials

extension StoredNote {
  /// What is wrong with the form of a note, whoever reads it; `nil` where nothing is, or nobody here knows the name.
  ///
  /// - Parameter name: as the store has it.
  package static func fault(in value: [UInt8], named name: String) -> String? {
    guard let form = forms.first(where: { $0.isFor(name) }) else { return nil }
    guard form.fits(value) else {
      return "the note \(name) is \(value.isEmpty ? "empty" : "not what was written"), allowed is \(form.words)"
    }
    return hasPlainNumbers(value, named: name) ? nil : "the note \(name) has a number that no store writes"
  }

  /// Whether each number is a count or a time: who reads one adds to it and multiplies it.
  ///
  /// - Returns: `true` of what is no text with numbers.
  static func hasPlainNumbers(_ value: [UInt8], named name: String) -> Bool {
    guard let form = forms.first(where: { $0.isFor(name) }) else { return hasPlainNumbers(value) }
    return !form.hasNumbers || hasPlainNumbers(value)
  }

  /// Outside of texts of JSON: at most fifteen digits, and no exponent.
  private static func hasPlainNumbers(_ value: [UInt8]) -> Bool {
    var (isText, isEscaped, digits) = (false, false, 0)
    for byte in value {
      if isText {
        if isEscaped {
          isEscaped = false
        } else if byte == UInt8(ascii: "\\") {
          isEscaped = true
        } else if byte == UInt8(ascii: "\"") {
          isText = false
        }
        continue
      }
      let isExponent = digits > 0 && (byte == UInt8(ascii: "e") || byte == UInt8(ascii: "E"))
      digits = (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) ? digits + 1 : 0
      if isExponent || digits > 15 { return false }
      isText = byte == UInt8(ascii: "\"")
    }
    return true
  }

  private struct Form: Sendable {
    /// A name as a whole, or its beginning where it ends with a slash.
    let name: String
    let words: String
    /// Whether it is a text in which numbers stand.
    var hasNumbers = true
    let fits: @Sendable ([UInt8]) -> Bool

    func isFor(_ other: String) -> Bool { name.hasSuffix("/") ? other.hasPrefix(name) : other == name }
  }

  /// The longer one of two that begin alike comes first.
  private static let forms: [Form] = [
    Form(name: "publishing/padding-secret", words: "a secret", hasNumbers: false) { !$0.isEmpty },
    Form(name: "publishing/padding/", words: "entries of 24 bytes", hasNumbers: false) { $0.count % 24 == 0 },
    Form(name: "publishing/policy/", words: "a SHA-256", hasNumbers: false) { value in
      value.count == 64 && value.allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
    },
    object("publishing/series/"),
    typed("publishing/erasures", Erasures.self),
    typed("publishing/push/", PushAttempt.self),
    typed("gateway/clock-word", ClockWord.self),
    typed("gateway/clock/", ClockJudge.Record.self),
    typed("gateway/clock", ClockJudge.Record.self),
    typed("receiving/upload-hours/", [UploadHour].self),
    object("receiving/uploads-open/"),
    Form(name: "receiving/uploads/", words: "two numbers") { numbers($0)?.count == 2 },
    Form(name: "receiving/listing/", words: "lines of text", hasNumbers: false) {
      String(validating: $0, as: UTF8.self) != nil
    },
    typed("receiving/volumes/", VolumeRecord.self),
    Form(name: "receiving/forgotten-tokens", words: "a number") { numbers($0)?.count == 1 },
    Form(name: "operating/retention", words: "a number") { numbers($0)?.count == 1 },
    typed("operating/drained", [DrainedReplica].self),
    typed("operating/begun", StoreBeginning.self),
  ]

  private static func typed<Value: Decodable & Sendable>(_ name: String, _ type: Value.Type) -> Form {
    Form(name: name, words: "what this version reads") { (try? JSONDecoder().decode(type, from: Data($0))) != nil }
  }

  private static func object(_ name: String) -> Form {
    Form(name: name, words: "a JSON object") { (try? JSONDecoder().decode(AnyObjectText.self, from: Data($0))) != nil }
  }

  private static func numbers(_ value: [UInt8]) -> [Int64]? {
    let words = String(decoding: value, as: UTF8.self).split(separator: " ").map { Int64($0) }
    return words.contains(nil) ? nil : words.compactMap(\.self)
  }

  /// An object, whatever is in it.
  private struct AnyObjectText: Decodable {
    struct Member: Decodable {
      init(from decoder: any Decoder) throws {}
    }

    init(from decoder: any Decoder) throws {
      _ = try decoder.singleValueContainer().decode([String: Member].self)
    }
  }
}
