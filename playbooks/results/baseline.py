"""Baseline of earlier results, kept in a file, and its comparison with a new run.

A baseline is the output of ``run --json``, one document or a list, or the smaller file that ``--save-baseline``
writes: only what is the same in every run of the same version on every machine.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from cluster_model.util.quantities import exact_seconds
from playbooks.errors import shown

FORMAT: Final = "floodmark_baseline"
"""Key whose value is the version of a saved baseline."""
VERSION: Final = 1

VERDICTS: Final = ("pass", "inconclusive", "fail")
"""Verdicts, best first."""
LOST: Final = ("acked_lost", "committed_lost")
COUNTED: Final = (*LOST, "duplicates", "reordered")
"""Keys of the ledger that are compared."""
_WORDS: Final = {"acked_lost": "acked lost", "committed_lost": "committed lost"}


class BaselineError(Exception):
    """A file that is not a baseline; the message names it, what was found and what is allowed."""


@dataclass(frozen=True, slots=True)
class BaselineEntry:
    """The result of one playbook in a baseline."""

    playbook: str
    profile: str
    seed: int
    verdict: str
    digest: str
    ledger: Mapping[str, int]
    """Counts by the keys in :data:`COUNTED`."""
    expectations: Mapping[str, bool]
    """Text → whether it passed; a second expectation with the same text gets the suffix ``(2)``."""
    unavailable_us: int | None = None
    """Time out of service, summed over clients and partitions; None if the document predates this number."""

    def to_json(self) -> dict[str, Any]:
        """Return the entry as a saved baseline has it."""
        unavailable = {} if self.unavailable_us is None else {"unavailable": {"us": self.unavailable_us}}
        return {
            "playbook": self.playbook,
            "profile": self.profile,
            "seed": self.seed,
            "verdict": self.verdict,
            "digest": self.digest,
            "ledger": dict(self.ledger),
            "expectations": [{"text": text, "ok": ok} for text, ok in self.expectations.items()],
            **unavailable,
        }


@dataclass(frozen=True, slots=True)
class Baseline:
    """Saved entries by name; a second playbook of the same name gets the suffix ``(2)``."""

    path: str
    entries: Mapping[str, BaselineEntry]


@dataclass(frozen=True, slots=True)
class BaselineChange:
    """One difference between a result and its baseline."""

    what: str
    before: str
    now: str
    trend: int = 0
    """-1 better, 0 neither, 1 worse."""
    regression: bool = False
    """Whether this change alone makes a run fail: a worse verdict, more records lost, more time unavailable."""

    def __str__(self) -> str:
        return f"{self.what}: {self.before} before, {self.now} now"


@dataclass(frozen=True, slots=True)
class BaselineDifference:
    """Differences of one playbook from the baseline; without any, it is unchanged."""

    playbook: str
    """Name, with a number if several playbooks have it."""
    changes: tuple[BaselineChange, ...] = ()

    @property
    def regression(self) -> bool:
        """Whether the differences make the run fail."""
        return any(each.regression for each in self.changes)


def read_baseline(path: Path) -> Baseline:
    """Read the baseline in a file.

    Raises:
        BaselineError: the file cannot be read, or is not a baseline.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        json.dumps(document, ensure_ascii=False).encode()  # JSON can spell half of a surrogate pair
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise BaselineError(f"{path}: cannot be read: {reason}") from None
    except json.JSONDecodeError as error:
        raise BaselineError(f"{path}:{error.lineno}:{error.colno}: not JSON: {error.msg}") from None
    except (RecursionError, ValueError) as error:
        raise BaselineError(f"{path}: not a baseline: {error}") from None
    if isinstance(document, dict) and FORMAT in document:
        if document[FORMAT] != VERSION or isinstance(document[FORMAT], bool):
            found = shown(str(document[FORMAT]))
            raise BaselineError(f"{path}: {FORMAT}: found {found}, expected {VERSION}, the version of the format")
        document = document.get("playbooks")
    elif isinstance(document, dict):
        document = [document]
    if not isinstance(document, list):
        raise BaselineError(
            f"{path}: found no list of results; expected what 'run --json' prints or --save-baseline writes"
        )
    return Baseline(str(path), named(_entry(each, f"{path}: result {n}") for n, each in enumerate(document, 1)))


def named(entries: Any) -> dict[str, BaselineEntry]:
    """Index entries by name, in order; further entries of a name get a number."""
    found: dict[str, BaselineEntry] = {}
    for entry in entries:
        found[unused(entry.playbook, found)] = entry
    return found


def unused(name: str, taken: Any) -> str:
    """Return the name, or the name with the first number that makes it unique among ``taken``."""
    number, choice = 1, name
    while choice in taken:
        number += 1
        choice = f"{name} ({number})"
    return choice


def entry_of(document: Mapping[str, Any]) -> BaselineEntry:
    """Convert a result document (``SessionResult.to_json``) to an entry."""
    return _entry(document, "result")


def saved(entries: Sequence[BaselineEntry]) -> dict[str, Any]:
    """Return the document of a saved baseline."""
    return {FORMAT: VERSION, "playbooks": [each.to_json() for each in entries]}


