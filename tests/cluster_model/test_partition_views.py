"""What a picture of a partition's logs says of a whole replica is the same through every window."""

from cluster_model.cluster import Cluster
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, ProducerSpec, TopicSpec

P = "orders-0"
SECOND = 1_000_000


def lost_tail() -> Cluster:
    """Broker 1 wrote what nobody fetched, acknowledged it with acks=1, and died; broker 2 leads and writes."""
    cluster = Cluster.build(
        ClusterSpec(
            "3.9", "kraft", tuple(BrokerSpec(number) for number in (1, 2, 3)),
            (TopicSpec("orders", placement=((1, 2, 3),)),),
            producers=(ProducerSpec("checkout", "orders", 20_000, config={"acks": "1"}),),
        ),
        3,
    )  # fmt: skip
    cluster.run(2 * SECOND)
    for follower in (2, 3):
        cluster.cut(follower, 1, 1)
        cluster.cut(1, follower, 1)
    cluster.run(4 * SECOND)
    cluster.crash(1)
    cluster.run(30 * SECOND)
    return cluster


def test_counts_are_of_the_whole_log() -> None:
    cluster = lost_tail()
    end = max(cluster.query.leo(P, broker) for broker in (1, 2, 3))
    whole = cluster.log_view(P, 0, end).lanes
    for lane in whole:
        assert lane.lost == sum(run.end - run.start for run in lane.runs if run.lost)
        assert lane.diverged == sum(run.end - run.start for run in lane.runs if run.diverged and not run.lost)
    dead = next(lane for lane in whole if lane.broker == 1)
    assert dead.lost == cluster.query.missing() > 50
    for window in ((0, 1), (end - 7, end), (end, end + 1)):
        counts = [(lane.lost, lane.diverged) for lane in cluster.log_view(P, *window).lanes]
        assert counts == [(lane.lost, lane.diverged) for lane in whole]
