"""Writer of a recorded session as a playbook: its text edited in place, with expectations inferred from the session."""

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from cluster_model.observation import PLAYBOOK_KINDS
from cluster_model.protocol.events import Event
from cluster_model.spec import ClusterSpec
from playbooks.conditions.condition import parse
from playbooks.diff.session_diff import counting, words
from playbooks.engine.manual_session import ManualSession
from playbooks.engine.replay import Progress
from playbooks.engine.session import SLICE_US, Session
from playbooks.engine.session_runner import start_session
from playbooks.errors import PlaybookError
from playbooks.export.session_steps import (
    AddedStep,
    Entry,
    PlaybookStep,
    SessionNarrative,
    StepComment,
    entries,
    replay_narrative,
)
from playbooks.model.playbook import Expectation, Playbook, Position, Step, Trigger
from playbooks.model.step_text import block, exact_time_text, scalar, step_lines
from playbooks.parser.loader import loads
from playbooks.parser.yaml_edit import (
    BlockList,
    EditError,
    commented,
    listed,
    put,
    retriggered,
    rewritten,
    root_of,
    value_of,
    without,
    written_out,
)
from playbooks.recording.event_codec import WIRE, encode
from playbooks.recording.reader import RecordedSession
from playbooks.results.result import ExpectationResult, SessionResult
from playbooks.session_format import session_files
from playbooks.units import MICROSECONDS
from playbooks.version import VERSION

# Expectations inferred from a session: losses, violations, recoveries, and the final state.
#
# Only true conditions are proposed, and none about meaningless numbers, such as how many records were read.


_SECOND: Final = MICROSECONDS["s"]
_ROUND_US: Final = tuple(number * _SECOND for number in (1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1_800, 3_600))
"""Round limits that a person would choose."""

RECOVERIES: Final = {
    "offline_partitions() == 0": (
        "every partition always had a leader",
        "every partition had a leader again",
    ),
    "under_min_isr() == 0": ("never below min.insync.replicas", "min.insync.replicas reached again"),
    "under_replicated() == 0": ("every replica was always in sync", "every replica was in sync again"),
}
"""Conditions of a healthy cluster → comments if one always held, and if it held at the end."""


@dataclass(frozen=True, slots=True)
class InferredExpectation:
    """One expectation inferred from a session."""

    key: str
    """``always``, ``eventually``, or empty for the end."""
    condition: str
    why: str
    within_us: int = -1

    def written(self, indent: int) -> list[str]:
        """Return its lines in a list of expectations whose dashes are at a column."""
        dash, indented = " " * indent + "- ", " " * (indent + 2)
        if not self.key:
            return [f"{dash}{scalar(self.condition)}  # {self.why}"]
        lines = [f"{dash}{self.key}: {scalar(self.condition)}  # {self.why}"]
        if self.within_us >= 0:
            lines += [f"{indented}within: {exact_time_text(self.within_us)}", f"{indented}since: heal"]
        return lines


def candidates(spec: ClusterSpec) -> list[InferredExpectation]:
    """Return the expectations to evaluate during the session before deciding whether to assert them."""
    watched: list[InferredExpectation] = []
    if spec.manual:
        return watched
    for condition, (never, _again) in RECOVERIES.items():
        watched.append(InferredExpectation("always", condition, never))
        watched.append(InferredExpectation("eventually", condition, "", _ROUND_US[-1]))
    return watched


def infer(
    result: SessionResult, query: object, spec: ClusterSpec, healed_us: int, declared: tuple[Expectation, ...]
) -> list[InferredExpectation]:
    """Return the expectations to assert, given a run with the :func:`candidates` as its last expectations.

    ``healed_us`` is when the last fault was healed, -1 for never; ``declared`` are the playbook's own expectations.
    """
    inferred = _losses(result, spec)
    inferred += _violations(result)
    if not spec.manual:
        inferred += _recoveries(result, healed_us)
        inferred += _groups(result, query, spec)
    return [each for each in inferred if not _is_known(each, result, declared)]


def _is_known(inferred: InferredExpectation, result: SessionResult, declared: tuple[Expectation, ...]) -> bool:
    """Return whether the playbook has it already, or has a failed one about the same, which then stays."""
    about = inferred.condition.partition("(")[0]
    for place, each in enumerate(declared):
        same = each.condition.text.replace(" ", "") == inferred.condition.replace(" ", "")
        if same and each.kind == (inferred.key or "end"):
            return True
        checked = result.expectations[_steps_checked(result) + place]
        if not checked.ok and not inferred.key and each.condition.text.partition("(")[0] == about:
            return True
    return False


