import GatewayTesting

/// The signed sample of Google's key server, and what zlib makes of its parts.
private let bin = Wire.hexadecimal(
  """
  454b204578706f72742076312020202009f0e8c75e0000000011703ac95e000000001a0255532001280132211a01312207736f6d655f6964
  2a13312e322e3834302e31303034352e342e332e323a1b0a10172fc480e598490c34177604339b1543100818fcdea10120013a1b0a102b63
  053ac483238de176169e861f3dcd1001188adea1012072
  """)
private let sig = Wire.hexadecimal(
  """
  0a710a211a01312207736f6d655f69642a13312e322e3834302e31303034352e342e332e32100118
  01224830460221009eb6e9d5ad6a688fa970b0e67c0886345eefdd1819592edd84604a1ccf4d0247
  022100906d7fcdf211c710f84a2a7917000573bef0ef27a4974129de2876ac6819f66a
  """)
private let deflatedBin = Wire.hexadecimal(
  """
  73f55670ad28c82f2a512833540002ce0f2f8ec73100816081d54930438a293458815183d148518ad15089bd383f37353e33454bd850cf48
  cfc2c440cfd0c0c0c454cf44cf58cfc84a9a4b405cff48c3d3199e3c26e2652cc6b3459d053824fedc5bc8a8c00892d44e66b53ad2acdcfb
  b04c6c5e9bbced590146892e90641100
  """)
private let deflatedSig = Wire.hexadecimal(
  """
  0173008cff0a710a211a01312207736f6d655f69642a13312e322e3834302e31303034352e342e332e3210011801224830460221009eb6e9
  d5ad6a688fa970b0e67c0886345eefdd1819592edd84604a1ccf4d0247022100906d7fcdf211c710f84a2a7917000573bef0ef27a4974129
  de2876ac6819f66a
  """)
/// 1,100,000 zeros.
private let deflatedZeros =
  Wire.hexadecimal("edc13101000000c2a0f54f6d0d0fa0") + Array(repeating: 0, count: 1064) + [0x80, 0x37, 0x03]

private let storedBin = Archive.Entry("export.bin", bin)
private let storedSig = Archive.Entry("export.sig", sig)
private let smallBin = Archive.Entry("export.bin", bin, deflated: deflatedBin)
private let smallSig = Archive.Entry("export.sig", sig, deflated: deflatedSig)
private let plain = Archive(smallBin, smallSig)

private func read(
  _ name: String, _ comment: String, keys: Int = 2, _ archive: Archive
) -> Recipe {
  Recipe("bundle/\(name)", comment, format: "gaen-export", keys: keys, .bytes(archive.bytes))
}

private func refused(
  _ name: String, _ comment: String, _ code: String, detected: String? = nil, _ bytes: [UInt8]
) -> Recipe {
  Recipe("bundle/\(name)", comment, .refused(code), format: "gaen-export", detected: detected, .bytes(bytes))
}

/// The first entry changed.
private func lying(_ change: (inout Archive.Entry) -> Void) -> [UInt8] {
  plain.with { change(&$0.entries[0]) }.bytes
}

