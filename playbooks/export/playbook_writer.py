"""Writes a recorded session as a playbook: its text edited in place, with expectations inferred from the session."""

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from cluster_model.observation import NARRATION
from cluster_model.protocol.events import Event
from cluster_model.spec import ClusterSpec
from playbooks.conditions.condition import parse
from playbooks.diff.session_diff import counting, words
from playbooks.engine.manual_session import ManualSession
from playbooks.engine.replay import Progress
from playbooks.engine.session import SLICE_US, Session
from playbooks.engine.session_runner import start_session
from playbooks.errors import PlaybookError
from playbooks.export.session_steps import Added, Entry, PlaybookStep, SessionNarrative, StepComment, entries, retell
from playbooks.model.playbook import Expectation, Playbook, Position, Step, Trigger
from playbooks.model.step_text import block, instant, scalar, step_lines
from playbooks.parser.loader import loads
from playbooks.parser.yaml_edit import (
    EditError,
    Listed,
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

# Expectations inferred from a session: losses, violations, recoveries, what is left over.
#
# Only what holds is proposed, and nothing that depends on a number of no meaning, such as how many records were read.


_SECOND: Final = MICROSECONDS["s"]
_ROUND_US: Final = tuple(number * _SECOND for number in (1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1_800, 3_600))
"""Limits that a person would choose."""

RECOVERIES: Final = {
    "offline_partitions() == 0": (
        "the controller always named a leader for every partition",
        "every partition had a leader again",
    ),
    "under_min_isr() == 0": ("never fewer in sync than min.insync.replicas", "enough replicas were in sync again"),
    "under_replicated() == 0": ("every replica was in sync all the time", "every replica was in sync again"),
}
"""Conditions that tell whether a cluster is well → what to say if they always held, and if they did so in the end."""


@dataclass(frozen=True, slots=True)
class Inferred:
    """One assertion."""

    key: str
    """``always``, ``eventually``, or empty: it holds at the end."""
    condition: str
    why: str
    within_us: int = -1

    def written(self, indent: int) -> list[str]:
        """Lines of the list of expectations whose dashes stand at a column."""
        dash, rest = " " * indent + "- ", " " * (indent + 2)
        if not self.key:
            return [f"{dash}{scalar(self.condition)}  # {self.why}"]
        lines = [f"{dash}{self.key}: {scalar(self.condition)}  # {self.why}"]
        if self.within_us >= 0:
            lines += [f"{rest}within: {instant(self.within_us)}", f"{rest}since: heal"]
        return lines


def candidates(spec: ClusterSpec) -> list[Inferred]:
    """What has to be watched while the session runs, to know whether it is to be asserted."""
    watched: list[Inferred] = []
    if spec.manual:
        return watched
    for condition, (never, _again) in RECOVERIES.items():
        watched.append(Inferred("always", condition, never))
        watched.append(Inferred("eventually", condition, "", _ROUND_US[-1]))
    return watched


def infer(
    result: SessionResult, query: object, spec: ClusterSpec, healed_us: int, known: tuple[Expectation, ...]
) -> list[Inferred]:
    """What to assert, given a run with the :func:`candidates` as its last expectations.

    ``healed_us`` is when the last fault was healed, -1 for never; ``known`` is what the playbook expects already.
    """
    found = _losses(result, spec)
    found += _violations(result)
    if not spec.manual:
        found += _recoveries(result, healed_us)
        found += _groups(result, query, spec)
    return [each for each in found if not _is_known(each, result, known)]


def _is_known(inferred: Inferred, result: SessionResult, known: tuple[Expectation, ...]) -> bool:
    """Whether the playbook says so already, or said otherwise and was wrong: then its word is the one to keep."""
    about = inferred.condition.partition("(")[0]
    for place, each in enumerate(known):
        same = each.condition.text.replace(" ", "") == inferred.condition.replace(" ", "")
        if same and each.kind == (inferred.key or "end"):
            return True
        checked = result.expectations[_steps_checked(result) + place]
        if not checked.ok and not inferred.key and each.condition.text.partition("(")[0] == about:
            return True
    return False


def _steps_checked(result: SessionResult) -> int:
    """How many entries of a result come before those of the playbook's expectations."""
    return sum(each.by_step for each in result.expectations)


def _losses(result: SessionResult, spec: ClusterSpec) -> list[Inferred]:
    ledger = result.ledger
    if not ledger.sent:
        return []
    cause = f": {result.losses[0].cause}" if result.losses and len(result.losses[0].cause) <= 90 else ""
    told = {
        "acked_lost": ("nothing that was acknowledged is gone", f"acknowledged, and gone{cause}"),
        "committed_lost": ("nothing that a consumer could have read is gone", "a consumer could have read these"),
        "duplicates": ("nothing was written twice", "written more than once"),
        "reordered": ("nothing was written out of order", "written before one that was sent earlier"),
    }
    found = [_count(name, int(getattr(ledger, name)), *why) for name, why in told.items()]
    if ledger.acked == ledger.sent:
        found.append(Inferred("", "acked() == sent()", "every record was acknowledged"))
    if ledger.failed:
        found.append(_count("failed", ledger.failed, "", "their producers were told that they are not written"))
    if ledger.unknown:
        found.append(_count("unknown", ledger.unknown, "", "nobody was told whether they are written"))
    if any("transactional.id" in str(producer.config) for producer in spec.producers):
        found.append(_count("undone", ledger.undone, "no commit was undone", "acknowledged, and aborted in the log"))
        found.append(_count("leaked", ledger.leaked, "no abort was leaked", "aborted, and committed in the log"))
    return found


def _count(name: str, number: int, none: str, some: str, argument: str = "") -> Inferred:
    return Inferred("", f"{name}({argument}) == {number}", some if number else none)


def _violations(result: SessionResult) -> list[Inferred]:
    names = list(dict.fromkeys(each.invariant for each in result.violations))
    if not names:
        return [Inferred("", "violations() == 0", "the protocol kept its promises")]
    counts = [sum(each.invariant == name for each in result.violations) for name in names]
    broken = [
        Inferred("", f'violations("{name}") == {count}', "a promise of the protocol that was broken")
        for name, count in zip(names, counts, strict=True)
    ]
    if all(each.known for each in result.violations):
        broken.append(Inferred("", "unexpected_violations() == 0", "nothing but what this version is known for"))
    return broken


def _recoveries(result: SessionResult, healed_us: int) -> list[Inferred]:
    found = []
    watched = result.expectations[-2 * len(RECOVERIES) :]
    for number, (condition, (never, again)) in enumerate(RECOVERIES.items()):
        always, eventually = watched[2 * number], watched[2 * number + 1]
        if always.ok:
            found.append(Inferred("always", condition, never))
        elif eventually.ok and 0 <= healed_us <= eventually.at_us:
            took_us = eventually.at_us - healed_us
            within_us = next((limit for limit in _ROUND_US if limit >= 2 * took_us), -1)
            if within_us >= 0:
                found.append(Inferred("eventually", condition, f"{again} after {instant(took_us)}", within_us))
    return found


def _groups(result: SessionResult, query: object, spec: ClusterSpec) -> list[Inferred]:
    found = []
    lags = {group.name: group.lag for group in result.clients.groups}
    for group in spec.groups:
        lag = ("lag", "it had read and committed everything", "it was behind at the end")
        if lags[group.name] is None:
            lag = ("position_lag", "it had read everything", "it was behind at the end")
        for name, none, some in (
            lag,
            ("passed_over", "it was handed every record", "offsets that it was never handed"),
        ):
            argument = scalar(group.name, inside=True)
            number = parse(f"{name}({argument})").value(query)
            if number < 0:
                continue
            found.append(_count(name, number, none, some, argument))
    return found


SUFFIX: Final = "-exported"
"""What the name gets unless another one is wanted."""
_WIDE: Final = 118
_PATH: Final = "exported.yaml"
"""What the text is called in messages."""


class TextError(ValueError):
    """What happened cannot be written; the message says what."""


def draft(story: SessionNarrative, told: list[Entry], name: str) -> str:
    """The playbook without what is inferred.

    Raises:
        TextError: there is no way to write it.
    """
    text = story.recorded.playbook.replace("\r\n", "\n").replace("\r", "\n").lstrip("\ufeff")
    if not text.endswith("\n"):
        text += "\n"
    # What cannot be edited, such as a file on one line, or has variables that nothing would use any more, is written
    # anew as a whole.
    for whole, write in ((False, _in_place), (False, _anew), (True, _as_it_is), (True, _anew)):
        with suppress(EditError, PlaybookError):
            own = _of_this_session(rewritten(text, _PATH, {}) if whole else text, story, name)
            found = _head(story) + write(own, story, told)
            if _means(loads(found, _PATH), told):
                return found
    raise TextError("what happened cannot be written as steps")


def _of_this_session(text: str, story: SessionNarrative, name: str) -> str:
    """The file with the name, the seed and the end that are meant. Raises :class:`EditError`."""
    own = story.playbook.name
    text = put(text, "name", scalar(name or (own if own.endswith(SUFFIX) else own + SUFFIX)))
    if story.seed != story.playbook.seed:
        text = put(text, "seed", str(story.seed))
    if story.cut and story.settled_us >= 0:
        text = put(text, "settle", instant(story.recorded.until_us - story.settled_us))
    text = without(text, "profiles", "The session is of one version only:")
    return without(text, "vary", "The session is one cell of this:")


def _means(playbook: Playbook, told: list[Entry]) -> bool:
    """Whether the text says what it should."""
    wanted = [each for each in told if not isinstance(each, StepComment)]
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
    """What a step does, wherever it stands and whenever it acts."""
    return replace(step, index=0, label="", where=Position(0, 0), trigger=Trigger("at"))


def _as_it_is(text: str, story: SessionNarrative, _told: list[Entry]) -> str:
    """The author's steps, where nothing came between them."""
    if not story.as_written:
        raise EditError("steps that are not as they were written")
    return text


def _in_place(text: str, story: SessionNarrative, told: list[Entry]) -> str:
    """The author's own lines, with the others among them."""
    with suppress(EditError):
        return _as_it_is(text, story, told)
    if value_of(root_of(text), "steps") is None:
        return _anew(text, story, told)
    if any(step.verb == "round" for step in story.playbook.steps):
        raise EditError("steps in rounds")
    found = listed(text, "steps")
    chunks: list[list[str]] = []
    used: list[int] = []
    for each in told:
        if isinstance(each, Added):
            chunks.append(block(each.written(), found.indent, each.remark))
        elif isinstance(each, PlaybookStep):
            used.append(each.step.index)
            chunks.append(_chunk(found, each))
        elif each.step is None:
            chunks.append(_remark(each.text, found.indent))
        else:
            used.append(each.step.index)
            chunks.append(commented(_of(found, each.step), found.indent))
    if used != sorted(set(used)):
        raise EditError("steps that are not a chunk each")
    return found.text(chunks)


def _of(found: Listed, step: Step) -> list[str]:
    if step.index >= len(found.chunks):
        raise EditError("a step that is no chunk of its own")
    return found.chunks[step.index]


def _chunk(found: Listed, own: PlaybookStep) -> list[str]:
    chunk = _of(found, own.step)
    if own.trigger is None:
        return chunk
    lines = step_lines(own.step, own.trigger)
    keys = [line for line in lines if line[0] in ("at", "executed", "when", "within", "after")]
    try:
        return retriggered(chunk, keys)
    except EditError:
        return block(lines, found.indent)


def _anew(text: str, story: SessionNarrative, told: list[Entry]) -> str:
    """All steps written from what they mean."""
    lines = ["steps:"]
    for each in told:
        if isinstance(each, Added):
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
    """The file with a key's lines in place of its own; without one, before what is expected."""
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
    """A comment, on as many lines as it takes."""
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + len(word) + indent + 3 > _WIDE:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return [f"{' ' * indent}# {line}" for line in lines]


def _head(story: SessionNarrative) -> str:
    """Where the file comes from."""
    start = story.recorded.start
    how = "live" if start.live else "headless"
    text = (
        f"Made by floodmark {VERSION} from the session {start.session_id} of {start.playbook}, recorded {how} "
        f"by floodmark {start.tool_version} at {start.wall_start}, seed {start.seed}"
    )
    if start.settings:
        text += ", with " + ", ".join(f"{key}={value}" for key, value in start.settings.items())
    lines = _remark(" ".join(f"{text}.".split()), 0)
    if story.acted or story.left:
        lines += _remark("What its operator did stands among the steps, at the times when it was done.", 0)
    if story.torn:
        lines += _remark(f"The recording breaks off at {instant(max(0, story.recorded.last_us))}.", 0)
    return "\n".join(lines) + "\n"


# -- what is expected -----------------------------------------------------------------------------------------------


def expecting(text: str, inferred: list[Inferred]) -> str:
    """The text with more expectations."""
    if not inferred:
        return text
    root = root_of(text)
    if value_of(root, "expect") is None:
        lines = ["expect:", *_inferred(inferred, 2)]
        return text.rstrip("\n") + "\n" + "\n".join(lines) + "\n"
    found = _expectations(text)
    return found.text([*found.chunks, _inferred(inferred, found.indent)])


def _inferred(inferred: list[Inferred], indent: int) -> list[str]:
    remark = "Found in the session, and true of it: keep what is meant to stay so."
    return [*_remark(remark, indent), *(line for each in inferred for line in each.written(indent))]


def _expectations(text: str) -> Listed:
    """The list of what is expected; written a line each where it was not."""
    try:
        return listed(text, "expect")
    except EditError:
        node = value_of(root_of(text), "expect")
        items = [] if node is None or not isinstance(node.value, list) else node.value
        lines = [f"  - {text[item.start_mark.index : item.end_mark.index].strip()}" for item in items]
        rest = replaced(text, "expect", ["expect:", *lines] if lines else ["expect:", "  - now() >= 0s"])
        found = listed(rest, "expect")
        return found if lines else Listed(found.before, [], found.after, found.indent)


def remarked(text: str, judged: Sequence[ExpectationResult]) -> str:
    """The text with a word on every expectation of its own that did not hold; ``judged`` are those, in order."""
    wrong = [(number, each) for number, each in enumerate(judged) if not each.ok]
    found = _expectations(text) if wrong else None
    if found is None or len(found.chunks) != len(judged):
        return text
    chunks = list(found.chunks)
    for number, each in wrong:
        chunks[number] = [*_remark(f"did not hold: {each.detail}", found.indent), *chunks[number]]
    return found.text(chunks)


# The export of a recorded session: its operator's actions as steps, its outcome as assertions.
#
# The session is run again to find out what happened (:mod:`playbooks.export.session_steps`), the playbook's text is
# edited, and the outcome is run: it has to come to the digest that the session had, or to the same events where the
# end of the recording is missing.


Telling = Callable[[str], None]
"""Called with how far it is."""


class ExportError(Exception):
    """A session that no playbook was made of that comes to the same; the message says why."""


@dataclass(frozen=True, slots=True)
class Exported:
    """A playbook made of a session."""

    text: str
    digest: str
    """Of its run; the session's, if that has one."""
    steps: int
    """How many it has."""
    operator: int
    """How many of them are the operator's."""
    inferred: int
    """How many assertions were added."""
    notes: tuple[str, ...]
    """What a reader should know about the recording."""


def export(recorded: RecordedSession, *, name: str = "", tell: Telling = lambda text: None) -> Exported:
    """Make a playbook of a session; ``name`` is what it shall be called.

    Raises:
        ExportError: what was made does not come to the same.
        ReplayMismatchError: this version of the model comes to other events than the recording.
        SessionError: it holds nothing to go by.
        PlaybookError: the session's playbook is not one that this version runs.
    """
    if any(action.verb == WIRE for action in recorded.actions):
        raise ExportError(f"{recorded.path}: real clients took part, and no playbook can say what they sent")
    if recorded.fragments:  # steps are put among the others of one file: what fragments bring has to stand there first
        text = written_out(recorded.playbook, str(recorded.path / session_files.PLAYBOOK), recorded.fragments)
        recorded = replace(recorded, playbook=text, fragments={})
    progress: Progress = lambda done, total: tell(f"running it again: {done} of {total} events")  # noqa: E731
    story = retell(recorded, progress)
    told = entries(story)
    try:
        text = draft(story, told, name)
    except TextError as error:
        raise ExportError(f"{recorded.path}: {error}") from None
    own = loads(text, _PATH)
    watched = candidates(own.spec)
    check = _Check(recorded) if recorded.cut_short else None
    result, query, healed_us = _run(loads(expecting(text, watched), _PATH), tell, check)
    if check is not None:
        check.finish()
    else:
        _same(recorded, result)
    inferred = infer(result, query, own.spec, healed_us, own.expectations)
    judged = result.expectations[len(result.expectations) - len(watched) - len(own.expectations) :]
    text = expecting(remarked(text, judged[: len(own.expectations)]), inferred)
    loads(text, _PATH)
    return Exported(
        text=text,
        digest=result.digest,
        steps=sum(not isinstance(each, StepComment) for each in told),
        operator=sum(isinstance(each, Added) and each.remark.startswith("the operator") for each in told),
        inferred=len(inferred),
        notes=recorded.notes,
    )


def _same(recorded: RecordedSession, result: SessionResult) -> None:
    wanted = recorded.manifest.digest if recorded.manifest is not None else ""
    if result.digest != wanted:
        raise ExportError(
            f"the playbook made of {recorded.path} does not come to the same: "
            f"recorded digest {wanted}, found {result.digest}"
        )


class _Check:
    """Holds the events of a run against those of a session whose end is missing, and which has no digest of its own."""

    def __init__(self, recorded: RecordedSession) -> None:
        self._path = recorded.path
        self._wanted = (line for line in recorded.events.splitlines() if _kind(line) not in NARRATION)
        self._next = next(self._wanted, None)

    def take(self, events: list[Event]) -> None:
        """The next events. Raises :class:`ExportError` at the first that is another one in the recording."""
        for event in events:
            if self._next is None:
                return
            if event.kind in NARRATION:
                continue
            wanted, found = json.loads(self._next), json.loads(encode(0, [event]))
            if counting(wanted) != counting(found):
                raise self._parted(words(wanted), words(found))
            self._next = next(self._wanted, None)

    def finish(self) -> None:
        """The run is over. Raises :class:`ExportError` if the recording goes on."""
        if self._next is not None:
            raise self._parted(words(json.loads(self._next)), "nothing: the session is over")

    def _parted(self, wanted: str, found: str) -> ExportError:
        return ExportError(
            f"the playbook made of {self._path} does not come to the same: recorded {wanted}, found {found}"
        )


def _kind(line: bytes) -> str:
    return str(json.loads(line)["kind"])


def _run(playbook: Playbook, tell: Telling, check: _Check | None) -> tuple[SessionResult, object, int]:
    """Its result, its cluster's query at the end, and when the last fault was healed."""
    session = start_session(playbook)
    while session.advance(session.cluster.now_us + SLICE_US, int(isinstance(session, ManualSession))):
        events = session.drain()
        if check is not None:
            check.take(events)
        tell(f"running the playbook: at {instant(session.cluster.now_us)}")
    result = session.finish()
    if check is not None:
        check.take(session.drain())
    return result, session.cluster.query, session.healed_us if isinstance(session, Session) else -1
