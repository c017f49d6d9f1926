"""A cluster for people who write Python: build it, break it, ask it; the same every time.

    from playbooks.testing.harness import Laboratory

    lab = Laboratory(kafka="3.9", topics={"orders": {"partitions": 1, "replication": 3}},
                     producers={"checkout": {"topic": "orders", "rate": "100/s", "config": {"acks": "all"}}})
    lab.run(until="5s").inject("crash", target="leader(orders-0)", for_="15s")
    lab.wait("leader(orders-0) != 1", within="20s").settle()
    assert lab.ask("acked_lost()") == 0

It is a session like any other: what is asked of it is what an operator does, so it is recorded and replays.
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
from playbooks.library.bundled import names, path_of
from playbooks.model.playbook import Playbook
from playbooks.model.step_text import action_of
from playbooks.parser.loader import changed, load, loads
from playbooks.parser.settings import SettingError
from playbooks.parser.steps.timed_steps import StepParser
from playbooks.recording.recorder import Recorder, RecordingError
from playbooks.results.result import SessionResult
from playbooks.units import UnitError, duration_text, duration_us

Parts = Mapping[str, Any]
"""Keys of a part of a playbook, as `docs/reference/keys.md` lists them."""

NAME: Final = "laboratory"
DEFAULT_TOPICS: Final[Mapping[str, Parts]] = {
    "orders": {"partitions": 1, "replication": 3, "config": {"min.insync.replicas": 2}}
}
DEFAULT_PRODUCERS: Final[Mapping[str, Parts]] = {
    "checkout": {"topic": "orders", "rate": "100/s", "config": {"acks": "all"}}
}
DEFAULT_GROUPS: Final[Mapping[str, Parts]] = {"billing": {"topics": ["orders"]}}
"""What a laboratory has of which nothing is said: a topic, one who writes to it, and one who reads it."""

_NOT_NOW: Final = ("at", "after", "when", "within", "kafka", "given", "note", "refused")
"""Keys of a playbook's step that mean nothing where somebody acts at once."""


class LaboratoryError(Exception):
    """Something that cannot be had: the message says what was found and what is allowed."""


class RefusedError(LaboratoryError):
    """A fault or an operation that cannot be done now, or that a guard refuses."""


class NeverHeldError(LaboratoryError):
    """A condition that was waited for in vain."""


