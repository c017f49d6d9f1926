"""Pictures of a report for the manual: the real page in a real browser, and what a terminal of 80 columns shows.

``python -m docs.generate.report_screenshots SESSION... DIR``
"""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from rich.console import Console

from spark_report.job import run

SIZE: Final = (1200, 1500)
_BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome")


def main(arguments: Sequence[str]) -> int:
    """Report the sessions, and put ``report-page.png`` and ``report-terminal.svg`` into the directory."""
    *sessions, directory = map(Path, arguments)
    browser = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if not sessions or browser is None:
        print(
            "usage: python -m docs.generate.report_screenshots SESSION... DIR, with Chromium on PATH", file=sys.stderr
        )
        return 2
    with tempfile.TemporaryDirectory() as place:
        # What is not shown goes to a file, not to the terminal that this runs in.
        with Path(place, "terminal.txt").open("w", encoding="utf-8") as file:
            console = Console(file=file, record=True, width=80, force_terminal=True)
            run(sessions, out=Path(place, "report"), formats=("html", "terminal"), console=console)
        console.save_svg(str(directory / "report-terminal.svg"), title="floodmark report")
        picture(browser, Path(place, "report", "report.html"), directory / "report-page.png")
    return 0


def picture(browser: str, page: Path, file: Path) -> None:
    """A page as a picture."""
    quiet = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=10000"]
    size = f"--window-size={SIZE[0]},{SIZE[1]}"
    own = f"--user-data-dir={page.parent / 'profile'}"
    subprocess.run(
        [browser, *quiet, size, own, f"--screenshot={file}", page.as_uri()],
        check=True,
        capture_output=True,
        timeout=300,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
