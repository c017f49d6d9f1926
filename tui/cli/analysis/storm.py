"""``floodmark storm``: random schedules of faults, by the thousand."""

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from playbooks.campaign.grouping import groups_of
from playbooks.campaign.run_rows import Row
from playbooks.campaign.runner import Come, keep_first, run_campaign
from playbooks.campaign.store import Campaign, CampaignError, Kept, kept_in, open_campaign
from playbooks.campaign.totals import totals_of
from playbooks.campaign.workloads.fuzz_workload import Plan, plan_of
from playbooks.campaign.workloads.writing import WritingError, keep_run
from playbooks.errors import nearest
from playbooks.exit_codes import BAD_INPUT, FAILED, INTERNAL, INTERRUPTED, OK
from playbooks.export.playbook_writer import TextError
from playbooks.library.bundled import names
from playbooks.library.presets import found, presets
from playbooks.library.suffixes import SUFFIXES
from playbooks.parser.settings import SettingError
from playbooks.recording.recorder import RecordingError
from tui.cli.analysis.storm_lines import document, header_lines, only_lines, show_lines, summary_lines
from tui.cli.runs.spark_jobs import LOCAL, SPARK, EngineError, run_on_spark, why_not
from tui.cli.runs.standing import standing_words
from tui.output.command_end import ended, to_text
from tui.output.console import answers, complain, people, print_document, say, table
from tui.output.progress import Telling
from tui.session.chosen import choose, settings_of


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


class _RefusedError(Exception):
    """Bad input; the message says what was found and what is allowed."""


def run_storm(request: StormRequest) -> int:
    """Run, print what was found; 0 nothing surprising, 1 something, 2 bad input, 70 broken inside, 130 stopped."""

    def work() -> int:
        try:
            return _storm(request)
        except (_RefusedError, SettingError, CampaignError, RecordingError) as error:
            complain(str(error))
            return BAD_INPUT
        except EngineError as error:
            return error.code
        except (WritingError, TextError) as error:
            complain(str(error))
            return INTERNAL

    return ended(work) if request.source else _list(request)


def _list(request: StormRequest) -> int:
    rows = [choose(found(name), None, {}).playbook for name in presets()]
    if request.json:
        print_document(to_text([{"name": row.name, "kafka": row.spec.kafka, "title": row.title} for row in rows]))
        return OK
    table(answers(), ("name", "kafka", "what"), [(row.name, row.spec.kafka, row.title) for row in rows])
    return OK


def _there(source: str) -> str:
    """What is to be read, if there is anything of that name."""
    path, known = Path(source), (*presets(), *names())
    if source not in known and not path.exists() and path.suffix not in SUFFIXES and "/" not in source:
        raise _RefusedError(f"{source}: found no such file or playbook{nearest(source, known)}; see: floodmark storm")
    return found(source)


def _storm(request: StormRequest) -> int:
    if request.out is not None and request.resume is not None:
        raise _RefusedError("found --out and --resume together, allowed is one of them")
    if refused := why_not(
        request.engine, request.master, request.memory, workers="--workers" if request.workers else ""
    ):
        raise _RefusedError(refused)
    if request.resume is not None and not (request.resume / "campaign.json").is_file():
        raise _RefusedError(f"--resume: found {request.resume}, allowed is the directory of a campaign")
    chosen = choose(_there(request.source), request.seed, settings_of(request.settings))
    if chosen.playbook.spec.manual:
        raise _RefusedError(f"{chosen.playbook.path}: found 'stepping: manual', allowed is a playbook in virtual time")
    plan = plan_of(chosen.playbook, chosen.seed, keep_steps=request.keep_steps, vary=not request.no_vary)
    name = chosen.playbook.name
    if request.show is not None:
        return _show(request, plan, request.show)
    folder = request.resume or request.out or Path("storms") / f"{name}-{plan.seed}"
    by_spark = request.engine == SPARK and request.only is None
    campaign = open_campaign(folder, plan, name, rows=not by_spark)
    campaign.keep({"command": _command(request, plan.seed)})
    console = people()
    if request.only is not None:
        for line in only_lines(name, plan, folder, request.only):
            say(console, line)
        return _only(request, plan, campaign, request.only)
    for line in header_lines(name, plan, folder, request.runs):
        say(console, line)
    with Telling(console) as telling:
        run = _run_on_spark if by_spark else _run_here
        come = run(request, plan, campaign, telling)
        kept = {} if come.interrupted else _keep(plan, campaign, come, telling)
    _answer(request, name, plan, campaign, come, kept)
    return _code(come)


def _run_here(request: StormRequest, plan: Plan, campaign: Campaign, telling: Telling) -> Come:
    return run_campaign(
        campaign,
        plan,
        request.runs,
        workers=request.workers,
        stops=_stops(request),
        tell=lambda standing: telling.tell(lambda: standing_words(standing)),
    )


def _run_on_spark(request: StormRequest, plan: Plan, campaign: Campaign, _telling: Telling) -> Come:
    spark = (request.master, request.memory)
    come = run_on_spark(
        campaign.path, plan, request.runs, *spark, stop_on=_pattern(request), quiet=request.json
    )  # fmt: skip
    campaign.kept |= kept_in(campaign.path)
    return come


def _command(request: StormRequest, seed: int) -> str:
    """What repeats the campaign, or with ``--only`` one of its runs."""
    settings = [word for each in request.settings for word in ("--set", each)]
    options = [*(["--keep-steps"] if request.keep_steps else []), *(["--no-vary"] if request.no_vary else [])]
    return shlex.join(["floodmark", "storm", request.source, "--seed", str(seed), *settings, *options])


def _pattern(request: StormRequest) -> str:
    return request.stop_on or ("*" if request.stop_on_first else "")


def _stops(request: StormRequest) -> Callable[[Row], bool]:
    pattern = _pattern(request)
    return lambda row: bool(pattern) and any(fnmatchcase(each.key, pattern) for each in row.found)


def _keep(plan: Plan, campaign: Campaign, come: Come, telling: Telling) -> dict[int, Kept]:
    """The runs that speak for the groups, recorded; one that is there already is not recorded again."""
    return keep_first(
        plan, campaign, come.groups,
        lambda number, of: telling.tell(lambda: f"recording {number} of {of} runs"),
    )  # fmt: skip


def _only(request: StormRequest, plan: Plan, campaign: Campaign, run: int) -> int:
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
            say(answers(), line)
    if row.error:
        return INTERNAL
    return FAILED if row.surprising else OK


def _show(request: StormRequest, plan: Plan, run: int) -> int:
    _playbook, swarm, _session = plan.begin(run)
    if request.json:
        print_document(to_text(swarm.to_json()))
        return OK
    for line in show_lines(plan, run):
        say(answers(), line)
    return OK


def _answer(
    request: StormRequest, name: str, plan: Plan, campaign: Campaign, come: Come, kept: dict[int, Kept]
) -> None:
    told = document(campaign, plan, come.totals, come.groups, kept, come.coverage)
    campaign.keep({name: value for name, value in told.items() if name not in campaign.head})
    if request.json:
        print_document(to_text(told))
    else:
        for line in summary_lines(request.source, plan, come.totals, come.groups, kept, come.coverage):
            say(answers(), line)
    for reason in come.lost:
        complain(reason)
    if come.interrupted:
        say(people(), f"stopped after {come.totals.runs} of {request.runs} runs of {name}; the same command goes on")


def _code(come: Come) -> int:
    if come.interrupted:
        return INTERRUPTED
    if come.totals.errors or come.lost:
        return INTERNAL
    return FAILED if come.surprising else OK
