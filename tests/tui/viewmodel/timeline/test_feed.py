import pytest

from cluster_model.clients.consumer.record_handler import REACTIONS
from cluster_model.protocol import events
from cluster_model.protocol.events import DATA_KINDS, KINDS, CommitFailed
from playbooks.parser.sections.cluster import GROUP
from tui.terminal import glyphs
from tui.viewmodel.timeline.event_feed import ALARMS, ALL, FOLD_US, INDENT, KEEP, LEVELS, QUIET_KINDS, SHOWN, Feed
from tui.viewmodel.timeline.event_text import EVENT_NOUNS

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


def test_records_that_a_handler_leaves_are_not_called_skipped():
    """A group skips what it is never handed; these it was handed."""
    feed = Feed()
    feed.take([sample("handler_failed")])
    words = [*texts(feed), EVENT_NOUNS["handler_failed"].one, EVENT_NOUNS["handler_failed"].many, *REACTIONS.values()]
    words += [GROUP.keys[key].doc for key in ("retries", "dead_letter")]
    assert not [each for each in words if "skip" in each]


def test_data_events_are_not_in_the_feed(snapshot):
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
    assert line.text.startswith("UNCLEAN election: ")


def test_an_isr_change_names_who_left_and_who_came_back(snapshot):
    feed = Feed()
    feed.take([events.IsrChanged(10, "orders-0", 1, 4, 7, (1, 3), (1, 2), "leader")])
    assert texts(feed) == snapshot


def test_long_words_continue_below_and_the_newest_win():
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
    feed.take([elected("orders-0", at_us=each * 2_000_000, leader=each) for each in range(KEEP + 50)])
    assert len(feed.lines(10_000)) == SHOWN
    assert feed.found("elected") == KEEP
    assert feed.notable == KEEP + 50


def test_a_search_finds_all_words_of_a_line_also_partitions_that_it_leaves_out_and_follows_changes():
    feed = Feed()
    feed.take([elected(f"orders-{number}") for number in range(12)])
    feed.take([elected("payments-0", leader=3, at_us=40_000_000)])
    (merged, other) = texts(feed)
    assert "orders-11" not in merged
    for words, found in {
        "ORDERS-11": [merged], "elected b3": [other], "elected !b3": [merged], "elected": [merged, other], "lost": [],
    }.items():  # fmt: skip
        assert [line.text for line in feed.lines(20, 1000, ALL, words) if line.at] == found, words
        assert feed.found(words) == len(found)
    assert feed.found("elected", ALARMS) == 0
    feed.take([elected("payments-1", leader=3, at_us=40_000_000)])
    assert feed.found("payments-1") == 1


def test_steps_of_the_playbook_are_reported_and_what_the_operator_did_is_not_told_twice(snapshot):
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
def test_a_broker_that_is_gone_is_reported_with_how(detail, snapshot):
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
def test_guard_actions_are_feed_lines(detail, fault, target, snapshot):
    feed = Feed()
    feed.take([events.GuardActed(5, "max_faults", detail, fault, target, "too much")])
    assert texts(feed) == snapshot


def paused(at_us, broker=1):
    return events.NodePaused(at_us, f"broker {broker}", broker)


def resumed(at_us, broker=1):
    return events.NodeResumed(at_us, f"broker {broker}", broker)


def test_repeated_events_are_folded_into_the_newest_with_a_count(snapshot):
    feed = Feed()
    feed.take([paused(at * 5_000_000) for at in range(13)])
    feed.take([resumed(61_000_000), paused(62_000_000)])
    assert [line.at for line in feed.lines(10)] == ["01:01.000", "01:02.000"]
    assert texts(feed) == snapshot
    assert feed.notable == 15


def test_after_a_while_the_same_is_a_line_of_its_own():
    feed = Feed()
    feed.take([paused(0), paused(FOLD_US), paused(3 * FOLD_US)])
    assert [line.at for line in feed.lines(10)] == ["00:30.000", "01:30.000"]


def test_records_that_fail_again_are_added_up(snapshot):
    feed = Feed()
    feed.take(
        [events.RecordsFailed(at * 3_000_000, "checkout", "orders-0", at, 2, 1, "TIMEOUT", at) for at in range(4)]
    )
    feed.take([events.RecordsFailed(9_000_000, "checkout", "orders-1", 0, 2, 1, "TIMEOUT", 0)])
    assert texts(feed) == snapshot


def unclean(at_us, partition="orders-0"):
    return events.LeaderElected(at_us, partition, 2, 4, 7, (2,), False, "operator")


@pytest.mark.parametrize("most", [3, 6, 9])
def test_alarms_stay_in_sight_in_up_to_a_third_of_the_lines(most):
    feed = Feed()
    feed.take([unclean(at * 2_000_000, f"orders-{at}") for at in range(5)])
    feed.take([elected(f"orders-{at}", at_us=20_000_000 + at * 2_000_000, leader=at) for at in range(40)])
    roles = [line.role for line in feed.lines(most)]
    alarms = min(most // 3, 5)
    assert roles == ["alarm"] * alarms + ["strong"] * (most - alarms)
    ats = [line.at for line in feed.lines(most)]
    assert ats == sorted(ats)
    assert feed.lines(2)[-1].at == ats[-1]


def test_an_alarm_too_long_for_its_part_is_cut_there():
    feed = Feed()
    feed.take(
        [events.InvariantViolated(1, "leader-completeness", "orders-0", 1, "something that takes many words", "")]
    )
    feed.take([elected("orders-0", at_us=20_000_000 + at * 2_000_000, leader=at) for at in range(40)])
    first, *others = feed.lines(3, 60)
    assert (first.role, first.text[-1]) == ("alarm", glyphs.MORE)
    assert len(first.text) <= 60 - INDENT
    assert {line.role for line in others} == {"strong"}


def test_a_level_shows_what_matters_as_much(snapshot):
    feed = Feed()
    nothing = [feed.lines(5, level=level)[0].text for level in LEVELS]
    feed.take([elected("orders-0"), paused(3_000_000), resumed(4_000_000), unclean(5_000_000)])
    shown = {level.name: [line.role for line in feed.lines(5, level=level)] for level in LEVELS}
    assert shown == {
        "all": ["strong", "warning", "calm", "alarm"],
        "warnings": ["strong", "warning", "alarm"],
        "alarms": ["alarm"],
    }
    assert nothing == snapshot
