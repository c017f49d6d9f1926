"""Groups in few words: topics and partitions as text."""

from collections.abc import Sequence

from hypothesis import strategies as st

from cluster_model.assignors.base import Assignment, MemberSubscription, TopicPartition, Topics


def parts(text: str) -> tuple[TopicPartition, ...]:
    """``orders-0 orders-1`` as partitions."""
    named = [word.rpartition("-") for word in text.replace(",", " ").split()]
    return tuple(TopicPartition(topic, int(number)) for topic, _dash, number in named)


def member(
    name: str, topics: str, owned: str = "", generation: int = -1, *, instance: str = "", rack: str = ""
) -> MemberSubscription:  # fmt: skip
    return MemberSubscription(name, tuple(topics.split()), instance, rack, parts(owned), generation)


def shown(assignment: Assignment) -> dict[str, str]:
    return {name: " ".join(map(str, share)) for name, share in assignment.items()}


def as_written(shares: Sequence[str]) -> dict[str, str]:
    """Shares of consumer0, consumer1 and so on."""
    return {f"consumer{place}": " ".join(map(str, sorted(parts(share)))) for place, share in enumerate(shares)}


def after(members: Sequence[MemberSubscription], assignment: Assignment, generation: int) -> list[MemberSubscription]:
    """The same members at the next rebalance, with what they got."""
    return [each._replace(owned=assignment[each.id], generation=generation) for each in members]


def spread(sizes: dict[str, int], replicas: int, brokers: Sequence[str]) -> Topics:
    """Topics over brokers, given by their racks ("" for none): partition after partition starts one broker on."""
    racks = {}
    first = 0
    for topic in sorted(sizes):
        for number in range(sizes[topic]):
            held = [brokers[(first + number + copy) % len(brokers)] for copy in range(replicas)]
            racks[TopicPartition(topic, number)] = tuple(rack for rack in held if rack)
        first += sizes[topic]
    return Topics(sizes, racks)


def mismatched(members: Sequence[MemberSubscription], topics: Topics, assignment: Assignment) -> int:
    """Partitions whose member has a rack with no replica in it."""
    return sum(
        bool(each.rack) and each.rack not in topics.racks.get(partition, ())
        for each in members
        for partition in assignment[each.id]
    )


def is_valid(members: Sequence[MemberSubscription], topics: Topics, assignment: Assignment) -> bool:
    """Whether every partition that somebody wants has one owner, who wants it."""
    wanted = {topic for each in members for topic in each.topics}
    given = [partition for each in members for partition in assignment[each.id]]
    return (
        list(assignment) == [each.id for each in members]
        and sorted(given) == sorted(partition for topic in wanted for partition in topics.partitions(topic))
        and all(partition.topic in each.topics for each in members for partition in assignment[each.id])
    )


def is_even(members: Sequence[MemberSubscription], assignment: Assignment) -> bool:
    """Whether nobody could have a partition of one who has at least two more."""
    return not any(
        len(assignment[poor.id]) + 1 < len(assignment[rich.id])
        for poor in members
        for rich in members
        for partition in assignment[rich.id]
        if partition.topic in poor.topics
    )


TOPICS = ("t0", "t1", "t2", "t3")
SIZES = st.dictionaries(st.sampled_from(TOPICS), st.integers(0, 7), max_size=4)


@st.composite
def same(draw: st.DrawFn) -> list[MemberSubscription]:
    """Members with one subscription, some static."""
    topics = tuple(draw(st.lists(st.sampled_from(TOPICS), min_size=1, max_size=4, unique=True)))
    return [each._replace(topics=topics) for each in draw(different())]


@st.composite
def different(draw: st.DrawFn) -> list[MemberSubscription]:
    """Members with subscriptions of their own, some static, some in racks; nobody owns anything yet."""
    names = draw(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=6, unique=True))
    return [
        MemberSubscription(
            name,
            tuple(draw(st.lists(st.sampled_from(TOPICS), min_size=1, max_size=4, unique=True))),
            draw(st.sampled_from(["", f"i{name}"])),
            draw(st.sampled_from(["", "r0", "r1", "r2"])),
        )
        for name in names
    ]


@st.composite
def clusters(draw: st.DrawFn) -> Topics:
    """Topics, on brokers with racks or without."""
    sizes = draw(SIZES)
    brokers = draw(st.lists(st.sampled_from(["", "r0", "r1", "r2"]), min_size=1, max_size=4))
    return spread(sizes, draw(st.integers(1, len(brokers))), brokers)
