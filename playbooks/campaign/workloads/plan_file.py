"""Work as a file of its campaign's directory: all that another process or machine needs to do the runs."""

import json
from pathlib import Path
from typing import Final

from playbooks.campaign.store import CampaignError
from playbooks.campaign.work import GRID, Work
from playbooks.campaign.workloads.fuzz_workload import Plan
from playbooks.campaign.workloads.grid_workload import GridPlan
from playbooks.session_format.filesystem import put_in_place
from playbooks.session_format.session_files import Place

PLAN: Final = "plan.json"


class PlanError(Exception):
    """A file that holds no plan; the message names it."""


def write_plan(folder: Path, work: Work) -> None:
    """Write it into a campaign's directory. Raises CampaignError where that cannot be."""
    try:
        put_in_place(folder / PLAN, json.dumps(work.document(), indent=1, ensure_ascii=False) + "\n")
    except OSError as error:
        raise CampaignError(f"{folder}: a campaign cannot be kept there: {error.strerror or error}") from None


def read_plan(folder: Place) -> Work:
    """The work of a campaign's directory. Raises PlanError where there is none."""
    path = folder / PLAN
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return GridPlan.of_document(found) if found.get("kind") == GRID else Plan.of_document(found)
    except OSError as error:
        raise PlanError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise PlanError(f"{path}: found a file that holds no plan of a campaign") from None
