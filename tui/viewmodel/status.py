"""The status bar: fields of fixed width, so that nothing ever moves."""

import re
from dataclasses import dataclass
from typing import Final

from cluster_model.views import ClusterView
from playbooks.branches import MAIN
from tui import glyphs
from tui.theme import Over
from tui.viewmodel.motion import Motion
from tui.viewmodel.words import clock, count, speed

NARROW: Final = 100
"""Below this width words are short ..."""
ROOMY: Final = 132
"""... and from this one on they are long."""
VERY_ROOMY: Final = 150
"""From this one on the seed stands beside the branch."""
_DIGITS: Final = re.compile(r"[0-9]+")


_TIMED: Final = {3: ("pause", "faster", "goto"), 2: ("present", "faster")}
"""Number of the fields about time, in the present and in the past → the keys that they stand for."""
_LAST: Final = 2
"""The fields at the end that tell of records gone: both stand for the autopsy."""


@dataclass(frozen=True, slots=True)
class Running:
    """How the session runs, beside what the cluster is."""

    playbook: str
    seed: int
    paused: bool
    seeking: bool
    ended: bool
    asked: float
    real: float
    recorded: bool = False
    """Whether it is a recording that is looked at."""
    present_us: int = -1
    """How far the session has come, where it is looked back into; -1 where the present is shown."""
    branch: str = ""
    """Which branch is looked at; empty where there is only one."""
    queued: int = 0
    """Faults that wait for time to go on."""


@dataclass(frozen=True, slots=True)
class StatusBar:
    """Fields as (text, role), each text already as wide as its field, and perhaps that it has just changed."""

    fields: tuple[tuple[str, str] | tuple[str, str, Over], ...]
    places: tuple[tuple[int, int, str], ...] = ()
    """Words that stand for a key: from which cell up to which other one, and the id of the key."""

    def key_at(self, x: int) -> str:
        """The id of the key for which cell ``x`` stands, empty for none."""
        return next((key for start, end, key in self.places if start <= x < end), "")

    def told(self, motion: Motion) -> "StatusBar":
        """The same, with the counts that have just changed marked; the clock and the speed are none."""
        if not motion.on:
            return self
        return StatusBar(tuple(_told(field[0], field[1], motion) for field in self.fields), self.places)


def build(view: ClusterView, running: Running, width: int) -> StatusBar:
    """The bar for ``width`` cells: long words where there is room, short ones otherwise."""
    wide = width >= NARROW
    few, many = (3, 5) if width >= ROOMY else (2, 3)
    up, paused, down = (
        sum(each.state in states for each in view.brokers) for states in (("up",), ("paused", "starting"), ("down",))
    )
    everything = (*view.partitions, *view.internal)
    under = sum(each.under_replicated for each in everything)
    offline = sum(each.offline for each in everything)
    ledger = view.ledger
    seeded = not running.branch or width >= VERY_ROOMY
    timed = _time(view.now_us, running, wide) if running.present_us < 0 else _past(view.now_us, running, wide)
    branched = _branch(running.branch, wide)
    fields = [
        (f" {glyphs.LOGO} floodmark  " if wide else f" {glyphs.LOGO} ", "bar_strong"),
        *([(f"seed {running.seed}  " if wide else f"s{running.seed} ", "bar_quiet")] * seeded),
        *timed,
        *branched,
        (f" {glyphs.IN_SYNC}{up}".ljust(4 if wide else 3), "bar_calm"),
        (f"{glyphs.PAUSED}{paused}".ljust(3 if wide else 2), "bar_warning" if paused else "bar_quiet"),
        (f"{glyphs.DOWN}{down}".ljust(3 if wide else 2), "bar_alarm" if down else "bar_quiet"),
        _number("under-repl" if width >= ROOMY else "urp", under, "bar_warning", few),
        _number("offline" if wide else "off", offline, "bar_alarm", few if wide else 1),
        _number("missing" if wide else "miss", ledger.missing, "bar_warning", many),
        _number("lost" if wide else glyphs.LOST, ledger.acked_lost, "bar_lost", many),
    ]
    room = max(3, min(18, width - 1 - sum(len(text) for text, _role in fields)))
    name = running.playbook if len(running.playbook) <= room else running.playbook[: room - 1] + "…"
    fields.insert(1, (f"{name} ", "bar"))
    keys = ["help", "playbooks", *[""] * seeded, *_TIMED[len(timed)], *["branches"] * len(branched)]
    keys += [""] * (len(fields) - len(keys) - _LAST) + ["finding"] * _LAST
    return StatusBar(tuple(fields), _places(fields, keys))


