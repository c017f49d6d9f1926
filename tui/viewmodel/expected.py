"""What a playbook expects, each with how it stands at this instant: passed, failed, or not yet decided."""

from dataclasses import dataclass
from typing import Literal

from playbooks.engine.expectations import Watch, explain, holds
from playbooks.model.playbook import Expectation
from tui.terminal import glyphs
from tui.viewmodel.row import Row

Stand = Literal["pass", "fail", "open"]

GLYPHS = {"pass": (glyphs.OK, "calm"), "fail": (glyphs.DOWN, "alarm"), "open": (glyphs.NOTHING, "quiet")}


@dataclass(frozen=True, slots=True)
class Standing:
    """An expectation as it stands."""

    text: str
    stand: Stand
    told: str


def standing(watch: Watch, query: object, healed_us: int) -> Standing:
    """How an expectation stands, by what it watched so far and by what the cluster is now."""
    each = watch.expectation
    if watch.final:
        return Standing(each.text, "pass" if watch.ok else "fail", watch.detail)
    if each.kind == "always":
        return Standing(each.text, "open", "held so far")
    if each.kind == "end":
        return Standing(each.text, "open", f"asked at the end: now {_now(each, query)}")
    if watch.at_us >= 0:
        return Standing(each.text, "open", f"{watch.detail}; another fault would begin it anew")
    if watch.waits_for_heal and healed_us < 0:
        return Standing(each.text, "open", "its time begins when the last fault is healed")
    return Standing(each.text, "open", f"not yet: {explain(each.condition, query) or _now(each, query)}")


def unasked(expectation: Expectation) -> Standing:
    """One of a playbook that does not run."""
    return Standing(expectation.text, "open", "")


def rows(standings: tuple[Standing, ...]) -> tuple[Row, ...]:
    """A line for each."""
    found = []
    for each in standings:
        glyph, role = GLYPHS[each.stand]
        told = f"  {each.told}" if each.told else ""
        found.append(Row(((f"{glyph} ", role), (each.text, "text"), (told, "quiet" if each.stand != "fail" else role))))
    return tuple(found) or (Row((("it expects nothing", "quiet"),)),)


def title(standings: tuple[Standing, ...], *, runs: bool) -> str:
    """Above them."""
    if not runs:
        return "What must hold"
    count = {stand: sum(each.stand == stand for each in standings) for stand in GLYPHS}
    parts = [f"{count['pass']} passed", f"{count['fail']} failed", f"{count['open']} open"]
    return f"What must hold {glyphs.NOTHING} {', '.join(parts)}"


def _now(expectation: Expectation, query: object) -> str:
    would = "it would pass" if holds(expectation.condition, query) else "it would fail"
    told = explain(expectation.condition, query)
    return f"{would}, {told}" if told else would
