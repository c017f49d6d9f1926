"""The worked table of a manual playbook as lines of text: what happened, and what each broker then holds and believes.

A broker's cell says ``LEO/HW``, ``*`` where it acts as leader, and the leader epoch that it acts in; below that its
newest records as ``name(epoch)``, its leader-epoch cache as ``[epoch@start ...]``, and on a leader where it takes its
followers to be (``2:10``, or ``2:?`` before their first fetch).
"""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any, Final

from playbooks.engine.step_checks import State
from playbooks.engine.trace_rows import Row

GAP: Final = "  "
LEAST_EVENT: Final = 16
MOST_EVENT: Final = 46
NARROW_CELL: Final = 12
WIDE_CELL: Final = 18
LEGEND: Final = (
    "LEO/HW, * acts as leader, e leader epoch, p partition epoch; record(its epoch); "
    "[leader epoch@its start offset]; where a leader takes its followers to be"
)
NOTE_INDENT: Final = "     "


def legend_lines(width: int) -> list[str]:
    """What stands in the cells, blank lines around it."""
    return ["", *textwrap.wrap(LEGEND, width, break_on_hyphens=False), ""]


def trace_lines(rows: Sequence[Row], width: int) -> list[str]:
    """The table, a blank line behind each row; ``width`` is in columns of the terminal."""
    partitions = list(rows[0].state)
    brokers = [who for who in _brokers(rows[0].state) if who.isdigit()]
    named = [max(map(len, [*partitions, "partition"]))] if len(partitions) > 1 else []
    control = max(len("controller"), *(len(line) for state in _states(rows) for line in _control(state)))
    fixed = [3, *named, control]
    room = width - sum(fixed) - len(GAP) * (len(fixed) + len(brokers))
    narrow = max(
        NARROW_CELL, *(len(_ends(states[who])) for states in _states(rows) for who in brokers if who in states)
    )
    cell = max(narrow, min(WIDE_CELL, (room - LEAST_EVENT - 6) // max(1, len(brokers))))
    event = max(LEAST_EVENT, min(MOST_EVENT, room - cell * len(brokers)))
    widths = [3, event, *named, *([cell] * len(brokers)), control]
    heads = ["#", "event", *(["partition"] if named else []), *(f"broker {who}" for who in brokers), "controller"]
    lines = [_line(heads, widths), _line(["-" * each for each in widths], widths)]
    before: Mapping[str, State] = {}
    for row in rows:
        lines += _row(row, before, brokers, widths, width)
        before = row.state
    return lines


def _states(rows: Sequence[Row]) -> Iterator[State]:
    return (state for row in rows for state in row.state.values())


def _brokers(state: Mapping[str, State]) -> list[str]:
    """Every broker that holds a replica of any partition."""
    found = {who: None for states in state.values() for who in states if who.isdigit()}
    return sorted(found, key=int)


def _row(row: Row, before: Mapping[str, State], brokers: list[str], widths: list[int], width: int) -> list[str]:
    """A block of lines for each partition that the row changed, all of them in the first."""
    several = len(row.state) > 1
    changed = [name for name, state in row.state.items() if state != before.get(name)]
    lines: list[str] = []
    for index, name in enumerate(changed if several and changed else list(row.state)[:1]):
        state = row.state[name]
        first = [[str(row.number)], textwrap.wrap(row.event, widths[1])] if index == 0 else [[""], [""]]
        cells = [*first, *([[name]] if several else [])]
        for who in brokers:
            lines_of = _cell(state[who], state["controller"], widths[-2]) if who in state else [""]
            cells.append([part for line in lines_of for part in _chopped(line, widths[-2])])
        cells.append(_control(state))
        lines += [_line(parts, widths) for parts in zip_longest(*cells, fillvalue="")]
    notes = [*row.notes, *_consumer(row.state, before)]
    for note in notes:
        lines += textwrap.wrap(
            note, width, initial_indent=f"{NOTE_INDENT}- ", subsequent_indent=f"{NOTE_INDENT}  ", break_on_hyphens=False
        )
    return [*lines, ""]


def _chopped(line: str, width: int) -> list[str]:
    """A line that is too long for its cell, such as a record with a long name, in pieces."""
    return [line[at : at + width] for at in range(0, max(1, len(line)), width)]


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return GAP.join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()


def _control(state: State) -> list[str]:
    """What the controller has decided: leader, leader epoch, partition epoch, ISR, and who else may lead."""
    fields = state["controller"]
    leader = "none" if fields["leader"] < 0 else str(fields["leader"])
    lines = [f"{leader} e{fields['epoch']} p{fields['partition_epoch']}", _ids(fields["isr"])]
    return [*lines, f"elr {_ids(fields['elr'])}"] if fields["elr"] else lines


def _ids(brokers: Sequence[int]) -> str:
    return "{" + ",".join(map(str, brokers)) + "}"


def _cell(state: Mapping[str, Any], controller: Mapping[str, Any], width: int) -> list[str]:
    lines = [_ends(state)]
    if state["fetcher"] in ("truncating", "failed"):
        lines.append(state["fetcher"])
    if state["role"] == "leader":
        if state["isr"] != controller["isr"]:
            lines.append(f"ISR {_ids(state['isr'])}")
        if state["pending"]:
            lines.append(f"asks {_ids(state['pending'])}")
    lines += _tail(state["log"], width, older=state["older"])
    if state["log_start"]:
        lines.append(f"from {state['log_start']}")
    lines += _fold([f"{epoch}@{start}" for epoch, start in state["epochs"]], "[", "]", width)
    lines += _fold(
        [f"{who}:{'?' if leo < 0 else leo}" for who, leo in sorted(state["followers"].items(), key=_by_id)],
        "",
        "",
        width,
    )
    return lines


def _by_id(follower: tuple[str, int]) -> int:
    return int(follower[0])


def _ends(state: Mapping[str, Any]) -> str:
    if not state["up"]:
        return f"down ({state['leo']})"
    epoch = f" e{state['epoch']}" if state["epoch"] >= 0 else ""
    return f"{state['leo']}/{state['hw']}{'*' if state['role'] == 'leader' else ''}{epoch}"


def _tail(log: Sequence[Sequence[Any]], width: int, *, older: bool) -> list[str]:
    """The newest records that fit, two dots in front where there are more."""
    words: list[str] = []
    for epoch, record in reversed(log):
        word = f"{record}({epoch})"
        more = 2 if older or len(words) + 1 < len(log) else 0
        if words and more + len(" ".join([word, *words])) > width:
            break
        words.insert(0, word)
    if not words:
        return []
    return [(".." if older or len(words) < len(log) else "") + " ".join(words)]


def _fold(words: Sequence[str], opening: str, closing: str, width: int) -> list[str]:
    if not words:
        return []
    return textwrap.wrap(f"{opening}{' '.join(words)}{closing}", width)


def _consumer(state: Mapping[str, State], before: Mapping[str, State]) -> list[str]:
    """Where the consumer stands, if the row moved it."""
    return [
        f"consumer of {name}: position {states['consumer']['position']}, last read {_last(states['consumer']['read'])}"
        for name, states in state.items()
        if "consumer" in states and states["consumer"] != before.get(name, {}).get("consumer")
    ]


def _last(read: Sequence[Sequence[Any]]) -> str:
    return f"{read[-1][1]}({read[-1][0]})" if read else "nothing"
