"""What a fault would do to a producer or a consumer now, in one line, from the state of things."""

from cluster_model.clients.consumer.config import GroupSettings
from cluster_model.clients.consumer.consumer import Consumer
from cluster_model.clients.producer.producer import Producer
from cluster_model.cluster import Cluster


def client_fate(cluster: Cluster, fault: str, node: int) -> str:
    """The line for a fault that fits the client."""
    who = cluster.clients.names[node]
    if fault == "restart":
        if cluster.is_up(node):
            return f"{who} is up: nothing to restart"
        return f"{who} starts with nothing in memory"
    if fault == "poll_stall":
        return _stall(cluster, cluster.consumers[who])
    if not cluster.is_up(node):
        return f"{who} is down already"
    if who in cluster.producers:
        return _of_producer(cluster.producers[who], who, fault)
    return _of_consumer(cluster.consumers[who], fault)


def _of_producer(producer: Producer, who: str, fault: str) -> str:
    open_records = producer.sent - producer.acked - producer.failed - producer.unknown
    if fault == "crash":
        return f"{who} forgets {open_records} records without an outcome; those under way may be written all the same"
    if fault == "clean_shutdown":
        return f"{who} delivers {open_records} records, and ends"
    if fault in ("partition", "isolate"):
        return f"{who} hears and is heard by nobody; records wait until delivery.timeout.ms"
    if fault == "slow_cpu":
        return f"{who} is late with every record and every answer"
    return (
        f"{who} sends nothing meanwhile"
        if fault in ("gc_pause", "pause_train")
        else f"{who} waits longer for every answer"
    )


def _of_consumer(consumer: Consumer, fault: str) -> str:
    who, count = consumer.name, len(consumer.assignment)
    owned = f"{count} partition" if count == 1 else f"{count} partitions"
    settings = _settings(consumer)
    if settings is None:
        return f"nobody reads its {owned} meanwhile"
    # By the consumer protocol (KIP-848) the coordinator alone knows how long a session is.
    session = "its session" if settings.modern else f"its session of {settings.session_us // 1_000_000} s"
    if fault == "clean_shutdown":
        if settings.instance:
            return f"{who} does not leave as {settings.instance}: its {owned} wait for it until {session} is over"
        return f"{who} leaves {consumer.group}, and its {owned} are given to others at once"
    if fault in ("lag", "pause_train", "slow_cpu"):
        return f"{who} reads its {owned} later"
    return f"its {owned} are given to others only when {session} is over"


def _settings(consumer: Consumer) -> GroupSettings | None:
    """None for one that has no group to be a member of."""
    return None if consumer.coordination is None else consumer.coordination.settings


def _stall(cluster: Cluster, consumer: Consumer) -> str:
    settings = _settings(consumer)
    if settings is None or settings.max_poll_us < 0:
        return f"{consumer.name} reads so much later"
    return f"{consumer.name} leaves {consumer.group} if no poll comes within {settings.max_poll_us // 1_000_000} s"
