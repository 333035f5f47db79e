/// What a file is that no format reads, by its first bytes: so that who is refused knows what he has, and what to do.
enum FileNature {
  private struct Kind {
    let marks: [[UInt8]]
    var offset = 0
    let words: String
  }

  /// For people: what it is and what to do next; `nil` for what is not known here.
  static func words(for front: [UInt8]) -> String? {
    for kind in kinds where kind.marks.contains(where: { front.dropFirst(kind.offset).starts(with: $0) }) {
      return kind.words
    }
    return nil
  }

  private static func text(_ mark: String) -> [UInt8] { Array(mark.utf8) }

  private static let kinds: [Kind] = [
    Kind(
      marks: [text("SQLite format 3\0")],
      words: "this is an SQLite database; sqlite3 -header -csv FILE 'SELECT * FROM table' writes a table as CSV"),
    Kind(marks: [text("%PDF-")], words: "this is a PDF; keys in it must be copied into a text file"),
    Kind(marks: [text("%!PS")], words: "this is a PostScript document; keys in it must be copied into a text file"),
    Kind(marks: [text(#"{\rtf"#)], words: "this is a rich text document (RTF); save it as plain text"),
    Kind(
      marks: [[0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1]],
      words: "this is an old Office document (Word or Excel before 2007); save it as CSV or plain text"),
    Kind(
      marks: [
        [0x89, 0x50, 0x4e, 0x47], [0xff, 0xd8, 0xff], text("GIF8"), text("II*\0"), [0x4d, 0x4d, 0x00, 0x2a],
      ], words: "this is an image; a QR code or text in it is not read"),
    Kind(marks: [text("WEBP")], offset: 8, words: "this is an image; a QR code or text in it is not read"),
    Kind(marks: [text("ftyp")], offset: 4, words: "this is an image or a film; a QR code or text in it is not read"),
    Kind(
      marks: [[0x37, 0x7a, 0xbc, 0xaf, 0x27, 0x1c]],
      words: "this is a 7z archive; 7z x FILE unpacks it, and the commands read the folder"),
    Kind(
      marks: [text("Rar!\u{1a}\u{07}")],
      words: "this is a RAR archive; unrar x FILE unpacks it, and the commands read the folder"),
    Kind(
      marks: [text("MSCF")],
      words: "this is a cabinet archive; cabextract FILE unpacks it, and the commands read the folder"),
    Kind(
      marks: [text("070701"), text("070702"), text("070707")],
      words: "this is a cpio archive; cpio -i < FILE unpacks it, and the commands read the folder"),
    Kind(marks: [text("!<arch>\n")], words: "this is a Debian package or a library; ar x FILE unpacks it"),
    Kind(
      marks: [[0x1f, 0x8b, 0x08]],
      words: "this is compressed with gzip; the commands open it, and gunzip does"),
    Kind(marks: [[0x1f, 0x9d]], words: "this is compressed with compress; gunzip < FILE > OTHER undoes it"),
    Kind(
      marks: [[0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00]],
      words: "this is compressed with xz; the commands open it, and unxz does"),
    Kind(
      marks: [[0x28, 0xb5, 0x2f, 0xfd]], words: "this is compressed with zstd; the commands open it, and unzstd does"),
    Kind(
      marks: [text("BZh91AY&SY"), text("BZh61AY&SY"), text("BZh11AY&SY")],
      words: "this is compressed with bzip2; the commands open it, and bunzip2 does"),
    Kind(marks: [[0x04, 0x22, 0x4d, 0x18]], words: "this is compressed with lz4; unlz4 FILE undoes it"),
    Kind(marks: [text("LZIP")], words: "this is compressed with lzip; lzip -d FILE undoes it"),
    Kind(marks: [text("ustar")], offset: 257, words: "this is a tar archive; the commands open it, and tar -xf does"),
    Kind(
      marks: [text("PAR1")],
      words: "this is a Parquet file; duckdb -csv -c \"SELECT * FROM 'FILE'\" writes it as CSV"),
    Kind(marks: [text("ARROW1"), text("FEA1")], words: "this is an Arrow file; pandas reads it and writes CSV"),
    Kind(marks: [text("Obj\u{01}")], words: "this is an Avro file; avro-tools tojson FILE writes it as JSON"),
    Kind(marks: [[0x89, 0x48, 0x44, 0x46]], words: "this is an HDF5 file; pandas reads it and writes CSV"),
    Kind(marks: [[0x93] + text("NUMPY")], words: "this is an array of NumPy; numpy reads it and writes CSV"),
    Kind(
      marks: [[0x80, 0x02, 0x63], [0x80, 0x03, 0x63], [0x80, 0x04, 0x95], [0x80, 0x05, 0x95]],
      words: "this is a pickle of Python, which can run programs when it is opened; its owner can write CSV"),
    Kind(marks: [text("PGDMP")], words: "this is a dump of pg_dump; pg_restore -f OTHER.sql FILE writes it as text"),
    Kind(marks: [text("bplist")], words: "this is a binary property list without keys; plutil -p FILE shows it"),
    Kind(
      marks: [text("age-encryption.org/")], words: "this is encrypted with age; age -d -i KEY FILE opens it"),
    Kind(marks: [text("-----BEGIN PGP MESSAGE")], words: "this is encrypted with PGP; gpg -d FILE opens it"),
    Kind(
      marks: [text("-----BEGIN CERTIFICATE"), text("-----BEGIN PUBLIC KEY")],
      words: "this is a public key or certificate, and holds no diagnosis keys; --trust takes it"),
    Kind(
      marks: [
        text("-----BEGIN PRIVATE KEY"), text("-----BEGIN EC PRIVATE KEY"), text("-----BEGIN ENCRYPTED PRIVATE KEY"),
      ],
      words: "this is a private key, and holds no diagnosis keys; --sign-key takes it"),
    Kind(marks: [[0x7f, 0x45, 0x4c, 0x46], [0x4d, 0x5a, 0x90]], words: "this is a program"),
    Kind(marks: [text("ID3"), text("OggS"), text("fLaC")], words: "this is a sound"),
  ]
}
