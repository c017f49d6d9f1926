"""The page of liveness properties is the one that they make."""

from pathlib import Path

from cluster_model.checker.liveness.liveness_checker import NAMES
from docs.generate.reference_pages import liveness_page

ROOT = Path(__file__).parents[2]


def test_the_page_is_up_to_date() -> None:
    assert (ROOT / "docs" / "reference" / "liveness.md").read_text(encoding="utf-8") == liveness_page()


def test_every_property_has_its_row_and_its_section() -> None:
    lines = liveness_page().splitlines()
    rows = [line.split("|")[1].strip() for line in lines if line.startswith("| [")]
    assert rows == [f"[{name}](#{name})" for name in NAMES]
    assert [line.removeprefix("### ") for line in lines if line.startswith("### ")] == list(NAMES)
