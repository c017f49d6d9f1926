"""Benchmark of time travel in a session that is remembered from its first event on."""

from benchmarks.cluster_load import SECOND
from benchmarks.measure import cpu_seconds
from cluster_model.kernel.rng import RandomStream
from cluster_model.spec.cluster_spec import ClusterSpec
from playbooks.engine.session import Session
from playbooks.model.playbook import Playbook
from playbooks.timetravel.timeline import Timeline

TARGETS = 50


def remembered(spec: ClusterSpec, simulated_us: int) -> Timeline:
    """Return a live session of this length under the spec's load, whose trace is drained every second."""
    playbook = Playbook("", "load", "Steady load", "", 1, spec, (), SECOND, (), (), "")
    timeline = Timeline(Session.start(playbook, open_ended=True))
    while timeline.session.cluster.now_us < simulated_us:
        timeline.advance(timeline.session.cluster.now_us + SECOND)
        timeline.drain()
    return timeline


def seeks_ms(timeline: Timeline, tries: int) -> list[float]:
    """Return CPU milliseconds of seeks to random times, the best of several tries each, in ascending order."""
    end = timeline.session.cluster.now_us
    random = RandomStream(1, "seeks")
    targets = [random.below(end) for _ in range(TARGETS)]
    timeline.seek_time(0)  # the copy of the session is built once
    return sorted(
        min(1_000 * cpu_seconds(lambda at_us=at_us: timeline.seek_time(at_us)) for _ in range(tries))  # type: ignore[misc]
        for at_us in targets
    )
