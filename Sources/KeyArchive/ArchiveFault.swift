internal import ExposureKeys

/// Why an archive cannot be used, or is not what it should be.
package struct ArchiveFault: ProgramFault, Hashable, Sendable {
  package enum Code: String, Sendable, CaseIterable {
    /// The folder is no archive, or one of another version.
    case notAnArchive = "not-an-archive"
    /// Another process adds to it.
    case inUse = "in-use"
    /// Records that were told as kept are gone.
    case shortCatalogue = "short-catalogue"
    /// A record that was told as kept is another one now.
    case changedCatalogue = "changed-catalogue"
    /// A line of the catalogue is no record.
    case badRecord = "bad-record"
    /// The checkpoint is damaged, or one of another archive.
    case badCheckpoint = "bad-checkpoint"
    /// It does not extend a checkpoint that was kept elsewhere.
    case rewritten
    /// A content is not there.
    case missingContent = "missing-content"
    /// A content has other bytes than its digest says.
    case changedContent = "changed-content"
    /// No file of this name or digest is in it.
    case unknownFile = "unknown-file"
    /// A name that cannot be kept.
    case badName = "bad-name"
  }

  package let code: Code
  /// For people: where, what was found, what is allowed.
  package let reason: String
  /// What a person can do; `nil` where nothing is to be done.
  package let hint: String?

  package init(_ code: Code, _ reason: String, hint: String? = nil) {
    self.code = code
    self.reason = reason
    self.hint = hint
  }

  /// Whether the archive was read and is not what it should be; otherwise something could not be done.
  package var isRefutation: Bool {
    switch code {
    case .shortCatalogue, .changedCatalogue, .badRecord, .badCheckpoint, .rewritten, .missingContent, .changedContent,
      .unknownFile:
      true
    case .notAnArchive, .inUse, .badName: false
    }
  }

  package var description: String { reason }
}
