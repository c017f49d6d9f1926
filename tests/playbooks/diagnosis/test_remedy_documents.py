"""A remedy as the answer prints it and says it: a change with which nothing was run has left and cost nothing."""

import pytest

from playbooks.diagnosis.remedies import Remedy, SettingChange
from playbooks.diagnosis.why import remedy_words

ACKS = SettingChange("acks=all", (("clients.producers.clicks.config.acks", "all"),))
NEVER_RUN = Remedy(ACKS, "refused", before=99, note="not before 0.11")
FAILED = Remedy(ACKS, "inconclusive", before=99, note="it ran out of time")
RUN = Remedy(ACKS, "helps", 4, 99, 10, -700_000, "", 0, 1)


@pytest.mark.parametrize("remedy", [NEVER_RUN, FAILED])
def test_remedies_that_were_not_run_have_no_numbers(remedy: Remedy) -> None:
    found = remedy.to_json()
    assert [found[key] for key in ("before", "after", "rejected", "unavailable_us")] == [99, None, None, None]
    assert remedy_words(remedy) == f"{ACKS.name}: {remedy.note}"


def test_remedies_that_were_run_have_numbers() -> None:
    found = RUN.to_json()
    assert [found[key] for key in ("before", "after", "rejected", "unavailable_us")] == [99, 4, 10, -700_000]
    assert "4 of 99" in remedy_words(RUN)