class Laboratory:
    """One cluster on its own clock. Every method that acts returns the laboratory, so that calls can be chained."""

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
        playbook as ``--set`` does. ``sessions`` is where the session is recorded; nowhere unless given.

        Raises:
            LaboratoryError: there is no such cluster.
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
            raise LaboratoryError(str(error)) from None

    def __enter__(self) -> "Laboratory":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- time -------------------------------------------------------------------------------------------------------

    @property
    def now_us(self) -> int:
        """Virtual microseconds since the beginning."""
        return self._session.cluster.now_us

    def run(self, until: str | None = None, *, for_: str | None = None) -> "Laboratory":
        """Let time pass ``until`` a virtual time (``"10s"``), or ``for_`` so long. Raises :class:`LaboratoryError`."""
        self._check_open()
        if (until is None) == (for_ is None):
            raise LaboratoryError("run takes either until='10s' or for_='10s'")
        span = _duration("until" if until is not None else "for_", until if until is not None else for_)
        target = span if until is not None else self.now_us + span
        if target < self.now_us:
            raise LaboratoryError(
                f"run: found until={until!r}, allowed is {time_in_seconds(self.now_us)} or later: it is that now"
            )
        self._advance(target)
        return self

    def wait(self, condition: str, *, within: str = "60s") -> "Laboratory":
        """Let time pass until a condition holds, and stop right there.

        Raises:
            NeverHeldError: it did not, ``within`` that time or before the playbook ended the session.
            LaboratoryError: it is no condition.
        """
        self._check_open()
        asked = self._asked(condition, boolean=True)
        query, deadline = self._session.cluster.query, self.now_us + _duration("within", within)
        while not holds(asked, query):
            if self.now_us >= deadline:
                raise NeverHeldError(f"{asked.text} did not hold within {within}: {explain(asked, query)}".rstrip(": "))
            if not self._advance(deadline, 1) and not holds(asked, query):
                where = f"the session ended at {time_in_seconds(self.now_us)}"
                raise NeverHeldError(f"{asked.text} did not hold, {where}: {explain(asked, query)}".rstrip(": "))
        return self

    # -- acting -----------------------------------------------------------------------------------------------------

    def inject(
        self, fault: str, target: str = "", *, for_: str = "", if_any: bool = False, **params: Any
    ) -> "Laboratory":
        """Inject a fault now, as ``floodmark faults`` lists them; ``for_`` a time, or until it is healed.

        Raises:
            RefusedError: it cannot be done now.
            LaboratoryError: there is no such fault, target or parameter.
        """
        given = {"target": target, "for": for_, "if_any": if_any}
        return self._act({"inject": fault, **{key: value for key, value in given.items() if value}, **params})

    def heal(self, fault: str = "all") -> "Laboratory":
        """Heal a fault wherever it is, or all of them. Raises as :meth:`inject` does."""
        return self._act({"heal": fault})

    def admin(self, operation: str, **params: Any) -> "Laboratory":
        """Ask for an operation of the administrator; its answer comes as time passes (``operations() == 0``)."""
        return self._act({"admin": operation, **params})

    def settle(self) -> "Laboratory":
        """End it: producers stop, faults heal, the playbook's quiet time passes, and the books are closed."""
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
        """Let go of it: a session that is recorded is settled and sealed, others are forgotten."""
        if self._recorder is not None:
            self.settle()

    # -- asking -----------------------------------------------------------------------------------------------------

    def ask(self, expression: str) -> Any:
        """What an expression of the conditions' language amounts to now: ``ask("isr(orders-0)") == [1, 2, 3]``.

        Raises:
            LaboratoryError: it is no expression, or cannot be answered now.
        """
        asked = self._asked(expression)
        try:
            value = asked.value(self._session.cluster.query)
        except EvaluationError as error:
            raise LaboratoryError(f"{expression}: {error.message}") from None
        return list(value) if isinstance(value, tuple) else value

    def expect(self, condition: str) -> "Laboratory":
        """Assert that a condition holds now.

        Raises:
            AssertionError: it does not; the message tells what its parts amount to.
            LaboratoryError: it is no condition.
        """
        asked = self._asked(condition, boolean=True)
        if not holds(asked, self._session.cluster.query):
            told = explain(asked, self._session.cluster.query)
            raise AssertionError(f"{asked.text} does not hold at {time_in_seconds(self.now_us)}: {told}".rstrip(": "))
        return self

    def events(self, kind: str = "") -> list[Event]:
        """Every trace event so far, or those of a kind such as ``leader_elected``."""
        return [event for event in self._events if not kind or event.kind == kind]

    @property
    def digest(self) -> str:
        """Of everything that happened so far: the same for the same calls."""
        return self._session.cluster.digest()

    @property
    def session(self) -> Path | None:
        """Directory of the recording, None without one."""
        return self._recorder.path if self._recorder is not None else None

    @property
    def result(self) -> SessionResult:
        """What it came to; settles it first if nobody has."""
        self.settle()
        assert self._result is not None
        return self._result

    # -- inside -----------------------------------------------------------------------------------------------------

    def _act(self, asked: dict[str, Any]) -> "Laboratory":
        self._check_open()
        wrong = [key for key in asked if key in _NOT_NOW]
        if wrong:
            raise LaboratoryError(f"found {listed(wrong, 'and')}, which belongs to a playbook: here it is done now")
        try:
            action: Action = action_of(self._asking.step(asked))
        except PlaybookError as error:
            raise LaboratoryError(_told(error)) from None
        try:
            with _recording():
                self._session.act(action)
        except FaultError as error:
            raise RefusedError(str(error)) from None
        finally:
            self._collect()
        return self

    def _asked(self, text: str, *, boolean: bool = False) -> Condition:
        if not isinstance(text, str):
            raise LaboratoryError(f"found {type(text).__name__}, allowed is a text such as 'acked_lost() == 0'")
        try:
            asked = self._asking.condition(text.strip())
        except PlaybookError as error:
            raise LaboratoryError(_told(error)) from None
        if boolean and asked.type != "boolean":
            raise LaboratoryError(
                f"found the {asked.type} {shown(text)}, allowed is a condition that holds or does not"
            )
        return asked

    def _check_open(self) -> None:
        if self._session.phase != "steps":
            raise LaboratoryError(f"it is over: the session has settled, at {time_in_seconds(self.now_us)}")

    def _advance(self, until_us: int, max_events: int = 0) -> bool:
        """Let time pass; whether there is more to come."""
        with _recording():
            more = self._session.advance(until_us, max_events)
        self._collect()
        return more

    def _collect(self) -> None:
        self._events += self._session.drain()


