"""Claims in a table, by one thread: of each key the highest level and type, the nearest day and the longest period, in
order: with_duckdb.py FILE"""

import sys

import duckdb
from turns import take_turns

connection = duckdb.connect(config={"threads": 1})
connection.execute(
    """CREATE TABLE claims AS SELECT unhex(key) AS key, start, period, risk, type, days FROM read_csv(?, header=true,
    columns={'key': 'VARCHAR', 'start': 'INTEGER', 'period': 'INTEGER', 'risk': 'INTEGER', 'type': 'INTEGER',
    'days': 'INTEGER', 'origin': 'VARCHAR'})""",
    [sys.argv[1]],
)
count = connection.execute("SELECT count(*) FROM claims").fetchone()[0]


def merge():
    connection.execute(
        """CREATE OR REPLACE TEMP TABLE believed AS SELECT key, start, max(period) AS period, max(risk) AS risk,
        max(type) AS type, min(abs(days)) AS days FROM claims GROUP BY key, start ORDER BY key, start"""
    )
    return count


take_turns(merge)
