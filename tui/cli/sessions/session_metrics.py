"""``floodmark export --openmetrics``: the metrics of a recorded session as OpenMetrics text."""

from pathlib import Path

from cluster_model.util.quantities import counted, seconds_to_the_tenth
from playbooks.errors import BAD_INPUT, OK
from playbooks.metrics.openmetrics import openmetrics_text
from playbooks.metrics.time_series import interval_us, scrape_recording
from playbooks.recording.reader import read_session
from playbooks.session_format.session_files import sessions_root
from playbooks.session_format.session_finder import find_session
from tui.output.command_end import exit_code_of, write_file
from tui.output.console import ProgressLine, print_error, print_line, stderr_console


def export_metrics(session: str, out: Path, interval: str | None, *, force: bool) -> int:
    """Replay a session and write its time series to a file; return the exit code."""
    if out.exists() and not force:
        print_error(f"--openmetrics: {out} already exists; --force overwrites it")
        return BAD_INPUT
    return exit_code_of(lambda: _export(session, out, interval))


def _export(session: str, out: Path, interval: str | None) -> int:
    console = stderr_console()
    scrape_us = interval_us("--scrape-interval", interval)
    recorded = read_session(find_session(session, sessions_root()))
    for note in recorded.notes:
        print_line(console, f"note: {note}", "yellow")
    with ProgressLine(console) as progress_line:
        series = scrape_recording(
            recorded,
            interval_us=scrape_us,
            progress=lambda at_us: progress_line.update(lambda: f"{seconds_to_the_tenth(at_us)} s replayed"),
        )
    if not write_file("--openmetrics", out, openmetrics_text(series)):
        return BAD_INPUT
    print_line(
        console,
        f"{out}: {counted(len(series.columns()), 'series', 'series')}, {counted(len(series.scrapes), 'scrape')}",
    )
    return OK
