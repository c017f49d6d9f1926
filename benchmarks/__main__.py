"""`make bench`: speed of the kernel and of the whole model, in CPU seconds of this machine, beside its floors.

Absolute figures move with the machine and its load. The ratio to SimPy, taken in the same run, moves less.
``python -m benchmarks screen`` measures the start and the screen alone, ``storms`` random storms, ``shrinking`` that,
``gateway`` real clients on sockets;
``report [EVENTS]`` the report's queries on Spark beside DuckDB.
"""

import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.rows import gateway_rows, rows, screen_rows, shrinking_rows, storm_rows
from cluster_model.kernel import event_loop


def main() -> None:
    if sys.argv[1:2] == ["report"]:
        from benchmarks.reporting import beside  # noqa: PLC0415 - the rest needs no Spark

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
        raise SystemExit(
            f"{part}: no such part; without one the model is measured, else {', '.join(parts)[2:]}, report"
        )
    console = Console(width=150)
    model = "plain Python" if Path(event_loop.__file__).suffix == ".py" else "compiled"
    table = Table(title=f"{model}, per CPU second; checker and trace on", title_justify="left")
    for heading in ("what", "figure", "to SimPy", "floor", ""):
        table.add_column(heading)
    with console.status("measuring"):
        for row in parts[part]():
            table.add_row(row.what, row.figure, row.ratio, row.floor, "held" if row.held else "missed")
    console.print(table)


if __name__ == "__main__":
    main()
