"""Oracle of shrinking: whether a candidate still fails in the same way, with a journal of its verdicts."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from cluster_model.checker.root_cause import LOST as LOST_FINDING
from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.events import (
    AdminAnswered,
    Event,
    FaultInjected,
    FaultSkipped,
    InvariantViolated,
    LivenessViolated,
    StepTaken,
)
from cluster_model.util.quantities import listed
from playbooks.engine.manual_session import ManualSession
from playbooks.engine.session import SLICE_US, Session
from playbooks.engine.session_runner import start_session
from playbooks.errors import PlaybookError, nearest, shown
from playbooks.model.playbook import Playbook
from playbooks.model.step_text import step_name
from playbooks.parser.loader import loads
from playbooks.results.failure_keys import (
    ANOMALY,
    EXPECTATION,
    FINDING,
    LIVENESS,
    VIOLATION,
    Failure,
    current_key,
    failures_of,
)
from playbooks.results.result import SessionResult
from playbooks.shrink.candidate import PATH

HELD: Final = "held"
LOST: Final = "lost"
INVALID: Final = "invalid"
"""Invalid candidate: the edits are inconsistent. Nothing was run."""


@dataclass(frozen=True, slots=True)
class CandidateVerdict:
    """Result of testing a candidate of shrinking."""

    state: str
    """:data:`HELD`, :data:`LOST` or :data:`INVALID`."""
    failing: tuple[str, ...] = ()
    """Keys of all failures; for a run cut short when its keys had occurred, only those."""
    refused: tuple[int, ...] = ()
    """Positions of steps that were refused, or had no target, from 1."""
    acted: tuple[tuple[int, int], ...] = ()
    """Time of each step, and the number of kernel events before it."""
    targets: tuple[str, ...] = ()
    """Target of each step's fault, empty for other steps."""
    virtual_us: int = 0
    sent: int = 0
    """Number of records sent."""
    digest: str = ""
    occurred_us: int = -1
    """Time of the last of the keys, if it is known to the event; else -1."""

    @property
    def held(self) -> bool:
        """Whether all keys occurred."""
        return self.state == HELD


class _Watch:
    """Observer of a run: refusals, and keys that are decided while it runs."""

    def __init__(self, keys: Sequence[str]) -> None:
        self.refused: dict[int, None] = {}
        self.acted: list[tuple[int, int]] = []
        self.struck: list[str] = []
        self._target = ""
        self._waiting = set(keys)
        self._places: dict[str, int] = {}
        self._skipped = False
        self.came_us = -1

    @property
    def all_there(self) -> bool:
        """Whether every key has occurred."""
        return not self._waiting

    def on_step(self, name: str, now_us: int, executed: int) -> None:
        """Note that a step acted."""
        self._places[name] = len(self.acted) + 1
        self.acted.append((now_us, executed))
        self.struck.append("")

    def take(self, events: Sequence[Event]) -> None:
        """Process further events of the run."""
        for event in events:
            if isinstance(event, FaultSkipped):
                self._skipped = True
            elif isinstance(event, FaultInjected):
                self._target = event.target
            elif isinstance(event, StepTaken):
                if event.by in self._places:
                    self.struck[self._places[event.by] - 1] = self._target
                self._target = ""
                if (event.error or self._skipped) and event.by in self._places:
                    self.refused[self._places[event.by]] = None
                self._skipped = False
            elif isinstance(event, AdminAnswered):
                if event.error and event.by in self._places:
                    self.refused[self._places[event.by]] = None
            elif isinstance(event, InvariantViolated):
                self._occurred(f"{VIOLATION}:{event.invariant}", event.at_us)
            elif isinstance(event, LivenessViolated):
                self._occurred(f"{LIVENESS}:{event.property}", event.at_us)

    def _occurred(self, key: str, at_us: int) -> None:
        if key in self._waiting:
            self._waiting.discard(key)
            self.came_us = at_us


def judge(text: str, keys: Sequence[str], *, to_the_end: bool = False) -> CandidateVerdict:
    """Run a candidate.

    Without ``to_the_end`` the run ends as soon as nothing later can change the answer: a violation stays, while a loss
    is only known at the end.
    """
    try:
        return judged(loads(text, PATH), keys, to_the_end=to_the_end)[0]
    except (PlaybookError, ModelError):
        return CandidateVerdict(INVALID)


