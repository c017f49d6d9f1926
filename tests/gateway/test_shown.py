"""A leader crashes under stock clients of ``floodmark serve``: client, ledger and report tell the same."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.gateway.shown import reported, safe, unsafe

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow


@pytest.mark.sockets
def test_all_loses_nothing(tmp_path: Path) -> None:
    shown = safe(tmp_path)
    assert shown.acked == shown.sent > 200
    assert (shown.lost, shown.ledger["acked"], shown.ledger["acked_lost"]) == (0, shown.acked, 0)


@pytest.mark.evening
@pytest.mark.sockets
def test_one_and_an_unclean_election_lose_what_all_count_alike(tmp_path: Path) -> None:
    shown = unsafe(tmp_path)
    assert shown.lost >= 100
    assert (shown.ledger["acked"], shown.ledger["acked_lost"]) == (shown.acked, shown.lost)


@pytest.mark.evening
@pytest.mark.spark
@pytest.mark.sockets
def test_the_report_counts_as_the_clients_do(spark: "SparkSession", tmp_path: Path) -> None:
    shown = unsafe(tmp_path)
    report = reported(shown, tmp_path / "report", spark)
    assert (report["acked"], report["acked_lost"]) == (shown.acked, shown.lost)
    assert shown.lost >= 100
