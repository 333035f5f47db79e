import ExposureKeys
import Foundation
import GatewayTesting
import KeyFormats
import Testing

/// What a gateway has published, looked at with the programs of others.
@Suite("What is published") struct PublishedTests {
  /// Two rounds, so that there are increments and roll-ups.
  private func published(_ body: (Neighbourhood) async throws -> Void) async throws {
    try await Neighbourhood.visit { place in
      try place.gateway("nl", origin: "NL")
      for (seed, hour) in [(UInt64(1), 12), (2, 14)] {
        let now = "2020-12-01T\(hour):00:00Z"
        try place.drop(200, seed: seed, in: "nl", as: "\(seed).csv")
        try place.keyferry("pull", "--config", "nl/gateway.yaml", "--now", now)
        try place.keyferry("publish", "--config", "nl/gateway.yaml", "--now", now)
      }
      try await body(place)
    }
  }

  @Test(.enabled(if: Tool(named: "openssl") != nil, "openssl is not installed"))
  func opensslVerifiesEveryBundle() async throws {
    let openssl = try #require(Tool(named: "openssl"))
    try await published { place in
      let folder = place.folder.appending(path: "nl/public/all")
      let bundles = try FileManager.default.subpathsOfDirectory(atPath: folder.path()).filter { $0.hasSuffix(".zip") }
      #expect(bundles.count > 2, "increments and roll-ups")
      let arguments = ["dgst", "-sha256", "-verify", "nl/public.pem", "-signature", "der"]
      for bundle in bundles {
        let file = MemorySource(Array(try Data(contentsOf: folder.appending(path: bundle))))
        let archive = try ZipArchive(file)
        let export = try archive.open(try #require(archive["export.bin"])).readAll(limit: 1 << 24)
        let signatures = try KeyDocument(file).signatures()
        #expect(signatures.count == 1)
        try Data(signatures[0].signature).write(to: place.folder.appending(path: "der"))
        try Data(export).write(to: place.folder.appending(path: "export.bin"))
        #expect(try openssl.run(arguments + ["export.bin"], in: place.folder).status == 0, "\(bundle)")
        #expect(try openssl.run(arguments + ["der"], in: place.folder).status != 0)
      }
    }
  }

  /// Without scripts, and without anything that the page's own rules keep the browser from doing.
  @Test(.enabled(if: Tool(named: "chromium") != nil, "chromium is not installed: apt-get install chromium"))
  func aBrowserShowsThePage() async throws {
    let timeout = try #require(Tool(named: "timeout"))
    try await published { place in
      try await place.serving("nl") { address in
        func browse(_ arguments: String...) throws -> Tool.Outcome {
          let quiet = [
            "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
            "--hide-scrollbars", "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
          ]
          let own = ["--user-data-dir=\(place.path("browser"))", "--enable-logging=stderr"]
          return try timeout.run(
            ["60", "chromium"] + quiet + own + arguments + [address.absoluteString], in: place.folder)
        }
        let page = try browse("--dump-dom")
        #expect(page.status == 0)
        #expect(!page.errors.contains("CONSOLE"), "\(page.errors)")
        #expect(!page.text.contains("<script"))
        for text in ["Keys by day", "signs now", "Last bundles", "<svg class=\"picture\""] {
          #expect(page.text.contains(text), "\(text)")
        }
        for width in [1200, 360] {
          let shot = try browse(
            "--screenshot=\(place.path("page.png"))", "--window-size=\(width),1400")
          #expect(shot.status == 0)
          let outcome = try #require(Tool(named: "python3")).run(["-c", Self.colours, "page.png"], in: place.folder)
          let colours = outcome.text.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }
          try #require(colours.count == 2, "\(outcome.errors)")
          // The head of the page is a dark band with a drawing and text in it, which are many shades.
          #expect(colours[0] < 128 && colours[1] > 20, "\(width) pixels wide: \(colours)")
        }
      }
    }
  }

  /// Prints how bright a picture's first pixel is, and how many colours its first hundred rows have.
  private static let colours = """
    import struct, sys, zlib
    data = open(sys.argv[1], "rb").read()
    at, packed = 8, b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        if kind == b"IHDR": width, _, depth, colour = struct.unpack(">IIBB", data[at + 8:at + 18])
        if kind == b"IDAT": packed += data[at + 8:at + 8 + length]
        at += 12 + length
    assert depth == 8 and colour in (2, 6), (depth, colour)
    size = 3 if colour == 2 else 4
    stride = width * size
    raw = zlib.decompressobj().decompress(packed, (stride + 1) * 100)
    above, seen, first = bytearray(stride), set(), None
    for start in range(0, len(raw) - stride, stride + 1):
        kind, row = raw[start], bytearray(raw[start + 1:start + 1 + stride])
        for i in range(stride):
            left, corner = (row[i - size], above[i - size]) if i >= size else (0, 0)
            p = left + above[i] - corner
            near = min((abs(p - left), 0, left), (abs(p - above[i]), 1, above[i]), (abs(p - corner), 2, corner))[2]
            row[i] = row[i] + (0, left, above[i], (left + above[i]) // 2, near)[kind] & 255
        seen.update(bytes(row[i:i + 3]) for i in range(0, stride, size))
        first, above = first or bytes(row[:3]), row
    print(sum(first) // 3, len(seen))
    """
}
