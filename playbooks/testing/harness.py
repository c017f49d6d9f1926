"""Deterministic Kafka cluster for Python code: build it, inject faults, and evaluate conditions.

    from playbooks.testing.harness import Laboratory

    lab = Laboratory(kafka="3.9", topics={"orders": {"partitions": 1, "replication": 3}},
                     producers={"checkout": {"topic": "orders", "rate": "100/s", "config": {"acks": "all"}}})
    lab.run(until="5s").inject("crash", target="leader(orders-0)", for_="15s")
    lab.wait("leader(orders-0) != 1", within="20s").settle()
    assert lab.ask("acked_lost()") == 0

It is an ordinary session: calls are operator actions, so it can be recorded and replayed.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import yaml

from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.events import Event
from cluster_model.util.quantities import listed, time_in_seconds
from faults.declarations import Action, FaultError
from playbooks.conditions.condition import Condition
from playbooks.conditions.grammar import EvaluationError
from playbooks.engine.expectations import explain, holds
from playbooks.engine.session import SLICE_US, Session
from playbooks.errors import PlaybookError, shown
from playbooks.library.bundled import path_of, runnable_names
from playbooks.model.playbook import Playbook
from playbooks.model.step_text import action_of
from playbooks.parser.loader import changed, load, loads
from playbooks.parser.settings import SettingError
from playbooks.parser.steps.timed_steps import StepParser
from playbooks.recording.recorder import Recorder, RecordingError
from playbooks.results.result import SessionResult
from playbooks.units import UnitError, duration_text, duration_us

Parts = Mapping[str, Any]
"""Keys of a part of a playbook, as listed in `docs/reference/keys.md`."""

NAME: Final = "laboratory"
DEFAULT_TOPICS: Final[Mapping[str, Parts]] = {
    "orders": {"partitions": 1, "replication": 3, "config": {"min.insync.replicas": 2}}
}
DEFAULT_PRODUCERS: Final[Mapping[str, Parts]] = {
    "checkout": {"topic": "orders", "rate": "100/s", "config": {"acks": "all"}}
}
DEFAULT_GROUPS: Final[Mapping[str, Parts]] = {"billing": {"topics": ["orders"]}}
"""Default parts of a laboratory: a topic with a producer and a consumer group."""

_NOT_NOW: Final = ("at", "after", "when", "within", "kafka", "given", "note", "refused")
"""Keys of a playbook's step without meaning for an immediate action."""


class HarnessError(Exception):
    """A request that is not possible: the message says what was found and what is allowed."""


class RefusedError(HarnessError):
    """A fault or an operation that is impossible now, or that a guard refuses."""


class NeverHeldError(HarnessError):
    """A condition that did not become true in time."""


