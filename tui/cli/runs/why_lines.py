"""The answer of ``floodmark why`` in lines: findings, the point of no return, and what would have saved them."""

import shlex
from collections.abc import Sequence

from rich.console import Console

from cluster_model.checker.root_cause.findings import LOST
from playbooks.diagnosis.point_of_no_return import NoReturn
from playbooks.diagnosis.remedies import Remedy
from playbooks.diagnosis.rescues import Rescue
from playbooks.diagnosis.why import Explained, Why
from playbooks.engine.expectations import seconds
from playbooks.errors import counted
from playbooks.results.outages import short_seconds
from tui.output.console import say
from tui.output.wrapping import say_wrapped

LABEL = 13
NOTHING = "nothing to explain: the session has no findings"
_INDENT = " " * LABEL
_NAMED = 6
"""Remedies that saved nothing, named one by one."""


def print_why(console: Console, why: Why, *, above: int = 0) -> None:
    """Everything, a paragraph for each finding; of the first ``above`` the sentence has been told already."""
    if not why.explained:
        say(console, NOTHING, "green")
    told: tuple[Remedy, ...] = ()
    for each in why.explained:
        _print_finding(console, each, above=each.number <= above)
        if each.remedies and each.remedies != told:
            told = each.remedies
            _print_remedies(console, told)


def _print_finding(console: Console, explained: Explained, *, above: bool) -> None:
    finding = explained.finding
    label = f"finding {explained.number}"
    told = f"{label} (above)" if above else f"{label:<{LABEL}}{finding.kind}: {finding.sentence}"
    say_wrapped(console, told, _INDENT, "red")
    if explained.no_return is not None:
        for line in no_return_lines(explained.no_return):
            say_wrapped(console, line, _INDENT)
    elif finding.kind == LOST:
        say_wrapped(console, f"{'no return':<{LABEL}}not looked for: --finding {explained.number} asks for it", _INDENT)
    else:
        say_wrapped(console, f"{'no return':<{LABEL}}not looked for: only for losses", _INDENT)


def no_return_lines(found: NoReturn) -> list[str]:
    """The point of no return, in a few lines."""
    lines = [f"{'no return':<{LABEL}}{_point(found)}"]
    if found.actions:
        still = "still would keep it" if found.kind == "open" else "would have kept it"
        lines.append(f"{'until then':<{LABEL}}{_listed(found.actions)} {still}")
    if found.kind == "event" and found.sign:
        lines.append(f"{'warned by':<{LABEL}}{_sign(found)}")
    if found.clean is not None:
        ordinary = "without an unclean election: "
        kept = f"; until then {_listed(found.clean.actions)} would have kept it" if found.clean.actions else ""
        lines.append(f"{'':<{LABEL}}{ordinary}{_point(found.clean)}{kept}")
    return lines


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


def _print_remedies(console: Console, remedies: Sequence[Remedy]) -> None:
    good = [each for each in remedies if each.verdict in ("saves", "helps")]
    if good:
        say(console, f"{'remedies':<{LABEL}}same seed, one thing set otherwise")
        for each in good:
            say_wrapped(console, f"  {_priced(each)}", " " * 4)
            for option in each.change.options:
                say(console, f"      --set {shlex.quote(option)}")
    else:
        say(console, f"{'remedies':<{LABEL}}none of the changes tried would have saved it", "yellow")
    for verdict in ("inconclusive", "would not have helped", "refused"):
        rest = [each for each in remedies if each.verdict == verdict]
        if rest:
            say_wrapped(console, f"{verdict}: {', '.join(map(_named, rest[:_NAMED]))}{_more(rest)}", "  ", "dim")


def _more(rest: Sequence[Remedy]) -> str:
    return f", and {len(rest) - _NAMED} more" if len(rest) > _NAMED else ""


def _named(remedy: Remedy) -> str:
    return f"{remedy.change.name} ({remedy.note})" if remedy.note else remedy.change.name


def _priced(remedy: Remedy) -> str:
    """What it leaves and what it costs: ``acks=all: 0 of 99 left, rejected 0, unavailable -0.5 s, in 5 of 5 seeds``."""
    note = f" ({remedy.change.note})" if remedy.change.note else ""
    rejected = f"{remedy.rejected:+d}" if remedy.rejected else "0"
    parts = [
        f"{remedy.left} of {remedy.before} left",
        f"rejected {rejected}",
        f"unavailable {_span(remedy.unavailable_us)}",
    ]
    parts += [f"in {remedy.seeds_kept} of {remedy.seeds} seeds"] if remedy.seeds > 1 else []
    return f"{remedy.change.name}{note}: {', '.join(parts)}"


def _span(us: int) -> str:
    """A difference of times; less than a tenth of a second is chance."""
    if abs(us) < 50_000:
        return "0"
    return f"{'+' if us > 0 else '-'}{short_seconds(abs(us))}"
