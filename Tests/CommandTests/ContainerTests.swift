import ExposureKeys
import Foundation
import GatewayTesting
import KeyFormats
import Testing

/// Folders, archives, compressed files and pipes as inputs.
@Suite struct ContainerTests {
  /// A folder `in` of five documents in four formats, one of them two files.
  private static func fill(_ workshop: Workshop) throws {
    for folder in ["in/sub", "in/x"] {
      try FileManager.default.createDirectory(
        at: workshop.folder.appending(path: folder), withIntermediateDirectories: true)
    }
    for (number, name) in ["a.json", "sub/b.csv", "sub/c.zip", "x/export.bin"].enumerated() {
      var document = Sample.document
      document.keys = Sample.document.keys[number * 5..<number * 5 + 5].map { key in
        var key = key
        key.regions = .none
        return key
      }
      let day = UInt64(1_605_657_600 + number * 86_400)
      document.header = ExportHeader(startTimestamp: day, endTimestamp: day + 86_400, region: number < 2 ? "DE" : "IT")
      let formats: [KeyFormat] = [.json, .csv, .json, .gaenExport]
      _ = try document.fit(to: formats[number])
      if name.hasSuffix("zip") {
        try workshop.write(try document.bytes(as: .json), "c.json")
        try workshop.keyferry("convert", "c.json", "--to", "gaen-export", "--unsigned", "-o", "in/sub/c.zip")
      } else {
        try workshop.write(try document.bytes(as: formats[number]), "in/\(name)")
      }
    }
    try workshop.write([], "in/x/export.sig")
  }

  private static let arguments = ["in/a.json", "in/sub/b.csv", "in/sub/c.zip", "in/x/export.bin"]

  /// Runs Python in the workshop, which has archives of every kind and of names that no other tool would write.
  private static func python(_ script: String, _ workshop: Workshop) throws {
    let python = try #require(Tool(named: "python3"), "python3 is needed")
    let outcome = try python.run(["-c", script], in: workshop.folder)
    try #require(outcome.status == 0, Comment(rawValue: outcome.errors))
  }

  private static let packing = """
    import bz2, gzip, io, lzma, os, tarfile, zipfile
    names = sorted(os.path.relpath(os.path.join(d, f), "in") for d, _, fs in os.walk("in") for f in fs)
    def tar(mode, to, names=names, base="in"):
      with tarfile.open(to, mode) as t:
        for n in names: t.add(os.path.join(base, n), n)
    tar("w", "all.tar"); tar("w:gz", "all.tgz"); tar("w:bz2", "all.tar.bz2"); tar("w:xz", "all.tar.xz")
    with zipfile.ZipFile("all.zip", "w", zipfile.ZIP_DEFLATED) as z:
      for n in reversed(names): z.write(os.path.join("in", n), n)
    # The signature in front of what it signs, and folders as entries.
    with tarfile.open("turned.tar", "w") as t:
      t.add("in", ".", recursive=False)
      for n in names[:3] + [names[4], names[3]]: t.add(os.path.join("in", n), "./" + n)
    with zipfile.ZipFile("nested.zip", "w") as z: z.write("all.tgz", "deep/all.tgz")
    tar("w", "nested.tar", ["all.zip"], ".")
    # Two archives, one behind the other, and each document compressed by itself.
    tar("w", "one.tar", names[:2]); tar("w", "two.tar", names[2:])
    open("two-in-one.tar", "wb").write(open("one.tar", "rb").read() + open("two.tar", "rb").read())
    with zipfile.ZipFile("compressed.zip", "w") as z:
      z.writestr("a.json.xz", lzma.compress(open("in/a.json", "rb").read()))
      z.writestr("b.csv.bz2", bz2.compress(open("in/sub/b.csv", "rb").read()))
      half = open("in/sub/c.zip", "rb").read()
      z.writestr("c.zip.gz", gzip.compress(half[:100]) + gzip.compress(half[100:]))
      z.writestr("d.bin", open("in/x/export.bin", "rb").read())
      z.writestr("d.sig", b"")
    """

