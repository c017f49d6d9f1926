"""Which of the things that were wrong is kept, and how a playbook asserts it."""

from collections.abc import Sequence

from cluster_model.checker.root_cause.findings import LOST
from playbooks.errors import listed, nearest, shown
from playbooks.results.result import Result
from playbooks.results.wrongs import ANOMALY, EXPECTATION, FINDING, OVERDUE, VIOLATION, Wrong, wrongs_of

_WORST: tuple[tuple[str, str], ...] = (
    (FINDING, f"{LOST}/"), (VIOLATION, ""), (FINDING, ""), (ANOMALY, ""), (OVERDUE, ""), (EXPECTATION, ""),
)  # fmt: skip
"""Kinds of keys, the worst first."""


class KeyUnknownError(ValueError):
    """A key that the session does not have; the message says which it has."""


class NothingWrongError(Exception):
    """There is nothing to keep."""


def chosen(result: Result, wanted: Sequence[str]) -> tuple[Wrong, ...]:
    """What is to be kept: the wanted keys, else the worst surprise, else the worst at all.

    Raises:
        KeyUnknownError: the session does not have one of the keys.
        NothingWrongError: it has none at all.
    """
    there = {each.key: each for each in wrongs_of(result)}
    if not there:
        raise NothingWrongError
    for key in wanted:
        if key not in there:
            hint = nearest(key, list(there))
            raise KeyUnknownError(
                f"--keep: found {shown(key)}, the session went wrong by {listed(list(there), 'and')}{hint}"
            )
    if wanted:
        return tuple([there[key] for key in dict.fromkeys(wanted)])
    ordered = sorted(there.values(), key=lambda each: (each.known, _rank(each), each.key))
    return (ordered[0],)


def _rank(wrong: Wrong) -> int:
    return next(
        place for place, (kind, name) in enumerate(_WORST) if wrong.kind == kind and wrong.name.startswith(name)
    )


def asserted(key: str) -> str:
    """The condition that says so at the end of a session; empty where a playbook has it anyway."""
    kind, _, name = key.partition(":")
    if kind == FINDING:
        return f"findings({name.partition('/')[2]}) >= 1"
    called = {VIOLATION: "violations", ANOMALY: "anomalies", OVERDUE: "overdue"}
    return f"{called[kind]}({name}) >= 1" if kind in called else ""


def sentence(result: Result, key: str) -> str:
    """What was wrong, in one sentence of the session that had it."""
    kind, _, name = key.partition(":")
    if kind == FINDING:
        return next((each.sentence for each in result.findings if f"{each.kind}/{each.cause}" == name), "")
    if kind == VIOLATION:
        return next((each.detail for each in result.violations if each.invariant == name), "")
    if kind == ANOMALY:
        return next(
            (f"{name}, {each.found} times" for each in result.anomalies if each.name == name and not each.legal), ""
        )
    if kind == OVERDUE:
        return next((each.detail for each in result.overdue if each.property == name), "")
    return next(
        (f"{each.text}: {each.detail}" for each in result.expectations if each.text == name and not each.ok), ""
    )
