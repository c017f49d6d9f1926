"""What a campaign is told in: its draw, its groups with a command for each, its coverage."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from playbooks.campaign.coverage import Coverage
from playbooks.campaign.grouping import Group
from playbooks.campaign.run_rows import ERROR
from playbooks.campaign.store import Campaign, Kept
from playbooks.campaign.totals import Totals
from playbooks.campaign.workloads.fuzz_workload import Plan, frame_of, ranges_of
from playbooks.engine.expectations import seconds
from playbooks.errors import counted
from playbooks.fuzz.seeds import run_seed
from playbooks.model.grid import cell_words
from playbooks.model.playbook import Playbook
from playbooks.model.ranges import Ranges
from playbooks.units import duration_text
from playbooks.version import VERSION


def header_lines(name: str, plan: Plan, folder: Path, runs: int) -> Iterator[str]:
    """Everything that decides what the runs come to."""
    playbook, _swarm, session = plan.begin(1)
    ranges = ranges_of(playbook)
    faults, states = frame_of(playbook, session)
    yield f"storm      {name}, seed {plan.seed}, {counted(runs, 'run')}, floodmark {VERSION}"
    yield f"cluster    {session.cluster.profile.name}, {counted(len(playbook.spec.brokers), 'broker')}"
    if plan.grid is not None:
        yield f"settings   one cell a run of: {'; '.join(plan.grid.lines())}"
    yield f"draws      {_ranges_words(ranges, playbook)}"
    yield f"faults     {len(faults)} of which each run has some: {', '.join(faults)}"
    yield f"states     {', '.join(states)}"
    yield f"kept in    {folder}"


def only_lines(name: str, plan: Plan, folder: Path, run: int) -> Iterator[str]:
    """The same for one run, whose draw is told with what came of it."""
    yield f"storm      {name}, seed {plan.seed}, run {run} alone, floodmark {VERSION}"
    yield f"kept in    {folder}"


def _ranges_words(ranges: Ranges, playbook: Playbook) -> str:
    spans = {"chaos": ranges.chaos_us, "a fault": ranges.fault_us, "a healthy spell": ranges.healthy_us}
    times = [f"{what} {duration_text(low)} to {duration_text(high)}" for what, (low, high) in spans.items()]
    numbers = [
        f"{ranges.at_once[0]} to {ranges.at_once[1]} at once",
        f"{ranges.steered[0]} to {ranges.steered[1]} % of the strikes wait for a state",
        f"then {duration_text(playbook.settle_us)} without faults",
    ]
    return ", ".join([*times, *numbers])


def show_lines(plan: Plan, run: int) -> Iterator[str]:
    """What one run draws."""
    _playbook, swarm, session = plan.begin(run)
    yield f"run        {run} of seed {plan.seed}: seed {swarm.seed}"
    yield f"cluster    {session.cluster.profile.name}, {counted(len(session.cluster.brokers), 'broker')}"
    if swarm.cell:
        yield f"settings   {cell_words(swarm.cell)}"
    yield (
        f"chaos      {seconds(swarm.chaos_us)}, faults of up to {seconds(swarm.fault_us)}, up to "
        f"{seconds(swarm.healthy_us)} from one to the next, {swarm.at_once} at once"
    )
    yield f"faults     {', '.join(f'{name} x{weight}' for name, weight in swarm.faults)}"
    yield f"waits for  {', '.join(swarm.states)} with {swarm.steered} % of the strikes"


def summary_lines(
    source: str,
    plan: Plan,
    totals: Totals,
    groups: Sequence[Group],
    kept: Mapping[int, Kept],
    coverage: Coverage | None,
) -> Iterator[str]:
    """What was found, and what was reached."""
    yield f"ran        {counted(totals.runs, 'run')}, {counted(totals.strikes, 'strike')}"
    if coverage is not None:
        yield from coverage_lines(coverage)
    for group in groups:
        yield from _group_lines(source, plan, group, kept)
    surprising = [group for group in groups if not group.expected]
    if not groups:
        yield "found      nothing"
    elif not surprising:
        yield f"found      {counted(len(groups), 'key')}, all of them expected"
    else:
        yield f"found      {counted(len(groups), 'key')}, {len(surprising)} surprising: " + ", ".join(
            group.key for group in surprising
        )


def _group_lines(source: str, plan: Plan, group: Group, kept: Mapping[int, Kept]) -> Iterator[str]:
    why = f"expected: {group.expected}" if group.expected else "SURPRISING"
    yield ""
    yield f"{group.key}  {why}"
    yield f"  in {counted(group.count, 'run')}, told of run {group.first}, seed {run_seed(plan.seed, group.first)}"
    if group.sentence:
        yield f"  {group.sentence}"
    if group.first in kept:
        each = kept[group.first]
        yield f"  session  {each.session}"
        yield f"  again    floodmark run {each.playbook}"
        yield f"  shorter  floodmark shrink {each.playbook} --keep '{group.key}'"
    elif group.key.startswith(f"{ERROR}:"):
        yield f"  again    floodmark storm {source} --seed {plan.seed} --only {group.first}"


def coverage_lines(coverage: Coverage) -> Iterator[str]:
    """The table with faults as rows and states as columns, and what was never reached."""
    yield ""
    met = [name for name in coverage.faults if coverage.met.get(name)]
    widest = max([len(name) for name in (*met, "strikes that met")], default=0)
    for number, state in enumerate(coverage.states, 1):
        yield f"  {_column(number):>{widest}}  {state}"
    heads = [_column(number) for number in range(1, len(coverage.states) + 1)]
    yield f"  {'strikes that met':<{widest}}  " + " ".join(f"{head:>5}" for head in heads)
    for name in met:
        cells = [coverage.count(name, state) for state in coverage.states]
        yield f"  {name:<{widest}}  " + " ".join(f"{cell or '.':>5}" for cell in cells)
    yield ""
    yield f"reached    {coverage.reached} of {coverage.pairs} pairs of fault and state"
    for state, faults in coverage.never():
        if len(faults) == len(coverage.faults):
            yield f"  never    {state}, by anything"
        elif len(faults) <= len(coverage.faults) // 2:
            yield f"  never    {state} by {', '.join(faults)}"
        else:
            there = [name for name in coverage.faults if name not in faults]
            yield f"  never    {state} but by {', '.join(there)}"
    yield ""


def _column(number: int) -> str:
    return chr(ord("a") + number - 1)


def document(
    campaign: Campaign,
    plan: Plan,
    totals: Totals,
    groups: Sequence[Group],
    kept: Mapping[int, Kept],
    coverage: Coverage | None,
) -> dict[str, Any]:
    """The same for machines."""
    return {
        **campaign.head,
        "directory": str(campaign.path),
        **totals.to_json(),
        "surprising": sum(not group.expected for group in groups),
        "groups": [_group(plan, group, kept) for group in groups],
        **({} if coverage is None else {"coverage": _coverage(coverage)}),
    }


def _coverage(coverage: Coverage) -> dict[str, Any]:
    return {
        "faults": list(coverage.faults),
        "states": list(coverage.states),
        "met": {name: dict(sorted(met.items())) for name, met in coverage.met.items()},
        "never": {state: list(faults) for state, faults in coverage.never()},
    }


def _group(plan: Plan, group: Group, kept: Mapping[int, Kept]) -> dict[str, Any]:
    each = kept.get(group.first)
    return {
        "key": group.key,
        "expected": group.expected,
        "count": group.count,
        "run": group.first,
        "seed": run_seed(plan.seed, group.first),
        "sentence": group.sentence,
        "session": str(each.session) if each else "",
        "playbook": str(each.playbook) if each else "",
    }
