"""``floodmark storm``: campaigns of random fault schedules, and their text."""

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from cluster_model.util.quantities import counted, time_in_seconds
from playbooks.campaign.run_rows import ERROR, Coverage, FailureGroup, RunRow, Totals, groups_of, totals_of
from playbooks.campaign.runner import CampaignResult, keep_first, run_campaign
from playbooks.campaign.store import CampaignError, CampaignStore, SavedRun, kept_in, open_campaign
from playbooks.campaign.workloads.fuzz_workload import (
    FuzzPlan,
    PlaybookWriteError,
    frame_of,
    keep_run,
    plan_of,
    ranges_of,
)
from playbooks.errors import BAD_INPUT, FAILED, INTERNAL, INTERRUPTED, OK, nearest
from playbooks.export.playbook_writer import TextError
from playbooks.fuzz.runner import run_seed
from playbooks.library.bundled import names, presets, source_path
from playbooks.library.suffixes import SUFFIXES
from playbooks.model import Playbook, StormRanges, cell_label
from playbooks.parser.settings import SettingError
from playbooks.recording.recorder import RecordingError
from playbooks.results.failure_keys import current_key
from playbooks.units import duration_text
from playbooks.version import VERSION
from tui.cli.runs.spark_jobs import LOCAL, SPARK, EngineError, campaign_progress_text, engine_error, run_on_spark
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
from tui.session.playbook_choice import choose, settings_of

# The text of a campaign: its seed, its findings with the commands that repeat them, its coverage.


def header_lines(name: str, plan: FuzzPlan, folder: Path, runs: int) -> Iterator[str]:
    """Yield the lines with everything that determines the runs."""
    playbook, _swarm, session = plan.begin(1)
    ranges = ranges_of(playbook)
    faults, states = frame_of(playbook, session)
    yield f"storm      {name}, seed {plan.seed}, {counted(runs, 'run')}, floodmark {VERSION}"
    yield f"cluster    {session.cluster.profile.name}, {counted(len(playbook.spec.brokers), 'broker')}"
    if plan.grid is not None:
        yield f"settings   one cell a run of: {'; '.join(plan.grid.lines())}"
    yield f"ranges     {_ranges_words(ranges, playbook)}"
    yield f"faults     {len(faults)}, a random subset in each run: {', '.join(faults)}"
    yield f"states     {', '.join(states)}"
    yield f"directory  {folder}"


def only_lines(name: str, plan: FuzzPlan, folder: Path, run: int) -> Iterator[str]:
    """Yield the heading of a single run; its schedule is printed with its result."""
    yield f"storm      {name}, seed {plan.seed}, only run {run}, floodmark {VERSION}"
    yield f"directory  {folder}"


def _ranges_words(ranges: StormRanges, playbook: Playbook) -> str:
    spans = {"chaos": ranges.chaos_us, "each fault": ranges.fault_us, "pauses between": ranges.healthy_us}
    times = [f"{what} {duration_text(low)} to {duration_text(high)}" for what, (low, high) in spans.items()]
    numbers = [
        f"{ranges.at_once[0]} to {ranges.at_once[1]} at once",
        f"{ranges.steered[0]} to {ranges.steered[1]} % of the faults wait for a state",
        f"then {duration_text(playbook.settle_us)} without faults",
    ]
    return ", ".join([*times, *numbers])


def show_lines(plan: FuzzPlan, run: int) -> Iterator[str]:
    """Yield the lines with the generated parameters of one run."""
    _playbook, swarm, session = plan.begin(run)
    yield f"run        {run} of seed {plan.seed}: seed {swarm.seed}"
    yield f"cluster    {session.cluster.profile.name}, {counted(len(session.cluster.brokers), 'broker')}"
    if swarm.cell:
        yield f"settings   {cell_label(swarm.cell)}"
    yield (
        f"chaos      {time_in_seconds(swarm.chaos_us)}, faults of up to {time_in_seconds(swarm.fault_us)}, up to "
        f"{time_in_seconds(swarm.healthy_us)} between them, {swarm.at_once} at once"
    )
    yield f"faults     {', '.join(f'{name} x{weight}' for name, weight in swarm.faults)}"
    yield f"waits for  {', '.join(swarm.states)} with {swarm.steered} % of the faults"


