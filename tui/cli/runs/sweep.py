"""``floodmark run`` of a grid that is kept as a campaign: a row for each cell, by this machine's cores or by Spark."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from rich.console import Console

from playbooks.campaign.run_rows import Row
from playbooks.campaign.runner import Come, keep_first, run_campaign
from playbooks.campaign.store import SESSIONS, Campaign, CampaignError, Kept, kept_in, open_campaign, rows_kept
from playbooks.campaign.workloads.grid_workload import GridPlan
from playbooks.campaign.workloads.plan_file import write_plan
from playbooks.campaign.workloads.varying import Varying, matrix_of, plan_of
from playbooks.engine.job import Outcome
from playbooks.engine.worker_pool import cores
from playbooks.errors import counted
from playbooks.exit_codes import BAD_INPUT, INTERNAL, INTERRUPTED
from playbooks.model.grid import SEED
from playbooks.recording.recorder import RecordingError
from tui.cli.runs.request import Checked, Request
from tui.cli.runs.spark_jobs import SPARK, EngineError, run_on_spark
from tui.cli.runs.standing import standing_words
from tui.cli.runs.varying import hand_over_grid, print_matrix, say_what_runs
from tui.output.console import complain, people, say
from tui.output.progress import Telling

GRIDS: Final = Path("grids")
"""Where campaigns over grids are kept, below the directory one is in."""
REPORT: Final = Path("fleet", "fleet.html")


def run_kept(request: Request, asked: Checked) -> int:
    """Run the cells that are missing, print the matrix of all, and write the documents; the exit code."""
    try:
        return _run(request, asked)
    except (CampaignError, RecordingError) as error:
        complain(str(error))
        return BAD_INPUT
    except EngineError as error:
        return error.code


def _run(request: Request, asked: Checked) -> int:
    console, (chosen,), (word,) = people(), asked.chosen, asked.words
    playbook, grid = chosen.playbook, chosen.playbook.grid
    assert grid is not None
    varying = Varying(playbook, grid, chosen.seed, chosen.settings, None, asked.until_us)
    plan = plan_of(varying)
    folder = request.out or GRIDS / f"{playbook.name}-{chosen.seed}"
    campaign = open_campaign(folder, plan, playbook.name, rows=request.engine != SPARK)
    write_plan(folder, plan)
    campaign.keep({"command": _command(request, word, plan), "word": word})
    say_what_runs(console, chosen, grid)
    say(console, f"kept in {folder}", "dim")
    run = _on_spark if request.engine == SPARK else _here
    come = run(request, plan, campaign, console)
    if come.interrupted:
        say(
            console,
            f"stopped after {come.totals.runs} of {grid.size} runs of {playbook.name}; the same command goes on",
        )
        return INTERRUPTED
    outcomes = _outcomes(plan, rows_kept(folder), campaign.kept, come.lost)
    matrix = matrix_of(varying, outcomes)
    campaign.keep({"runs": len(outcomes), "exit_code": matrix.code})
    print_matrix(console, matrix)
    for line in _where(folder, campaign.kept):
        say(console, line, "dim")
    return hand_over_grid(console, request, asked, matrix, outcomes)


def _here(request: Request, plan: GridPlan, campaign: Campaign, console: Console) -> Come:
    with Telling(console) as telling:
        come = run_campaign(
            campaign,
            plan,
            plan.grid.size,
            workers=request.jobs or cores(),
            tell=lambda standing: telling.tell(lambda: standing_words(standing)),
        )
        if not come.interrupted:
            keep_first(
                plan, campaign, come.groups,
                lambda number, of: telling.tell(lambda: f"recording {number} of {of} runs"),
            )  # fmt: skip
    return come


def _on_spark(request: Request, plan: GridPlan, campaign: Campaign, _console: Console) -> Come:
    come = run_on_spark(campaign.path, plan, plan.grid.size, request.master, request.memory, quiet=True)
    campaign.kept |= kept_in(campaign.path)
    return come


def _outcomes(
    plan: GridPlan, rows: Mapping[int, Row], kept: Mapping[int, Kept], lost: list[str]
) -> list[Outcome]:  # fmt: skip
    """How each cell ended; one whose worker died has no row."""
    found = []
    for run in range(1, plan.grid.size + 1):
        session = str(kept[run].session) if run in kept else ""
        if run in rows:
            found.append(plan.outcome(rows[run], session))
        else:
            found.append(Outcome(plan.job(run), None, next(iter(lost), "it has no row"), INTERNAL))
    return found


def _where(folder: Path, kept: Mapping[int, Kept]) -> list[str]:
    report = folder / REPORT
    told = str(report) if report.is_file() else f"floodmark fleet {shlex.quote(str(folder))}"
    telling = [f"sessions of {counted(len(kept), 'telling run')} under {folder / SESSIONS}"] if kept else []
    return [*telling, f"fleet report: {told}"]


def _command(request: Request, word: str, plan: GridPlan) -> str:
    """What goes on with the campaign, or repeats it elsewhere."""
    own_seeds = SEED in plan.grid.names and request.repeat is None
    words = ["floodmark", "run", word, *([] if own_seeds else ["--seed", str(plan.seed)])]
    for option, values in (("--set", request.settings), ("--vary", request.vary)):
        words += [part for value in values for part in (option, value)]
    rest = {
        "--repeat": request.repeat, "--until": request.until, "--out": request.out, "--engine": request.engine,
        "--master": request.master, "--memory": request.memory,
    }  # fmt: skip
    return shlex.join(words + [str(part) for pair in rest.items() if pair[1] is not None for part in pair])
