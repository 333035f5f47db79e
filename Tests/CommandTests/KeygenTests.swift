import BundleTrust
import Foundation
import GatewayTesting
import Testing

@Suite struct KeygenTests {
  private func mode(_ path: String) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
  }

  @Test func makesAKeyForItsOwnerAlone() throws {
    try Workshop.run { workshop in
      let outcome = try workshop.keyferry(
        "keygen", "-o", "key.pem", "--public-key", "public.pem", "--key-id", "228", "--key-version", "v2",
        "--app-bundle-id", "org.example.app", "--android-package", "org.example", "--country", "CH", "--mcc", "228")
      #expect(outcome.status == 0)
      #expect(try workshop.files == ["key.pem", "public.pem"])
      #expect(try mode(workshop.path("key.pem")) == 0o600)
      let key = try SigningKey(pem: workshop.text("key.pem"))
      #expect(try workshop.text("public.pem") == key.publicKey.pem)
      for word in ["228", "v2", "org.example.app", "org.example", "CH", "1.2.840.10045.4.3.2", "BEGIN PUBLIC KEY"] {
        #expect(outcome.text.contains(word), "\(word)")
      }
      #expect(!outcome.text.contains("PRIVATE KEY"))
      #expect(outcome.errors.contains("key.pem"))
    }
  }

  @Test func aKeyGoesToStandardOutputAlone() throws {
    try Workshop.run { workshop in
      let outcome = try workshop.keyferry("keygen", "-o", "-", "--public-key", "public.pem")
      #expect(outcome.status == 0 && outcome.errors.contains("what Apple and Google must be told of it was left out"))
      let key = try SigningKey(pem: outcome.text)
      #expect(try workshop.text("public.pem") == key.publicKey.pem)
      #expect(outcome.text == key.pemRepresentation)
      #expect(try workshop.files == ["public.pem"])
      let halves = try workshop.keyferry("keygen", "-o", "key.pem", "--public-key", "-")
      #expect(halves.text == (try SigningKey(pem: workshop.text("key.pem"))).publicKey.pem)
    }
  }

  @Test(arguments: [["-o", "there.pem"], ["-o", "new.pem", "--public-key", "there.pem"], ["-o", "folder"]])
  func nothingIsOverwritten(arguments: [String]) throws {
    try Workshop.run { workshop in
      try workshop.write("precious", "there.pem")
      try FileManager.default.createDirectory(
        at: workshop.folder.appending(path: "folder"), withIntermediateDirectories: true)
      let outcome = try workshop.keyferry(["keygen"] + arguments)
      #expect(outcome.status == 2)
      #expect(try workshop.text("there.pem") == "precious")
      #expect(try workshop.files == ["folder", "there.pem"])
    }
  }

  @Test func ofThoseThatRaceOneWins() throws {
    let program = try #require(Workshop.program)
    let shell = try #require(Tool(named: "bash"))
    try Workshop.run { workshop in
      let script = """
        for round in 1 2 3 4 5 6; do
          for one in 1 2 3 4; do
            { "$0" keygen -o "key$round.pem" >"$round-$one.txt" 2>/dev/null; echo $? >"$round-$one.status"; } &
          done
          wait
          echo $(cat $round-?.status | sort)
        done
        """
      #expect(
        try shell.run(["-c", script, program], in: workshop.folder).text == String(repeating: "0 2 2 2\n", count: 6))
      for round in 1...6 {
        let winner = try #require(try (1...4).first { try workshop.text("\(round)-\($0).status") == "0\n" })
        let line = try #require(
          try SigningKey(pem: workshop.text("key\(round).pem")).publicKey.pem.split(separator: "\n").dropFirst().first)
        #expect(try workshop.text("\(round)-\(winner).txt").contains(line))
        #expect(try mode(workshop.path("key\(round).pem")) == 0o600)
      }
      #expect(try !workshop.files.contains { $0.hasSuffix(".partial") })
    }
  }

  @Test(arguments: [
    ["--key-id", "3-1"], ["--key-id", ""], ["--key-id", "é"], ["--key-version", "v 1"], ["--country", "de"],
    ["--mcc", "31"], ["--app-bundle-id", "a/b"],
  ])
  func namesThatDevicesRefuse(arguments: [String]) throws {
    try Workshop.run { workshop in
      let outcome = try workshop.keyferry(["keygen", "-o", "key.pem"] + arguments)
      #expect(outcome.status == 2)
      #expect(try workshop.files.isEmpty)
    }
  }

  @Test(.enabled(if: Tool(named: "openssl") != nil, "openssl is not installed"))
  func opensslReadsTheKey() throws {
    let openssl = try #require(Tool(named: "openssl"))
    try Workshop.run { workshop in
      try workshop.keyferry("keygen", "-o", "key.pem", "--public-key", "public.pem")
      let derived = try openssl.run(["pkey", "-in", "key.pem", "-pubout"], in: workshop.folder)
      #expect(derived.status == 0)
      #expect(try derived.output == workshop.bytes("public.pem"))
    }
  }
}
