"""Options of ``floodmark run``: validation before anything runs, and the axes of a grid."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from cluster_model.util.quantities import counted, listed, thousands
from playbooks.errors import PlaybookError, Problem, nearest, shown
from playbooks.model import SEED, Grid, GridAxis, Playbook
from playbooks.parser.document import (
    MAX_CELLS,
    ErrorNotes,
    GridNodes,
    Scalar,
    check_size,
    compose,
    from_option,
    playbooks_under,
)
from playbooks.parser.document import Mapping as YamlMapping
from playbooks.parser.loader import loads
from playbooks.parser.settings import SettingError, cell_text, check_cells
from playbooks.results.baseline import Baseline, BaselineError, read_baseline
from playbooks.session_format.filesystem import Fsync
from playbooks.units import UnitError, duration_us
from tui.cli.runs.pace import speed_is_valid
from tui.cli.runs.spark_jobs import engine_error
from tui.output.console import print_error, print_problems
from tui.session.playbook_choice import PlaybookChoice, choose, read, settings_of

# Axes from the command line (``--vary``, ``--repeat``), and options that conflict with a grid.


MOST_KEPT: Final = 20_000
"""Maximum cells of a grid that runs as a campaign: one row each, and no session."""


def with_axes(chosen: PlaybookChoice, options: Sequence[str]) -> PlaybookChoice:
    """Return the choice with the axes of ``--vary`` added to its grid; an axis of the same name is replaced.

    Raises:
        PlaybookError: an axis or a value is not valid for this playbook; positions are those in the option.
    """
    playbook = chosen.playbook
    root, _problems = compose(playbook.source, playbook.path)
    if not options or not isinstance(root, YamlMapping):
        return chosen
    notes = ErrorNotes("--vary", root=root, variables=playbook.variables)
    grid = playbook.grid or Grid(())
    placeholder = Scalar(1, 1, "", True, 0)
    places = GridNodes(
        placeholder,
        {axis.name: (placeholder, (placeholder,) * len(axis.values)) for axis in grid.axes},
        (placeholder,) * len(grid.cases),
    )
    for option in options:
        added = from_option(option, root, notes)
        if added is not None:
            grid, places = _joined(grid, places, added, notes)
    if not notes.problems:
        check_size(grid, placeholder, notes, "")
    if not notes.problems:
        check_cells(grid, places, partial(_cell, playbook), notes)
    if notes.problems:
        raise PlaybookError([_of_option(each) for each in notes.problems])
    return replace(chosen, playbook=replace(playbook, grid=grid))


def _cell(playbook: Playbook, settings: Mapping[str, str]) -> Playbook:
    text = cell_text(playbook.source, settings, playbook.fragments, playbook.variables)
    return loads(text, playbook.path, playbook.fragments)


def _joined(
    grid: Grid, places: GridNodes, added: tuple[GridAxis, GridNodes], notes: ErrorNotes
) -> tuple[Grid, GridNodes]:
    axis, where = added
    if any(axis.name == name for case in grid.cases for name, _value in case):
        notes.problem(where.grid, axis.name, "found an axis that the playbook's cases set already; expected another")
        return grid, places
    return grid.with_axis(axis), replace(places, axes={**places.axes, **where.axes})


def _of_option(problem: Problem) -> Problem:
    return replace(problem, line=1, column=1, key=problem.key.strip("."))


def repeated(chosen: PlaybookChoice, times: int | None, *, kept: bool) -> PlaybookChoice:
    """Return the choice with an axis of ``times`` seeds, from its own on; ``kept``: it runs as a campaign.

    Raises:
        SettingError: its grid has an axis of seeds already, or there are too many cells.
    """
    if times is None:
        return chosen
    playbook = chosen.playbook
    grid = playbook.grid or Grid(())
    if SEED in grid.names:
        raise SettingError(f"--repeat: found {times}, but its grid has an axis of seeds")
    grid = grid.with_axis(GridAxis(SEED, tuple([str(chosen.seed + turn) for turn in range(times)])))
    limit = MOST_KEPT if kept else MAX_CELLS
    if grid.size > limit:
        more = "" if kept else f", and {thousands(MOST_KEPT)} with --engine"
        found = f"--repeat: found {times}, which makes {counted(grid.size, 'cell')}"
        raise SettingError(f"{found}, expected at most {thousands(limit)}{more}")
    return replace(chosen, playbook=replace(playbook, grid=grid))


@dataclass(frozen=True, slots=True)
class GridOptions:
    """The options of ``run`` that concern grids."""

    makers: Sequence[str]
    """The given options that make a grid: ``--vary``, ``--repeat``."""
    conflicting: Sequence[str]
    """The given options that conflict with a grid."""
    seed: int | None = None
    engine: bool = False
    """Whether the grid runs as a campaign."""


def refusals(options: GridOptions, chosen: Sequence[PlaybookChoice]) -> list[str]:
    """Return an error message for each conflict between the options."""
    errors = []
    grid = chosen[0].playbook.grid if len(chosen) == 1 else None
    alone = set(options.conflicting) & {"--no-vary", "--dry-run"}
    own_seeds = grid is not None and SEED in grid.names and "--repeat" not in options.makers
    if options.seed is not None and own_seeds and not alone:
        errors.append(f"--seed: found {options.seed}, but the grid of {chosen[0].playbook.path} has an axis of seeds")
    if options.makers:
        errors += [
            f"found {options.makers[0]} and {option} together, expected one of them" for option in options.conflicting
        ]
        if len(chosen) > 1:
            errors.append(f"{options.makers[0]}: found {len(chosen)} playbooks, expected one: each has its own grid")
    elif options.engine and len(chosen) > 1:
        errors.append(f"--engine: found {len(chosen)} playbooks, expected one with a grid")
    elif options.engine and chosen and grid is None:
        errors.append(f"--engine: {chosen[0].playbook.path} has no grid, expected one: --vary or --repeat makes it")
    elif options.engine and alone:
        errors += [f"found --engine and {option} together, expected one of them" for option in options.conflicting]
    elif grid is not None and not alone:
        why = f"{chosen[0].playbook.path}: its grid runs many sessions at a time; --no-vary runs it once"
        errors += [f"{option}: {why}" for option in options.conflicting]
    return errors


STDOUT = Path("-")


@dataclass(frozen=True, slots=True)
class RunRequest:
    """The options of ``run`` as typed."""

    files: Sequence[str]
    seed: int | None = None
    settings: Sequence[str] = ()
    until: str | None = None
    out: Path | None = None
    json: bool = False
    junit: Path | None = None
    plain: bool = False
    dry_run: bool = False
    speed: float | None = None
    jobs: int | None = None
    """Parallel runs; None: one per core."""
    fail_fast: bool = False
    tags: Sequence[str] = ()
    skip_tags: Sequence[str] = ()
    markdown: Path | None = None
    baseline: Path | None = None
    save_baseline: Path | None = None
    fsync: Fsync = Fsync.INTERVAL
    vary: Sequence[str] = ()
    no_vary: bool = False
    repeat: int | None = None
    """Number of seeds; None: the playbook's own, or those of its grid."""
    engine: str | None = None
    """Engine of a grid that runs as a campaign; None: no campaign."""
    master: str | None = None
    memory: str | None = None
    why: bool | None = None
    """Whether to explain losses; None: if that is quick."""

    @property
    def document(self) -> bool:
        """Whether a document is printed on stdout instead of the results as text."""
        return self.json or self.markdown == STDOUT


