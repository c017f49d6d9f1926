"""A plan as a file of its campaign's directory: all that another process or machine needs to do the runs."""

import json
from pathlib import Path
from typing import Any, Final

from playbooks.disk import put_in_place
from playbooks.grid import Axis, Cell, Grid
from playbooks.storms.plan import Plan

PLAN: Final = "plan.json"


class PlanError(Exception):
    """A file that holds no plan; the message names it."""


def write_plan(folder: Path, plan: Plan) -> None:
    """Write a plan into a campaign's directory."""
    document = {
        "text": plan.text,
        "path": plan.path,
        "seed": plan.seed,
        "keep_steps": plan.keep_steps,
        "grid": _grid_json(plan.grid) if plan.grid is not None else None,
        "fragments": dict(plan.fragments),
    }
    put_in_place(folder / PLAN, json.dumps(document, indent=1, ensure_ascii=False) + "\n")


def read_plan(folder: Path) -> Plan:
    """The plan of a campaign's directory. Raises PlanError where there is none."""
    path = folder / PLAN
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        grid = _grid(found["grid"]) if found["grid"] is not None else None
        fragments = tuple(found["fragments"].items())
        return Plan(found["text"], found["path"], found["seed"], found["keep_steps"], grid, fragments)
    except OSError as error:
        raise PlanError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise PlanError(f"{path}: found a file that holds no plan of a campaign") from None


def _grid_json(grid: Grid) -> dict[str, Any]:
    return {
        "axes": [[axis.name, list(axis.values)] for axis in grid.axes],
        "cases": [list(map(list, case)) for case in grid.cases],
    }


def _grid(found: dict[str, Any]) -> Grid:
    axes = tuple([Axis(name, tuple(values)) for name, values in found["axes"]])
    cases: tuple[Cell, ...] = tuple([tuple([(name, value) for name, value in case]) for case in found["cases"]])
    return Grid(axes, cases)
