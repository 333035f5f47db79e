"""Computes the commitment that the log has, from what `keyferry log reveal --json` prints. It needs Python alone.

    keyferry log reveal germany/2020-12-01.zip --json | python3 commitment.py
    python3 commitment.py vectors > commitments.json

The format is in the page "A public log of what is published".
"""

import hashlib
import json
import sys


def sha(data):
    return hashlib.sha256(data).digest()


def received(salt, document):
    """Of a document: its SHA-256."""
    return sha(b"keyferry received v1\n" + salt + document).hex()


def uploads(salt, text):
    """Of an hour of uploads: four lines, each with a line feed at its end."""
    return sha(b"keyferry uploads v1\n" + salt + sha(text.encode())).hex()


def lines(door, start, count, first=None, last=None):
    numbers = "none" if first is None else f"{first}-{last}"
    return f"{door}\n{start}\n{count}\n{numbers}\n"


def vectors():
    salt, document = bytes(range(32)), sha(b"a document")
    yield {"salt": salt.hex(), "sha256": document.hex(), "commitment": received(salt, document)}
    for hour in (
        {"door": "phones", "start": 1606824000, "count": 0},
        {"door": "türen", "start": 1606827600, "count": 12, "first": 4711, "last": 4790},
    ):
        text = lines(**hour)
        yield {"salt": salt.hex(), **hour, "text": text, "commitment": uploads(salt, text)}


if sys.argv[1:] == ["vectors"]:
    json.dump(list(vectors()), sys.stdout, indent=2, ensure_ascii=False)
    print()
else:
    opened = json.load(sys.stdin)
    salt = bytes.fromhex(opened["salt"])
    print(uploads(salt, opened["text"]) if "text" in opened else received(salt, bytes.fromhex(opened["sha256"])))