@dataclass(frozen=True, slots=True)
class CheckedRequest:
    """A valid request, with its playbooks loaded."""

    chosen: list[PlaybookChoice]
    words: list[str]
    """The argument that selects each playbook alone: the path of its file, or its name."""
    is_suite: bool
    """Whether several playbooks or a folder were given: then documents are lists."""
    until_us: int = -1
    baseline: Baseline | None = None


def checked(request: RunRequest) -> CheckedRequest | None:
    """Return the validated request; None if it is invalid, after printing every error."""
    chosen: list[PlaybookChoice] = []
    try:
        settings = settings_of(request.settings)
    except SettingError as error:
        print_error(str(error))
        return None
    words_given, good = _words(request.files)
    words: list[str] = []
    known_tags: list[str] = []
    for word in words_given:
        try:
            each = with_axes(choose(word, request.seed, settings), request.vary)
            each = repeated(each, request.repeat, kept=request.engine is not None)
        except (PlaybookError, SettingError) as error:
            if settings and (tags := _left_out(word, request)) is not None:
                known_tags += tags  # a playbook that does not run need not accept the settings
                continue
            if isinstance(error, PlaybookError):
                print_problems(error)
            else:
                print_error(f"{word}: {error}")
            good = False
            continue
        known_tags += each.playbook.tags
        if _wanted(each.playbook.tags, request):
            words.append(word)
            chosen.append(each)
    until_us = _until(request, chosen)
    good = until_us is not None and good
    good = _tags_known(request, known_tags) and good
    good = _fits_together(request, chosen) and good
    if request.speed is not None:
        good = speed_is_valid(request.speed, chosen, len(words_given), request.jobs, dry=request.dry_run) and good
    good = _grids_fit(request, chosen) and good
    good = _can_be_written(request) and good
    baseline = None
    if request.baseline is not None:
        try:
            baseline = read_baseline(request.baseline)
        except BaselineError as error:
            print_error(f"--baseline: {error}")
            good = False
    if not good or until_us is None:
        return None
    if not chosen:
        print_error(f"--tag and --skip-tag select none of {counted(len(words_given), 'playbook')}")
        return None
    return CheckedRequest(chosen, words, len(words_given) > 1 or [*request.files] != words_given, until_us, baseline)


def _words(files: Sequence[str]) -> tuple[list[str], bool]:
    """Return the arguments with folders replaced by the files in them, and whether every folder is valid.

    An argument given twice runs twice; a file in several of the folders runs once.
    """
    words: list[str] = []
    good = True
    seen = {Path(text).resolve() for text in files if not Path(text).is_dir()}
    for text in files:
        if not Path(text).is_dir():
            words.append(text)
            continue
        try:
            paths = playbooks_under(Path(text))
        except PlaybookError as error:
            print_problems(error)
            good = False
            continue
        for path in paths:
            if path.resolve() not in seen:
                seen.add(path.resolve())
                words.append(str(path))
    return words, good


