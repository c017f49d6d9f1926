"""What a person would assert after a session, found in how it went: losses, violations, recoveries, what is left over.

Only what holds is proposed, and nothing that depends on a number of no meaning, such as how many records were read.
"""

from dataclasses import dataclass
from typing import Final

from cluster_model.spec.cluster_spec import ClusterSpec
from playbooks.conditions.conditions import parse
from playbooks.model.playbook import Expectation
from playbooks.model.step_text import instant, scalar
from playbooks.results.result import Result
from playbooks.units import MICROSECONDS

_SECOND: Final = MICROSECONDS["s"]
_ROUND_US: Final = tuple(number * _SECOND for number in (1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1_800, 3_600))
"""Limits that a person would choose."""

RECOVERIES: Final = {
    "offline_partitions() == 0": (
        "the controller always named a leader for every partition",
        "every partition had a leader again",
    ),
    "under_min_isr() == 0": ("never fewer in sync than min.insync.replicas", "enough replicas were in sync again"),
    "under_replicated() == 0": ("every replica was in sync all the time", "every replica was in sync again"),
}
"""Conditions that tell whether a cluster is well → what to say if they always held, and if they did so in the end."""


@dataclass(frozen=True, slots=True)
class Inferred:
    """One assertion."""

    key: str
    """``always``, ``eventually``, or empty: it holds at the end."""
    condition: str
    why: str
    within_us: int = -1

    def written(self, indent: int) -> list[str]:
        """Lines of the list of expectations whose dashes stand at a column."""
        dash, rest = " " * indent + "- ", " " * (indent + 2)
        if not self.key:
            return [f"{dash}{scalar(self.condition)}  # {self.why}"]
        lines = [f"{dash}{self.key}: {scalar(self.condition)}  # {self.why}"]
        if self.within_us >= 0:
            lines += [f"{rest}within: {instant(self.within_us)}", f"{rest}since: heal"]
        return lines


def candidates(spec: ClusterSpec) -> list[Inferred]:
    """What has to be watched while the session runs, to know whether it is to be asserted."""
    watched: list[Inferred] = []
    if spec.manual:
        return watched
    for condition, (never, _again) in RECOVERIES.items():
        watched.append(Inferred("always", condition, never))
        watched.append(Inferred("eventually", condition, "", _ROUND_US[-1]))
    return watched


def infer(
    result: Result, query: object, spec: ClusterSpec, healed_us: int, known: tuple[Expectation, ...]
) -> list[Inferred]:
    """What to assert, given a run with the :func:`candidates` as its last expectations.

    ``healed_us`` is when the last fault was healed, -1 for never; ``known`` is what the playbook expects already.
    """
    found = _losses(result, spec)
    found += _violations(result)
    if not spec.manual:
        found += _recoveries(result, healed_us)
        found += _groups(query, spec)
    return [each for each in found if not _is_known(each, result, known)]


def _is_known(inferred: Inferred, result: Result, known: tuple[Expectation, ...]) -> bool:
    """Whether the playbook says so already, or said otherwise and was wrong: then its word is the one to keep."""
    about = inferred.condition.partition("(")[0]
    for place, each in enumerate(known):
        same = each.condition.text.replace(" ", "") == inferred.condition.replace(" ", "")
        if same and each.kind == (inferred.key or "end"):
            return True
        checked = result.expectations[_steps_checked(result) + place]
        if not checked.ok and not inferred.key and each.condition.text.partition("(")[0] == about:
            return True
    return False


def _steps_checked(result: Result) -> int:
    """How many entries of a result come before those of the playbook's expectations."""
    return sum(each.by_step for each in result.expectations)


def _losses(result: Result, spec: ClusterSpec) -> list[Inferred]:
    ledger = result.ledger
    if not ledger.sent:
        return []
    cause = f": {result.losses[0].cause}" if result.losses and len(result.losses[0].cause) <= 90 else ""
    told = {
        "acked_lost": ("nothing that was acknowledged is gone", f"acknowledged, and gone{cause}"),
        "committed_lost": ("nothing that a consumer could have read is gone", "a consumer could have read these"),
        "duplicates": ("nothing was written twice", "written more than once"),
        "reordered": ("nothing was written out of order", "written before one that was sent earlier"),
    }
    found = [_count(name, int(getattr(ledger, name)), *why) for name, why in told.items()]
    if ledger.acked == ledger.sent:
        found.append(Inferred("", "acked() == sent()", "every record was acknowledged"))
    if ledger.failed:
        found.append(_count("failed", ledger.failed, "", "their producers were told that they are not written"))
    if ledger.unknown:
        found.append(_count("unknown", ledger.unknown, "", "nobody was told whether they are written"))
    if any("transactional.id" in str(producer.config) for producer in spec.producers):
        found.append(_count("undone", ledger.undone, "no commit was undone", "acknowledged, and aborted in the log"))
        found.append(_count("leaked", ledger.leaked, "no abort was leaked", "aborted, and committed in the log"))
    return found


def _count(name: str, number: int, none: str, some: str, argument: str = "") -> Inferred:
    return Inferred("", f"{name}({argument}) == {number}", some if number else none)


def _violations(result: Result) -> list[Inferred]:
    names = list(dict.fromkeys(each.invariant for each in result.violations))
    if not names:
        return [Inferred("", "violations() == 0", "the protocol kept its promises")]
    counts = [sum(each.invariant == name for each in result.violations) for name in names]
    broken = [
        Inferred("", f'violations("{name}") == {count}', "a promise of the protocol that was broken")
        for name, count in zip(names, counts, strict=True)
    ]
    if all(each.known for each in result.violations):
        broken.append(Inferred("", "unexpected_violations() == 0", "nothing but what this version is known for"))
    return broken


def _recoveries(result: Result, healed_us: int) -> list[Inferred]:
    found = []
    watched = result.expectations[-2 * len(RECOVERIES) :]
    for number, (condition, (never, again)) in enumerate(RECOVERIES.items()):
        always, eventually = watched[2 * number], watched[2 * number + 1]
        if always.ok:
            found.append(Inferred("always", condition, never))
        elif eventually.ok and 0 <= healed_us <= eventually.at_us:
            took_us = eventually.at_us - healed_us
            within_us = next((limit for limit in _ROUND_US if limit >= 2 * took_us), -1)
            if within_us >= 0:
                found.append(Inferred("eventually", condition, f"{again} after {instant(took_us)}", within_us))
    return found


def _groups(query: object, spec: ClusterSpec) -> list[Inferred]:
    found = []
    for group in spec.groups:
        for name, none, some in (
            ("lag", "it had read and committed everything", "it was behind at the end"),
            ("passed_over", "it was handed every record", "offsets that it was never handed"),
        ):
            argument = scalar(group.name, inside=True)
            number = parse(f"{name}({argument})").value(query)
            if name == "lag" and number < 0:
                continue
            found.append(_count(name, number, none, some, argument))
    return found