class SimulatedCluster:
    """One cluster with its own clock. Every method that acts returns the laboratory, so that calls can be chained."""

    def __init__(
        self,
        playbook: str | Path | Playbook | None = None,
        *,
        seed: int | None = None,
        sessions: str | Path | None = None,
        settings: Mapping[str, str] | None = None,
        **parts: Any,
    ) -> None:
        """Build the cluster of ``playbook`` (a file, a bundled name, or YAML as text), or of ``parts``.

        ``parts``: ``kafka``, ``mode``, ``brokers``, ``config``, ``network`` and other keys of ``cluster:``; ``topics``,
        ``producers``, ``groups`` by name; ``settle``, ``expect`` and ``guards`` as in a playbook. ``settings`` change a
        playbook as ``--set`` does. ``sessions`` is the directory for recordings; by default nothing is recorded.

        Raises:
            HarnessError: the cluster cannot be built.
        """
        self._result: SessionResult | None = None
        self._events: list[Event] = []
        self.playbook = _playbook(playbook, settings or {}, parts)
        self._asking = StepParser(self.playbook.spec, NAME)
        self._recorder = Recorder(Path(sessions), live=True, settings=settings) if sessions is not None else None
        try:
            with _recording():
                self._session = Session.start(self.playbook, seed=seed, recorder=self._recorder, open_ended=True)
        except ModelError as error:
            raise HarnessError(str(error)) from None

    def __enter__(self) -> "SimulatedCluster":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- time -------------------------------------------------------------------------------------------------------

    @property
    def now_us(self) -> int:
        """Virtual microseconds since the start."""
        return self._session.cluster.now_us

    def run(self, until: str | None = None, *, for_: str | None = None) -> "SimulatedCluster":
        """Let time pass ``until`` a virtual time (``"10s"``), or for the duration ``for_``.

        Raises :class:`HarnessError`.
        """
        self._check_open()
        if (until is None) == (for_ is None):
            raise HarnessError("run takes either until='10s' or for_='10s'")
        span = _duration("until" if until is not None else "for_", until if until is not None else for_)
        target = span if until is not None else self.now_us + span
        if target < self.now_us:
            raise HarnessError(
                f"run: found until={until!r}, expected {time_in_seconds(self.now_us)} or later, the current time"
            )
        self._advance(target)
        return self

    def wait(self, condition: str, *, within: str = "60s") -> "SimulatedCluster":
        """Let time pass until a condition holds, and stop right there.

        Raises:
            NeverHeldError: it did not hold ``within`` that time, or before the end of the session.
            HarnessError: it is not a condition.
        """
        self._check_open()
        compiled = self._compile(condition, boolean=True)
        query, deadline = self._session.cluster.query, self.now_us + _duration("within", within)
        while not holds(compiled, query):
            if self.now_us >= deadline:
                values = explain(compiled, query)
                raise NeverHeldError(f"{compiled.text} did not hold within {within}: {values}".rstrip(": "))
            if not self._advance(deadline, 1) and not holds(compiled, query):
                where = f"the session ended at {time_in_seconds(self.now_us)}"
                raise NeverHeldError(f"{compiled.text} did not hold, {where}: {explain(compiled, query)}".rstrip(": "))
        return self

    # -- acting -----------------------------------------------------------------------------------------------------

    def inject(
        self, fault: str, target: str = "", *, for_: str = "", if_any: bool = False, **params: Any
    ) -> "SimulatedCluster":
        """Inject a fault of ``floodmark faults`` now; ``for_`` a duration, or until it is healed.

        Raises:
            RefusedError: it is impossible now.
            HarnessError: there is no such fault, target or parameter.
        """
        given = {"target": target, "for": for_, "if_any": if_any}
        return self._act({"inject": fault, **{key: value for key, value in given.items() if value}, **params})

    def heal(self, fault: str = "all") -> "SimulatedCluster":
        """Heal a fault, or all of them. Raises as :meth:`inject` does."""
        return self._act({"heal": fault})

    def admin(self, operation: str, **params: Any) -> "SimulatedCluster":
        """Start an administrator operation; its response arrives as time passes (``operations() == 0``)."""
        return self._act({"admin": operation, **params})

    def settle(self) -> "SimulatedCluster":
        """End the session: producers stop, faults heal, the quiet time passes, and the expectations are evaluated."""
        if self._result is None:
            with _recording():
                self._session.settle()
            while self._advance(self.now_us + SLICE_US):
                pass
            with _recording():
                self._result = self._session.finish()
            self._collect()
        return self

    def close(self) -> None:
        """Close the laboratory: a recorded session is settled and sealed, others are discarded."""
        if self._recorder is not None:
            self.settle()

    # -- asking -----------------------------------------------------------------------------------------------------

    def ask(self, expression: str) -> Any:
        """Return the current value of an expression of the condition language: ``ask("isr(orders-0)") == [1, 2, 3]``.

        Raises:
            HarnessError: it is not an expression, or has no value now.
        """
        compiled = self._compile(expression)
        try:
            value = compiled.value(self._session.cluster.query)
        except EvaluationError as error:
            raise HarnessError(f"{expression}: {error.message}") from None
        return list(value) if isinstance(value, tuple) else value

    def expect(self, condition: str) -> "SimulatedCluster":
        """Assert that a condition holds now.

        Raises:
            AssertionError: it does not; the message has the values of its parts.
            HarnessError: it is not a condition.
        """
        compiled = self._compile(condition, boolean=True)
        if not holds(compiled, self._session.cluster.query):
            values = explain(compiled, self._session.cluster.query)
            now = time_in_seconds(self.now_us)
            raise AssertionError(f"{compiled.text} does not hold at {now}: {values}".rstrip(": "))
        return self

    def events(self, kind: str = "") -> list[Event]:
        """Return every trace event so far, or those of a kind such as ``leader_elected``."""
        return [event for event in self._events if not kind or event.kind == kind]

    @property
    def digest(self) -> str:
        """Digest of all events so far: the same for the same calls."""
        return self._session.cluster.digest()

    @property
    def session(self) -> Path | None:
        """Directory of the recording, None without one."""
        return self._recorder.path if self._recorder is not None else None

    @property
    def result(self) -> SessionResult:
        """Return the result; settle first if that was not done."""
        self.settle()
        assert self._result is not None
        return self._result

    # -- inside -----------------------------------------------------------------------------------------------------

    def _act(self, keys: dict[str, Any]) -> "SimulatedCluster":
        self._check_open()
        wrong = [key for key in keys if key in _NOT_NOW]
        if wrong:
            raise HarnessError(f"found {listed(wrong, 'and')}, which is for playbooks: here actions are immediate")
        try:
            action: Action = action_of(self._asking.step(keys))
        except PlaybookError as error:
            raise HarnessError(_message(error)) from None
        try:
            with _recording():
                self._session.act(action)
        except FaultError as error:
            raise RefusedError(str(error)) from None
        finally:
            self._collect()
        return self

    def _compile(self, text: str, *, boolean: bool = False) -> Condition:
        if not isinstance(text, str):
            raise HarnessError(f"found {type(text).__name__}, expected a string such as 'acked_lost() == 0'")
        try:
            compiled = self._asking.condition(text.strip())
        except PlaybookError as error:
            raise HarnessError(_message(error)) from None
        if boolean and compiled.type != "boolean":
            raise HarnessError(f"found the {compiled.type} {shown(text)}, expected a condition that is true or false")
        return compiled

    def _check_open(self) -> None:
        if self._session.phase != "steps":
            raise HarnessError(f"the session has ended: it settled at {time_in_seconds(self.now_us)}")

    def _advance(self, until_us: int, max_events: int = 0) -> bool:
        """Let time pass; return whether there is more to run."""
        with _recording():
            more = self._session.advance(until_us, max_events)
        self._collect()
        return more

    def _collect(self) -> None:
        self._events += self._session.drain()


