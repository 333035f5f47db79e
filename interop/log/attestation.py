"""Verifies an attestation with PyPI's securesystemslib, and says of what it is.

    python3 attestation.py KEY.pem FILE.intoto.jsonl
"""

import json
import sys

from cryptography.hazmat.primitives.serialization import load_pem_public_key
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import SSlibKey

key_file, attestation = sys.argv[1:]
with open(key_file, "rb") as file:
    key = SSlibKey.from_crypto(load_pem_public_key(file.read()))
with open(attestation, "rb") as file:
    members = json.load(file)
# Keys are found by their id there; ours is another hash of the same key.
for signature in members["signatures"]:
    signature["keyid"] = key.keyid
envelope = Envelope.from_dict(members)
try:
    envelope.verify([key], 1)
except VerificationError as fault:
    print(fault)
    sys.exit(1)
statement = json.loads(envelope.payload)
print(f"{statement['predicateType']} of {', '.join(subject['name'] for subject in statement['subject'])}")
