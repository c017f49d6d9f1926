"""What would have saved records, in lines: the answer of ``floodmark why --json`` for one finding."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tui.terminal import glyphs
from tui.terminal.format import clock, duration

_GLYPHS: Final = {
    "saves": (glyphs.OK, "calm"),
    "helps": (glyphs.LAGGING, "warning"),
    "inconclusive": (glyphs.STALE, "quiet"),
    "would not have helped": (glyphs.DOWN, "quiet"),
    "refused": (glyphs.NOTHING, "quiet"),
}
HEAD_WORDS: Final = (
    "the same seed and faults once more, one thing set otherwise; {autopsy_next_change} marks one,"
    " {autopsy_take} runs it as a branch to compare"
)
MOST_TOLD: Final = 3
"""Changes that save, told in short."""
CHANCE_US: Final = 50_000
"""A difference of times below this is chance."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A change that can be run as a branch."""

    name: str
    settings: Mapping[str, str]
    """As ``--set`` takes them."""
    line: int
    """Which one of :func:`lines` tells of it, from 0."""


def choices(found: Mapping[str, Any]) -> tuple[Choice, ...]:
    """Those among the remedies: all but what was refused."""
    return tuple(
        Choice(each["change"], dict(one.split("=", 1) for one in each["set"]), line)
        for line, each in enumerate(found["remedies"], 1)
        if each["set"] and each["verdict"] != "refused"
    )


def in_short(found: Mapping[str, Any] | None) -> str:
    """What saves, in half a line, for somebody who goes on to try it; None: it was not asked for."""
    if found is None:
        return ""
    saving = [each for each in found["remedies"] if each["verdict"] == "saves"]
    if not saving:
        return "no change that was tried saves them"
    return f"what saves them: {'; '.join(each['change'] for each in saving[:MOST_TOLD])}"


def lines(found: Mapping[str, Any], head: str = HEAD_WORDS) -> tuple[tuple[str, str], ...]:
    """(text, role) of each line: ``head``, every change with its price, then the point of no return."""
    remedies = found["remedies"]
    told = [(head, "quiet")] if remedies else []
    told += [_remedy(each) for each in remedies]
    if not any(each["verdict"] in ("saves", "helps") for each in remedies):
        told.append(("none of the changes tried would have saved it", "warning"))
    told += [(text, "text") for text in _no_return(found.get("no_return"))]
    return tuple(told)


def _remedy(remedy: Mapping[str, Any]) -> tuple[str, str]:
    verdict = remedy["verdict"]
    glyph, role = _GLYPHS[verdict]
    because = f" ({remedy['because']})" if remedy["because"] else ""
    name = f"{glyph} {remedy['change']}{because}"
    if verdict in ("refused", "inconclusive"):
        return f"{name}: {verdict}{', ' if remedy['note'] else ''}{remedy['note']}", role
    price = [f"{remedy['after']} of {remedy['before']} left"]
    price.append(f"rejected {remedy['rejected']:+d}" if remedy["rejected"] else "rejected 0")
    price.append(f"unavailable {_span(remedy['unavailable_us'])}")
    if remedy["seeds"] > 1:
        price.append(f"in {remedy['seeds_kept']} of {remedy['seeds']} seeds")
    return f"{name}: {', '.join(price)}", role if verdict in ("saves", "helps") else "text"


def _span(us: int) -> str:
    if abs(us) < CHANCE_US:
        return "0"
    return f"{'+' if us > 0 else glyphs.MINUS}{duration(abs(us))}"


def _no_return(found: Mapping[str, Any] | None) -> list[str]:
    if found is None:
        return []
    kind = found["kind"]
    actions = _listed([each["words"] for each in found["actions"]])
    if kind == "unplaced":
        return ["point of no return: the acknowledgement itself, for no broker ever had them"]
    if kind == "acknowledgement":
        return [f"point of no return: the acknowledgement itself, at {clock(found['at_us'])}"]
    if kind == "open":
        return [f"point of no return: not yet; {actions} still would keep it"]
    texts = [f"point of no return: {clock(found['at_us'])}, {found['words']}"]
    if actions:
        texts.append(f"until then {actions} would have kept it")
    clean = found.get("without_unclean")
    if clean is not None and clean["kind"] == "event":
        kept = _listed([each["words"] for each in clean["actions"]])
        until = f"; until then {kept} would have kept it" if kept else ""
        texts.append(f"without an unclean election: {clock(clean['at_us'])}, {clean['words']}{until}")
    if found["acked_us"] >= 0:
        texts.append(f"the first of them was acknowledged at {clock(found['acked_us'])}")
    return texts


def _listed(words: Sequence[str]) -> str:
    found = list(dict.fromkeys(words))
    return found[0] if len(found) == 1 else f"{'; '.join(found[:-1])}; or {found[-1]}" if found else ""
