"""Keys as CSV to columns by one thread; key data stays text: with_pyarrow.py FILE"""

import sys

import pyarrow
from pyarrow import csv
from turns import take_turns

with open(sys.argv[1], "rb") as file:
    content = file.read()
buffer = pyarrow.py_buffer(content)
# pyarrow knows no comments: those in front of the column names are counted, and skipped as rows.
comments = 0
start = 0
while content.startswith(b"#", start):
    start = content.index(b"\n", start) + 1
    comments += 1
options = csv.ReadOptions(use_threads=False, skip_rows=comments)


def read():
    return csv.read_csv(pyarrow.BufferReader(buffer), read_options=options).num_rows


take_turns(read)