def _steps_checked(result: SessionResult) -> int:
    """Return the number of a result's entries before those of the playbook's expectations."""
    return sum(each.by_step for each in result.expectations)


def _losses(result: SessionResult, spec: ClusterSpec) -> list[InferredExpectation]:
    ledger = result.ledger
    if not ledger.sent:
        return []
    cause = f": {result.losses[0].cause}" if result.losses and len(result.losses[0].cause) <= 90 else ""
    comments = {
        "acked_lost": ("no acknowledged record was lost", f"acknowledged records lost{cause}"),
        "committed_lost": ("no committed record was lost", "consumers could have read these"),
        "duplicates": ("no record was duplicated", "records written more than once"),
        "reordered": ("no record was reordered", "records written before earlier ones"),
    }
    inferred = [_count(name, int(getattr(ledger, name)), *why) for name, why in comments.items()]
    if ledger.acked == ledger.sent:
        inferred.append(InferredExpectation("", "acked() == sent()", "every record was acknowledged"))
    if ledger.failed:
        inferred.append(_count("failed", ledger.failed, "", "failed with an error to their producers"))
    if ledger.unknown:
        inferred.append(_count("unknown", ledger.unknown, "", "records of unknown outcome"))
    if any("transactional.id" in str(producer.config) for producer in spec.producers):
        inferred.append(
            _count(
                "acked_aborted",
                ledger.acked_aborted,
                "no acknowledged transaction was aborted",
                "acknowledged, but aborted in the log",
            )
        )
        inferred.append(
            _count(
                "aborted_committed",
                ledger.aborted_committed,
                "no aborted transaction was committed",
                "aborted, but committed in the log",
            )
        )
    return inferred


def _count(name: str, number: int, none: str, some: str, argument: str = "") -> InferredExpectation:
    return InferredExpectation("", f"{name}({argument}) == {number}", some if number else none)


def _violations(result: SessionResult) -> list[InferredExpectation]:
    names = list(dict.fromkeys(each.invariant for each in result.violations))
    if not names:
        return [InferredExpectation("", "violations() == 0", "no invariant was violated")]
    counts = [sum(each.invariant == name for each in result.violations) for name in names]
    broken = [
        InferredExpectation("", f'violations("{name}") == {count}', "a violated invariant")
        for name, count in zip(names, counts, strict=True)
    ]
    if all(each.known for each in result.violations):
        broken.append(InferredExpectation("", "unexpected_violations() == 0", "only violations known of this version"))
    return broken


def _recoveries(result: SessionResult, healed_us: int) -> list[InferredExpectation]:
    inferred = []
    watched = result.expectations[-2 * len(RECOVERIES) :]
    for number, (condition, (never, again)) in enumerate(RECOVERIES.items()):
        always, eventually = watched[2 * number], watched[2 * number + 1]
        if always.ok:
            inferred.append(InferredExpectation("always", condition, never))
        elif eventually.ok and 0 <= healed_us <= eventually.at_us:
            took_us = eventually.at_us - healed_us
            within_us = next((limit for limit in _ROUND_US if limit >= 2 * took_us), -1)
            if within_us >= 0:
                inferred.append(
                    InferredExpectation("eventually", condition, f"{again} after {exact_time_text(took_us)}", within_us)
                )
    return inferred


def _groups(result: SessionResult, query: object, spec: ClusterSpec) -> list[InferredExpectation]:
    inferred = []
    lags = {group.name: group.lag for group in result.clients.groups}
    for group in spec.groups:
        lag = ("lag", "it had read and committed everything", "it was behind at the end")
        if lags[group.name] is None:
            lag = ("position_lag", "it had read everything", "it was behind at the end")
        for name, none, some in (
            lag,
            ("skipped", "it received every record", "records that it never received"),
        ):
            argument = scalar(group.name, inside=True)
            number = parse(f"{name}({argument})").value(query)
            if number < 0:
                continue
            inferred.append(_count(name, number, none, some, argument))
    return inferred


SUFFIX: Final = "-exported"
"""Suffix of the name unless another one is requested."""
_WIDE: Final = 118
_PATH: Final = "exported.yaml"
"""Name of the text in messages."""


class TextError(ValueError):
    """The session cannot be written as text; the message says why."""


