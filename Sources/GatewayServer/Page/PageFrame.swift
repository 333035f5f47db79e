internal import Crypto
internal import FoundationEssentials
internal import KeyIntake

/// What every page for people has around what it tells: it needs no script and nothing from elsewhere, can be read on a phone, in light
/// and dark, and begins with a link past its head.
struct PageFrame {
  let title: String
  let style: String
  /// Where the link past the head leads, and what it says.
  let skip: (id: String, words: String)
  /// HTML, as are the others.
  let header: String
  /// Of the element that holds `content`; `nil` where the link leads into it.
  var mainID: String?
  let content: String
  let footer: String

  /// The page's own style and nothing else may take effect.
  static func securityPolicy(_ style: String) -> String {
    let digest = Data(SHA256.hash(data: Data(style.utf8))).base64EncodedString()
    return "default-src 'none'; style-src 'sha256-\(digest)'; base-uri 'none'; form-action 'none'; "
      + "frame-ancestors 'none'"
  }

  var html: String {
    """
    <!DOCTYPE html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>\(escaped(title))</title>
    <style>\(style)</style>
    </head>
    <body>
    <a class="skip" href="#\(skip.id)">\(skip.words)</a>
    <header>
    \(header)
    </header>
    <main\(mainID.map { " id=\"\($0)\"" } ?? "")>
    \(content)
    </main>
    <footer>
    \(footer)
    </footer>
    </body>
    </html>

    """
  }
}
