"""Delta debugging: a failing playbook made as small as it can be while it fails in the same way.

shrinker: fewer steps, fewer records and clients, shorter and earlier faults, until no pass finds more; and the shrunk
playbook as a file with reasons.
search: goes from candidate to candidate within a budget, several ahead of their turn.
oracle: whether a candidate still fails in the same way; verdicts are kept in a journal.
candidate: the playbook as plain data that can be edited, and the decisions made so far.

Builds on `playbooks.engine`, `parser` and the failure keys of `results`.
"""

from playbooks.shrink.candidate import digest, flow
from playbooks.shrink.oracle import CandidateVerdict, Journal, JournalError, KeyUnknownError, NothingWrongError, judged
from playbooks.shrink.search import Bench, Budget, DraftSearch
from playbooks.shrink.shrinker import (
    STOPPED,
    WHOLE,
    DraftSize,
    PassResult,
    ShrinkError,
    ShrinkSource,
    ShrinkTarget,
    Shrunk,
    look,
    shrink,
    without_it,
    written,
)

__all__ = [
    "STOPPED",
    "WHOLE",
    "Bench",
    "Budget",
    "CandidateVerdict",
    "DraftSearch",
    "DraftSize",
    "Journal",
    "JournalError",
    "KeyUnknownError",
    "NothingWrongError",
    "PassResult",
    "ShrinkError",
    "ShrinkSource",
    "ShrinkTarget",
    "Shrunk",
    "digest",
    "flow",
    "judged",
    "look",
    "shrink",
    "without_it",
    "written",
]
