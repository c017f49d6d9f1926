"""Delta debugging: reduction of a failing playbook to a minimal one that fails in the same way.

shrinker: fewer steps, fewer records and clients, shorter and earlier faults, until no pass finds more; and the shrunk
playbook as a file with comments.
search: tests candidate after candidate within a budget, several in parallel.
oracle: whether a candidate still fails in the same way; verdicts are kept in a journal.
candidate: the playbook as editable plain data, and its removable steps.

Builds on `playbooks.engine`, `parser` and the failure keys of `results`.
"""

from playbooks.shrink.candidate import digest, flow
from playbooks.shrink.oracle import CandidateVerdict, Journal, JournalError, KeyUnknownError, NoFailureError, judged
from playbooks.shrink.search import Budget, CandidateRunner, DraftSearch
from playbooks.shrink.shrinker import (
    STOPPED,
    WHOLE,
    DraftSize,
    PassResult,
    ShrinkError,
    ShrinkResult,
    ShrinkSource,
    ShrinkTarget,
    examine,
    shrink,
    without_it,
    written,
)

__all__ = [
    "STOPPED",
    "WHOLE",
    "Budget",
    "CandidateRunner",
    "CandidateVerdict",
    "DraftSearch",
    "DraftSize",
    "Journal",
    "JournalError",
    "KeyUnknownError",
    "NoFailureError",
    "PassResult",
    "ShrinkError",
    "ShrinkResult",
    "ShrinkSource",
    "ShrinkTarget",
    "digest",
    "examine",
    "flow",
    "judged",
    "shrink",
    "without_it",
    "written",
]
