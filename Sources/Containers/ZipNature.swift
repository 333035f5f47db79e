internal import KeyFormats

/// Archives that are one document of another program, by the names of their entries.
enum ZipNature {
  /// For people: what it is and what to do next; `nil` for an archive of files.
  static func words(for archive: ZipArchive) -> String? {
    let marks: [(String, String)] = [
      ("word/document.xml", "this is a Word document; save it as plain text"),
      ("xl/workbook.xml", "this is an Excel workbook; save its sheet as CSV"),
      ("xl/workbook.bin", "this is an Excel workbook; save its sheet as CSV"),
      ("ppt/presentation.xml", "this is a PowerPoint presentation, which holds no keys"),
      ("AndroidManifest.xml", "this is an Android app, which holds no keys"),
      ("META-INF/MANIFEST.MF", "this is a Java archive, which holds no keys"),
      (
        "META-INF/manifest.xml",
        "this is an OpenDocument file (LibreOffice); save its sheet as CSV, or its text as plain text"
      ),
      ("Index/Document.iwa", "this is a Pages, Numbers or Keynote document; export it as CSV"),
    ]
    return marks.first { archive[$0.0] != nil }?.1
  }
}
