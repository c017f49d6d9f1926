"""``RoundRobinAssignor``: all partitions in a row, members in a circle."""

from collections.abc import Sequence

from cluster_model.assignors.base import Assignment, Member, TopicPartition, Topics, finished, in_order, subscribers


class RoundRobinAssignor:
    """Each partition goes to the next member in the circle that subscribes to its topic."""

    name = "roundrobin"
    cooperative = False

    def assign(self, members: Sequence[Member], topics: Topics) -> Assignment:
        """See the class. The place in the circle is kept from one topic to the next."""
        circle = in_order(members)
        shares: dict[str, list[TopicPartition]] = {member.id: [] for member in members}
        turn = 0
        for topic in subscribers(members, topics):
            for partition in topics.partitions(topic):
                while topic not in circle[turn].topics:
                    turn = (turn + 1) % len(circle)
                shares[circle[turn].id].append(partition)
                turn = (turn + 1) % len(circle)
        return finished(members, shares)
