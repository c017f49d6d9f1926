"""The few numbers that everybody asks for first, each with what it is about."""

from typing import NamedTuple

from spark_report.model.format import duration, instant, number, several, share
from spark_report.model.own_topics import of_users
from spark_report.model.report import Row, SessionStory, Tone


class KeyFigure(NamedTuple):
    """A number, what it is, and a few words more."""

    label: str
    value: str
    note: str
    tone: Tone
    at: str
    """The section that shows where it comes from."""


def key_figures(story: SessionStory) -> list[KeyFigure]:
    """What was lost, for how long nobody served, how slow it got, how long recovery took, who would have been woken."""
    found: list[KeyFigure | None] = [_lost(story)]
    if not story.timeless:
        found += [_outage(story), _client(story), _slow(story), _recovery(story), _alarm(story)]
    return [figure for figure in found if figure]


def _lost(story: SessionStory) -> KeyFigure:
    lost = sum(row["count"] for row in story.lost)
    acked = story.counts.get("acked", 0)
    committed = sum(row["count"] for row in story.lost if row["committed"])
    note = f"of {number(acked)} acknowledged" + (f"; {number(committed)} were committed" if committed else "")
    return KeyFigure("records lost", number(lost), note, "alarm" if lost else "calm", "losses" if lost else "ledger")


def _outage(story: SessionStory) -> KeyFigure:
    found = of_users(story.unavailable("partition"))
    worst = max(found, key=lambda row: row["duration_us"], default=None)
    if worst is None:
        return KeyFigure("longest outage", "none", "every partition had a serving leader", "calm", "timeline")
    note = f"{worst['partition']}{', still open' if worst['open'] else ''}; {_worst_share(story, worst['partition'])}"
    return KeyFigure("longest outage", duration(worst["duration_us"]), note, "alarm", "timeline")


def _worst_share(story: SessionStory, named: str) -> str:
    own = [row for row in story.tables["availability"] if row["scope"] == "partition"]
    known = [row for row in of_users(own) if row["availability"] is not None]
    worst = min(known, key=lambda row: row["availability"], default=None)
    if worst is None:
        return "no availability known"
    name = "" if worst["partition"] == named else f"{worst['partition']} was "
    return f"{name}available {share(worst['availability'])}"


def _client(story: SessionStory) -> KeyFigure | None:
    worst = max(story.unavailable("client"), key=lambda row: row["duration_us"], default=None)
    if worst is None:
        return None
    note = f"{worst['client']} to {worst['partition']}"
    return KeyFigure("longest without a write", duration(worst["duration_us"]), note, "warning", "timeline")


def _slow(story: SessionStory) -> KeyFigure | None:
    by_phase: dict[str, list[Row]] = {}
    for row in story.tables["latency"]:
        if row["what"] == "produce":
            by_phase.setdefault(row["phase"], []).append(row)
    if not by_phase.get("all"):
        return None
    worst = {phase: max(row["p99_us"] for row in found) for phase, found in by_phase.items()}
    if "during" not in worst:
        return KeyFigure("99 % acknowledged within", duration(worst["all"]), "whole session", "calm", "latency")
    before = f"before them {duration(worst['before'])}" if "before" in worst else "nothing to compare with"
    slower = worst["during"] > 10 * worst.get("before", worst["during"])
    value = duration(worst["during"])
    worry: Tone = "warning" if slower else "calm"
    return KeyFigure("99 % acknowledged within", value, f"during faults; {before}", worry, "latency")


def _recovery(story: SessionStory) -> KeyFigure | None:
    found = next((row for row in story.tables["fault_means"] if not row["fault"]), None)
    if found is None:
        return None
    left = found["unrecovered_faults"]
    note = f"mean time to recover; {several(found['faults'], 'fault')}"
    if left:
        note += f", {number(left)} not recovered"
    if found["mttd_us"] is not None:
        note += f"; noticed after {duration(found['mttd_us'])}"
    if found["mttr_us"] is None:
        worry: Tone
        value, worry = ("never", "warning") if left else ("nothing to recover", "calm")
        return KeyFigure("recovery", value, note.partition("; ")[2], worry, "recovery")
    return KeyFigure("recovery (MTTR)", duration(found["mttr_us"]), note, "warning" if left else "calm", "recovery")


def _alarm(story: SessionStory) -> KeyFigure:
    fired = [row for row in story.tables["alerts"] if row["fired"]]
    pages = [row for row in fired if row["severity"] == "page"]
    if not pages:
        worry: Tone = "warning" if story.lost else "calm"
        return KeyFigure("alerts that page", "none", f"{several(len(fired), 'warning')} fired", worry, "alerts")
    first = min(pages, key=lambda row: row["fired_us"])
    return KeyFigure(
        "alerts that page",
        number(len(pages)),
        f"first {first['alert']} at {instant(first['fired_us'])}",
        "warning",
        "alerts",
    )