def summary_lines(
    source: str,
    plan: FuzzPlan,
    totals: Totals,
    groups: Sequence[FailureGroup],
    kept: Mapping[int, SavedRun],
    coverage: Coverage | None,
) -> Iterator[str]:
    """Yield the lines of a campaign's result: totals, coverage, findings."""
    yield f"done       {counted(totals.runs, 'run')}, {counted(totals.strikes, 'fault')} injected"
    if coverage is not None:
        yield from coverage_lines(coverage)
    for group in groups:
        yield from _group_lines(source, plan, group, kept)
    surprising = [group for group in groups if not group.expected]
    if not groups:
        yield "found      nothing"
    elif not surprising:
        yield f"found      {counted(len(groups), 'finding')}, all expected"
    else:
        yield f"found      {counted(len(groups), 'finding')}, {len(surprising)} surprising: " + ", ".join(
            group.key for group in surprising
        )


def _group_lines(source: str, plan: FuzzPlan, group: FailureGroup, kept: Mapping[int, SavedRun]) -> Iterator[str]:
    why = f"expected: {group.expected}" if group.expected else "SURPRISING"
    yield ""
    yield f"{group.key}  {why}"
    yield f"  in {counted(group.count, 'run')}, first in run {group.first}, seed {run_seed(plan.seed, group.first)}"
    if group.sentence:
        yield f"  {group.sentence}"
    if group.first in kept:
        each = kept[group.first]
        yield f"  session  {each.session}"
        yield f"  rerun    floodmark run {each.playbook}"
        yield f"  shrink   floodmark shrink {each.playbook} --keep '{group.key}'"
    elif group.key.startswith(f"{ERROR}:"):
        yield f"  rerun    floodmark storm {source} --seed {plan.seed} --only {group.first}"


def coverage_lines(coverage: Coverage) -> Iterator[str]:
    """Yield the table of faults (rows) by cluster states (columns), and the pairs never covered."""
    yield ""
    met = [name for name in coverage.faults if coverage.met.get(name)]
    widest = max([len(name) for name in (*met, COVERED)], default=0)
    for number, state in enumerate(coverage.states, 1):
        yield f"  {_column(number):>{widest}}  {state}"
    heads = [_column(number) for number in range(1, len(coverage.states) + 1)]
    yield f"  {COVERED:<{widest}}  " + " ".join(f"{head:>5}" for head in heads)
    for name in met:
        cells = [coverage.count(name, state) for state in coverage.states]
        yield f"  {name:<{widest}}  " + " ".join(f"{cell or '.':>5}" for cell in cells)
    yield ""
    yield f"covered    {coverage.reached} of {coverage.pairs} pairs of fault and state"
    for state, faults in coverage.never():
        if len(faults) == len(coverage.faults):
            yield f"  missing  {state}: every fault"
        elif len(faults) <= len(coverage.faults) // 2:
            yield f"  missing  {state}: {', '.join(faults)}"
        else:
            there = [name for name in coverage.faults if name not in faults]
            yield f"  missing  {state}: every fault except {', '.join(there)}"
    yield ""


COVERED = "faults injected in"
"""Heading of the coverage table's first column."""


def _column(number: int) -> str:
    return chr(ord("a") + number - 1)


def document(
    campaign: CampaignStore,
    plan: FuzzPlan,
    totals: Totals,
    groups: Sequence[FailureGroup],
    kept: Mapping[int, SavedRun],
    coverage: Coverage | None,
) -> dict[str, Any]:
    """Return the campaign's result as a JSON document."""
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


