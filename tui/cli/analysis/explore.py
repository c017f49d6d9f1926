"""``floodmark explore``: every order of events within small bounds."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cluster_model.model_checker import Counterexample, ExplorationBounds, Explored, Moves, StateSpaceSearch, Step
from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.versions import Profile
from playbooks.engine.manual_session import ManualSession
from playbooks.errors import BAD_INPUT, FAILED, INCONCLUSIVE, OK
from playbooks.model_checking import LIMITS, MEANINGS, OLDER, Exploration, find, playbook, presets
from playbooks.parser.loader import loads
from playbooks.session_format.filesystem import put_in_place
from tui.output.command_end import ended, to_text
from tui.output.console import ProgressLine, answers, complain, people, print_document, say, table


@dataclass(frozen=True, slots=True)
class ExploreRequest:
    """The options of ``explore`` as typed."""

    source: str
    kafka: str | None
    bounds: Mapping[str, int]
    symmetry: bool
    fingerprints: bool
    most: int
    stop_on_first: bool
    out: str
    json: bool


@dataclass(frozen=True, slots=True)
class CounterexamplePlaybook:
    """Something broken, as a playbook."""

    name: str
    broken: Counterexample
    path: Path
    reproduced: bool
    """Whether the playbook came to what it expects."""


def run_explore(request: ExploreRequest) -> int:
    """Explore, print what was seen, and write what was found."""
    return ended(lambda: _explore(request)) if request.source else _list(request)


def _list(request: ExploreRequest) -> int:
    rows = [find(name) for name in presets()]
    if request.json:
        print_document(to_text([{"name": row.name, "kafka": row.profile.version, "title": row.title} for row in rows]))
        return OK
    table(answers(), ("name", "kafka", "what"), [(row.name, row.profile.version, row.title) for row in rows])
    return OK


def _explore(request: ExploreRequest) -> int:
    try:
        exploration = _asked(request)
    except (KeyError, ModelError, _BoundError) as error:
        complain(str(error.args[0]))
        return BAD_INPUT
    console = people()
    say(console, f"{exploration.name}  {exploration.profile.name}  {_bounds(exploration)}", "bold")
    say(console, exploration.title)
    moves = Moves(exploration.profile, exploration.bounds, as_module=exploration.as_module)
    search = StateSpaceSearch(moves, symmetry=request.symmetry, fingerprints=request.fingerprints)
    started = time.process_time()
    with ProgressLine(console) as telling:

        def progress(seen: Explored) -> bool:
            telling.tell(
                lambda: f"{seen.distinct} states, {seen.depth} steps from the start, {seen.frontier} at the edge"
            )
            return True

        explored = search.run(most=request.most, stop_on_first=request.stop_on_first, progress=progress)
    seconds = time.process_time() - started
    try:
        found = [_written(exploration, moves, name, each, Path(request.out)) for name, each in explored.broken.items()]
    except OSError as error:
        complain(f"{request.out}: a playbook cannot be written there: {error.strerror or error}")
        return FAILED
    if request.json:
        print_document(to_text(_document(exploration, request, explored, seconds, found)))
    else:
        _print(request, explored, seconds, found)
    if found:
        return FAILED
    return OK if explored.whole else INCONCLUSIVE


class _BoundError(Exception):
    """A bound that is out of range, or a release that goes with nothing of the file."""


def _asked(request: ExploreRequest) -> Exploration:
    exploration = find(request.source)
    for name, value in request.bounds.items():
        low, high = LIMITS[name]
        if not low <= value <= high:
            raise _BoundError(f"--{name.replace('_', '-')}: found {value}, allowed are {low} to {high}")
    profile = exploration.profile if request.kafka is None else Profile.of(request.kafka)
    if exploration.as_module and not profile.kip_320:
        raise _BoundError(f"--kafka with as_module: {OLDER.format(profile.version)}")
    return replace(exploration, profile=profile, bounds=_within(exploration.bounds, request.bounds))


def _within(bounds: ExplorationBounds, asked: Mapping[str, int]) -> ExplorationBounds:
    values: dict[str, Any] = dict(asked)
    return replace(bounds, **values)


def _bounds(exploration: Exploration) -> str:
    bounds = exploration.bounds
    text = f"{bounds.replicas} replicas, {bounds.records} records, logs of {bounds.log_size}, {bounds.epochs} epochs"
    return text + (f", {bounds.restarts} restarts" if bounds.restarts else "")


def _written(
    exploration: Exploration, moves: Moves, name: str, broken: Counterexample, folder: Path
) -> CounterexamplePlaybook:
    """The playbook of something broken, run once."""
    version = exploration.profile.version
    label = f"{exploration.name}-{version}-{name}"
    title = f"Kafka {version}: {MEANINGS[name]}, after {len(broken.steps)} steps"
    text = playbook(label, title, moves, name, broken)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{label}.yaml"
    put_in_place(path, text)
    session = ManualSession.start(loads(text, str(path)))
    while session.advance():
        pass
    return CounterexamplePlaybook(name, broken, path, session.finish().verdict == "pass")


def _collisions(explored: Explored) -> float:
    """The chance, at most, that two different states were taken for one."""
    return min(1.0, explored.pairs / 2**64)


def _document(
    exploration: Exploration,
    request: ExploreRequest,
    explored: Explored,
    seconds: float,
    found: list[CounterexamplePlaybook],
) -> dict[str, Any]:
    bounds = exploration.bounds
    return {
        "exploration": exploration.name,
        "profile": exploration.profile.name,
        "bounds": {name: getattr(bounds, name) for name in LIMITS},
        "as_module": exploration.as_module,
        "symmetry": request.symmetry,
        "distinct": explored.distinct,
        "generated": explored.generated,
        "depth": explored.depth,
        "whole": explored.whole,
        "states_per_cpu_second": round(explored.distinct / max(seconds, 1e-6)),
        "collisions": _collisions(explored),
        "broken": [
            {
                "property": each.name,
                "states": each.broken.states,
                "steps": [step_words(step) for step in each.broken.steps],
                "playbook": str(each.path),
                "reproduced": each.reproduced,
            }
            for each in found
        ],
    }


def _print(request: ExploreRequest, explored: Explored, seconds: float, found: list[CounterexamplePlaybook]) -> None:
    console = answers()
    rate = round(explored.distinct / max(seconds, 1e-6))
    say(console, f"states     {explored.distinct} distinct of {explored.generated} met, {explored.depth} steps deep")
    say(console, f"speed      {rate} distinct states a second of processor time ({seconds:.1f} s)")
    if request.symmetry:
        say(console, "symmetry   states that differ in nothing but the numbers of brokers count once")
    if request.fingerprints:
        say(console, f"collisions two states were taken for one with a chance of at most {_collisions(explored):.2g}")
    if not explored.whole:
        say(console, f"ended      early, with {explored.frontier} states at the edge")
    for each in found:
        say(console, f"broken     {each.name} in {each.broken.states} states: {MEANINGS[each.name]}", "bold")
        for number, step in enumerate(each.broken.steps, 1):
            say(console, f"  {number:>3}  {step_words(step)}")
        say(console, f"playbook   floodmark run {each.path}")
        if not each.reproduced:
            say(console, "           run by hand it does not come to that: the shape leaves open what a message says")
    if not found:
        say(console, "nothing is broken" if explored.whole else "nothing is broken so far")


def step_words(step: Step) -> str:
    """A step of an exploration in words; brokers as in the playbook, from 1."""
    verb, broker, *more = step
    who = f"broker {broker + 1}"
    return {
        "elect": f"the controller elects {who}",
        "drop": f"the controller takes {who} out of the ISR",
        "lead": f"{who} hears that it leads epoch {more[0] + 1 if more else ''}",
        "follow": f"{who} hears of epoch {more[0] + 1 if more else ''} and follows",
        "write": f"{who} is given a record",
        "fetch": f"{who} fetches a record",
        "hw": f"{who} moves its high watermark",
        "shrink": f"{who} takes broker {more[0] + 1 if more else ''} out of the ISR",
        "expand": f"{who} takes broker {more[0] + 1 if more else ''} into the ISR",
        "restart": f"{who} dies and comes back with the high watermark {more[0] if more else ''}",
    }[verb]
