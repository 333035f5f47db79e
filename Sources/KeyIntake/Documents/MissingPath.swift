internal import Glibc

/// A file name that does not exist may be a secret: somebody gave a token, a password or a whole private key where the name
/// of its file was expected. Messages therefore show a missing path whole only if it looks like one, and otherwise its first
/// characters.
extension PathText {
  private static let shownCharacters = 4
  /// The limits of the system.
  private static let pathLimit = 4096
  private static let nameLimit = 255
  /// Longer runs of letters are keys more often than words.
  private static let wordLimit = 28
  private static let separators = Set("._-+, ~()".unicodeScalars)

  /// A path to which no file belongs, as messages and reports show it: whole, or its first four characters and its length.
  package static func shownAsMissing(_ text: String) -> String {
    let scalars = text.unicodeScalars
    let isPlain = !scalars.contains { $0.value < 0x20 || $0.value == 0x7F || $0 == lineFeed }
    if isPlain, text.count <= shownCharacters || looksLikePath(text) { return text }
    let front = scalars.prefix(shownCharacters).prefix { $0.value >= 0x20 && $0.value != 0x7F && $0 != lineFeed }
    return "\(String(front))... (\(scalars.count) characters that do not look like a path)"
  }

  /// Whether a text that was given for something else than a path may be a secret: it is long, consists of more than words and
  /// numbers, and is neither an address nor a time.
  package static func mayBeSecret(_ text: String) -> Bool {
    let isAddress = ["http://", "https://", "s3://"].contains(where: text.hasPrefix)
    let isTime = text.allSatisfy { "0123456789-+.:TZ".contains($0) }
    return text.utf8.count >= 16 && !isAddress && !isTime && !text.split(separator: "/").allSatisfy(consistsOfWords)
  }

  /// Whether a text without control characters is more likely a path than a secret. A path begins with a folder that
  /// exists, or it has a folder or a file name extension, and its names consist of words and numbers.
  private static func looksLikePath(_ text: String) -> Bool {
    let names = text.split(separator: "/", omittingEmptySubsequences: true)
    guard text.utf8.count <= pathLimit, names.allSatisfy({ $0.utf8.count <= nameLimit }), let last = names.last else {
      return false
    }
    if names.count > 1, let first = names.first {
      if first == "." || first == ".." || first == "~" { return true }
      if isFolder(text.hasPrefix("/") ? "/\(first)" : String(first)) { return true }
    }
    // An option behind `--` is taken for a file.
    let isPath = text.contains("/") || hasExtension(last) || text.hasPrefix("--")
    return isPath && names.allSatisfy(consistsOfWords)
  }

  private static func isFolder(_ path: String) -> Bool {
    var status = stat()
    return stat(system(path), &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }

  /// `.pem`, `.tar.gz`, `.sqlite`.
  private static func hasExtension(_ name: Substring) -> Bool {
    guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return false }
    let ending = name[name.index(after: dot)...].utf8
    return (1...8).contains(ending.count)
      && ending.allSatisfy { (0x61...0x7A).contains($0 | 0x20) || (0x30...0x39).contains($0) }
      && ending.contains { (0x61...0x7A).contains($0 | 0x20) }
  }

  private static func consistsOfWords(_ name: Substring) -> Bool {
    name.unicodeScalars.split(whereSeparator: separators.contains).allSatisfy { isWord($0) }
  }

  /// `drop`, `DE`, `Export`, `privateKey`, `part12`, `14d`, `2021`; not `eyJhbGci`, `hunter2x` or `3f9c`.
  private static func isWord(_ run: Substring.UnicodeScalarView) -> Bool {
    let isDigit = { (scalar: Unicode.Scalar) in ("0"..."9").contains(scalar) }
    guard run.count <= wordLimit, run.allSatisfy({ isDigit($0) || $0.properties.isAlphabetic || byte($0) != nil })
    else { return false }
    let letters = run.drop(while: isDigit)
    if letters.isEmpty { return true }
    // Digits stand before the letters or after them.
    if letters.count < run.count { return letters.count <= 2 && !letters.contains(where: isDigit) }
    let word = letters.prefix { !isDigit($0) }
    guard letters.dropFirst(word.count).allSatisfy(isDigit) else { return false }
    return !word.contains { $0.properties.isLowercase } || isCamelCase(word)
  }

  /// Whether each capital begins a word of at least three letters.
  private static func isCamelCase(_ word: Substring.UnicodeScalarView) -> Bool {
    var length = 3
    for scalar in word {
      if scalar.properties.isUppercase {
        guard length >= 3 else { return false }
        length = 1
      } else {
        length += 1
      }
    }
    return length >= 3
  }
}