def compare(baseline: Baseline, now: Sequence[tuple[str, BaselineEntry | None]]) -> list[BaselineDifference]:
    """Compare playbooks with the baseline, in their order; then list those of the baseline that were not run.

    ``now`` has the entry of each by name, with None if it has no verdict, which is worse than any verdict.
    """
    found_differences: list[BaselineDifference] = []
    seen: dict[str, None] = {}
    for name, entry in now:
        key = unused(name, seen)
        seen[key] = None
        before = baseline.entries.get(key)
        if before is None:
            found_differences.append(BaselineDifference(key, (BaselineChange("playbook", "missing", "new"),)))
        elif entry is None:
            found_differences.append(
                BaselineDifference(key, (BaselineChange("verdict", before.verdict, "none", 1, regression=True),))
            )
        else:
            found_differences.append(BaselineDifference(key, tuple(differences(before, entry))))
    gone = [key for key in baseline.entries if key not in seen]
    return found_differences + [
        BaselineDifference(key, (BaselineChange("playbook", "present", "not run"),)) for key in gone
    ]


def differences(before: BaselineEntry, now: BaselineEntry) -> list[BaselineChange]:
    """Return the differences between two results of one playbook, the most important first."""
    changes: list[BaselineChange] = []
    if before.verdict != now.verdict:
        trend = _trend(VERDICTS.index(before.verdict), VERDICTS.index(now.verdict))
        changes.append(BaselineChange("verdict", before.verdict, now.verdict, trend, regression=trend > 0))
    for key in COUNTED:
        old, new = before.ledger[key], now.ledger[key]
        if old != new:
            trend = _trend(old, new)
            changes.append(BaselineChange(_WORDS.get(key, key), str(old), str(new), trend, key in LOST and trend > 0))
    if None not in (before.unavailable_us, now.unavailable_us) and before.unavailable_us != now.unavailable_us:
        old, new = before.unavailable_us or 0, now.unavailable_us or 0
        trend = _trend(old, new)
        changes.append(
            BaselineChange("unavailable", exact_seconds(old), exact_seconds(new), trend, regression=trend > 0)
        )
    changes += _expectations(before.expectations, now.expectations)
    for what, was, is_now in (
        ("profile", before.profile, now.profile),
        ("seed", str(before.seed), str(now.seed)),
        ("digest", before.digest, now.digest),
    ):
        if was != is_now:
            changes.append(BaselineChange(what, was, is_now))
    return changes


def _expectations(before: Mapping[str, bool], now: Mapping[str, bool]) -> list[BaselineChange]:
    word = {True: "held", False: "failed"}
    changes = []
    for text, ok in now.items():
        if text not in before:
            changes.append(BaselineChange(f"expectation {text}", "missing", word[ok], 0 if ok else 1))
        elif before[text] != ok:
            changes.append(BaselineChange(f"expectation {text}", word[before[text]], word[ok], -1 if ok else 1))
    gone = [text for text in before if text not in now]
    return changes + [BaselineChange(f"expectation {text}", word[before[text]], "missing") for text in gone]


def _trend(before: int, now: int) -> int:
    return (now > before) - (now < before)


def _entry(document: Any, where: str) -> BaselineEntry:
    if not isinstance(document, Mapping):
        raise BaselineError(f"{where}: found {_kind(document)}, expected an object")
    verdict = _take(document, "verdict", str, where)
    if verdict not in VERDICTS:
        raise BaselineError(f"{where}: verdict: found {shown(verdict)}, expected one of {', '.join(VERDICTS)}")
    ledger = _take(document, "ledger", Mapping, where)
    expectations: dict[str, bool] = {}
    for number, each in enumerate(_take(document, "expectations", list, where), 1):
        position = f"{where}: expectation {number}"
        if not isinstance(each, Mapping):
            raise BaselineError(f"{position}: found {_kind(each)}, expected an object")
        expectations[unused(_take(each, "text", str, position), expectations)] = _take(each, "ok", bool, position)
    unavailable_us = None
    if "unavailable" in document:
        spent = _take(document, "unavailable", Mapping, where)
        unavailable_us = _amount(spent, "us", f"{where}: unavailable")
    return BaselineEntry(
        playbook=_take(document, "playbook", str, where),
        profile=_take(document, "profile", str, where),
        seed=_take(document, "seed", int, where),
        verdict=verdict,
        digest=_take(document, "digest", str, where),
        ledger={key: _amount(ledger, key, f"{where}: ledger") for key in COUNTED},
        expectations=expectations,
        unavailable_us=unavailable_us,
    )


def _amount(document: Mapping[str, Any], key: str, where: str) -> int:
    amount: int = _take(document, key, int, where)
    if amount < 0:
        raise BaselineError(f"{where}: {key}: found {amount}, expected a whole number from 0")
    return amount


_NAMES: Final[Mapping[Any, str]] = {
    str: "a string",
    int: "a whole number",
    bool: "true or false",
    list: "a list",
    dict: "an object",
    Mapping: "an object",
    float: "a number",
    type(None): "nothing",
}


def _take(document: Mapping[str, Any], key: str, wanted: type, where: str) -> Any:
    if key not in document:
        raise BaselineError(f"{where}: {key} is missing; expected what 'run --json' prints or --save-baseline writes")
    value = document[key]
    if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
        raise BaselineError(f"{where}: {key}: found {_kind(value)}, expected {_NAMES[wanted]}")
    return value


def _kind(value: object) -> str:
    return _NAMES.get(type(value), type(value).__name__)
