internal import KeyIntake

extension KeyDocument {
  /// What `explain` and `disclose` print about a key of a gateway: the answer first.
  var text: String {
    var text = "key \(key): \(answer)\n"
    for series in series ?? [] { text += series.text }
    for mirror in mirrors ?? [] { text += mirror.text }
    for destination in destinations ?? [] { text += "\ndestination \(destination.name): \(destination.text)\n" }
    if let federation, !federation.isEmpty {
      text += "\nfederation, what other countries could download\n" + federation.map(\.text).joined()
    }
    if !claims.isEmpty { text += "\nclaims\n" + claims.map(\.text).joined() }
    if !documents.isEmpty {
      text += "\ndocuments that name it, as far as their bytes are kept\n" + documents.map(\.text).joined()
    }
    if let released, series == nil, !released.isEmpty { text += "\nreleased\n" + released.map(\.text).joined() }
    return text + (search?.text ?? "")
  }
}

extension KeyDocument.Series {
  fileprivate var text: String {
    let head = "\nseries \(name) (policy \(policy)): "
    guard !keys.isEmpty else { return head + "nothing is known of it\n" }
    guard keys.count > 1 || keys[0].claims.count + keys[0].rules.count > 0 else { return head + "\(keys[0].text)\n" }
    return (keys.count == 1 ? head + "\(keys[0].text)\n" : head + "\(keys.count) rolling starts\n")
      + keys.map { key in
        (keys.count == 1 ? "" : "  valid from \(key.validFrom): \(key.text)\n")
          + key.claims.map { "  claim \($0.claim): \($0.standing)\n" }.joined()
          + key.rules.map { "  rule \($0.rule): \($0.effect)\n" }.joined()
      }.joined()
  }
}

extension KeyDocument.Mirror {
  fileprivate var text: String {
    let head = "\nseries \(name) (\(source.map { "mirror of \($0)" } ?? "configured no more")): "
    let rest = skipped > 0 ? "  not looked into: \(counted(skipped, "archive"))\n" : ""
    guard let first = archives.first else { return head + "no archive that it shows is known to hold it\n" + rest }
    guard archives.count > 1 else { return head + first.text(of: self) + "\n" + rest }
    return head + "\(counted(archives.count, "archive"))\n" + archives.map { "  \($0.text(of: self))\n" }.joined()
      + rest
  }
}

extension KeyDocument.Passage {
  fileprivate var text: String {
    let head = "  upload \(tag) of \(country) at \(uploaded), document \(document): "
    let place = batch.flatMap { tag in made.map { "the download batch \(tag), closed at \($0)" } }
    if let withdrawal {
      return head + (place.map { "in \($0), and withdrawn since" } ?? "withdrawn before anybody could download it")
        + " (\(withdrawal))\n"
    }
    return head + (place.map { "in \($0)" } ?? "waits for a download batch") + "\n"
  }
}

extension KeyDocument.Claim {
  fileprivate var text: String {
    let visited = visited.map { $0.isEmpty ? "none" : $0.joined(separator: ", ") } ?? "absent"
    var text =
      "\(number)  source \(source), \(origin.map { "origin \($0)" } ?? "origin not known"), visited \(visited)\n"
    if let document {
      text += "   came \(arrived.map { "at \($0) " } ?? "")with document \(document)"
      text += "\(documentName.map { ", \($0)" } ?? ""), vouched for by \(vouchedBy)\n"
    }
    text += "   read as: \(read.text)\n"
    return text + (stateText.map { "   \($0)\n" } ?? "")
  }
}

extension KeyDocument.Values {
  fileprivate var text: String {
    func said(_ value: Int32?) -> String { value.map { "\($0)" } ?? "absent" }
    return "valid from \(validFrom ?? "absent"), period \(said(rollingPeriod)), risk \(said(transmissionRisk)), "
      + "report type \(reportTypeText), days since onset \(onsetText)" + (isRevised ? ", revised" : "")
  }
}

extension KeyDocument.Document {
  fileprivate var text: String {
    var text = "document \(number.map { "\($0) " } ?? "")of \(source): \(name)\(state.map { ", \($0)" } ?? "")\n"
    if let fault { text += "   \(fault)\n" }
    if isReadOtherwise == true {
      let reader = readBy.map { "policy \($0)" } ?? "a policy that nobody noted"
      let now = mentions.first?.now.map {
        $0.policy == readBy ? "which says something else now" : "now it is \($0.policy)"
      }
      text += "   read by \(reader)\(now.map { "; \($0)" } ?? ""): keyferry reread \(source)\n"
    }
    for mention in mentions {
      let visited = mention.visited.map { $0.isEmpty ? "none" : $0.joined(separator: ", ") } ?? "absent"
      text += "   key \(mention.position), said: \(mention.sent.text); "
      text += "origin \(mention.origin ?? "absent"), visited \(visited)\n"
      text += "   \(mention.readingText(state: state))\n"
      if mention.reading == "admitted" || mention.reading == "rejected" {
        for allowance in mention.allowances { text += "   allowed, \(allowance)\n" }
      }
      if let now = mention.now { text += "   \(now.text(hasRead: mention.reading != "refused"))\n" }
    }
    if mentions.isEmpty { text += "   it cannot be read, and the key stands in its bytes\n" }
    return text
  }
}

extension KeyDocument.Mention {
  fileprivate func readingText(state: String?) -> String {
    switch reading {
    case "admitted": "admitted by policy \(policy)"
    case "held": "held for the operator by policy \(policy), \(reason ?? "")"
    case "refused": "not admitted: the document is \(state == "given-up" ? "given up" : "in quarantine")"
    case "gone": "admitted by policy \(policy) then, and gone: it has expired, or was dropped or erased"
    case "unknown": "not among the claims"
    default: "rejected by policy \(policy), \(reason ?? ""): \(detail ?? "")"
    }
  }
}

extension KeyDocument.Reading {
  /// - Parameter hasRead: whether another policy has read the document, so that this one only would.
  fileprivate func text(hasRead: Bool) -> String {
    let will = hasRead ? "reading it again" : "should the document be taken"
    return switch reading {
    case "admitted": "\(will), policy \(policy) admits it"
    case "held": "\(will), policy \(policy) holds it for the operator, \(reason ?? "")"
    default: "\(will), policy \(policy) rejects it, \(reason ?? ""): \(detail ?? "")"
    }
  }
}

extension KeyDocument.Release {
  fileprivate var text: String {
    "\(series)  \(path ?? "bundle \(bundle)")  \(state ?? "lost")\(published.map { ", published \($0)" } ?? "")\n"
      + "   as: \(released.text)\n"
  }
}

extension KeyDocument.Search {
  fileprivate var text: String {
    var lines: [String] = []
    if skipped > 0 {
      lines.append("not looked into: \(counted(skipped, "document")) of too many bytes; keyferry disclose reads all")
    }
    if !unreadable.isEmpty {
      let numbers = unreadable.prefix(20).map { "\($0)" }.joined(separator: ", ")
      lines.append("cannot be read, so that nobody can tell: documents \(numbers)")
    }
    return lines.isEmpty ? "" : "\n" + lines.joined(separator: "\n") + "\n"
  }
}
