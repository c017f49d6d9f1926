"""Recorded answers of Kafka's classes: one JSON file for each subject, with one item on each line.

A file has ``releases``, oldest first, and ``answers``: item → list of (release, answer), each true from that release on
until the next of the list. Null is no answer: the release does not have the item.
"""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from tests.real_kafka.vectors.subject import RELEASES, Answers

DIRECTORY: Final = Path(__file__).parent / "data"


def path_of(subject: str) -> Path:
    """Return the file of a subject, which need not exist."""
    return DIRECTORY / f"{subject}.json"


@cache
def recorded_answers(subject: str) -> Mapping[str, Answers]:
    """Return release → item → answer; empty if nothing is recorded."""
    path = path_of(subject)
    if not path.exists():
        return {}
    document = json.loads(path.read_text(encoding="utf-8"))
    releases: list[str] = document["releases"]
    found: dict[str, dict[str, Any]] = {release: {} for release in releases}
    for item, changes in document["answers"].items():
        answer = None
        changed = dict(changes)
        for release in releases:
            answer = changed.get(release, answer)
            if answer is not None:
                found[release][item] = answer
    return found


def record_answers(subject: str, new: Mapping[str, Answers]) -> bool:
    """Write the answers of some releases and keep those of all others; return whether the file changed."""
    found = {**recorded_answers(subject), **new}
    releases = [release for release in RELEASES if release in found]
    lines = []
    for item in dict.fromkeys(item for release in reversed(releases) for item in found[release]):
        changes: list[tuple[str, Any]] = []
        for release in releases:
            answer = found[release].get(item)
            if not changes or changes[-1][1] != answer:
                changes.append((release, answer))
        lines.append(f"  {_compact(item)}: {_compact(changes)}")
    rows = ",\n".join(sorted(lines))
    text = f'{{\n"releases": {json.dumps(releases)},\n"answers": {{\n{rows}\n}}\n}}\n'
    path = path_of(subject)
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    recorded_answers.cache_clear()
    return text != before


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))
