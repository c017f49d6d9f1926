"""``floodmark explore``: exhaustive search of the orders of events within small bounds."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cluster_model.model_checker import (
    Counterexample,
    ExplorationBounds,
    SearchResult,
    StateSpaceSearch,
    Step,
    Transitions,
)
from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.versions import Profile
from playbooks.engine.manual_session import ManualSession
from playbooks.errors import BAD_INPUT, FAILED, INCONCLUSIVE, OK
from playbooks.model_checking import LIMITS, MEANINGS, OLDER, Exploration, find, playbook, presets
from playbooks.parser.loader import loads
from playbooks.session_format.filesystem import put_in_place
from tui.output.command_end import exit_code_of, to_text
from tui.output.console import (
    ProgressLine,
    print_document,
    print_error,
    print_line,
    stderr_console,
    stdout_console,
    table,
)


@dataclass(frozen=True, slots=True)
class ExploreRequest:
    """The options of ``explore`` as typed."""

    source: str
    kafka: str | None
    bounds: Mapping[str, int]
    symmetry: bool
    fingerprints: bool
    max_states: int
    stop_on_first: bool
    out: str
    json: bool


@dataclass(frozen=True, slots=True)
class CounterexamplePlaybook:
    """A counterexample that was written as a playbook and run."""

    name: str
    broken: Counterexample
    path: Path
    reproduced: bool
    """Whether the run of the playbook showed the same violation."""


def run_explore(request: ExploreRequest) -> int:
    """Explore, print the result, and write counterexamples as playbooks; return the exit code."""
    return exit_code_of(lambda: _explore(request)) if request.source else _list(request)


def _list(request: ExploreRequest) -> int:
    rows = [find(name) for name in presets()]
    if request.json:
        print_document(to_text([{"name": row.name, "kafka": row.profile.version, "title": row.title} for row in rows]))
        return OK
    table(stdout_console(), ("name", "kafka", "title"), [(row.name, row.profile.version, row.title) for row in rows])
    return OK


def _explore(request: ExploreRequest) -> int:
    try:
        exploration = _exploration_of(request)
    except (KeyError, ModelError, _BoundError) as error:
        print_error(str(error.args[0]))
        return BAD_INPUT
    console = stderr_console()
    print_line(console, f"{exploration.name}  {exploration.profile.name}  {_bounds(exploration)}", "bold")
    print_line(console, exploration.title)
    moves = Transitions(exploration.profile, exploration.bounds, as_module=exploration.as_module)
    search = StateSpaceSearch(moves, symmetry=request.symmetry, fingerprints=request.fingerprints)
    started = time.process_time()
    with ProgressLine(console) as progress_line:

        def progress(seen: SearchResult) -> bool:
            progress_line.update(lambda: f"{seen.distinct} states, depth {seen.depth}, {seen.frontier} in the queue")
            return True

        explored = search.run(max_states=request.max_states, stop_on_first=request.stop_on_first, progress=progress)
    seconds = time.process_time() - started
    try:
        playbooks = [
            _written(exploration, moves, name, each, Path(request.out)) for name, each in explored.violated.items()
        ]
    except OSError as error:
        print_error(f"--out: cannot write a playbook to {request.out}: {error.strerror or error}")
        return FAILED
    if request.json:
        print_document(to_text(_document(exploration, request, explored, seconds, playbooks)))
    else:
        _print(request, explored, seconds, playbooks)
    if playbooks:
        return FAILED
    return OK if explored.is_complete else INCONCLUSIVE


class _BoundError(Exception):
    """A bound is out of range, or the Kafka version is not valid for this exploration."""


def _exploration_of(request: ExploreRequest) -> Exploration:
    exploration = find(request.source)
    for name, value in request.bounds.items():
        low, high = LIMITS[name]
        if not low <= value <= high:
            raise _BoundError(f"--{name.replace('_', '-')}: found {value}, expected {low} to {high}")
    profile = exploration.profile if request.kafka is None else Profile.of(request.kafka)
    if exploration.as_module and not profile.kip_320:
        raise _BoundError(f"--kafka with as_module: {OLDER.format(profile.version)}")
    return replace(exploration, profile=profile, bounds=_within(exploration.bounds, request.bounds))


def _within(bounds: ExplorationBounds, given: Mapping[str, int]) -> ExplorationBounds:
    values: dict[str, Any] = dict(given)
    return replace(bounds, **values)


def _bounds(exploration: Exploration) -> str:
    bounds = exploration.bounds
    text = f"{bounds.replicas} replicas, {bounds.records} records, logs of {bounds.log_size}, {bounds.epochs} epochs"
    return text + (f", {bounds.restarts} restarts" if bounds.restarts else "")


def _written(
    exploration: Exploration, moves: Transitions, name: str, broken: Counterexample, folder: Path
) -> CounterexamplePlaybook:
    """Write a counterexample as a playbook, and run it once."""
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


def _collisions(explored: SearchResult) -> float:
    """Return an upper bound of the probability that two different states had the same fingerprint."""
    return min(1.0, explored.pairs / 2**64)


def _document(
    exploration: Exploration,
    request: ExploreRequest,
    explored: SearchResult,
    seconds: float,
    playbooks: list[CounterexamplePlaybook],
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
        "whole": explored.is_complete,
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
            for each in playbooks
        ],
    }


def _print(
    request: ExploreRequest, explored: SearchResult, seconds: float, playbooks: list[CounterexamplePlaybook]
) -> None:
    console = stdout_console()
    rate = round(explored.distinct / max(seconds, 1e-6))
    print_line(
        console, f"states     {explored.distinct} distinct of {explored.generated} generated, depth {explored.depth}"
    )
    print_line(console, f"speed      {rate} distinct states per second of CPU time ({seconds:.1f} s)")
    if request.symmetry:
        print_line(console, "symmetry   states that differ only in broker ids count once")
    if request.fingerprints:
        print_line(console, f"collisions probability of a fingerprint collision: at most {_collisions(explored):.2g}")
    if not explored.is_complete:
        print_line(console, f"ended      early, with {explored.frontier} states in the queue")
    for each in playbooks:
        print_line(console, f"violated   {each.name} in {each.broken.states} states: {MEANINGS[each.name]}", "bold")
        for number, step in enumerate(each.broken.steps, 1):
            print_line(console, f"  {number:>3}  {step_words(step)}")
        print_line(console, f"playbook   floodmark run {each.path}")
        if not each.reproduced:
            print_line(
                console, "           its playbook does not reproduce it: the exploration leaves message contents open"
            )
    if not playbooks:
        print_line(console, "no violation" if explored.is_complete else "no violation so far")


def step_words(step: Step) -> str:
    """Return the text of an exploration's step; broker ids start at 1, as in the playbook."""
    verb, broker, *more = step
    name = f"broker {broker + 1}"
    return {
        "elect": f"the controller elects {name}",
        "drop": f"the controller removes {name} from the ISR",
        "lead": f"{name} becomes leader in epoch {more[0] + 1 if more else ''}",
        "follow": f"{name} becomes follower in epoch {more[0] + 1 if more else ''}",
        "write": f"{name} appends a record",
        "fetch": f"{name} fetches a record",
        "hw": f"{name} updates its high watermark",
        "shrink": f"{name} removes broker {more[0] + 1 if more else ''} from the ISR",
        "expand": f"{name} adds broker {more[0] + 1 if more else ''} to the ISR",
        "restart": f"{name} crashes and restarts with high watermark {more[0] if more else ''}",
    }[verb]
