"""The answer of ``why`` in words: the point of no return, and what a change leaves and costs."""

from collections.abc import Sequence

from playbooks.diagnosis.point_of_no_return import NoReturn
from playbooks.diagnosis.remedies import Remedy, Rescue
from playbooks.engine.expectations import seconds
from playbooks.errors import counted
from playbooks.results.outages import short_seconds


def no_return_words(found: NoReturn) -> list[tuple[str, str]]:
    """The point of no return in a few lines, each with its label; the last may have none."""
    lines = [("no return", _point(found))]
    if found.actions:
        still = "still would keep it" if found.kind == "open" else "would have kept it"
        lines.append(("until then", f"{_listed(found.actions)} {still}"))
    if found.kind == "event" and found.sign:
        lines.append(("warned by", _sign(found)))
    if found.clean is not None:
        kept = f"; until then {_listed(found.clean.actions)} would have kept it" if found.clean.actions else ""
        lines.append(("", f"without an unclean election: {_point(found.clean)}{kept}"))
    return lines


def remedy_words(remedy: Remedy) -> str:
    """What it leaves and what it costs: ``acks=all: 0 of 99 left, rejected 0, unavailable -0.5 s, in 5 of 5 seeds``.

    Of a change that was refused, or that proves nothing, why: ``kafka 4.1: the playbook uses ZooKeeper``.
    """
    note = f" ({remedy.change.note})" if remedy.change.note else ""
    if remedy.verdict in ("refused", "inconclusive"):
        return f"{remedy.change.name}{note}: {remedy.note or remedy.verdict}"
    rejected = f"{remedy.rejected:+d}" if remedy.rejected else "0"
    parts = [
        f"{remedy.left} of {remedy.before} left",
        f"rejected {rejected}",
        f"unavailable {_span(remedy.unavailable_us)}",
    ]
    parts += [f"in {remedy.seeds_kept} of {remedy.seeds} seeds"] if remedy.seeds > 1 else []
    return f"{remedy.change.name}{note}: {', '.join(parts)}"


def _point(found: NoReturn) -> str:
    if found.kind == "unplaced":
        return "at the acknowledgement itself: it was given before any broker had the records, and none ever did"
    if found.kind == "acknowledgement":
        when = found.step(found.at_us) if found.by_hand else seconds(found.at_us)
        return f"at the acknowledgement itself ({when}): no action could have kept it from then on"
    if found.kind == "open":
        return "not yet: at the end of the session it could still be kept"
    return found.words if found.by_hand else f"{seconds(found.at_us)}, {found.words}"


def _sign(found: NoReturn) -> str:
    if found.by_hand:
        left = found.at_us - found.sign_us
        return f"{found.step(found.sign_us)} ({found.sign}), {counted(left, 'step')} before"
    return f"{seconds(found.sign_us)} ({found.sign}), {short_seconds(found.time_left_us)} before"


def _listed(actions: Sequence[Rescue]) -> str:
    names = list(dict.fromkeys(each.words for each in actions))
    return names[0] if len(names) == 1 else f"{'; '.join(names[:-1])}; or {names[-1]}"


def _span(us: int) -> str:
    """A difference of times; less than a tenth of a second is chance."""
    if abs(us) < 50_000:
        return "0"
    return f"{'+' if us > 0 else '-'}{short_seconds(abs(us))}"
