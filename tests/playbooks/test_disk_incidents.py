"""Disks that are slow or full: incidents in numbers."""

from typing import Any

import pytest

from cluster_model.broker.append_queue import DIRECTORIES_FAILED, DIRECTORY_ERROR
from cluster_model.broker.storage.disk import FULL
from cluster_model.protocol.events import TraceEvent
from tests.playbooks.test_incidents import SECOND, Thin
from tests.support.breadth import spread_sample

pytestmark = pytest.mark.slow

MS = 1_000
seeds = pytest.mark.parametrize("seed", spread_sample([101, 102, 103], 1))


class Acknowledged(Thin):
    """An incident, with how long each record took to be acknowledged, by producer."""

    def __init__(self, name: str, seed: int, **settings: str) -> None:
        self.took: dict[str, list[tuple[int, int]]] = {}
        super().__init__(name, seed, **settings)

    def _keep(self, events: list[TraceEvent]) -> None:
        super()._keep(events)
        for event in events:
            if event.kind == "records_acked":
                acked: Any = event
                self.took.setdefault(acked.client, []).extend([(acked.at_us, acked.latency_us)] * acked.count)

    def percentile(self, client: str, percent: int, since: int, until: int) -> int:
        """Of the time to the acknowledgement in milliseconds, over what was acknowledged between two seconds."""
        times = sorted(took for at, took in self.took[client] if since * SECOND <= at < until * SECOND)
        return times[len(times) * percent // 100] // MS


@seeds
def test_acks_all_is_as_slow_as_a_followers_disk_until_the_isr_is_rid_of_it(seed: int) -> None:
    incident = Acknowledged("slow-disk", seed)
    incident.finish()
    assert incident.percentile("careful", 99, 2, 10) < 10
    # A request waits for the write that is under way, then for its own; each takes 250 ms, and 10 to 30 for its bytes.
    # The leader handles one request of the producer at a time: a record waits for up to five others.
    assert 1_500 < incident.percentile("careful", 1, 12, 25) < 2_000
    assert 2_500 < incident.percentile("careful", 50, 12, 25) < 3_500
    assert incident.percentile("careful", 99, 12, 25) < 4_500
    assert incident.percentile("careful", 99, 27, 30) < 10
    shrunk = incident.second_of("isr_changed", partition="orders-0")
    # Writes grow with what has gathered meanwhile, until one takes longer than the lag time.
    assert 40 < shrunk < 50
    assert 5_000 < incident.percentile("careful", 50, 32, int(shrunk) + 1) < 10_000
    assert 15_000 < incident.percentile("careful", 99, 32, int(shrunk) + 1) < 20_000
    assert incident.percentile("careful", 99, int(shrunk) + 2, 75) < 10
    assert [event.isr for event in incident.of("isr_changed", partition="orders-0")] == [(1, 2), (1, 2, 3)]
    for since, until in ((2, 10), (12, 25), (32, int(shrunk)), (int(shrunk) + 2, 75)):
        assert incident.percentile("hasty", 99, since, until) < 5


@seeds
@pytest.mark.parametrize(
    ("kafka", "mode", "why"),
    spread_sample(
        [
            ("3.9", "kraft", DIRECTORIES_FAILED),
            ("2.8", "zookeeper", DIRECTORIES_FAILED),
            ("0.11", "zookeeper", DIRECTORY_ERROR),
        ],
        2,
    ),
)
def test_a_full_disk_ends_the_leader_and_loses_nothing(kafka: str, mode: str, why: str, seed: int) -> None:
    incident = Acknowledged("full-disk", seed, **{"cluster.kafka": kafka, "cluster.mode": mode}).until(100)
    query = incident.query
    assert (query.acked_lost(), query.failed(), query.unknown(), query.violations()) == (0, 0, 0, 0)
    assert query.sent() == query.acked() == 1_200
    down = incident.of("node_down", broker=1)
    assert {event.detail for event in down} == {f"exit: {why}: {FULL}"}
    assert [event.at_us for event in down[1:]] == [40 * SECOND]
    assert [event.at_us for event in incident.of("node_up", broker=1)] == [40 * SECOND, 60 * SECOND]
    # 20 records a second of 1 KiB each, half of them to the partition that it follows: 205 KiB last for 10.25 s.
    assert 15.1 < down[0].at_us / SECOND < 15.3
    elected = [event for event in incident.of("leader_elected", partition="orders-0") if event.leader == 2]
    session = 9 if mode == "kraft" else 18 if kafka == "2.8" else 6
    assert session - 4 < (elected[0].at_us - down[0].at_us) / SECOND < session + 2
    assert sorted(query.isr("orders-0")) == sorted(query.isr("orders-1")) == [1, 2, 3]
