"""One run of a playbook under a release, as a job for a worker process, with what an assessment compares of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from cluster_model.protocol.errors import ModelError
from cluster_model.spec import recorded_rules
from playbooks.engine.manual_session import ManualSession
from playbooks.engine.session_runner import stage, start_session
from playbooks.engine.worker_pool import SLICE_US, JobOutcome, JobProgress, PlaybookJob, executed
from playbooks.model.playbook import Playbook
from playbooks.parser.loader import loads
from playbooks.parser.settings import SettingError, cell_text
from playbooks.results.result import SessionResult
from playbooks.results.sweep_matrix import COSTS, measured

Outcome = Mapping[str, int | str]
"""Verdict and violated invariants as text, and the measures of :data:`MEASURES`."""

MEASURES: Final = (*COSTS, "reordered")
"""Compared measures: records, and virtual microseconds."""
_RULES: Final = "cluster.rules."
VIOLATED: Final = "violated "
"""Prefix of the entry of an invariant: ``violated min-isr``."""
_TIMES: Final = ("unavailable_us", "read_stall_us")
_NOTICEABLE_US: Final = 1_000_000
"""Difference of two times below which it is chance."""
_NOTICEABLE_PART: Final = 10
"""Values differ if they do so by more than one part in this many."""


def value_of(outcome: Outcome, name: str) -> int | str:
    """Return an entry of an outcome; that of an invariant is ``yes`` or ``no``."""
    if name.startswith(VIOLATED):
        return "yes" if name.removeprefix(VIOLATED) in str(outcome["violated"]).split(", ") else "no"
    return outcome[name]


def differs(name: str, old: int | str, new: int | str) -> bool:
    """Return whether two entries of outcomes differ by more than chance."""
    if isinstance(old, str) or isinstance(new, str):
        return old != new
    apart = abs(old - new) * _NOTICEABLE_PART > max(old, new)
    return apart and (name not in _TIMES or abs(old - new) >= _NOTICEABLE_US)


def differing(old: Outcome, new: Outcome) -> list[str]:
    """Return the entries in which two outcomes differ: the verdict, each invariant, and the measures."""
    invariants = {name for each in (old, new) for name in str(each["violated"]).split(", ") if name}
    names = ("verdict", *(VIOLATED + each for each in sorted(invariants)), *MEASURES)
    return [name for name in names if differs(name, value_of(old, name), value_of(new, name))]


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A run as it is compared: its outcome, the rules that it read, and digests of its events."""

    outcome: Outcome | None = None
    """None if it ended with an error, or early."""
    rules: frozenset[str] = frozenset()
    """Names of the versioned rules that it read."""
    digests: tuple[str, ...] = ()
    """Digest of all events so far at regular virtual times, and at the end."""
    deviates: bool = False
    """Whether it was ended at the first digest that is not the expected one."""
    error: str = ""


@dataclass(frozen=True, slots=True)
class ComparedRunJob(PlaybookJob):
    """Run of a playbook whose ``text`` is without ``settings``; ``found`` of its outcome is a :class:`RunRecord`."""

    variables: tuple[str, ...] = ()
    has_rules: bool = False
    """Whether the playbook itself switches rules."""
    expected: tuple[str, ...] = ()
    """Digests of another run: this one ends at the first that is not the same; empty to run to the end."""

    @staticmethod
    def of(
        playbook: Playbook, settings: Mapping[str, str], *, expected: tuple[str, ...] = (), seed: int | None = None
    ) -> "ComparedRunJob":
        """Return the job of a playbook with settings, and its own seed or another one."""
        return ComparedRunJob(
            playbook.source,
            playbook.path,
            seed,
            settings=settings,
            fragments=playbook.fragments,
            variables=playbook.variables,
            has_rules=bool(playbook.spec.rules),
            expected=expected,
        )

    def load(self) -> Playbook:
        """Return the playbook with the settings.

        Raises:
            PlaybookError, SettingError: it is invalid with them.
        """
        settings = self.settings if self.has_rules else _with_one_of_rules(self.settings)
        text = cell_text(self.text, settings, self.fragments, self.variables)
        return loads(text, self.path, self.fragments)

    def execute(self, on_progress: Callable[[JobProgress], None]) -> JobOutcome:
        """Execute the run; never raises."""
        trace = _Trace(self.expected)
        with recorded_rules() as rules:
            outcome = executed(self, lambda _recorder: self._run(trace, on_progress))
        ended = None if outcome.result is None else outcome_of(outcome.result)
        record = RunRecord(ended, frozenset(rules), tuple(trace.digests), trace.deviates, outcome.error)
        return replace(outcome, job=replace(self, text="", fragments={}), result=None, found=record)

    def _run(self, trace: "_Trace", on_progress: Callable[[JobProgress], None]) -> SessionResult:
        try:
            playbook = self.load()
        except SettingError as error:
            raise ModelError(str(error), code="setting") from None
        session = start_session(playbook, seed=self.seed)
        cluster, by_hand = session.cluster, isinstance(session, ManualSession)
        while session.advance(cluster.now_us + SLICE_US, int(by_hand)):
            session.drain()
            trace.add(cluster.digest())
            on_progress(JobProgress(cluster.now_us, stage(session), ""))
        trace.add(cluster.digest())
        trace.end()
        return session.finish()


def _with_one_of_rules(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the settings with all rules as one mapping: the text is parsed once for each setting."""
    rules = [f"{path.removeprefix(_RULES)}: {value}" for path, value in settings.items() if path.startswith(_RULES)]
    rest = {path: value for path, value in settings.items() if not path.startswith(_RULES)}
    return rest | ({"cluster.rules": "{" + ", ".join(rules) + "}"} if rules else {})


class _Trace:
    """Digests of a run so far, compared with those of another run."""

    def __init__(self, expected: tuple[str, ...]) -> None:
        self.digests: list[str] = []
        self.deviates = False
        self._expected = expected

    def add(self, digest: str) -> None:
        """Add the next digest; end the run if it is not the expected one."""
        position = len(self.digests)
        self.digests.append(digest)
        if self._expected and self._expected[position : position + 1] != (digest,):
            self._deviate()

    def end(self) -> None:
        """Compare the number of digests at the end of the run."""
        if self._expected and len(self.digests) != len(self._expected):
            self._deviate()

    def _deviate(self) -> None:
        self.deviates = True
        raise ModelError("the run deviates from the expected one", code="deviates")


def outcome_of(result: SessionResult) -> Outcome:
    """Return the compared fields of a run."""
    measures = measured(result)
    violated = ", ".join(sorted({each.invariant for each in result.violations}))
    verdict: dict[str, int | str] = {"verdict": result.verdict, "violated": violated}
    return verdict | {name: measures[name] for name in MEASURES}
