import pytest

from cluster_model.protocol import events
from cluster_model.protocol.events import DATA_KINDS, KINDS, CommitFailed
from tui.viewmodel.timeline.event_feed import KEEP, QUIET_KINDS, Feed

SAMPLES = {
    "int": 3,
    "str": "word",
    "bool": True,
    "ints": (1, 2),
}


def sample(kind, **more):
    """An event of a kind with something in every field."""
    made = {name: SAMPLES[events.COLUMNS[name]] for name in events.FIELDS[kind]}
    return KINDS[kind](**(made | more))


def texts(feed, most=20, width=1000):
    return [line.text for line in feed.lines(most, width)]


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted(set(KINDS) - DATA_KINDS - QUIET_KINDS))
def test_every_rare_kind_has_plain_words(kind):
    feed = Feed()
    feed.take([sample(kind)])
    (line,) = feed.lines(10)
    assert line.text
    assert line.text != kind.replace("_", " "), "the kind has no words of its own"
    assert feed.notable == 1


def test_what_comes_with_every_batch_is_no_line(snapshot):
    feed = Feed()
    feed.take([sample(kind) for kind in sorted(DATA_KINDS)])
    assert feed.notable == 0
    assert texts(feed) == snapshot


def elected(partition, at_us=10, leader=2):
    return events.LeaderElected(at_us, partition, leader, 4, 7, (2, 3), True, "broker 1 fenced")


def test_equal_events_of_one_moment_are_one_line_that_names_the_partitions(snapshot):
    feed = Feed()
    feed.take([elected("orders-0"), elected("orders-3"), elected("orders-1", leader=3), elected("orders-4")])
    assert len(texts(feed)) == 2
    assert texts(feed) == snapshot
    assert feed.notable == 4


def test_events_far_apart_stay_apart():
    feed = Feed()
    feed.take([elected("orders-0"), elected("orders-3", at_us=5_000_000)])
    assert len(texts(feed)) == 2


def test_an_unclean_election_is_an_alarm():
    feed = Feed()
    feed.take([events.LeaderElected(10, "orders-0", 2, 4, 7, (2,), False, "operator")])
    (line,) = feed.lines(5)
    assert line.role == "alarm"
    assert line.text.startswith("UNCLEAN: ")


def test_an_isr_change_names_who_left_and_who_came_back(snapshot):
    feed = Feed()
    feed.take([events.IsrChanged(10, "orders-0", 1, 4, 7, (1, 3), (1, 2), "leader")])
    assert texts(feed) == snapshot


def test_long_words_go_on_below_and_the_newest_win():
    feed = Feed()
    feed.take([elected("orders-0")])
    lines = feed.lines(10, 50)
    assert [line.at for line in lines] == ["00:00.000", ""]
    assert all(len(line.text) <= 35 for line in lines)
    assert feed.lines(1, 50) == lines[:1], "the beginning of the newest, where not even that fits"
    feed.take([elected("orders-0", leader=3, at_us=9_000_000)])
    assert [line.at for line in feed.lines(3, 50)] == ["00:09.000", ""], "half a sentence is of no use"
    assert feed.lines(0) == ()


def test_old_lines_are_let_go():
    feed = Feed()
    feed.take([elected("orders-0", at_us=each * 2_000_000) for each in range(KEEP + 50)])
    assert len(feed.lines(10_000)) == KEEP
    assert feed.notable == KEEP + 50


def test_steps_of_the_playbook_are_told_and_what_the_operator_did_is_not_told_twice(snapshot):
    feed = Feed()
    feed.take(
        [
            events.StepTaken(10, "operator", "broker(1)", "inject crash on broker(1)", ""),
            events.StepTaken(20, "step 2", "", "elect leaders of orders-0", "NOT_CONTROLLER"),
        ]
    )
    assert len(texts(feed)) == 1
    assert texts(feed) == snapshot


@pytest.mark.parametrize("detail", ["crash", "power_loss", "shutdown", "out_of_memory", "exit: its log is too long"])
def test_a_broker_that_is_gone_is_told_with_how(detail, snapshot):
    feed = Feed()
    feed.take([events.NodeDown(1, "broker 3", 3, detail)])
    assert texts(feed) == snapshot


def test_commits_that_fail_again_and_again_are_one_line_for_a_while(snapshot):
    feed = Feed()
    for tick in range(5):
        feed.take([CommitFailed(tick * 100_000, "g/0", "g", "RetriableCommitFailedException", "auto")])
        feed.take([CommitFailed(tick * 100_000, "g/1", "g", "RetriableCommitFailedException", "auto")])
    said = [line.text for line in feed.lines(10)]
    assert len(said) == 2
    assert said == snapshot


@pytest.mark.parametrize(
    ("detail", "fault", "target"),
    [("refused", "power_loss", "broker 1"), ("healed", "crash, lag", "broker 1, broker 2"), ("stopped", "", "")],
)
def test_what_a_guard_did_is_a_line(detail, fault, target, snapshot):
    feed = Feed()
    feed.take([events.GuardActed(5, "max_faults", detail, fault, target, "too much")])
    assert texts(feed) == snapshot
