"""The oracle of shrinking: whether a candidate still fails in the same way, with a journal of its verdicts."""

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
    LivenessOverdue,
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
from playbooks.results.result import SessionResult
from playbooks.results.wrongs import ANOMALY, EXPECTATION, FINDING, OVERDUE, VIOLATION, Wrong, wrongs_of
from playbooks.shrink.candidate import PATH

HELD: Final = "held"
LOST: Final = "lost"
INVALID: Final = "invalid"
"""No playbook: edits that do not go together. Nothing was run."""


@dataclass(frozen=True, slots=True)
class CandidateVerdict:
    """What became of a candidate."""

    state: str
    """:data:`HELD`, :data:`LOST` or :data:`INVALID`."""
    wrong: tuple[str, ...] = ()
    """Keys of everything that was wrong; of a run that was cut as its keys had come, those."""
    refused: tuple[int, ...] = ()
    """Places of steps that were refused, or found nobody, from 1."""
    acted: tuple[tuple[int, int], ...] = ()
    """When each step acted, and after how many kernel events."""
    struck: tuple[str, ...] = ()
    """Whom each step's fault struck, empty where it is no fault."""
    virtual_us: int = 0
    sent: int = 0
    """Records that producers were handed."""
    digest: str = ""
    came_us: int = -1
    """When the last of the keys came, where it is known to the event; else -1."""

    @property
    def held(self) -> bool:
        """Whether all keys are there."""
        return self.state == HELD


class _Watch:
    """What the events of a run tell: refusals, and keys that are decided while it runs."""

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
        """Whether every key has come."""
        return not self._waiting

    def on_step(self, name: str, now_us: int, executed: int) -> None:
        """A step acted."""
        self._places[name] = len(self.acted) + 1
        self.acted.append((now_us, executed))
        self.struck.append("")

    def take(self, events: Sequence[Event]) -> None:
        """The next events of the run."""
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
                self._came(f"{VIOLATION}:{event.invariant}", event.at_us)
            elif isinstance(event, LivenessOverdue):
                self._came(f"{OVERDUE}:{event.property}", event.at_us)

    def _came(self, key: str, at_us: int) -> None:
        if key in self._waiting:
            self._waiting.discard(key)
            self.came_us = at_us


def judge(text: str, keys: Sequence[str], *, whole: bool = False) -> CandidateVerdict:
    """Run a candidate.

    Without ``whole`` it ends as soon as nothing that is still to come can change the answer: what was violated stays
    so, while what is lost shows at the end alone.
    """
    try:
        return judged(loads(text, PATH), keys, whole=whole)[0]
    except (PlaybookError, ModelError):
        return CandidateVerdict(INVALID)


