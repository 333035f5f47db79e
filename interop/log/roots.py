"""The roots of trees whose leaves are lines of standard input, by pymerkle, which is not ours: after each size that is named.

    pip install pymerkle
    seq 0 6 | python3 roots.py 1 7
"""

import base64
import sys

from pymerkle import InmemoryTree

tree = InmemoryTree(algorithm="sha256")
sizes = {int(size) for size in sys.argv[1:]}
for number, line in enumerate(sys.stdin.buffer, 1):
    tree.append_entry(line.rstrip(b"\n"))
    if number in sizes:
        print(number, base64.b64encode(tree.get_root()).decode())