def judged(
    playbook: Playbook, keys: Sequence[str], *, seed: int | None = None, to_the_end: bool = True
) -> tuple[CandidateVerdict, SessionResult | None]:
    """Run a playbook; return the verdict, and the result of its session unless that was cut short.

    Raises:
        ModelError: the cluster cannot be built.
    """
    session = start_session(playbook, seed=seed)
    watch = _Watch(keys)
    failed, result = tuple(keys), None
    if not _run(session, watch, cut=not to_the_end):
        result = session.finish()
        watch.take(session.drain())
        failed = tuple([each.key for each in failures_of(result)])
    verdict = CandidateVerdict(
        HELD if all(key in failed for key in keys) else LOST,
        failed,
        tuple(sorted(watch.refused)),
        tuple(watch.acted),
        tuple(watch.struck),
        session.cluster.now_us,
        result.ledger.sent if result is not None else 0,
        result.digest if result is not None else "",
        watch.came_us if watch.all_there else -1,
    )
    return verdict, result


def _run(session: Session | ManualSession, watch: _Watch, *, cut: bool) -> bool:
    """Run it to its end, or until everything is decided; return whether it was cut short."""
    if isinstance(session, ManualSession):
        while session.next_step is not None:
            step = session.next_step
            watch.on_step(step_name(step), 0, session.steps_taken)
            session.advance(max_events=1)
            watch.take(session.drain())
        return False
    cluster = session.cluster
    session.on_step = lambda step: watch.on_step(step_name(step), cluster.now_us, cluster.executed)
    watch.take(session.drain())
    running = True
    while running:
        running = session.advance(cluster.now_us + SLICE_US)
        watch.take(session.drain())
        if cut and watch.all_there and session.next_step is None and running:
            return True
    return False


# The failure that is preserved, and how a playbook asserts it.


_WORST: tuple[tuple[str, str], ...] = (
    (FINDING, f"{LOST_FINDING}/"), (VIOLATION, ""), (FINDING, ""), (ANOMALY, ""), (LIVENESS, ""), (EXPECTATION, ""),
)  # fmt: skip
"""Kinds of keys, the worst first."""


class KeyUnknownError(ValueError):
    """A key that the session does not have; the message lists those that it has."""


class NoFailureError(Exception):
    """The session has no failure to preserve."""


def failures_to_preserve(result: SessionResult, wanted: Sequence[str]) -> tuple[Failure, ...]:
    """Return the failures to preserve: the wanted keys, else the worst unexpected one, else the worst of all.

    Raises:
        KeyUnknownError: the session does not have one of the keys.
        NothingWrongError: the session has no failure.
    """
    there = {each.key: each for each in failures_of(result)}
    if not there:
        raise NoFailureError
    wanted = [current_key(key) for key in wanted]
    for key in wanted:
        if key not in there:
            hint = nearest(key, list(there))
            raise KeyUnknownError(
                f"--keep: found {shown(key)}, the session failed with {listed(list(there), 'and')}{hint}"
            )
    if wanted:
        return tuple([there[key] for key in dict.fromkeys(wanted)])
    ordered = sorted(there.values(), key=lambda each: (each.known, _rank(each), each.key))
    return (ordered[0],)


def _rank(failure: Failure) -> int:
    return next(
        place for place, (kind, name) in enumerate(_WORST) if failure.kind == kind and failure.name.startswith(name)
    )


def assertion_of(key: str) -> str:
    """Return the condition that asserts a failure at the end of a session; empty if a playbook checks it anyway."""
    kind, _, name = key.partition(":")
    if kind == FINDING:
        return f"findings({name.partition('/')[2]}) >= 1"
    called = {VIOLATION: "violations", ANOMALY: "anomalies", LIVENESS: "liveness_violations"}
    return f"{called[kind]}({name}) >= 1" if kind in called else ""