def draft(narrative: SessionNarrative, steps: list[Entry], name: str) -> str:
    """Return the playbook without inferred expectations.

    Raises:
        TextError: it cannot be written.
    """
    text = narrative.recorded.playbook.replace("\r\n", "\n").replace("\r", "\n").lstrip("\ufeff")
    if not text.endswith("\n"):
        text += "\n"
    # A file that cannot be edited, such as one on a single line, or with variables that would be unused, is rewritten
    # as a whole.
    for rewrite, write in ((False, _in_place), (False, _rewritten_steps), (True, _as_it_is), (True, _rewritten_steps)):
        with suppress(EditError, PlaybookError):
            own = _of_this_session(rewritten(text, _PATH, {}) if rewrite else text, narrative, name)
            found = _head(narrative) + write(own, narrative, steps)
            if _means(loads(found, _PATH), steps):
                return found
    raise TextError("the session cannot be written as steps")


def _of_this_session(text: str, narrative: SessionNarrative, name: str) -> str:
    """Return the file with the session's name, seed and end. Raises :class:`EditError`."""
    own = narrative.playbook.name
    text = put(text, "name", scalar(name or (own if own.endswith(SUFFIX) else own + SUFFIX)))
    if narrative.seed != narrative.playbook.seed:
        text = put(text, "seed", str(narrative.seed))
    if narrative.cut and narrative.settled_us >= 0:
        text = put(text, "settle", exact_time_text(narrative.recorded.until_us - narrative.settled_us))
    text = without(text, "profiles", "The session has only one version:")
    return without(text, "vary", "The session is one cell of:")


def _means(playbook: Playbook, steps: list[Entry]) -> bool:
    """Return whether the text parses to the intended steps."""
    wanted = [each for each in steps if not isinstance(each, StepComment)]
    if len(wanted) != len(playbook.steps):
        return False
    for step, each in zip(playbook.steps, wanted, strict=True):
        trigger = each.trigger or (each.step.trigger if isinstance(each, PlaybookStep) else step.trigger)
        if replace(step.trigger, condition=None) != replace(trigger, condition=None):
            return False
        if isinstance(each, PlaybookStep) and _plain(step) != _plain(each.step):
            return False
    return True


def _plain(step: Step) -> Step:
    """Return a step without its position and trigger."""
    return replace(step, index=0, label="", where=Position(0, 0), trigger=Trigger("at"))


def _as_it_is(text: str, narrative: SessionNarrative, _steps: list[Entry]) -> str:
    """Return the author's steps unchanged, if nothing came between them."""
    if not narrative.as_written:
        raise EditError("steps that are not as they were written")
    return text


def _in_place(text: str, narrative: SessionNarrative, steps: list[Entry]) -> str:
    """Return the author's own lines, with added steps among them."""
    with suppress(EditError):
        return _as_it_is(text, narrative, steps)
    if value_of(root_of(text), "steps") is None:
        return _rewritten_steps(text, narrative, steps)
    if any(step.verb == "round" for step in narrative.playbook.steps):
        raise EditError("steps in rounds")
    steps_list = listed(text, "steps")
    chunks: list[list[str]] = []
    used: list[int] = []
    for each in steps:
        if isinstance(each, AddedStep):
            chunks.append(block(each.written(), steps_list.indent, each.remark))
        elif isinstance(each, PlaybookStep):
            used.append(each.step.index)
            chunks.append(_chunk(steps_list, each))
        elif each.step is None:
            chunks.append(_remark(each.text, steps_list.indent))
        else:
            used.append(each.step.index)
            chunks.append(commented(_of(steps_list, each.step), steps_list.indent))
    if used != sorted(set(used)):
        raise EditError("steps that share lines")
    return steps_list.text(chunks)


def _of(steps: BlockList, step: Step) -> list[str]:
    if step.index >= len(steps.chunks):
        raise EditError("a step that shares lines")
    return steps.chunks[step.index]


def _chunk(steps: BlockList, own: PlaybookStep) -> list[str]:
    chunk = _of(steps, own.step)
    if own.trigger is None:
        return chunk
    lines = step_lines(own.step, own.trigger)
    keys = [line for line in lines if line[0] in ("at", "executed", "when", "within", "after")]
    try:
        return retriggered(chunk, keys)
    except EditError:
        return block(lines, steps.indent)


def _rewritten_steps(text: str, narrative: SessionNarrative, steps: list[Entry]) -> str:
    """Return all steps rewritten from their meaning."""
    lines = ["steps:"]
    for each in steps:
        if isinstance(each, AddedStep):
            lines += block(each.written(), 2, each.remark)
        elif isinstance(each, PlaybookStep):
            lines += block(step_lines(each.step, each.trigger), 2)
        elif each.step is None:
            lines += _remark(each.text, 2)
        elif each.step.verb != "round":
            lines += commented(block(step_lines(each.step), 2), 2)
    if len(lines) == 1:
        lines = ["steps: []"]
    return replaced(text, "steps", lines)


