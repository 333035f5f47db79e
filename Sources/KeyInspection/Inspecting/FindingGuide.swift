/// What a finding means, and what to do about it: for the reference page, which is made of it.
extension Finding.Code {
  /// One sentence about the file.
  package var meaning: String { guide.meaning }

  /// One sentence for whoever makes or receives it.
  package var advice: String { guide.advice }

  private var guide: (meaning: String, advice: String) {
    switch self {
    case .archiveEntryExtra:
      (
        "The zip holds more than export.bin and export.sig.",
        "Pack exactly these two files; some phones let the whole call fail otherwise."
      )
    case .archiveEntryFolder:
      (
        "The zip has a folder, or an entry lies in one.",
        "Pack both files at the root of the archive."
      )
    case .archiveEntryName:
      (
        "An entry has another name than export.bin or export.sig.",
        "Name the entries so; several apps look for nothing else."
      )
    case .archiveEntryOrder:
      (
        "export.sig stands before export.bin.",
        "Nothing must be done; servers write export.bin first."
      )
    case .archiveDataDescriptor:
      (
        "An entry is stored without compression and its size stands behind it (a data descriptor).",
        "Compress the entry, or write sizes into its header: who reads the zip as a stream cannot find its end."
      )
    case .archiveDateAbsent:
      (
        "An entry has the date 1980-00-00, which does not exist.",
        "Write any real date; some zip libraries refuse the file."
      )
    case .archivePrefix:
      (
        "There are bytes in front of the zip.",
        "Ask where they come from; cut them off before publishing."
      )
    case .archiveComment:
      (
        "The zip has a comment.",
        "Nothing must be done; look at what it says, since it is not signed."
      )
    case .fileTooLarge:
      (
        "The file is larger than Apple and Google recommend.",
        "Split the keys over several files of one window each."
      )
    case .fileHeaderPadding:
      (
        "The first 16 bytes are not \"EK Export v1\" and four spaces.",
        "Correct the file header; most phones refuse the file."
      )
    case .fileHeaderAbsent:
      (
        "The file header is missing: the protobuf message begins at once.",
        "Put the 16 bytes in front, and sign again: they are signed too."
      )
    case .windowAbsent:
      (
        "start_timestamp or end_timestamp is not stated.",
        "State both; some apps sort files by them."
      )
    case .windowEmpty:
      (
        "The window (export period) ends before it starts, or at once.",
        "Correct the times; apps that sort by them pass over the file."
      )
    case .windowLong:
      (
        "The window covers more than 24 hours.",
        "Nothing must be done for archives of several days; for a live index publish at least daily."
      )
    case .regionAbsent:
      (
        "No region is named.",
        "Name it if apps of more than one region read your files."
      )
    case .batchAbsent:
      (
        "Batch number and size are not stated.",
        "Write 1 of 1."
      )
    case .batchNotSingle:
      (
        "The file says that it is one of several of a batch.",
        "Publish each file as 1 of 1: some phones refuse others, some want all in one call."
      )
    case .batchContradictory:
      (
        "The batch number is not between 1 and the batch size.",
        "Correct it; phones refuse the file."
      )
    case .headerUnknownFields:
      (
        "The header or the signature list has protobuf fields that no version of the schema defines.",
        "Ask the sender what they mean; they are kept when the file is signed again."
      )
    case .fieldRepeated:
      (
        "A field of a protobuf message, or a member of a JSON object, is stated more than once.",
        "Ask the sender which value is right: readers may disagree. convert takes the last one; --strict refuses."
      )
    case .signatureFileAbsent:
      (
        "There is no export.sig.",
        "Sign the file; phones refuse one without a signature."
      )
    case .signatureFileEmpty:
      (
        "export.sig is there and holds no signature.",
        "Sign the file again."
      )
    case .signatureFileMalformed:
      (
        "export.sig cannot be read as a TEKSignatureList.",
        "Compare it with the file as it was published; sign again."
      )
    case .signatureInfosAbsent:
      (
        "export.bin names no signature info.",
        "Sign again with a signer that writes the info into export.bin."
      )
    case .signatureCountDiffers:
      (
        "export.sig has more or fewer signatures than export.bin names.",
        "Sign again with all signers in one act."
      )
    case .signaturesSeveral:
      (
        "There is more than one signature.",
        "Leave one for the apps of one country: iOS looks at the first only."
      )
    case .signaturesTooMany:
      (
        "There are more signatures than phones look at.",
        "Leave out those that nobody needs."
      )
    case .signatureInfoDiffers:
      (
        "Key id, version or algorithm beside a signature are others than in export.bin.",
        "Sign again; a phone may look for the wrong public key."
      )
    case .signatureAlgorithm:
      (
        "The signature algorithm is not ECDSA with SHA-256.",
        "Sign with P-256 and the object identifier 1.2.840.10045.4.3.2."
      )
    case .signatureEmpty:
      (
        "A signature has no bytes.",
        "Sign again."
      )
    case .signatureRaw:
      (
        "A signature is 64 raw bytes, r and s.",
        "Write it as DER (X9.62)."
      )
    case .signatureNotDER:
      (
        "A signature is no canonical DER sequence of r and s.",
        "Write it as DER (X9.62); strict verifiers refuse others."
      )
    case .signatureBatch:
      (
        "A signature names another batch number or size than 1 of 1.",
        "Nothing must be done for verification; write 1 of 1."
      )
    case .keyIDAbsent:
      (
        "A signature does not say which key id made it.",
        "State the id that was registered with Apple and Google."
      )
    case .keyIDCharacters:
      (
        "A key id has characters other than letters, digits, \"_\" and \".\".",
        "Register and use an id of these characters."
      )
    case .keyVersionAbsent:
      (
        "A signature does not say the version of its key.",
        "State the version; iOS refuses the signature."
      )
    case .keysNone:
      (
        "There are no keys that could be judged.",
        "Nothing must be done if the window had none; otherwise look at the rejections."
      )
    case .keysTooMany:
      (
        "The file holds more keys than Apple and Google recommend.",
        "Split the keys over several files."
      )
    case .keysUnsorted:
      (
        "Keys do not stand in the order of their raw bytes.",
        "Sort them: the order in which they came may tell which belong to one person."
      )
    case .keyDataAbsent:
      (
        "A key has no key data.",
        "Ask the sender; leave the key out. One makes iOS fail the whole detection."
      )
    case .keyDataLength:
      (
        "A key's data is not 16 bytes long.",
        "Ask the sender; leave the key out. One makes iOS fail the whole detection."
      )
    case .keysRejected:
      (
        "Keys could not be read.",
        "Look at the rejections: each names its place, its value and what is allowed."
      )
    case .keyDataZero:
      (
        "A key's data is sixteen zero bytes.",
        "Leave it out; it is a test key or a fault of the sender."
      )
    case .keyDataLowEntropy:
      (
        "A key's data is visibly not random: text, zeros or a pattern.",
        "Leave it out; it is a test key or a fault of the sender."
      )
    case .keyRepeated:
      (
        "A key stands there twice, the same in every field.",
        "Write it once."
      )
    case .keyRepeatedDifferently:
      (
        "A key stands there twice, with other fields.",
        "Ask the sender which is right; normalize reconciles them by a policy."
      )
    case .keyRepeatedWithOtherStart:
      (
        "Key data stands there with two rolling starts.",
        "Ask the sender; a phone makes one key of one day, so at most one is true."
      )
    case .keyRepeatedNotCompared:
      (
        "Key data stands there again; the file is too large to compare the other fields.",
        "Split the file and inspect the parts."
      )
    case .keyRevisedToo:
      (
        "A key stands among the keys and among the revised keys.",
        "Nothing must be done in files that unite several windows."
      )
    case .keysNotCompared:
      (
        "Only some of the keys were searched for repetitions.",
        "Split the file and inspect the parts."
      )
    case .keyUnknownFields:
      (
        "Keys have protobuf fields that no version of the schema defines.",
        "Ask the sender what they mean; convert keeps them within one schema."
      )
    case .rollingStartAbsent:
      (
        "A key has no rolling start.",
        "Ask the sender; no phone can match it."
      )
    case .rollingStartNegative:
      (
        "A rolling start is below 0.",
        "Ask the sender; leave the key out."
      )
    case .rollingStartUnaligned:
      (
        "A rolling start is not midnight UTC.",
        "Nothing must be done: early phones and test data have such keys."
      )
    case .rollingStartFuture:
      (
        "A key begins after the end of the file's window.",
        "Look at the clocks of the server and of the phone; leave the key out."
      )
    case .rollingPeriodAbsent:
      (
        "A key has no rolling period; 144 is meant.",
        "Write 144: microG skips the file otherwise."
      )
    case .rollingPeriodZero:
      (
        "A rolling period is 0.",
        "Write 144 where the sender is an early Android build; leave the key out otherwise."
      )
    case .rollingPeriodNegative:
      (
        "A rolling period is below 0.",
        "Ask the sender; leave the key out."
      )
    case .rollingPeriodTooLong:
      (
        "A rolling period is above 144, which is one day.",
        "Ask the sender; leave the key out."
      )
    case .keyStillValid:
      (
        "A key is in use until less than two hours before the end of the window, or longer.",
        "Hold it until two hours after its expiry: whoever has it can pretend to be its phone."
      )
    case .keyTooOld:
      (
        "A key expired more than 14 days before the end of the window.",
        "Leave it out: no phone remembers meeting it."
      )
    case .riskLevelEight:
      (
        "A transmission risk level is 8.",
        "Nothing must be done; iOS reads 7."
      )
    case .riskLevelOutside:
      (
        "A transmission risk level is not 0...8.",
        "Ask the sender; a reading policy can map or reject it."
      )
    case .reportTypeAbsent:
      (
        "A key has no report type.",
        "State it for apps with exposure windows: they may ignore the key."
      )
    case .reportTypeUnknown:
      (
        "A report type is UNKNOWN.",
        "State what it is: apps with exposure windows may ignore the key."
      )
    case .reportTypeUnrecognized:
      (
        "A report type is not 0...5.",
        "Ask the sender; a reading policy decides what becomes of it."
      )
    case .reportTypeRecursive:
      (
        "A report type is RECURSIVE, which is reserved.",
        "Leave the key out; no phone matches it."
      )
    case .reportTypeRevoked:
      (
        "A report type is REVOKED outside the revised keys.",
        "Move the key to the revised keys, or leave it out."
      )
    case .daysSinceOnsetAbsent:
      (
        "A key does not say how many days lie between it and the onset of symptoms.",
        "Nothing must be done: apps have a value of their own for it."
      )
    case .daysSinceOnsetOutside:
      (
        "The days since onset are not -14...14.",
        "Map them by a publishing policy; federations have codes beyond 14 that no phone knows."
      )
    case .paddingSuspected:
      (
        "The sizes of all groups of keys are multiples of one number: keys seem to be cloned to hide small numbers (padding).",
        "Divide by that number before you count persons."
      )
    }
  }
}