  /// The same documents give the same result as arguments, in a folder and in any archive.
  @Test func theSameFromEverywhere() throws {
    try Workshop.run { workshop in
      try Self.fill(workshop)
      try Self.python(Self.packing, workshop)
      let zstd = try #require(Tool(named: "zstd"), "zstd is needed")
      #expect(try zstd.run(["-q", "all.tar", "-o", "all.tar.zst"], in: workshop.folder).status == 0)
      for target in [KeyFormat.csv, .json, .gaenExport] {
        func converted(_ inputs: [String], input: [UInt8] = []) throws -> [UInt8] {
          let unsigned = target == .gaenExport ? ["--unsigned"] : []
          let outcome = try workshop.keyferry(
            ["convert"] + inputs + ["--to", target.rawValue, "-o", "out"] + unsigned, input: input)
          #expect(outcome.status == 0 && outcome.errors.contains("20 keys read"), "\(inputs): \(outcome.errors)")
          return try workshop.bytes("out")
        }
        let apart = try converted(Self.arguments)
        for container in [
          "in", "in/", "all.tar", "all.tgz", "all.tar.bz2", "all.tar.xz", "all.tar.zst", "all.zip", "turned.tar",
          "nested.zip", "nested.tar", "two-in-one.tar", "compressed.zip",
        ] {
          #expect(try converted([container]) == apart, "\(container) to \(target.rawValue)")
        }
        #expect(try converted(["-"], input: workshop.bytes("all.tgz")) == apart)
      }
    }
  }

  /// `inspect`, `verify` and `normalize` look into the same places, and name what they find.
  @Test func everyCommandLooksIntoArchives() throws {
    try Workshop.run { workshop in
      try Self.fill(workshop)
      try Self.python(Self.packing, workshop)
      try workshop.makeSigner()
      let names = ["a.json", "sub/b.csv", "sub/c.zip", "x/export.bin"]
      for container in ["all.tgz", "all.zip", "in"] {
        let mark = container == "in" ? "/" : "!"
        let inspected = try workshop.keyferry("inspect", container)
        #expect(inspected.status == 0, "\(inspected.errors)")
        let verified = try workshop.keyferry("verify", container, "--trust", "ring")
        #expect(verified.status == 1)
        for name in names {
          #expect(inspected.text.contains("\(container)\(mark)\(name)\n"), "\(inspected.text)")
          #expect(verified.text.contains("\(container)\(mark)\(name): not verified\n"))
        }
        for text in [inspected.text, verified.text] {
          #expect(text.contains("\n4 documents\n") && text.contains("  keys ") && text.contains("20\n"), "\(text)")
          #expect(text.contains("DE 2, IT 2\n"))
        }
        #expect(verified.text.contains("not verified  4\n"))
        let normal = try workshop.keyferry("normalize", container, "--to", "json", "-o", "\(container).out")
        #expect(normal.errors.contains("4 inputs without a stated origin"), "\(normal.errors)")
      }
      #expect(try workshop.keyferry("inspect", "in", "--summary").text.hasPrefix("4 documents\n"))
    }
  }