/// An export in its container.
let bundleRecipes: [Recipe] = [
  read("deflated", "both entries deflated, as servers write them", plain),
  read("stored", "both entries as they are", Archive(storedBin, storedSig)),
  read("order_signature_first", "the signature stands in front of the export", Archive(smallSig, storedBin)),
  read("date_zero", "a date of zero, which is the 0th of month 0", plain.with { $0.entries[0].date = 0 }),
  read("comment", "a comment that looks like the end", plain.with { $0.comment = [0x50, 0x4b, 5, 6, 0, 0] }),
  read("signature_missing", "nobody signed it", Archive(smallBin)),
  read("third_entry", "a third entry, which Google's devices refuse", Archive(smallBin, smallSig, .init("README", []))),
  read(
    "folder_nested", "both entries in a folder, which is an entry too",
    Archive(
      .init("export/", []), smallBin.with { $0.name = Array("export/export.bin".utf8) },
      smallSig.with { $0.name = Array("export/export.sig".utf8) })),
  read(
    "name_other", "a pair by another name, as Apple's devices take it",
    Archive(.init("v1-2020.bin", bin), .init("v1-2020.sig", sig))),
  read(
    "name_hostile", "a name that leads out of its folder; nothing is ever unpacked to it",
    Archive(.init("../../\u{1b}[2Jexport.bin", bin))),
  read(
    "entry_hidden", "an entry that no directory lists: streaming readers see two exports",
    Archive(storedBin.with { $0.isListed = false }, smallBin, smallSig)),
  read(
    "descriptor_deflated", "sizes behind the content, deflated, as streaming writers do it",
    Archive(smallBin.describedBehind(), smallSig.describedBehind())),
  read(
    "descriptor_unmarked", "the same without the mark in front of the sizes",
    Archive(smallBin.describedBehind(hasSignature: false), smallSig.describedBehind(hasSignature: false))),
  read(
    "descriptor_stored", "sizes behind content that is not deflated: streaming readers refuse it",
    Archive(storedBin.describedBehind(), storedSig.describedBehind())),
  read(
    "zip64", "sizes in 64 bits, and a directory that is found in 64 bits",
    Archive(smallBin.zip64, smallSig.zip64).with { $0.hasZip64End = true }),
  refused(
    "bin_twice", "two entries of the name export.bin", "duplicate-entry", Archive(smallBin, smallSig, storedBin).bytes),
  refused(
    "signature_twice", "two entries of the name export.sig", "duplicate-entry",
    Archive(smallBin, smallSig, storedSig).bytes),
  refused("bin_missing", "a signature and no export", "missing-entry", Archive(smallSig).bytes),
  refused(
    "bin_several", "two exports, neither of them export.bin", "missing-entry",
    Archive(.init("a.bin", bin), .init("b.bin", bin)).bytes),
  refused("empty", "an archive without entries", "missing-entry", Archive().bytes),
  refused("crc_wrong", "a check sum that is not the content's", "checksum-mismatch", lying { $0.crc ^= 1 }),
  refused("crc_local_differs", "two check sums for one entry", "malformed", lying { $0.localCRC = 1 }),
  refused(
    "name_local_differs", "two names for one entry", "malformed", lying { $0.localName = Array("export.bim".utf8) }),
  refused("size_small", "content that is larger than it is said to be", "malformed", lying { $0.size = 100 }),
  refused("size_large", "content that is smaller than it is said to be", "truncated", lying { $0.size = 1000 }),
  refused(
    "size_stored_differs", "two sizes for content that is not deflated", "malformed",
    Archive(storedBin.with { $0.size += 1 }, storedSig).bytes),
  refused(
    "size_beyond_file", "content that would end behind the file", "truncated", lying { $0.compressedSize = 5000 }),
  refused("stream_cut", "a compressed stream that does not end", "truncated", lying { $0.compressedSize -= 2 }),
  refused("stream_damaged", "a block of a kind that DEFLATE does not have", "malformed", lying { $0.stored[0] = 0xff }),
  refused("encrypted", "an entry that is said to be encrypted", "unsupported", lying { $0.flags = 1 }),
  refused("method_unknown", "an entry that LZMA compressed", "unsupported", lying { $0.method = 14 }),
  refused(
    "entries_overlap", "two entries on the same bytes, the trick of archive bombs", "malformed",
    Archive(smallBin, storedSig.with { $0.offset = 0 }).bytes),
  refused(
    "entries_quoted", "an entry that begins within another one", "malformed",
    Archive(Archive.Entry("export.bin", bin + Archive(storedSig).bytes), storedSig.with { $0.offset = 175 }).bytes),
  refused(
    "entries_too_many", "thousands of entries that are only announced", "limit-exceeded",
    plain.with { $0.statedEntries = 5000 }.bytes),
  refused(
    "signature_bomb", "a signature file that inflates to 1,100,000 zeros", "limit-exceeded",
    Archive(smallBin, .init("export.sig", deflated: deflatedZeros, crc: 0x2ced_fd12, size: 1_100_000)).bytes),
  refused(
    "prefix", "a script in front, as in an archive that unpacks itself", "malformed",
    detected: "refused:unrecognized-format", plain.with { $0.prefix = Array("#!/bin/sh\n".utf8) }.bytes),
  refused("trailing_byte", "a byte behind the end", "truncated", plain.bytes + [0]),
  refused(
    "truncated", "the directory is missing, as when a download breaks off", "truncated",
    Array(plain.bytes.dropLast(120))),
  refused(
    "joined", "two archives end to end: the second one's offsets point into the first", "malformed",
    plain.bytes + Archive(storedBin, storedSig).bytes),
]