def replaced(text: str, key: str, lines: list[str]) -> str:
    """Return the file with a key's lines replaced, or inserted before the expectations."""
    root = root_of(text)
    names = [name for name, _ in root.value]
    old = text.split("\n")
    for number, name in enumerate(names):
        if name.value == key:
            first = name.start_mark.line
            last = names[number + 1].start_mark.line if number + 1 < len(names) else len(old)
            while last > first + 1 and (not old[last - 1].strip() or old[last - 1].startswith("#")):
                last -= 1
            return "\n".join([*old[:first], *lines, *old[last:]]).rstrip("\n") + "\n"
    at = next((name.start_mark.line for name in names if name.value in ("guards", "settle", "expect")), None)
    if at is None:
        return text.rstrip("\n") + "\n" + "\n".join(lines) + "\n"
    return "\n".join([*old[:at], *lines, *old[at:]])


def _remark(text: str, indent: int) -> list[str]:
    """Return a comment, wrapped to as many lines as needed."""
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + len(word) + indent + 3 > _WIDE:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return [f"{' ' * indent}# {line}" for line in lines]


def _head(narrative: SessionNarrative) -> str:
    """Return the comment about the origin of the file."""
    start = narrative.recorded.start
    how = "live" if start.live else "headless"
    text = (
        f"Made by floodmark {VERSION} from the session {start.session_id} of {start.playbook}, recorded {how} "
        f"by floodmark {start.tool_version} at {start.wall_start}, seed {start.seed}"
    )
    if start.settings:
        text += ", with " + ", ".join(f"{key}={value}" for key, value in start.settings.items())
    lines = _remark(" ".join(f"{text}.".split()), 0)
    if narrative.acted or narrative.left:
        lines += _remark("The operator's actions are steps at their original times.", 0)
    if narrative.torn:
        lines += _remark(f"The recording ends at {exact_time_text(max(0, narrative.recorded.last_us))}.", 0)
    return "\n".join(lines) + "\n"


# -- expectations --------------------------------------------------------------------------------------------------


def expecting(text: str, inferred: list[InferredExpectation]) -> str:
    """Return the text with additional expectations."""
    if not inferred:
        return text
    root = root_of(text)
    if value_of(root, "expect") is None:
        lines = ["expect:", *_inferred(inferred, 2)]
        return text.rstrip("\n") + "\n" + "\n".join(lines) + "\n"
    found = _expectations(text)
    return found.text([*found.chunks, _inferred(inferred, found.indent)])


def _inferred(inferred: list[InferredExpectation], indent: int) -> list[str]:
    remark = "Results of the session: keep those that should stay true."
    return [*_remark(remark, indent), *(line for each in inferred for line in each.written(indent))]


def _expectations(text: str) -> BlockList:
    """Return the list of expectations; rewritten with one per line if needed."""
    try:
        return listed(text, "expect")
    except EditError:
        node = value_of(root_of(text), "expect")
        items = [] if node is None or not isinstance(node.value, list) else node.value
        lines = [f"  - {text[item.start_mark.index : item.end_mark.index].strip()}" for item in items]
        rest = replaced(text, "expect", ["expect:", *lines] if lines else ["expect:", "  - now() >= 0s"])
        found = listed(rest, "expect")
        return found if lines else BlockList(found.before, [], found.after, found.indent)


def remarked(text: str, judged: Sequence[ExpectationResult]) -> str:
    """Return the text with a comment at every failed expectation of its own; ``judged`` are those, in order."""
    failed = [(number, each) for number, each in enumerate(judged) if not each.ok]
    steps = _expectations(text) if failed else None
    if steps is None or len(steps.chunks) != len(judged):
        return text
    chunks = list(steps.chunks)
    for number, each in failed:
        chunks[number] = [*_remark(f"did not hold: {each.detail}", steps.indent), *chunks[number]]
    return steps.text(chunks)


# The export of a recorded session: its operator's actions as steps, its results as assertions.
#
# The session is replayed to find its steps (:mod:`playbooks.export.session_steps`), the playbook's text is edited, and
# the new playbook is run: it must have the digest of the session, or the same events if the recording is incomplete.


ProgressText = Callable[[str], None]
"""Progress callback."""


class ExportError(Exception):
    """A session without an equivalent playbook; the message says why."""


