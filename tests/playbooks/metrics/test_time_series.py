"""The time series of a session: what each process reports, where it is down, and that scrapes change nothing."""

import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

from cluster_model.protocol.errors import ModelError
from faults.declarations import Action
from playbooks.engine.session import Session
from playbooks.metrics.catalogue import CATALOGUE, METRICS
from playbooks.metrics.openmetrics import openmetrics_text
from playbooks.metrics.sampler import SampledRate
from playbooks.metrics.time_series import SeriesCollector, SessionSeries, interval_us, scrape_playbook, scrape_recording
from playbooks.parser.loader import loads
from playbooks.recording.reader import read_session
from playbooks.recording.recorder import Recorder
from tests.support.playbooks import CRASH, MANUAL, timed

SECOND_US = 1_000_000


@cache
def crashed() -> SessionSeries:
    crash = "- {at: 7s, inject: crash, target: leader(orders-0), for: 14s}"
    return scrape_playbook(timed(crash, settle="8s"), seed=None, interval_us=SECOND_US)


def values(name: str, **labels: str) -> list[float | None]:
    """The values of the only series with these labels."""
    (found,) = [
        column
        for (metric, own), column in crashed().columns().items()
        if metric == name and all(dict(own).get(label, "") == value for label, value in labels.items())
    ]
    return found


def test_every_metric_is_in_the_catalogue_with_its_labels() -> None:
    assert len(METRICS) == len(CATALOGUE) >= 50
    for name, labels in crashed().columns():
        assert {label for label, _ in labels} - {"job", "instance"} <= set(METRICS[name].labels), name
    assert {name for name, _ in crashed().columns()} == set(METRICS)


def test_a_broker_that_is_down_has_no_series_and_starts_to_count_anew() -> None:
    (crash,) = crashed().faults
    down = range(crash.began_us // SECOND_US, crash.ended_us // SECOND_US)
    up = values("up", instance="broker-1:7071")
    messages = values("kafka_server_brokertopicmetrics_messagesin_total", instance="broker-1:7071", topic="")
    assert [up[at] for at in down] == [0] * len(down)
    assert [messages[at] for at in down] == [None] * len(down)
    assert (messages[down[0] - 1] or 0) > 0
    assert messages[down[-1] + 1] == 0


def test_the_controller_and_the_leader_report_the_loss_of_a_replica() -> None:
    fenced = values("kafka_controller_kafkacontroller_fencedbrokercount", instance="controller-1001:7071")
    assert max(value or 0 for value in fenced) == 1
    under = values("kafka_server_replicamanager_underreplicatedpartitions", instance="broker-2:7071")
    partition = values("kafka_cluster_partition_underreplicated", instance="broker-2:7071", topic="orders")
    assert under[0] == under[-1] == 0
    assert max(value or 0 for value in partition) == 1
    assert all((value or 0) >= (one or 0) for value, one in zip(under, partition, strict=True))
    active = [
        column
        for (metric, _), column in crashed().columns().items()
        if metric == "kafka_controller_kafkacontroller_activecontrollercount"
    ]
    assert {sum(column[at] or 0 for column in active) for at in range(len(crashed().scrapes))} == {1}


def test_scrapes_change_no_digest() -> None:
    plain = Session.start(loads(CRASH, "crash.yaml"))
    scraped = Session.start(loads(CRASH, "crash.yaml"))
    collector = SeriesCollector(scraped, 300_000)
    while scraped.advance(collector.due_us):
        collector.take(scraped.drain())
        collector.scrape()
    assert len(collector.series.scrapes) > 10
    assert scraped.finish().digest == plain.finish().digest


def test_a_recording_with_actions_has_the_same_series_as_its_session(tmp_path: Path) -> None:
    session = Session.start(timed(settle="1s"), recorder=Recorder(tmp_path, live=True), open_ended=True)
    collector = SeriesCollector(session, SECOND_US)
    for at_us, action in (
        (1_500_000, Action("inject", "crash", "broker(2)", {})),
        (3 * SECOND_US, Action("heal", "all")),
        (5_500_000, None),
    ):
        while collector.due_us < at_us:
            session.advance(collector.due_us)
            collector.take(session.drain())
            collector.scrape()
        session.advance(at_us)
        if action is not None:
            session.act(action)
    recorded = read_session(Path(session.finish().session))
    again = scrape_recording(recorded, interval_us=SECOND_US)
    assert again.scrapes[: len(collector.series.scrapes)] == collector.series.scrapes
    assert [each.name for each in again.faults] == ["crash"]
    assert again.faults[0].ended_us > again.faults[0].began_us


def test_a_manual_playbook_has_no_time_series() -> None:
    with pytest.raises(ModelError) as caught:
        scrape_playbook(loads(MANUAL, "manual.yaml"), seed=None, interval_us=SECOND_US)
    assert caught.value.code == "no_time_series"


@pytest.mark.parametrize("text", ["1x", "10ms", "100500us"])
def test_an_interval_has_whole_milliseconds(text: str) -> None:
    with pytest.raises(ModelError) as caught:
        interval_us("--scrape-interval", text)
    assert caught.value.code == "bad_interval"


def test_a_rate_is_over_two_windows_and_counts_a_whole_one_at_first() -> None:
    rate = SampledRate()
    assert rate.measure(0) == 0
    rate.record(0, 60)
    assert rate.measure(10 * SECOND_US) == pytest.approx(60 / 40)
    rate.record(35 * SECOND_US, 30)
    assert rate.measure(45 * SECOND_US) == pytest.approx(90 / 45)
    assert rate.measure(70 * SECOND_US) == pytest.approx(30 / 35)
    assert rate.measure(100 * SECOND_US) == 0


def test_prometheus_reads_the_openmetrics_text(tmp_path: Path) -> None:
    text = openmetrics_text(crashed())
    assert text.endswith("# EOF\n")
    assert text.count("# TYPE ") == len(METRICS)
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed: no Prometheus has read the text")
    (tmp_path / "session.om").write_text(text)
    command = [promtool, "tsdb", "create-blocks-from", "openmetrics", "session.om", "blocks"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert list((tmp_path / "blocks").iterdir())