  /// Into a folder, each document becomes a file, in folders as those it was in; names never collide and never lead out.
  @Test func foldersKeepTheirStructure() throws {
    try Workshop.run { workshop in
      try Self.fill(workshop)
      try Self.python(
        Self.packing + """

          with tarfile.open("evil.tar", "w") as t:
            for n in ["../../up.json", "/root.json", "a.json", "a.txt"]:
              i = tarfile.TarInfo(n); b = open("in/a.json", "rb").read(); i.size = len(b); t.addfile(i, io.BytesIO(b))
          """, workshop)
      #expect(try workshop.keyferry("convert", "in", "--to", "json", "-o", "out/").status == 0)
      #expect(
        try workshop.files.filter { $0.hasPrefix("out/") }
          == ["out/a.json", "out/sub", "out/sub/b.json", "out/sub/c.json", "out/x", "out/x/export.json"])
      // A second run does not read what the first has written.
      let within = ["convert", "in", "--to", "json", "-o", "in/converted/"]
      #expect(try workshop.keyferry(within).status == 0)
      let again = try workshop.keyferry(within + ["--replace"])
      #expect(again.status == 0 && again.errors.contains("passed over: the folder of the outputs"))
      #expect(try workshop.files.filter { $0.hasPrefix("in/converted/") }.count == 6)
      #expect(try workshop.keyferry("convert", "all.tgz", "--to", "csv", "-o", "tgz/").status == 0)
      #expect(workshop.exists("tgz/all.tgz/sub/b.csv") && workshop.exists("tgz/all.tgz/x/export.csv"))
      let before = try workshop.files.count
      #expect(try workshop.keyferry("convert", "evil.tar", "--to", "csv", "-o", "evil/").status == 0)
      #expect(
        try workshop.files.filter { $0.hasPrefix("evil/evil.tar/") }
          == ["a.csv", "a.txt.csv", "root.csv", "up.csv"].map { "evil/evil.tar/\($0)" })
      #expect(try workshop.files.count == before + 6)
    }
  }

  /// What a Mac puts into archives is passed over; names that are no UTF-8 are found, told apart and shown.
  @Test func namesOfEveryKind() throws {
    try Workshop.run { workshop in
      try Self.fill(workshop)
      try Self.python(
        """
        import io, os, tarfile, zipfile
        b = open("in/a.json", "rb").read()
        with zipfile.ZipFile("mac.zip", "w") as z:
          for n, c in [("keys/", b""), ("keys/a.json", b), ("__MACOSX/keys/._a.json", b"junk"), ("keys/.DS_Store", b"x")]:
            z.writestr(n, c)
        with tarfile.open("bytes.tar", "w", format=tarfile.GNU_FORMAT, encoding="latin-1") as t:
          for n in ["m\\xe4rz.json", "m\\xe3rz.json"]:
            i = tarfile.TarInfo(n); i.size = len(b); t.addfile(i, io.BytesIO(b))
        os.mkdir("names")
        open(b"names/m\\xe4rz.json", "wb").write(b)
        open(b"names/m\\xe3rz.json", "wb").write(b)
        os.symlink("../in", "names/link"); os.symlink(".", "names/loop"); os.mkfifo("names/pipe")
        """, workshop)
      let mac = try workshop.keyferry("convert", "mac.zip", "--to", "json", "-o", "out")
      #expect(
        mac.status == 0 && mac.errors.contains("passed over: 2 files of macOS") && mac.errors.contains("5 keys read"))
      for container in ["bytes.tar", "names"] {
        let shown = try workshop.keyferry("inspect", container)
        #expect(shown.status == 0, "\(shown.errors)")
        #expect(shown.text.contains(#"m\xE3rz.json"#) && shown.text.contains(#"m\xE4rz.json"#), "\(shown.text)")
        let lines = try workshop.keyferry("inspect", container, "--json-lines")
        #expect(lines.text.contains(#"m\\xE4rz.json"#))
        #expect(try workshop.keyferry("convert", container, "--to", "csv", "-o", "\(container).out/").status == 0)
      }
      #expect(try workshop.keyferry("inspect", "names").errors.contains("passed over: 2 links, 1 pipe or device"))
      // The bytes of the name are those of the input.
      let script = "import os; assert sorted(os.listdir(b'names.out')) == [b'm\\xe3rz.csv', b'm\\xe4rz.csv']"
      try Self.python(script, workshop)
    }
  }

  /// Pipes are read like files, also where they are read twice.
  @Test func pipes() throws {
    try Workshop.run { workshop in
      try Self.fill(workshop)
      let program = try #require(Workshop.program)
      let shell = try #require(Tool(named: "bash"))
      func run(_ command: String) throws -> Tool.Outcome {
        try shell.run(["-c", command.replacing("keyferry", with: "'\(program)'")], in: workshop.folder)
      }
      #expect(try run("keyferry convert <(cat in/a.json) <(cat in/sub/b.csv) --to csv -o piped.csv").status == 0)
      #expect(
        try workshop.keyferry("convert", "in/a.json", "in/sub/b.csv", "--to", "csv", "-o", "files.csv").status == 0)
      #expect(try workshop.bytes("piped.csv") == workshop.bytes("files.csv"))
      #expect(try run("cat in/a.json | keyferry convert /dev/stdin --to csv -o stdin.csv").status == 0)
      let normalize = "keyferry normalize p --now 2020-12-20 --to json -o"
      let piped = try run("mkfifo p; cat in/a.json > p & \(normalize) piped.json; rm p")
      let plain = try run("cp in/a.json p; \(normalize) plain.json")
      #expect(piped.status == plain.status && piped.errors.replacing("piped", with: "plain") == plain.errors)
      #expect(try workshop.bytes("piped.json") == workshop.bytes("plain.json"))
      #expect(try run("tar -cf - in | keyferry convert - --to csv -o tar.csv").status == 0)
      #expect(try workshop.keys("tar.csv").keys.count == 20)
    }
  }

  /// Far more files than may be open.
  @Test func moreFilesThanMayBeOpen() throws {
    try Workshop.run { workshop in
      try Self.python(
        """
        import os
        os.mkdir("many")
        for n in range(300):
          open(f"many/{n:04}.csv", "w").write("key_data,rolling_start,rolling_period\\n%032x,2676096,144\\n" % (n * 7919 + 2**100))
        """, workshop)
      let program = try #require(Workshop.program)
      let shell = try #require(Tool(named: "bash"))
      for inputs in ["many", "many/*.csv"] {
        let outcome = try shell.run(
          ["-c", "ulimit -n 32; '\(program)' convert \(inputs) --to gaen-export --unsigned -o out.zip"],
          in: workshop.folder)
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(try workshop.keys("out.zip").keys.count == 300)
      }
    }
  }

  /// An archive that was cut is never taken for a whole one, wherever it was cut.
  @Test(arguments: LongList.cases(["all.tar", "all.tgz", "all.tar.bz2", "all.tar.xz", "all.zip", "all.tar.zst"], 2))
  func cutArchives(name: String) throws {
    try Workshop.run { workshop in
      try Self.fill(workshop)
      try Self.python(Self.packing, workshop)
      let zstd = try #require(Tool(named: "zstd"), "zstd is needed")
      _ = try zstd.run(["-q", "--check", "all.tar", "-o", "all.tar.zst"], in: workshop.folder)
      let whole = try workshop.bytes(name)
      // The zeros that fill up a tar behind its end mark may be missing.
      let end = name == "all.tar" ? (whole.lastIndex { $0 != 0 } ?? 0) + 1024 : whole.count - 1
      let cuts = Set((1...12).map { end * $0 / 13 } + [end, 512, 1024, 1536, 10]).filter { $0 < whole.count }
      for cut in cuts.sorted() {
        try workshop.write(Array(whole[..<cut]), "cut")
        let outcome = try workshop.keyferry("convert", "cut", "--to", "csv", "-o", "out")
        #expect(outcome.status == 2, "cut at \(cut) of \(whole.count): \(outcome.errors)")
        #expect(!workshop.exists("out") && outcome.errors.contains("cut"))
      }
      // Two bytes are no longer what they were.
      let report = try workshop.keyferry("inspect", name, "--summary")
      for place in stride(from: 20, to: name == "all.tar" ? 20 : whole.count, by: whole.count / 16) {
        var damaged = whole
        damaged[place] ^= 0x41
        try workshop.write(damaged, "damaged")
        let outcome = try workshop.keyferry("inspect", "damaged", "--summary")
        #expect(outcome.status != 0 || outcome.text == report.text, "byte \(place)")
      }
    }
  }

  /// What an archive may make the program do is limited, and the limits can be moved.
  @Test func limits() throws {
    try Workshop.run { workshop in
      try Self.fill(workshop)
      try Self.python(
        Self.packing + """

          zeros = gzip.compress(b"\\0" * (80 << 20))
          open("bomb.gz", "wb").write(zeros)
          with zipfile.ZipFile("bomb.zip", "w", zipfile.ZIP_DEFLATED) as z:
            for n in range(3): z.writestr(f"{n}.json", b" " * (40 << 20))
          inner = open("in/a.json", "rb").read()
          for n in range(5): inner = gzip.compress(inner)
          open("deep.gz", "wb").write(inner)
          """, workshop)
      func run(_ arguments: String...) throws -> Tool.Outcome {
        try workshop.keyferry(["convert"] + arguments + ["--to", "csv", "-o", "out"])
      }
      for (name, option) in [("bomb.gz", "--max-ratio"), ("bomb.zip", "--max-ratio"), ("deep.gz", "--max-depth")] {
        let outcome = try run(name, "--keep-going")
        #expect(
          outcome.status == 2 && outcome.errors.contains(option) && outcome.errors.contains(name), "\(outcome.errors)")
      }
      #expect(try run("deep.gz", "--max-depth", "5").status == 0)
      let entries = try run("all.zip", "--max-entries", "4")
      #expect(entries.status == 2 && entries.errors.contains("at most 4 are read"), "\(entries.errors)")
      #expect(try run("all.tgz", "--max-entries", "4").errors.contains("more than 4 entries"))
      #expect(try run("in", "--max-entries", "4").errors.contains("more than 4 files"))
      #expect(try run("all.tgz", "--max-archive-bytes", "2000").errors.contains("more than 2000 bytes"))
      #expect(try run("all.tgz", "--max-bytes", "100").errors.contains("--max-bytes"))
      for option in ["--max-depth", "--max-entries", "--max-ratio", "--max-archive-bytes"] {
        #expect(try run("in", option, "0").status == 64)
      }
    }
  }

  /// One bad document among good ones is listed, and the rest goes on where that was asked for or is the default.
  @Test func oneBadDocumentAmongMany() throws {
    try Workshop.run { workshop in
      try Self.fill(workshop)
      try workshop.write("<html>", "in/sub/bad.csv")
      try workshop.write(Array(Sample.json.dropLast(40)), "in/sub/cut.json")
      let refused = try workshop.keyferry("convert", "in", "--to", "csv", "-o", "out.csv")
      #expect(refused.status == 2 && refused.errors.contains("in/sub/bad.csv: ") && !workshop.exists("out.csv"))
      #expect(refused.errors.contains("hint: --keep-going"))
      let list = ["2 documents of 6 left out:", "  in/sub/bad.csv: ", "  in/sub/cut.json: "]
      let kept = try workshop.keyferry("convert", "in", "--keep-going", "--to", "csv", "-o", "out.csv")
      #expect(kept.status == 1 && list.allSatisfy { kept.errors.contains("keyferry: \($0)") }, "\(kept.errors)")
      // Nothing of the document that was cut.
      #expect(try workshop.keys("out.csv").keys.count == 20)
      let each = try workshop.keyferry("convert", "in", "--to", "csv", "-o", "out/")
      #expect(each.status == 1 && list.allSatisfy { each.errors.contains("keyferry: \($0)") })
      #expect(workshop.exists("out/sub/b.csv") && !workshop.exists("out/sub/cut.csv"))
      #expect(try workshop.keyferry("convert", "in", "--no-keep-going", "--to", "csv", "-o", "out2/").status == 2)
      let inspected = try workshop.keyferry("inspect", "in", "--json", "--summary")
      #expect(inspected.status == 1 && inspected.text.contains("\"unreadable\" : 2"), "\(inspected.text)")
      #expect(inspected.text.contains("\"distinct\" : 20") && inspected.text.contains("\"code\" : \"truncated\""))
      let lines = try workshop.keyferry("inspect", "in", "--json-lines").text.split(separator: "\n")
      #expect(lines.count == 6 && lines.count { $0.contains("\"unreadable\":{\"code\":") } == 2)
      let normal = try workshop.keyferry("normalize", "in", "--keep-going", "--json", "--to", "json", "-o", "out.json")
      #expect(normal.status == 1 && normal.text.contains("\"unreadable\" : ["), "\(normal.errors)")
      // Nothing that could be read is no success.
      let none = try workshop.keyferry(
        "convert", "in/sub/bad.csv", "in/sub/cut.json", "--keep-going", "--to", "csv", "-o", "no")
      #expect(none.status == 2 && !workshop.exists("no"))
    }
  }
}
