internal import BundleTrust
internal import ExposureKeys
package import KeyConversion
internal import KeyFormats
internal import KeyIntake
internal import KeyNormalization

extension NormalizationReceipt {
  /// The receipt for people, line by line.
  package var lines: [String] { arrivals + beliefs + output }

  private var arrivals: [String] {
    let counts = counts
    let files = Set(documents.filter(\.intake.isOriginOfItsOwn).map(\.intake.sender.name)).count
    let origins =
      files == 0 ? [] : ["\(counted(files, "input")) without a stated origin: each counts as an origin of its own"]
    return [receivedText(counts)] + origins
      + ranked(counts.rejections).map { "  rejected, \($0): \(grouped($1))" }
      + Allowance.allCases.compactMap { allowance in
        counts.allowances[allowance.code].map { "  allowed, \(allowance.text): \(grouped($0))" }
      }
  }

  private var beliefs: [String] {
    let sum =
      "believed \(grouped(belief.believed)) = \(grouped(belief.published)) published + \(grouped(belief.held)) held + "
      + "\(grouped(belief.leftOut)) left out"
    let release = nextRelease.map { ", the first until \($0)" } ?? ""
    return [sum]
      + HoldReason.allCases.compactMap { reason in
        belief.holds[reason].map { "  held, \(reason.rawValue): \(grouped($0))\(release)" }
      }
      + LeaveOutReason.allCases.compactMap { reason in
        belief.omissions[reason].map { "  left out, \(reason.rawValue): \(grouped($0))" }
      }
      + PublishingNote.allCases.compactMap { note in
        belief.notes[note].map { "  published, \(note.text): \(grouped($0))" }
      }
  }

  private var output: [String] {
    let format = target.format.rawValue
    let sum =
      "published \(grouped(belief.published)) = \(grouped(target.written)) written to \(target.name) (\(format)) + "
      + "\(grouped(target.refused)) refused by the format"
    return [sum] + ranked(target.refusals).map { "  refused, \($0): \(grouped($1))" }
      + target.fillings.map { "  \($0)" } + target.warnings
      + (target.digests.map { ["export.bin SHA-256 \($0.hexadecimal)"] } ?? [])
  }
}