@contextmanager
def _recording() -> Iterator[None]:
    """Convert errors of the recording to errors of the laboratory."""
    try:
        yield
    except RecordingError as error:
        raise HarnessError(str(error)) from None


def _playbook(source: str | Path | Playbook | None, settings: Mapping[str, str], parts: dict[str, Any]) -> Playbook:
    if source is not None and parts:
        raise HarnessError(f"found a playbook and {listed(parts, 'and')}; change it with settings={{...}}")
    try:
        playbook = source if isinstance(source, Playbook) else _read(source) if source is not None else _built(parts)
        playbook = changed(playbook, settings)
    except PlaybookError as error:
        raise HarnessError(_message(error, places=source is not None)) from None
    except SettingError as error:
        raise HarnessError(str(error).removeprefix("--set ")) from None
    if playbook.spec.manual:
        raise HarnessError(f"{playbook.path}: it has manual steps; a laboratory needs a timed playbook")
    return playbook


def _read(source: str | Path) -> Playbook:
    """Load a file, a bundled name, or the text itself if it has several lines."""
    text = str(source)
    if "\n" in text:
        return loads(text, NAME)
    return load(path_of(text) if text in runnable_names() and not Path(text).exists() else text)


def _built(parts: dict[str, Any]) -> Playbook:
    """Return a playbook without steps, built from parts by name."""
    sections = dict(parts)
    clients = {"producers": sections.pop("producers", None), "groups": sections.pop("groups", None)}
    topics = sections.pop("topics", None)
    if topics is None and not any(each is not None for each in clients.values()):
        clients = {"producers": DEFAULT_PRODUCERS, "groups": DEFAULT_GROUPS}
    document: dict[str, Any] = {
        "floodmark": 1,
        "name": NAME,
        "topics": _named("topics", DEFAULT_TOPICS if topics is None else topics),
        "clients": {kind: _named(kind, each) for kind, each in clients.items() if each},
        **{key: sections.pop(key) for key in ("settle", "expect", "guards") if key in sections},
        "cluster": {"brokers": 3, **sections},
    }
    if not document["clients"]:
        del document["clients"]
    try:
        return loads(yaml.safe_dump(document, sort_keys=False, allow_unicode=True), NAME)
    except yaml.YAMLError as error:
        raise HarnessError(f"found no number, string, list or mapping: {error}") from None


def _named(kind: str, given: Mapping[str, Parts] | Iterable[Parts]) -> list[dict[str, Any]]:
    """Return a list as in a playbook, from a mapping by name or from such a list."""
    if isinstance(given, Mapping):
        wrong = [name for name, each in given.items() if not isinstance(each, Mapping)]
        if wrong:
            raise HarnessError(f"{kind}: found {wrong[0]!r} without a mapping, expected {{name: {{key: value}}}}")
        return [{"name": name, **each} for name, each in given.items()]
    if isinstance(given, Sequence) and not isinstance(given, str) and all(isinstance(each, Mapping) for each in given):
        return [dict(each) for each in given]
    raise HarnessError(f"{kind}: found {type(given).__name__}, expected a mapping by name, or a list of mappings")


def _duration(name: str, text: Any) -> int:
    try:
        if isinstance(text, str):
            return duration_us(text)
        allowed = f"a duration as string such as {duration_text(10_000_000)!r}"
    except UnitError as error:
        allowed = str(error)
    raise HarnessError(f"{name}: found {text!r}, expected {allowed}")


def _message(error: PlaybookError, *, places: bool = False) -> str:
    """Return every problem on a line; without positions if there is no file."""
    if places:
        return str(error)
    return "\n".join(f"{each.key}: {each.message}" if each.key else each.message for each in error.problems)
