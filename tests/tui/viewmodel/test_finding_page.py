"""The reduction of a chain to pictures, and the page around them."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from cluster_model.checker.root_cause.findings import (
    ABANDONED,
    KINDS,
    LOST,
    MISSING,
    SKIPPED,
    ChainEvent,
    Finding,
    RecordBlock,
)
from cluster_model.protocol.events import (
    BecameLeader,
    InvariantViolated,
    IsrChanged,
    LeaderElected,
    NodeDown,
    NodePaused,
    NodeResumed,
    NodeUp,
    PartitionOffline,
    RecordsMissing,
)
from tui.terminal import glyphs
from tui.viewmodel import finding_page
from tui.viewmodel.finding_page import GONE, HAS, LATER, NEVER, CopyHolder
from tui.viewmodel.partition_history import PartitionHistory, PartitionStatus

EVENTS = (
    "records_acked", "node_down", "leader_elected", "truncated", "isr_changed", "fault_injected", "broker_fenced",
    "became_leader", "settled", "unheard_of",
)  # fmt: skip
PLACE = RecordBlock("orders-0", "clicks", 7, 4, 100, 3, 1, committed=False)


def link(at_us, kind, broker=1, partition="orders-0", words="something happened"):
    return ChainEvent(at_us, kind, partition, broker, words)


def finding(*chain, kind=LOST, places=(PLACE,), group=""):
    return Finding(kind, "unreplicated-tail", "4 records had been acknowledged", places, chain, group)


CHAIN = (link(1, "records_acked"), link(2, "node_down"), link(3, "leader_elected", 2), link(9, "truncated"))
STANDING = PartitionStatus(1, (1, 2, 3), (), ())
COPIES = (CopyHolder(1, from_start=True, until_us=9),)


def frames(found, standing=STANDING, replicas=(1, 2, 3), copies=COPIES):
    chain = found.chain
    return tuple(
        finding_page.frame(found, chain, each, standing, replicas, copies) for each in finding_page.chosen(chain)
    )


links = st.builds(link, st.integers(0, 50), st.sampled_from(EVENTS), st.integers(-1, 9))
chains = st.lists(links, min_size=1, max_size=20).map(lambda found: sorted(found, key=lambda each: each.at_us))


@pytest.mark.slow
@given(chains, st.integers(2, 7))
def test_a_chain_keeps_its_ends_and_its_order(chain, most):
    kept = finding_page.chosen(chain, most)
    assert len(kept) == min(len(chain), most)
    assert (kept[0], kept[-1]) == (chain[0], chain[-1])
    rest = iter(chain)
    assert all(any(each is other for other in rest) for each in kept)


def test_leadership_changes_are_drawn_before_other_events():
    chain = [link(0, "records_acked"), link(1, "fault_injected"), link(2, "isr_changed"), link(3, "broker_fenced")]
    chain += [link(4, "leader_elected", 2), link(5, "truncated", 3), link(6, "node_down"), link(7, "truncated")]
    kept = [each.event_kind for each in finding_page.chosen(chain)]
    assert kept == ["records_acked", "isr_changed", "leader_elected", "truncated", "truncated"]


@pytest.mark.slow
@given(chains, st.integers(0, 30), st.integers(4, 230), st.integers(0, 8))
def test_every_line_of_the_frames_is_as_wide_as_they_are_together(chain, at, width, replicas):
    drawn = frames(finding(*chain), replicas=tuple(range(1, replicas + 1)))
    at %= len(drawn)
    beside, size = finding_page.room_for(len(drawn), width)
    assert beside * size <= width
    rows = finding_page.strip(drawn, at, width)
    assert {sum(cell_len(text) for text, _role in row.pieces) for row in rows} == {beside * size}
    first = finding_page.window(len(drawn), beside, at)
    assert first <= at < first + beside
    assert first + beside <= len(drawn)


@pytest.mark.parametrize(("width", "beside", "size"), [(75, 3, 25), (115, 5, 23), (195, 5, 38), (22, 1, 22)])
def test_as_many_frames_as_fit_stand_side_by_side(width, beside, size):
    assert finding_page.room_for(5, width) == (beside, size)


def test_a_frame_reports_who_leads_who_is_down_and_who_has_the_records(snapshot):
    standing = PartitionStatus(2, (2, 3), (1,), (3,))
    copies = (CopyHolder(1, from_start=True, until_us=9), CopyHolder(3, from_start=False))
    first, *_between, last = frames(finding(*CHAIN), standing, (1, 2, 3, 4), copies)
    told = [(each.broker, each.glyph, each.holds) for each in first.replicas]
    assert told == [
        (1, glyphs.DOWN, HAS),
        (2, glyphs.LEADER, NEVER),
        (3, glyphs.PAUSED, LATER),
        (4, glyphs.LAGGING, NEVER),
    ]
    assert [each.holds for each in last.replicas] == [GONE, NEVER, HAS, NEVER]
    assert [first.caption, last.caption] == snapshot
    assert [each.affected for each in first.replicas] == [True, False, False, False]


def test_a_copy_is_there_until_the_very_event_that_drops_it():
    chain = (link(1, "records_acked"), link(9, "leader_elected", 2), link(9, "truncated", 3), link(9, "truncated"))
    copies = (CopyHolder(1, from_start=True, until_us=9), CopyHolder(3, from_start=True, until_us=9))
    drawn = frames(finding(*chain), replicas=(1, 3), copies=copies)
    assert [[each.holds for each in one.replicas] for one in drawn] == [
        [HAS, HAS],
        [HAS, HAS],
        [HAS, GONE],
        [GONE, GONE],
    ]


def test_nobody_has_records_before_they_are_written():
    chain = (link(1, "node_paused"), link(2, "leader_elected", 2), link(3, "records_acked"), link(9, "truncated"))
    copies = (CopyHolder(1, from_start=True, until_us=9), CopyHolder(3, from_start=True))
    drawn = frames(finding(*chain), replicas=(1, 2, 3), copies=copies)
    assert [[each.holds for each in one.replicas] for one in drawn] == [
        ["", "", ""],
        ["", "", ""],
        [HAS, NEVER, HAS],
        [GONE, NEVER, HAS],
    ]
    assert [one.caption == finding_page.UNWRITTEN for one in drawn] == [True, False, False, False]


def test_a_log_that_is_lost_with_its_broker_is_not_told_to_be_cut(snapshot):
    (lost,) = frames(finding(link(9, "truncated")), PartitionStatus(2, (2,), (1,), ()))
    (cut,) = frames(finding(link(9, "truncated")))
    assert [each.replicas[0].glyph for each in (lost, cut)] == [glyphs.DOWN, glyphs.TRUNCATING]
    assert [each.title for each in (lost, cut)] == snapshot


def test_holders_are_drawn_only_for_losses():
    assert {each.holds for one in frames(finding(*CHAIN, kind=SKIPPED)) for each in one.replicas} == {""}


def test_of_many_replicas_those_that_the_chain_names_are_drawn():
    drawn = frames(
        finding(*CHAIN), PartitionStatus(1, (1, 30), (), ()), tuple(range(1, 40)), (CopyHolder(35, from_start=True),)
    )
    shown = [each.broker for each in drawn[0].replicas]
    assert len(shown) == finding_page.MOST_REPLICAS
    assert {1, 30, 35} <= set(shown)
    assert shown == sorted(shown)


# -- how things stood ------------------------------------------------------------------------------------------------


def test_the_chronicle_reports_how_a_partition_stood_at_any_link():
    chronicle = PartitionHistory()
    other = LeaderElected(4, "other-0", 9, 1, 1, (9,), True, "x")
    chronicle.take(
        [
            BecameLeader(0, "orders-0", 1, 0, 0, 0),
            NodePaused(2, "broker 3", 3),
            NodeDown(2, "client", -1, "close"),
            NodeDown(3, "broker 1", 1, "crash"),
            other,
            IsrChanged(5, "orders-0", 1, 0, 1, (1, 2), (1, 2, 3), "leader"),
            LeaderElected(5, "orders-0", 2, 1, 2, (2,), False, "fenced"),
            NodeUp(6, "broker 1", 1),
            NodeResumed(6, "broker 3", 3),
            PartitionOffline(7, "orders-0", 2, 3, (2,)),
        ]
    )

    def at(at_us, kind, broker=1):
        return chronicle.status_after("orders-0", (1, 2, 3), link(at_us, kind, broker))

    assert at(1, "records_acked") == PartitionStatus(1, (1, 2, 3), (), ())
    assert at(3, "node_down") == PartitionStatus(1, (1, 2, 3), (1,), (3,))
    assert at(5, "isr_changed", 3) == PartitionStatus(1, (1, 2), (1,), (3,))
    assert at(5, "leader_elected", 2) == PartitionStatus(2, (2,), (1,), (3,), clean=False)
    assert at(6, "settled") == PartitionStatus(2, (2,), (), (), clean=False)
    assert at(7, "settled").leader == -1


def test_the_chronicle_counts_losses_and_names_each_broken_rule_once():
    chronicle = PartitionHistory()
    broken = InvariantViolated(5, "leader-completeness", "orders-0", 2, "it lacks 4", "")
    missing = RecordsMissing(5, "orders-0", "clicks", 0, 4, 100, 0, 1, False, "")
    chronicle.take([broken, replace(broken, at_us=6), replace(broken, partition="other-0"), missing])
    (told,) = chronicle.violations(("orders-0",), 1 << 62)
    assert (told.at_us, told.name, told.detail) == (5, "leader-completeness", "it lacks 4")
    assert chronicle.losses == 1


# -- the page --------------------------------------------------------------------------------------------------------


def case(found, total=2, **more):
    fields = {
        "number": 1, "total": total, "finding": found, "now_us": 50_000_000, "frames": frames(found),
        "partition": "orders-0", "peeked": (), "readers": (), "violations": (),
    }  # fmt: skip
    return finding_page.FindingPage(**(fields | more))


def page(found, width=76, at=0, saved=(), **more):
    rows = finding_page.build(case(found, **more), at, width, saved)
    return ["".join(text for text, _role in row.pieces) for row in rows]


@pytest.mark.slow
@given(st.sampled_from(KINDS), chains, st.integers(40, 200), st.booleans())
def test_the_page_stays_within_its_width_for_every_kind(kind, chain, width, several):
    places = (PLACE, replace(PLACE, partition="orders-1", count=1)) if several else (replace(PLACE, count=1),)
    lines = page(finding(*chain, kind=kind, places=places, group="billing"), width, saved=[("w: ask", "quiet")])
    assert max(map(cell_len, lines)) <= width
    assert not any("{" in line for line in lines)


def section(lines, heading):
    """The lines of a section of the page."""
    start = next(at for at, line in enumerate(lines) if line.startswith(heading))
    rest = [line for line in lines[start + 1 :] if not line.startswith(" ")]
    return lines[start : lines.index(rest[0], start + 1)]


def test_it_begins_with_a_plain_sentence(snapshot):
    one = finding(*CHAIN, kind=ABANDONED, places=(replace(PLACE, count=1),), group="billing")
    assert [page(finding(*CHAIN))[0], page(one)[0]] == snapshot


def test_records_missing_so_far_are_reported_as_missing(snapshot):
    found = finding(*CHAIN[:2], link(9, "settled", words="broker 1 still had them as the session ended"), kind=MISSING)
    lines = page(found, 120)
    assert not any("ended" in line for line in lines)
    assert lines == snapshot


def test_it_says_what_stands_behind_the_marked_frame(snapshot):
    found = finding(*CHAIN[:3], link(9_000_000, "truncated", words="broker 1 cut its log back"))
    assert [line for line in page(found, at=3) if line.startswith("4 of 4")] == snapshot


@pytest.mark.parametrize("acks", [0, 1, -1])
def test_the_rule_says_what_such_an_acknowledgement_is_worth(acks, snapshot):
    rule = section(page(finding(*CHAIN, places=(replace(PLACE, acks=acks),)), 160), "Violated")
    assert ("with acks=" in " ".join(rule)) == (acks >= 0)
    assert rule == snapshot


def test_committed_records_could_be_read_and_it_says_by_whom(snapshot):
    committed = page(finding(*CHAIN, places=(replace(PLACE, committed=True),)), 160, readers=("a", "b"))
    uncommitted = page(finding(*CHAIN), 160, readers=("a",))
    assert [section(lines, "Consumers") for lines in (committed, uncommitted)] == snapshot


# -- what would have saved it ----------------------------------------------------------------------------------------


def remedy(verdict, **more):
    fields = {
        "change": "acks=all", "set": [], "because": "", "verdict": verdict, "before": 4, "after": 0, "rejected": 31,
        "unavailable_us": 8_300_000, "note": "", "seeds_kept": 4, "seeds": 5,
    }  # fmt: skip
    return fields | more


def test_each_remedy_stands_with_its_price(snapshot):
    found = {
        "remedies": [
            remedy("saves"),
            remedy("would not have helped", change="kafka 4.1", after=4, rejected=0, unavailable_us=-10, seeds=1),
            remedy("refused", change="idempotence", note="needs acks=all"),
        ],
        "no_return": None,
    }
    told = [text for text, _role in finding_page.lines(found)]
    assert [line[0] for line in told[1:]] == [glyphs.OK, glyphs.DOWN, glyphs.NOTHING]
    assert told == snapshot


def test_a_known_issue_stands_first():
    cause = {"issue": "KAFKA-7128", "text": ["caused by KAFKA-7128: a title", "proof: a run"]}
    found = {"remedies": [remedy("saves")], "no_return": None, "known_issues": [cause]}
    (first, role), *rest = finding_page.lines(found)
    assert ("KAFKA-7128: a title" in first, role) == (True, "warning")
    assert rest == list(finding_page.lines({**found, "known_issues": []}))


def test_it_says_when_nothing_would_have_saved_it_and_since_when_it_was_too_late(snapshot):
    no_return = {
        "kind": "event", "at_us": 19_424_000, "description": "broker 2 wrote", "acked_us": 9_507_000,
        "actions": [
            {"kind": "restart", "description": "starting broker 1"}, {"kind": "heal", "description": "healing"},
        ],
        "without_unclean": None,
    }  # fmt: skip
    too_late = [text for text, _ in finding_page.lines({"remedies": [remedy("refused")], "no_return": no_return})]
    opened = {**no_return, "kind": "open"}
    not_yet = [text for text, _ in finding_page.lines({"remedies": [], "no_return": opened})]
    assert [too_late, not_yet] == snapshot