@contextmanager
def _recording() -> Iterator[None]:
    """Where the session may be written: what cannot be is the laboratory's error."""
    try:
        yield
    except RecordingError as error:
        raise LaboratoryError(str(error)) from None


def _playbook(source: str | Path | Playbook | None, settings: Mapping[str, str], parts: dict[str, Any]) -> Playbook:
    if source is not None and parts:
        raise LaboratoryError(f"found a playbook and {listed(parts, 'and')}; change it with settings={{...}}")
    try:
        playbook = source if isinstance(source, Playbook) else _read(source) if source is not None else _built(parts)
        playbook = changed(playbook, settings)
    except PlaybookError as error:
        raise LaboratoryError(_told(error, places=source is not None)) from None
    except SettingError as error:
        raise LaboratoryError(str(error).removeprefix("--set ")) from None
    if playbook.spec.manual:
        raise LaboratoryError(f"{playbook.path}: it is stepped by hand, and a laboratory lets time pass")
    return playbook


def _read(source: str | Path) -> Playbook:
    """A file, a bundled name, or the text itself where it has more than one line."""
    text = str(source)
    if "\n" in text:
        return loads(text, NAME)
    return load(path_of(text) if text in names() and not Path(text).exists() else text)


def _built(parts: dict[str, Any]) -> Playbook:
    """A playbook without steps, of parts by name."""
    whole = dict(parts)
    clients = {"producers": whole.pop("producers", None), "groups": whole.pop("groups", None)}
    topics = whole.pop("topics", None)
    if topics is None and not any(each is not None for each in clients.values()):
        clients = {"producers": DEFAULT_PRODUCERS, "groups": DEFAULT_GROUPS}
    document: dict[str, Any] = {
        "floodmark": 1,
        "name": NAME,
        "topics": _named("topics", DEFAULT_TOPICS if topics is None else topics),
        "clients": {kind: _named(kind, each) for kind, each in clients.items() if each},
        **{key: whole.pop(key) for key in ("settle", "expect", "guards") if key in whole},
        "cluster": {"brokers": 3, **whole},
    }
    if not document["clients"]:
        del document["clients"]
    try:
        return loads(yaml.safe_dump(document, sort_keys=False, allow_unicode=True), NAME)
    except yaml.YAMLError as error:
        raise LaboratoryError(f"found a value that is no number, text, list or mapping: {error}") from None


def _named(kind: str, given: Mapping[str, Parts] | Iterable[Parts]) -> list[dict[str, Any]]:
    """A list as a playbook has it, of a mapping by name or of such a list."""
    if isinstance(given, Mapping):
        wrong = [name for name, each in given.items() if not isinstance(each, Mapping)]
        if wrong:
            raise LaboratoryError(f"{kind}: found {wrong[0]!r} without a mapping, allowed is {{name: {{key: value}}}}")
        return [{"name": name, **each} for name, each in given.items()]
    if isinstance(given, Sequence) and not isinstance(given, str) and all(isinstance(each, Mapping) for each in given):
        return [dict(each) for each in given]
    raise LaboratoryError(f"{kind}: found {type(given).__name__}, allowed is a mapping by name, or a list of mappings")


def _duration(name: str, text: Any) -> int:
    try:
        if isinstance(text, str):
            return duration_us(text)
        allowed = f"a time as text such as {duration_text(10_000_000)!r}"
    except UnitError as error:
        allowed = str(error)
    raise LaboratoryError(f"{name}: found {text!r}, allowed is {allowed}")


def _told(error: PlaybookError, *, places: bool = False) -> str:
    """Every problem on a line; without places where there is no file that has them."""
    if places:
        return str(error)
    return "\n".join(f"{each.key}: {each.message}" if each.key else each.message for each in error.problems)