def sentence(result: SessionResult, key: str) -> str:
    """Describe a failure in one sentence of the session that had it."""
    kind, _, name = key.partition(":")
    if kind == FINDING:
        return next((each.sentence for each in result.findings if f"{each.kind}/{each.cause}" == name), "")
    if kind == VIOLATION:
        return next((each.detail for each in result.violations if each.invariant == name), "")
    if kind == ANOMALY:
        return next(
            (f"{name}, {each.found} times" for each in result.anomalies if each.name == name and not each.legal), ""
        )
    if kind == LIVENESS:
        return next((each.detail for each in result.liveness_violations if each.property == name), "")
    return next(
        (f"{each.text}: {each.detail}" for each in result.expectations if each.text == name and not each.ok), ""
    )


# The journal of verdicts, with which an interrupted run continues.


class JournalError(Exception):
    """The journal file cannot be used; the message says why."""


class Journal:
    """Verdicts by the names of candidates. Without a path they are kept in memory only. Use it as a context manager."""

    def __init__(
        self, path: Path | None = None, about: Mapping[str, str] | None = None, *, resume: bool = False
    ) -> None:
        """Open the journal; ``about`` identifies what is shrunk: verdicts about anything else are not used.

        Raises:
            JournalError: the journal to resume is missing, damaged, or about something else.
            OSError: it cannot be written.
        """
        self.path = path
        self._verdicts: dict[str, CandidateVerdict] = {}
        self._file: IO[str] | None = None
        if path is None:
            return
        head = json.dumps(dict(about or {}), sort_keys=True)
        if resume:
            self._read(path, dict(about or {}))
        self._file = path.open("a" if resume else "w", encoding="utf-8")
        if resume and not _ends_whole(path):
            self._file.write("\n")
        if not resume:
            self._line(head)

    @property
    def verdict_count(self) -> int:
        """Number of verdicts."""
        return len(self._verdicts)

    def __contains__(self, name: str) -> bool:
        return name in self._verdicts

    def get(self, name: str) -> CandidateVerdict | None:
        """Return the verdict on a candidate, None if it is not known."""
        return self._verdicts.get(name)

    def put(self, name: str, verdict: CandidateVerdict) -> None:
        """Store the verdict on a candidate."""
        self._verdicts[name] = verdict
        self._line(json.dumps({"of": name, **to_json(verdict)}))

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def remove(self) -> None:
        """Delete the file after shrinking is complete."""
        self.close()
        if self.path is not None:
            self.path.unlink(missing_ok=True)

    def _line(self, text: str) -> None:
        if self._file is not None:
            self._file.write(text + "\n")
            self._file.flush()

    def _read(self, path: Path, about: Mapping[str, str]) -> None:
        try:
            first, *lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
        except OSError as error:
            raise JournalError(f"--resume: {path}: {error.strerror}; there is nothing to resume") from None
        try:
            found = json.loads(first)
        except ValueError:
            raise JournalError(f"--resume: {path} is not a journal of shrink") from None
        if found != about:
            other = [key for key in about if not isinstance(found, dict) or found.get(key) != about[key]]
            raise JournalError(f"--resume: {path} is about another {', another '.join(other) or 'subject'}")
        for line in lines:
            self._take(line)

    def _take(self, line: str) -> None:
        """Parse one verdict; an incomplete line is ignored."""
        try:
            entry = json.loads(line)
            self._verdicts[entry["of"]] = of_json(entry)
        except (ValueError, KeyError, TypeError):
            return


def _ends_whole(path: Path) -> bool:
    return path.read_bytes()[-1:] in (b"", b"\n")


def to_json(verdict: CandidateVerdict) -> dict[str, Any]:
    """Return a verdict as an object of the journal."""
    return {
        "state": verdict.state,
        "wrong": list(verdict.failing),
        "refused": list(verdict.refused),
        "acted": [list(each) for each in verdict.acted],
        "struck": list(verdict.targets),
        "virtual_us": verdict.virtual_us,
        "sent": verdict.sent,
        "digest": verdict.digest,
        "came_us": verdict.occurred_us,
    }


def of_json(entry: Mapping[str, Any]) -> CandidateVerdict:
    """Restore the verdict of :func:`to_json`."""
    return CandidateVerdict(
        entry["state"],
        tuple(entry["wrong"]),
        tuple(entry["refused"]),
        tuple([(at_us, executed) for at_us, executed in entry["acted"]]),
        tuple(entry["struck"]),
        int(entry["virtual_us"]),
        int(entry["sent"]),
        entry["digest"],
        int(entry["came_us"]),
    )
