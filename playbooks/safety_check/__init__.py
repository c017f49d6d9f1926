"""Answers "is it safe to do this now?" by running many futures with and without the action.

question: a question as it is typed, read to steps.
start_point: the session and the time at which the question is asked.
simulation: the futures: the session forked again and again, also in other processes, and what is seen of each, when
  a group was handed nothing among it.
check: prepares a question and gives its answer: what the action adds, over all futures.
report: the answer as text and document, and the worst future as a playbook.

Builds on `playbooks.engine`, `parser`, `export` and `results`.
"""

from playbooks.safety_check.check import STALL_US, SafetyCheckResult, ask, check_wording, prepare
from playbooks.safety_check.question import ASSIGNED, FAULTS, VERBS, pieces, read_question, words
from playbooks.safety_check.report import (
    EXIT_CODES,
    WitnessError,
    headline,
    lines,
    title,
    to_json,
    witness,
    witness_words,
)
from playbooks.safety_check.simulation import AskingError
from playbooks.safety_check.start_point import At, StartPoint, StartPointError, of_playbook, of_session

__all__ = [
    "ASSIGNED",
    "EXIT_CODES",
    "FAULTS",
    "STALL_US",
    "VERBS",
    "AskingError",
    "At",
    "SafetyCheckResult",
    "StartPoint",
    "StartPointError",
    "WitnessError",
    "ask",
    "check_wording",
    "headline",
    "lines",
    "of_playbook",
    "of_session",
    "pieces",
    "prepare",
    "read_question",
    "title",
    "to_json",
    "witness",
    "witness_words",
    "words",
]