extension ProfileRule {
  /// What the rule asks for. What each client does when it is broken is in its row of a report.
  package var meaning: String {
    switch self {
    case .format: "The file is an export of Apple and Google; nothing else is read."
    case .archiveEntries: "The zip holds export.bin and export.sig, and nothing else."
    case .uniqueNames: "No two files of one call have the same name."
    case .dataDescriptor: "No entry of the zip is stored with its size behind it."
    case .fileHeader: "The file begins with the 16 bytes \"EK Export v1\" and four spaces."
    case .encoding: "The protobuf message is read to its end."
    case .batch: "The file is batch 1 of 1."
    case .signatureCount: "export.sig has as many signatures as export.bin names, and at least one."
    case .signatureInfos: "What stands beside the signatures is what export.bin says of them."
    case .keyIdentity: "Key id and version of the signing key are stated."
    case .algorithm: "The algorithm is ECDSA with SHA-256, by its object identifier."
    case .signatureEncoding: "The signature is DER."
    case .signatureVerifies: "A trusted key has signed the whole file; judged where a ring (trust store) is given."
    case .keyData: "Each key has 16 bytes."
    case .negativeNumbers: "No field of a key is below 0."
    case .repeatedKeys: "No key data stands there twice."
    case .keyEntropy: "No key data is visibly made by hand."
    case .rollingPeriod: "Each rolling period is 1...144."
    case .rollingStart: "Each key has a rolling start, and none lies in the future."
    case .stillValid: "Each key expired two hours before the end of the window, at least."
    case .age: "No key expired more than 14 days ago."
    case .alignment: "Keys begin at midnight UTC."
    case .riskLevel: "The transmission risk level is one that the client knows."
    case .reportType: "The report type is one that the client warns by."
    case .daysSinceOnset: "The days since onset are -14...14."
    case .revisedKeys: "Revised keys are read by this client."
    case .size: "The file has no more bytes and keys than are recommended."
    case .window: "Start and end of the window are stated, in this order."
    case .callBudget: "There are no more files and calls in 24 hours than the system allows."
    }
  }
}
