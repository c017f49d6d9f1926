"""What sessions come to, as values and documents.

result: `Result`, the object that `floodmark run --json` prints; keys of failures, and which are no surprise.
outages: when clients were not served, and when partitions had no leader.
client_stats: what clients saw: producers, members and groups; groups as `kafka-consumer-groups.sh` shows them.
sweep_matrix: what a grid came to: rows, the best ones, one sentence of advice, and tables.
baseline: results of earlier runs kept in a file, and how a new run differs.

Built from events and views of `cluster_model` as they pass. This package does not know how a session is run.
"""

from playbooks.results import client_stats
from playbooks.results.baseline import (
    Baseline,
    BaselineError,
    Change,
    Difference,
    Entry,
    compare,
    entry_of,
    read_baseline,
    saved,
    unused,
)
from playbooks.results.client_stats import (
    ClientBooks,
    Clients,
    Counts,
    GroupBook,
    GroupSummary,
    MemberSummary,
    ProducerBook,
    ProducerSummary,
    summed_up,
    transaction_words,
)
from playbooks.results.outages import Line, outage_words, short_seconds
from playbooks.results.result import Checked, Result
from playbooks.results.sweep_matrix import (
    Matrix,
    Table,
    advice,
    cross_table,
    error_lines,
    matrix_markdown,
    matrix_table,
    seed_table,
    to_json,
)

__all__ = [
    "Baseline",
    "BaselineError",
    "Change",
    "Checked",
    "ClientBooks",
    "Clients",
    "Counts",
    "Difference",
    "Entry",
    "GroupBook",
    "GroupSummary",
    "Line",
    "Matrix",
    "MemberSummary",
    "ProducerBook",
    "ProducerSummary",
    "Result",
    "Table",
    "advice",
    "client_stats",
    "compare",
    "cross_table",
    "entry_of",
    "error_lines",
    "matrix_markdown",
    "matrix_table",
    "outage_words",
    "read_baseline",
    "saved",
    "seed_table",
    "short_seconds",
    "summed_up",
    "to_json",
    "transaction_words",
    "unused",
]
