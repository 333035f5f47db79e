"""An array of CodableDiagnosisKey from dictionaries, whose key data is base64 already: with_orjson.py FILE"""

import sys

import orjson
from turns import take_turns

with open(sys.argv[1], "rb") as file:
    keys = orjson.loads(file.read())


def write():
    return len(keys) if orjson.dumps(keys) else 0


take_turns(write)
