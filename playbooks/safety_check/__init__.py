"""Answers "is it safe to do this now?" by simulating many futures with and without the action.

question: parses a typed question to steps.
start_point: the session and the time at which the question is asked.
simulation: the futures: the session forked many times, also in other processes, with the intervals in which clients
and groups were not served.
check: prepares a question and evaluates it: what the action adds, over all futures.
report: the answer as text and JSON, and the worst future as a playbook.

Builds on `playbooks.engine`, `parser`, `export` and `results`.
"""

from playbooks.safety_check.check import STALL_US, SafetyCheckResult, ask, check_question, prepare
from playbooks.safety_check.question import ASSIGNED, FAULTS, VERBS, pieces, read_question, words
from playbooks.safety_check.report import (
    EXIT_CODES,
    WitnessError,
    headline,
    lines,
    title,
    to_json,
    witness,
    witness_text,
)
from playbooks.safety_check.simulation import SafetyCheckError
from playbooks.safety_check.start_point import StartPoint, StartPointError, TimePoint, of_playbook, of_session

__all__ = [
    "ASSIGNED",
    "EXIT_CODES",
    "FAULTS",
    "STALL_US",
    "VERBS",
    "SafetyCheckError",
    "SafetyCheckResult",
    "StartPoint",
    "StartPointError",
    "TimePoint",
    "WitnessError",
    "ask",
    "check_question",
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
    "witness_text",
    "words",
]
