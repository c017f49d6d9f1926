"""Tells in words how an event that was recorded differs from the one that a rerun gives in its place."""

import json
from typing import Any, Final

from cluster_model.protocol.events import FIELDS
from playbooks.engine.expectations import seconds

_SHOWN: Final = 120
"""Characters of a value that a message repeats."""

_Event = dict[str, Any] | None


def told(
    number: int, recorded: str, replayed: str, versions: str, next_recorded: str = "", next_replayed: str = ""
) -> str:
    """The message: which event, when, what kind of difference, and both lines.

    ``recorded`` and ``replayed`` are lines of the event log, or some other text where there is no event. The lines that
    come next tell an event that was left out or put in from one that is another; empty where nobody knows them.
    """
    was, now = _event(recorded), _event(replayed)
    at_us = next((event["at_us"] for event in (was, now) if event and type(event.get("at_us")) is int), None)
    when = "" if at_us is None else f", at {seconds(at_us)} of virtual time"
    return (
        f"the replay differs from event {number} on{when}{versions}\n"
        f"  difference: {_difference(was, now, _event(next_recorded), _event(next_replayed))}\n"
        f"  recorded: {recorded.strip()}\n"
        f"  replayed: {replayed.strip()}"
    )


def _difference(was: _Event, now: _Event, was_next: _Event, now_next: _Event) -> str:
    if was is None:
        return f"an extra {_kind(now)}, which was not recorded" if now else "neither is an event"
    if was["kind"] not in FIELDS:
        return f"a recorded {_kind(was)}, a kind that this version does not know"
    if now is None:
        return f"a missing {_kind(was)}, which does not happen again"
    if was_next is not None and _same(was_next, now):
        return f"a missing {_kind(was)}: what was recorded after it comes in its place"
    if now_next is not None and _same(now_next, was):
        return f"an extra {_kind(now)}, which was not recorded: what was comes after it"
    if was["kind"] != now["kind"]:
        return f"another kind: recorded {_kind(was)}, replayed {_kind(now)}"
    fields = [*_values(was, now), *_names(was, now)]
    return "; ".join(fields) or "the same values, written in another way"


def _values(was: dict[str, Any], now: dict[str, Any]) -> list[str]:
    return [
        f"{name} of the {_kind(was)}: recorded {_shown(was[name])}, replayed {_shown(now[name])}"
        for name in was
        if name in now and was[name] != now[name]
    ]


def _names(was: dict[str, Any], now: dict[str, Any]) -> list[str]:
    gone = [f"recorded field {name} is not replayed" for name in was if name not in now]
    new = [f"replayed field {name} was not recorded" for name in now if name not in was]
    return gone + new


def _same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return {**one, "seq": 0} == {**other, "seq": 0}


def _kind(event: _Event) -> str:
    return str(event["kind"])[:_SHOWN] if event else "nothing"


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _event(line: str) -> _Event:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and isinstance(found.get("kind"), str) else None