def _group(plan: FuzzPlan, group: FailureGroup, kept: Mapping[int, SavedRun]) -> dict[str, Any]:
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


@dataclass(frozen=True, slots=True)
class StormRequest:
    """The options of ``storm`` as typed."""

    source: str
    runs: int = 100
    seed: int | None = None
    settings: Sequence[str] = ()
    keep_steps: bool = False
    no_vary: bool = False
    only: int | None = None
    show: int | None = None
    stop_on_first: bool = False
    stop_on: str | None = None
    out: Path | None = None
    resume: Path | None = None
    workers: int = 0
    json: bool = False
    engine: str = LOCAL
    master: str | None = None
    memory: str | None = None


class _StormError(Exception):
    """Bad input; the message says what was found and what is allowed."""


def run_storm(request: StormRequest) -> int:
    """Run the campaign; return 0 nothing surprising, 1 something, 2 bad input, 70 internal error, 130 stopped."""

    def work() -> int:
        try:
            return _storm(request)
        except (_StormError, SettingError, CampaignError, RecordingError) as error:
            print_error(str(error))
            return BAD_INPUT
        except EngineError as error:
            return error.code
        except (PlaybookWriteError, TextError) as error:
            print_error(str(error))
            return INTERNAL

    return exit_code_of(work) if request.source else _list(request)


def _list(request: StormRequest) -> int:
    rows = [choose(source_path(name), None, {}).playbook for name in presets()]
    if request.json:
        print_document(to_text([{"name": row.name, "kafka": row.spec.kafka, "title": row.title} for row in rows]))
        return OK
    table(stdout_console(), ("name", "kafka", "title"), [(row.name, row.spec.kafka, row.title) for row in rows])
    return OK


def _playbook_path(source: str) -> str:
    """Return the playbook's path for a file or name.

    Raises:
        _StormError: there is no such file, preset or bundled playbook.
    """
    path, known = Path(source), (*presets(), *names())
    if source not in known and not path.exists() and path.suffix not in SUFFIXES and "/" not in source:
        raise _StormError(f"{source}: no such file or playbook{nearest(source, known)}; see: floodmark storm")
    return source_path(source)


def _storm(request: StormRequest) -> int:
    if request.out is not None and request.resume is not None:
        raise _StormError("found --out and --resume together, expected one of them")
    if refused := engine_error(
        request.engine, request.master, request.memory, workers="--jobs" if request.workers else ""
    ):
        raise _StormError(refused)
    if request.resume is not None and not (request.resume / "campaign.json").is_file():
        raise _StormError(f"--resume: found {request.resume}, expected the directory of a campaign")
    chosen = choose(_playbook_path(request.source), request.seed, settings_of(request.settings))
    if chosen.playbook.spec.manual:
        raise _StormError(f"{chosen.playbook.path}: found 'stepping: manual', expected a playbook in virtual time")
    plan = plan_of(chosen.playbook, chosen.seed, keep_steps=request.keep_steps, vary=not request.no_vary)
    name = chosen.playbook.name
    if request.show is not None:
        return _show(request, plan, request.show)
    folder = request.resume or request.out or Path("storms") / f"{name}-{plan.seed}"
    by_spark = request.engine == SPARK and request.only is None
    campaign = open_campaign(folder, plan, name, rows=not by_spark)
    campaign.keep({"command": _command(request, plan.seed)})
    console = stderr_console()
    if request.only is not None:
        for line in only_lines(name, plan, folder, request.only):
            print_line(console, line)
        return _only(request, plan, campaign, request.only)
    for line in header_lines(name, plan, folder, request.runs):
        print_line(console, line)
    with ProgressLine(console) as progress_line:
        run = _run_on_spark if by_spark else _run_here
        result = run(request, plan, campaign, progress_line)
        kept = {} if result.interrupted else _keep(plan, campaign, result, progress_line)
    _answer(request, name, plan, campaign, result, kept)
    return _code(result)


