import ExposureKeys
import KeyFormats

/// What a document says about itself beside its keys, once it has been read.
struct InspectedDocument {
  let format: KeyFormat
  let fileSize: Int?
  let container: InspectionReport.Container?
  let fileHeader: InspectionReport.FileHeader?
  let header: ExportHeader
  /// `nil` when there is no `export.sig`.
  let signatureFileSize: Int?
  let signatures: [ExportSignature]
  let signatureEncodings: [SignatureEncoding]
  /// What was read leniently in `export.sig`.
  let signatureNotes: ReadingNotes
  /// Why `export.sig` could not be read.
  let signatureFault: FormatError?
  let unknownHeaderBytes: Int

  init(_ document: KeyDocument, fileSize: Int?) {
    format = document.format
    self.fileSize = fileSize
    container = document.container.map(InspectionReport.Container.init)
    fileHeader = (document.decoder as? ExportDecoder)?.fileHeaderState.map { state in
      switch state {
      case .exact: .exact
      case .wrongPadding: .wrongPadding
      case .absent: .absent
      }
    }
    header = document.decoder.header
    signatureFileSize = document.signatureFile?.count
    var signatures: [ExportSignature] = []
    var notes = ReadingNotes()
    var fault: FormatError?
    do {
      signatures = try SignatureFile.decode(document.signatureFile ?? [], &notes)
    } catch let error as FormatError {
      fault = error
    } catch {
      fault = FormatError(.malformed, "\(error)")
    }
    self.signatures = signatures
    signatureFault = fault
    signatureNotes = notes
    signatureEncodings = signatures.map { SignatureEncoding($0.signature) }
    unknownHeaderBytes =
      header.unknownFields.count + header.signatureInfos.reduce(0) { $0 + $1.unknownFields.count }
      + signatures.reduce(0) { $0 + $1.unknownFields.count + $1.info.unknownFields.count }
  }

  var isExport: Bool { format == .gaenExport }

  /// The infos that clients look at: those beside the signatures, or those in the export when nothing is signed.
  var infosToJudge: [SignatureInfo] { signatures.isEmpty ? header.signatureInfos : signatures.map(\.info) }
}

extension InspectionReport.Container {
  init(_ container: KeyDocument.Container) {
    switch container {
    case .bare:
      self.init(kind: .bare, entries: [], prefixBytes: 0, commentBytes: 0)
    case .zip(let archive, let bin, let signature):
      self.init(
        kind: .zip,
        entries: archive.entries.map { entry in
          let role: InspectionReport.Entry.Role =
            entry == bin ? .export : entry == signature ? .signature : entry.isFolder ? .folder : .other
          return InspectionReport.Entry(entry, role: role)
        },
        prefixBytes: archive.prefixLength, commentBytes: archive.commentLength)
    }
  }
}

extension InspectionReport.Entry {
  init(_ entry: ZipEntry, role: Role) {
    let method =
      switch entry.method {
      case 0: "stored"
      case 8: "deflated"
      default: "method \(entry.method)"
      }
    self.init(
      name: entry.name, role: role, method: method, size: entry.size, compressedSize: entry.compressedSize,
      date: Self.date(entry.date, entry.time), hasDataDescriptor: entry.hasDataDescriptor)
  }

  /// DOS counts years from 1980 and seconds in pairs; a month or a day of 0 means that nothing was set.
  private static func date(_ date: UInt16, _ time: UInt16) -> String? {
    let (hour, minute, second) = (Int64(time >> 11), Int64(time >> 5 & 63), Int64(time & 31) * 2)
    guard let day = Day(year: Int64(date >> 9) + 1980, month: Int64(date >> 5 & 15), day: Int64(date & 31)),
      hour < 24, minute < 60, second < 60
    else { return nil }
    let instant = Instant(secondsSince1970: day.start.secondsSince1970 + hour * 3600 + minute * 60 + second)
    return String(instant.description.dropLast())
  }
}

extension InspectionReport.Info {
  init(_ info: SignatureInfo) {
    self.init(
      verificationKeyID: info.verificationKeyID, verificationKeyVersion: info.verificationKeyVersion,
      signatureAlgorithm: info.signatureAlgorithm, appBundleID: info.appBundleID, androidPackage: info.androidPackage)
  }
}
