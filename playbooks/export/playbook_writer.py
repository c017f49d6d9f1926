"""The text of a playbook that is made of a session: edited in place where it can be, else its steps written anew."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

from playbooks.errors import PlaybookError
from playbooks.export.inferring import Inferred
from playbooks.export.session_steps import Added, Entry, Own, Told
from playbooks.export.story import Story
from playbooks.model.playbook import Playbook, Position, Step, Trigger
from playbooks.model.step_text import block, instant, scalar, step_lines
from playbooks.parser.loader import loads
from playbooks.parser.written_out import rewritten
from playbooks.parser.yaml_edit import (
    EditError,
    Listed,
    commented,
    listed,
    put,
    retriggered,
    root_of,
    value_of,
    without,
)
from playbooks.results.result import Checked
from playbooks.version import VERSION

SUFFIX: Final = "-exported"
"""What the name gets unless another one is wanted."""
_WIDE: Final = 118
_PATH: Final = "exported.yaml"


class TextError(ValueError):
    """What happened cannot be written; the message says what."""


def draft(story: Story, told: list[Entry], name: str) -> str:
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


def _of_this_session(text: str, story: Story, name: str) -> str:
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
    wanted = [each for each in told if not isinstance(each, Told)]
    if len(wanted) != len(playbook.steps):
        return False
    for step, each in zip(playbook.steps, wanted, strict=True):
        trigger = each.trigger or (each.step.trigger if isinstance(each, Own) else step.trigger)
        if replace(step.trigger, condition=None) != replace(trigger, condition=None):
            return False
        if isinstance(each, Own) and _plain(step) != _plain(each.step):
            return False
    return True


def _plain(step: Step) -> Step:
    """What a step does, wherever it stands and whenever it acts."""
    return replace(step, index=0, label="", where=Position(0, 0), trigger=Trigger("at"))


def _as_it_is(text: str, story: Story, _told: list[Entry]) -> str:
    """The author's steps, where nothing came between them."""
    if not story.as_written:
        raise EditError("steps that are not as they were written")
    return text


def _in_place(text: str, story: Story, told: list[Entry]) -> str:
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
        elif isinstance(each, Own):
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


def _chunk(found: Listed, own: Own) -> list[str]:
    chunk = _of(found, own.step)
    if own.trigger is None:
        return chunk
    lines = step_lines(own.step, own.trigger)
    keys = [line for line in lines if line[0] in ("at", "executed", "when", "within", "after")]
    try:
        return retriggered(chunk, keys)
    except EditError:
        return block(lines, found.indent)


def _anew(text: str, story: Story, told: list[Entry]) -> str:
    """All steps written from what they mean."""
    lines = ["steps:"]
    for each in told:
        if isinstance(each, Added):
            lines += block(each.written(), 2, each.remark)
        elif isinstance(each, Own):
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


def _head(story: Story) -> str:
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


def remarked(text: str, judged: Sequence[Checked]) -> str:
    """The text with a word on every expectation of its own that did not hold; ``judged`` are those, in order."""
    wrong = [(number, each) for number, each in enumerate(judged) if not each.ok]
    found = _expectations(text) if wrong else None
    if found is None or len(found.chunks) != len(judged):
        return text
    chunks = list(found.chunks)
    for number, each in wrong:
        chunks[number] = [*_remark(f"did not hold: {each.detail}", found.indent), *chunks[number]]
    return found.text(chunks)