def _run_here(
    request: StormRequest, plan: FuzzPlan, campaign: CampaignStore, progress_line: ProgressLine
) -> CampaignResult:
    return run_campaign(
        campaign,
        plan,
        request.runs,
        workers=request.workers,
        stops=_stops(request),
        on_progress=lambda progress: progress_line.update(lambda: campaign_progress_text(progress)),
    )


def _run_on_spark(
    request: StormRequest, plan: FuzzPlan, campaign: CampaignStore, _telling: ProgressLine
) -> CampaignResult:
    spark = (request.master, request.memory)
    result = run_on_spark(
        campaign.path, plan, request.runs, *spark, stop_on=_pattern(request), quiet=request.json
    )  # fmt: skip
    campaign.kept |= kept_in(campaign.path)
    return result


def _command(request: StormRequest, seed: int) -> str:
    """Return the command that repeats the campaign, or with ``--only`` one of its runs."""
    settings = [word for each in request.settings for word in ("--set", each)]
    options = [*(["--keep-steps"] if request.keep_steps else []), *(["--no-vary"] if request.no_vary else [])]
    return shlex.join(["floodmark", "storm", request.source, "--seed", str(seed), *settings, *options])


def _pattern(request: StormRequest) -> str:
    return current_key(request.stop_on or "") or ("*" if request.stop_on_first else "")


def _stops(request: StormRequest) -> Callable[[RunRow], bool]:
    pattern = _pattern(request)
    return lambda row: bool(pattern) and any(fnmatchcase(each.key, pattern) for each in row.found)


def _keep(
    plan: FuzzPlan, campaign: CampaignStore, result: CampaignResult, progress_line: ProgressLine
) -> dict[int, SavedRun]:
    """Record the first run of each finding, unless it is recorded already; return them by run number."""
    return keep_first(
        plan, campaign, result.groups,
        lambda number, of: progress_line.update(lambda: f"recording {number} of {of} runs"),
    )  # fmt: skip


def _only(request: StormRequest, plan: FuzzPlan, campaign: CampaignStore, run: int) -> int:
    row = plan.row(run)
    campaign.add([row])
    campaign.close()
    kept = {} if row.error else {run: keep_run(plan, run, campaign)}
    groups = groups_of([row])
    if request.json:
        print_document(to_text(document(campaign, plan, totals_of([row]), groups, kept, None)))
    else:
        for line in [
            *show_lines(plan, run),
            *summary_lines(request.source, plan, totals_of([row]), groups, kept, None),
        ]:
            print_line(stdout_console(), line)
    if row.error:
        return INTERNAL
    return FAILED if row.surprising else OK


def _show(request: StormRequest, plan: FuzzPlan, run: int) -> int:
    _playbook, swarm, _session = plan.begin(run)
    if request.json:
        print_document(to_text(swarm.to_json()))
        return OK
    for line in show_lines(plan, run):
        print_line(stdout_console(), line)
    return OK


def _answer(
    request: StormRequest,
    name: str,
    plan: FuzzPlan,
    campaign: CampaignStore,
    run_result: CampaignResult,
    kept: dict[int, SavedRun],
) -> None:
    result = document(campaign, plan, run_result.totals, run_result.groups, kept, run_result.coverage)
    campaign.keep({name: value for name, value in result.items() if name not in campaign.head})
    if request.json:
        print_document(to_text(result))
    else:
        for line in summary_lines(
            request.source, plan, run_result.totals, run_result.groups, kept, run_result.coverage
        ):
            print_line(stdout_console(), line)
    for reason in run_result.lost:
        print_error(reason)
    if run_result.interrupted:
        print_line(
            stderr_console(),
            f"stopped after {run_result.totals.runs} of {request.runs} runs of {name}; the same command resumes",
        )


def _code(result: CampaignResult) -> int:
    if result.interrupted:
        return INTERRUPTED
    if result.totals.errors or result.lost:
        return INTERNAL
    return FAILED if result.surprising else OK
