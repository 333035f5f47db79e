"""The canonical bytes of a federation's batch, by the words of its description alone.

Reads lines of JSON, one batch each: a list of keys, each a list of key data in hexadecimal, rolling start, rolling period,
transmission risk, visited regions, origin, report type, days since onset. Writes one line each: SHA-256 of the canonical
bytes, and their length.
"""

import base64
import hashlib
import json
import sys


def row(key) -> bytes:
    data, start, period, risk, visited, origin, report, days = key
    fields = [
        bytes.fromhex(data),
        start.to_bytes(4, "big", signed=True),
        period.to_bytes(4, "big", signed=True),
        risk.to_bytes(4, "big", signed=True),
        ",".join(visited).encode("ascii", "replace"),
        origin.encode("ascii", "replace"),
        report.to_bytes(4, "big", signed=True),
        days.to_bytes(4, "big", signed=True),
    ]
    return b"".join(base64.b64encode(field) + b"." for field in fields)


for line in sys.stdin:
    signed = b"".join(sorted((row(key) for key in json.loads(line)), key=base64.b64encode))
    print(hashlib.sha256(signed).hexdigest(), len(signed))
