"""Going back in a session that was remembered from its first event on."""

from benchmarks.measure import cpu_seconds
from benchmarks.models import SECOND
from cluster_model.kernel.rng import Stream
from cluster_model.spec.cluster_spec import ClusterSpec
from playbooks.engine.session import Session
from playbooks.model.playbook import Playbook
from playbooks.timetravel.timeline import Timeline

PLACES = 50


def remembered(spec: ClusterSpec, simulated_us: int) -> Timeline:
    """A live session of so long, under the spec's load, whose trace is drained every second."""
    playbook = Playbook("", "load", "Steady load", "", 1, spec, (), SECOND, (), (), "")
    timeline = Timeline(Session.start(playbook, open_ended=True))
    while timeline.session.cluster.now_us < simulated_us:
        timeline.advance(timeline.session.cluster.now_us + SECOND)
        timeline.drain()
    return timeline


def seeks_ms(timeline: Timeline, tries: int) -> list[float]:
    """CPU milliseconds to go to each of many drawn times, the best of several tries each, in ascending order."""
    end = timeline.session.cluster.now_us
    draw = Stream(1, "seeks")
    places = [draw.below(end) for _ in range(PLACES)]
    timeline.seek_time(0)  # the twin is built once
    return sorted(
        min(1_000 * cpu_seconds(lambda at_us=at_us: timeline.seek_time(at_us)) for _ in range(tries))  # type: ignore[misc]
        for at_us in places
    )
