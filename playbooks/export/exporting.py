"""From a recorded session to a playbook: what its operator did as steps, what came of it as assertions.

The session is run again to find out what happened (:mod:`playbooks.export.story`), the playbook's text is edited
(:mod:`playbooks.export.playbook_writer`), and the outcome is run: it has to come to the digest that the session had, or to the
same events where the end of the recording is missing.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace

from cluster_model.observation.event_log import NARRATION
from cluster_model.protocol.events import Event
from playbooks.diff.session_diff import counting, words
from playbooks.engine.manual_session import ManualSession
from playbooks.engine.replay import Progress
from playbooks.engine.running import start_session
from playbooks.engine.session import SLICE_US, Session
from playbooks.export.inferring import candidates, infer
from playbooks.export.playbook_writer import TextError, draft, expecting, remarked
from playbooks.export.session_steps import Added, Told, entries
from playbooks.export.story import retell
from playbooks.model.playbook import Playbook
from playbooks.model.step_text import instant
from playbooks.parser.loader import loads
from playbooks.parser.written_out import written_out
from playbooks.recording.event_codec import WIRE
from playbooks.recording.event_lines import encode
from playbooks.recording.reader import Recorded
from playbooks.results.result import Result
from playbooks.session_format import session_files

PATH = "exported.yaml"
"""What the text is called in messages."""

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


def export(recorded: Recorded, *, name: str = "", tell: Telling = lambda text: None) -> Exported:
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
    own = loads(text, PATH)
    watched = candidates(own.spec)
    check = _Check(recorded) if recorded.cut_short else None
    result, query, healed_us = _run(loads(expecting(text, watched), PATH), tell, check)
    if check is not None:
        check.finish()
    else:
        _same(recorded, result)
    inferred = infer(result, query, own.spec, healed_us, own.expectations)
    judged = result.expectations[len(result.expectations) - len(watched) - len(own.expectations) :]
    text = expecting(remarked(text, judged[: len(own.expectations)]), inferred)
    loads(text, PATH)
    return Exported(
        text=text,
        digest=result.digest,
        steps=sum(not isinstance(each, Told) for each in told),
        operator=sum(isinstance(each, Added) and each.remark.startswith("the operator") for each in told),
        inferred=len(inferred),
        notes=recorded.notes,
    )


def _same(recorded: Recorded, result: Result) -> None:
    wanted = recorded.manifest.digest if recorded.manifest is not None else ""
    if result.digest != wanted:
        raise ExportError(
            f"the playbook made of {recorded.path} does not come to the same: "
            f"recorded digest {wanted}, found {result.digest}"
        )


class _Check:
    """Holds the events of a run against those of a session whose end is missing, and which has no digest of its own."""

    def __init__(self, recorded: Recorded) -> None:
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


def _run(playbook: Playbook, tell: Telling, check: _Check | None) -> tuple[Result, object, int]:
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