def _places(fields: list[tuple[str, str]], keys: list[str]) -> tuple[tuple[int, int, str], ...]:
    found, at = [], 0
    for (text, _role), key in zip(fields, keys, strict=True):
        if key:
            found.append((at, at + len(text), key))
        at += len(text)
    return tuple(found)


def _time(now_us: int, running: Running, wide: bool) -> tuple[tuple[str, str], ...]:
    return (
        _pill(running),
        (_speed(running, wide), "bar"),
        (f"{clock(now_us)} ".rjust(11 if wide else 10), "bar_strong"),
    )


def _past(now_us: int, running: Running, wide: bool) -> tuple[tuple[str, str], ...]:
    """Which instant of how much, and the speed: as wide as the fields of the present; tenths where it is narrow."""
    glyph, role = (glyphs.PAUSED, "pill_paused") if running.paused else (glyphs.PLAY, "pill_seek")
    speeds = f"{glyphs.TIMES}{speed(running.asked)}"
    if wide:
        return (f" {glyph} PAST {clock(now_us)} of {clock(running.present_us)} ", role), (f" {speeds}".ljust(6), "bar")
    now, present = clock(now_us)[:-2], clock(running.present_us)[:-2]
    return (f"{glyph}PAST {now} of {present}", role), (speeds.rjust(5), "bar")


def _branch(letter: str, wide: bool) -> list[tuple[str, str]]:
    """Which branch it is, once there are several."""
    if not letter:
        return []
    if letter == MAIN:
        return [(f" {glyphs.FORK} main   " if wide else f" {glyphs.FORK}main ", "bar_calm")]
    return [(f" {glyphs.FORK} FORK {letter} " if wide else f" {glyphs.FORK} {letter} ".ljust(7), "pill_seek")]


def _pill(running: Running) -> tuple[str, str]:
    if running.ended:
        return " AT END  " if running.recorded else " ENDED   ", "pill_paused"
    if running.seeking:
        return f" {glyphs.SEEK} SEEK  ", "pill_seek"
    if running.paused and running.queued:
        return f" {glyphs.PAUSED}{min(running.queued, 99):>2} WAIT", "pill_paused"
    if running.paused:
        return f" {glyphs.PAUSED} PAUSED", "pill_paused"
    return f" {glyphs.PLAY} {'PLAY' if running.recorded else 'LIVE'}  ", "pill_live"


def _speed(running: Running, wide: bool) -> str:
    """The speed asked for, and the real one where the machine is the limit."""
    asked = f" {glyphs.TIMES}{speed(running.asked)}"
    held_back = running.real < running.asked * 0.9 and not (running.paused or running.seeking or running.ended)
    real = speed(float(f"{running.real:.2g}"))
    text = f"{asked} real {glyphs.TIMES}{real}" if wide else f"{asked}{glyphs.ARROW}{real}"
    return (text if held_back else asked).ljust(17 if wide else 10)


def _number(label: str, number: int, role: str, width: int) -> tuple[str, str]:
    return f" {label} {count(number):<{width}}", role if number else "bar_quiet"


def _told(text: str, role: str, motion: Motion) -> tuple[str, str] | tuple[str, str, Over]:
    label = _DIGITS.sub("", text).strip()
    counts = label and any(char.isdigit() for char in text) and not any(each in text for each in (":", glyphs.TIMES))
    return (text, role, "fresh") if counts and motion.fresh(("status", label), text.strip()) else (text, role)