def _until(request: RunRequest, chosen: Sequence[PlaybookChoice]) -> int | None:
    """Return the virtual time of ``--until``, -1 for none; None if it is not valid."""
    if request.until is None:
        return -1
    until_us: int | None
    try:
        until_us = duration_us(request.until)
    except UnitError as error:
        allowed = f"expected {error}" if str(error).startswith("a ") else str(error)
        print_error(f"--until: found {request.until!r}, {allowed}")
        until_us = None
    manual = [each.playbook.path for each in chosen if each.playbook.spec.manual]
    for path in manual:
        print_error(f"--until: {path}: a manual playbook has no clock, so it cannot be stopped at a time")
    return None if manual else until_us


def _fits_together(request: RunRequest, chosen: Sequence[PlaybookChoice]) -> bool:
    """Return whether no option conflicts with another; prints the first conflict."""
    if request.plain and (request.jobs or 1) > 1:
        print_error(
            f"found --plain and --jobs {request.jobs} together, expected --plain with one job: "
            "it prints the events of one session at a time"
        )
        return False
    if request.json and request.markdown == STDOUT:
        print_error("found --json and --markdown - together, expected one of them on stdout")
        return False
    return not request.dry_run or _can_be_dry(request, chosen)


def _grids_fit(request: RunRequest, chosen: Sequence[PlaybookChoice]) -> bool:
    """Return whether the options are valid with a grid; prints each conflict."""
    options = {
        "--no-vary": request.no_vary,
        "--dry-run": request.dry_run,
        "--plain": request.plain,
        "--speed": request.speed is not None,
    }
    makers = {"--vary": bool(request.vary), "--repeat": request.repeat is not None}
    given = GridOptions(
        [option for option, is_given in makers.items() if is_given],
        [option for option, is_given in options.items() if is_given],
        request.seed,
        request.engine is not None,
    )
    messages = refusals(given, chosen)
    refused = engine_error(request.engine, request.master, request.memory, workers="--jobs" if request.jobs else "")
    messages += [refused] if refused else []
    if request.engine is not None and request.fail_fast:
        messages.append("found --engine and --fail-fast together, expected one of them: a campaign runs every cell")
    for line in messages:
        print_error(line)
    return not messages


def _can_be_dry(request: RunRequest, chosen: Sequence[PlaybookChoice]) -> bool:
    """Return whether ``--dry-run`` is valid with the other options; prints each conflict."""
    options = {
        "--out": request.out is not None,
        "--junit": request.junit is not None,
        "--markdown": request.markdown is not None,
        "--baseline": request.baseline is not None,
        "--save-baseline": request.save_baseline is not None,
        "--plain": request.plain,
    }
    given = [option for option, is_given in options.items() if is_given]
    for option in given:
        print_error(f"found --dry-run and {option} together, expected one of them: a dry run records nothing")
    manual = [each.playbook.path for each in chosen if each.playbook.spec.manual]
    for path in manual:
        print_error(f"--dry-run: {path}: a manual playbook injects no faults, so there is no impact to predict")
    return not given and not manual


def _can_be_written(request: RunRequest) -> bool:
    """Return whether the documents can be written; checked before the run, which may be long."""
    good = True
    wanted = {"--junit": request.junit, "--markdown": request.markdown, "--save-baseline": request.save_baseline}
    for option, path in wanted.items():
        if path is None or (option == "--markdown" and path == STDOUT):
            continue
        if path.is_dir() or not path.parent.is_dir():
            why = "it is a directory" if path.is_dir() else "no such directory"
            print_error(f"{option}: cannot write {path}: {why}")
            good = False
    return good


def _left_out(word: str, request: RunRequest) -> tuple[str, ...] | None:
    """Return the tags of a playbook that the tag options exclude; None if it is to run, or cannot be read."""
    if not request.tags and not request.skip_tags:
        return None
    try:
        tags = read(word).tags
    except PlaybookError:
        return None
    return None if _wanted(tags, request) else tags


def _tags_known(request: RunRequest, tags: Sequence[str]) -> bool:
    """Return whether every given tag occurs in some playbook; prints each that does not."""
    known_tags = sorted(set(tags))
    unknown = [("--tag", tag) for tag in request.tags if tag not in known_tags]
    unknown += [("--skip-tag", tag) for tag in request.skip_tags if tag not in known_tags]
    there = f"known tags: {listed(known_tags, 'and')}" if known_tags else "known tags: none"
    for option, tag in unknown:
        print_error(f"{option}: found {shown(tag)}, which no playbook here has{nearest(tag, known_tags)}; {there}")
    return not unknown


def _wanted(tags: Sequence[str], request: RunRequest) -> bool:
    if any(tag in request.skip_tags for tag in tags):
        return False
    return not request.tags or any(tag in request.tags for tag in tags)