@dataclass(frozen=True, slots=True)
class ExportedPlaybook:
    """A playbook exported from a session."""

    text: str
    digest: str
    """Digest of its run; that of the session, if the session has one."""
    steps: int
    """Number of steps."""
    operator: int
    """Number of steps of the operator."""
    inferred: int
    """Number of inferred assertions."""
    notes: tuple[str, ...]
    """Notes on the recording."""


def export(
    recorded: RecordedSession, *, name: str = "", on_progress: ProgressText = lambda text: None
) -> ExportedPlaybook:
    """Export a session as a playbook; ``name`` is the playbook's name.

    Raises:
        ExportError: the playbook has other events than the session.
        ReplayMismatchError: this version of the model replays other events.
        SessionError: the recording lacks the data for a replay.
        PlaybookError: the session's playbook is not valid in this version.
    """
    if any(action.verb == WIRE for action in recorded.actions):
        raise ExportError(f"{recorded.path}: requests of external clients cannot be written as a playbook")
    if recorded.fragments:  # steps are inserted into one file, so fragments are expanded first
        text = written_out(recorded.playbook, str(recorded.path / session_files.PLAYBOOK), recorded.fragments)
        recorded = replace(recorded, playbook=text, fragments={})
    progress: Progress = lambda done, total: on_progress(f"replaying: {done} of {total} events")  # noqa: E731
    story = replay_narrative(recorded, progress)
    steps = entries(story)
    try:
        text = draft(story, steps, name)
    except TextError as error:
        raise ExportError(f"{recorded.path}: {error}") from None
    own = loads(text, _PATH)
    watched = candidates(own.spec)
    check = _Check(recorded) if recorded.cut_short else None
    result, query, healed_us = _run(loads(expecting(text, watched), _PATH), on_progress, check)
    if check is not None:
        check.finish()
    else:
        _same(recorded, result)
    inferred = infer(result, query, own.spec, healed_us, own.expectations)
    judged = result.expectations[len(result.expectations) - len(watched) - len(own.expectations) :]
    text = expecting(remarked(text, judged[: len(own.expectations)]), inferred)
    loads(text, _PATH)
    return ExportedPlaybook(
        text=text,
        digest=result.digest,
        steps=sum(not isinstance(each, StepComment) for each in steps),
        operator=sum(isinstance(each, AddedStep) and each.remark.startswith("the operator") for each in steps),
        inferred=len(inferred),
        notes=recorded.notes,
    )


def _same(recorded: RecordedSession, result: SessionResult) -> None:
    wanted = recorded.manifest.digest if recorded.manifest is not None else ""
    if result.digest != wanted:
        raise ExportError(
            f"the playbook made of {recorded.path} has another result: recorded digest {wanted}, found {result.digest}"
        )


class _Check:
    """Comparison of a run with the events of an incomplete session, which has no digest."""

    def __init__(self, recorded: RecordedSession) -> None:
        self._path = recorded.path
        self._wanted = (line for line in recorded.events.splitlines() if _kind(line) not in PLAYBOOK_KINDS)
        self._next = next(self._wanted, None)

    def take(self, events: list[Event]) -> None:
        """Compare further events. Raises :class:`ExportError` at the first difference."""
        for event in events:
            if self._next is None:
                return
            if event.kind in PLAYBOOK_KINDS:
                continue
            wanted, found = json.loads(self._next), json.loads(encode(0, [event]))
            if counting(wanted) != counting(found):
                raise self._parted(words(wanted), words(found))
            self._next = next(self._wanted, None)

    def finish(self) -> None:
        """End the run. Raises :class:`ExportError` if the recording continues."""
        if self._next is not None:
            raise self._parted(words(json.loads(self._next)), "nothing: the session has ended")

    def _parted(self, wanted: str, actual: str) -> ExportError:
        return ExportError(f"the playbook made of {self._path} has another result: recorded {wanted}, found {actual}")


def _kind(line: bytes) -> str:
    return str(json.loads(line)["kind"])


def _run(playbook: Playbook, on_progress: ProgressText, check: _Check | None) -> tuple[SessionResult, object, int]:
    """Return the result, the cluster's query at the end, and when the last fault was healed."""
    session = start_session(playbook)
    while session.advance(session.cluster.now_us + SLICE_US, int(isinstance(session, ManualSession))):
        events = session.drain()
        if check is not None:
            check.take(events)
        on_progress(f"running the playbook: at {exact_time_text(session.cluster.now_us)}")
    result = session.finish()
    if check is not None:
        check.take(session.drain())
    return result, session.cluster.query, session.healed_us if isinstance(session, Session) else -1