def judged(
    playbook: Playbook, keys: Sequence[str], *, seed: int | None = None, whole: bool = True
) -> tuple[CandidateVerdict, SessionResult | None]:
    """The same of a playbook, and the result of its session where that was not cut.

    Raises:
        ModelError: the cluster cannot be built.
    """
    session = start_session(playbook, seed=seed)
    watch = _Watch(keys)
    wrong, result = tuple(keys), None
    if not _run(session, watch, cut=not whole):
        result = session.finish()
        watch.take(session.drain())
        wrong = tuple([each.key for each in wrongs_of(result)])
    verdict = CandidateVerdict(
        HELD if all(key in wrong for key in keys) else LOST,
        wrong,
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
    """Run it to its end, or until all is decided; whether it was cut."""
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


# The failure that is kept, and how a playbook asserts it.


_WORST: tuple[tuple[str, str], ...] = (
    (FINDING, f"{LOST_FINDING}/"), (VIOLATION, ""), (FINDING, ""), (ANOMALY, ""), (OVERDUE, ""), (EXPECTATION, ""),
)  # fmt: skip
"""Kinds of keys, the worst first."""


class KeyUnknownError(ValueError):
    """A key that the session does not have; the message says which it has."""


class NothingWrongError(Exception):
    """There is nothing to keep."""


def chosen(result: SessionResult, wanted: Sequence[str]) -> tuple[Wrong, ...]:
    """What is to be kept: the wanted keys, else the worst surprise, else the worst at all.

    Raises:
        KeyUnknownError: the session does not have one of the keys.
        NothingWrongError: it has none at all.
    """
    there = {each.key: each for each in wrongs_of(result)}
    if not there:
        raise NothingWrongError
    for key in wanted:
        if key not in there:
            hint = nearest(key, list(there))
            raise KeyUnknownError(
                f"--keep: found {shown(key)}, the session went wrong by {listed(list(there), 'and')}{hint}"
            )
    if wanted:
        return tuple([there[key] for key in dict.fromkeys(wanted)])
    ordered = sorted(there.values(), key=lambda each: (each.known, _rank(each), each.key))
    return (ordered[0],)


def _rank(wrong: Wrong) -> int:
    return next(
        place for place, (kind, name) in enumerate(_WORST) if wrong.kind == kind and wrong.name.startswith(name)
    )


def asserted(key: str) -> str:
    """The condition that says so at the end of a session; empty where a playbook has it anyway."""
    kind, _, name = key.partition(":")
    if kind == FINDING:
        return f"findings({name.partition('/')[2]}) >= 1"
    called = {VIOLATION: "violations", ANOMALY: "anomalies", OVERDUE: "overdue"}
    return f"{called[kind]}({name}) >= 1" if kind in called else ""


def sentence(result: SessionResult, key: str) -> str:
    """What was wrong, in one sentence of the session that had it."""
    kind, _, name = key.partition(":")
    if kind == FINDING:
        return next((each.sentence for each in result.findings if f"{each.kind}/{each.cause}" == name), "")
    if kind == VIOLATION:
        return next((each.detail for each in result.violations if each.invariant == name), "")
    if kind == ANOMALY:
        return next(
            (f"{name}, {each.found} times" for each in result.anomalies if each.name == name and not each.legal), ""
        )
    if kind == OVERDUE:
        return next((each.detail for each in result.overdue if each.property == name), "")
    return next(
        (f"{each.text}: {each.detail}" for each in result.expectations if each.text == name and not each.ok), ""
    )


# The journal of verdicts, with which an interrupted run continues.


class JournalError(Exception):
    """The file is of no use here; the message says why."""


class Journal:
    """Verdicts by the names of candidates. Without a path they are kept in memory alone; use it as a context."""

    def __init__(
        self, path: Path | None = None, about: Mapping[str, str] | None = None, *, resume: bool = False
    ) -> None:
        """``about`` says what is shrunk: verdicts about anything else are not taken over.

        Raises:
            JournalError: the one to go on with is missing, damaged, or about something else.
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
    def known(self) -> int:
        """How many verdicts there are."""
        return len(self._verdicts)

    def __contains__(self, name: str) -> bool:
        return name in self._verdicts

    def get(self, name: str) -> CandidateVerdict | None:
        """What became of a candidate, None if that is not known."""
        return self._verdicts.get(name)

    def put(self, name: str, verdict: CandidateVerdict) -> None:
        """Keep what became of a candidate."""
        self._verdicts[name] = verdict
        self._line(json.dumps({"of": name, **to_json(verdict)}))

    def close(self) -> None:
        """Write no more."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def remove(self) -> None:
        """It is all done: nothing is left to go on with."""
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
            raise JournalError(f"--resume: {path}: {error.strerror}; there is nothing to go on with") from None
        try:
            found = json.loads(first)
        except ValueError:
            raise JournalError(f"--resume: {path} is no journal of a shrinking") from None
        if found != about:
            other = [key for key in about if not isinstance(found, dict) or found.get(key) != about[key]]
            raise JournalError(f"--resume: {path} is about another {', another '.join(other) or 'thing'}")
        for line in lines:
            self._take(line)

    def _take(self, line: str) -> None:
        """One verdict; a line that was not written to its end is left out."""
        try:
            told = json.loads(line)
            self._verdicts[told["of"]] = of_json(told)
        except (ValueError, KeyError, TypeError):
            return


def _ends_whole(path: Path) -> bool:
    return path.read_bytes()[-1:] in (b"", b"\n")


def to_json(verdict: CandidateVerdict) -> dict[str, Any]:
    """A verdict as the file has it."""
    return {
        "state": verdict.state,
        "wrong": list(verdict.wrong),
        "refused": list(verdict.refused),
        "acted": [list(each) for each in verdict.acted],
        "struck": list(verdict.struck),
        "virtual_us": verdict.virtual_us,
        "sent": verdict.sent,
        "digest": verdict.digest,
        "came_us": verdict.came_us,
    }


def of_json(told: Mapping[str, Any]) -> CandidateVerdict:
    """Undo of :func:`to_json`."""
    return CandidateVerdict(
        told["state"],
        tuple(told["wrong"]),
        tuple(told["refused"]),
        tuple([(at_us, executed) for at_us, executed in told["acted"]]),
        tuple(told["struck"]),
        int(told["virtual_us"]),
        int(told["sent"]),
        told["digest"],
        int(told["came_us"]),
    )
