"""Command behind `make bench`: speed of the kernel and the whole model on this machine, compared with floors.

Figures are per CPU second. Absolute figures depend on the machine and its load; the ratio to SimPy, measured in the
same run, varies less. ``python -m benchmarks screen`` only measures startup and the TUI, ``storms`` random storms,
``shrinking`` the shrinking of a playbook, ``gateway`` real clients on sockets, and ``report [EVENTS]`` the report's
queries on Spark and DuckDB.
"""

import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.benchmark_rows import gateway_rows, rows, screen_rows, shrinking_rows, storm_rows
from cluster_model.kernel import event_loop


def main() -> None:
    if sys.argv[1:2] == ["report"]:
        from benchmarks.report_queries import beside  # noqa: PLC0415 - the rest needs no Spark

        beside(int(sys.argv[2].replace("_", "")) if len(sys.argv) > 2 else 1_000_000)
        return
    parts = {
        "": rows,
        "screen": screen_rows,
        "storms": storm_rows,
        "shrinking": shrinking_rows,
        "gateway": gateway_rows,
    }
    part = " ".join(sys.argv[1:])
    if part not in parts:
        raise SystemExit(f"no benchmark {part!r}; there are {', '.join(parts)[2:]}, report; without a name all run")
    console = Console(width=150)
    model = "plain Python" if Path(event_loop.__file__).suffix == ".py" else "compiled"
    table = Table(title=f"{model}, per CPU second; checker and trace on", title_justify="left")
    for heading in ("benchmark", "result", "vs SimPy", "limit", ""):
        table.add_column(heading)
    with console.status("measuring"):
        for row in parts[part]():
            table.add_row(row.what, row.figure, row.ratio, row.floor, "ok" if row.held else "missed")
    console.print(table)


if __name__ == "__main__":
    main()
