"""What every yardstick in Python that takes turns has in common."""

import sys
import time


def take_turns(work):
    """For each line of standard input, does the work once and says how much was handled and in how many nanoseconds."""
    for _ in sys.stdin:
        start = time.perf_counter_ns()
        handled = work()
        print(handled, time.perf_counter_ns() - start, flush=True)
