"""What a campaign came to, as a file by which one process tells another."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from playbooks.campaign.coverage import Coverage
from playbooks.campaign.grouping import Group
from playbooks.campaign.runner import Come
from playbooks.campaign.totals import Broken, Totals
from playbooks.session_format.filesystem import put_in_place

COME: Final = "come.json"


def write_come(folder: Path, come: Come) -> None:
    """Write it into the campaign's directory."""
    put_in_place(folder / COME, json.dumps(asdict(come), ensure_ascii=False) + "\n")


def take_come(folder: Path) -> Come | None:
    """Read it and take it away; None where nobody has written it."""
    path = folder / COME
    if not path.is_file():
        return None
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    path.unlink()
    totals, seen = found["totals"], found["coverage"]
    broken = tuple([Broken(**each) for each in totals["broken"]])
    return Come(
        Totals(**{**totals, "broken": broken}),
        tuple([Group(**each) for each in found["groups"]]),
        Coverage(tuple(seen["faults"]), tuple(seen["states"]), seen["met"]),
        found["interrupted"],
        found["stopped"],
        found["lost"],
    )
