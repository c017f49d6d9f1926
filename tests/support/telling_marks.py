"""``pytest --collect-only -p tests.support.telling_marks``: a line for each case that would run, with its markers."""

import pytest

MARKS = "marks"
"""What such a line begins with; a tab is between it, the markers and the case's name."""


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    for item in session.items:
        marks = sorted({mark.name for mark in item.iter_markers()})
        print(MARKS, " ".join(marks), item.nodeid, sep="\t")
