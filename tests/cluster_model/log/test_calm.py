"""Shortcuts on the path of every batch give the same results as the full rules."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster_model.log.batch_store import EpochBranch, EpochBranchView
from cluster_model.log.segments import INT32_MAX, Segments
from cluster_model.protocol.configs import LogConfig
from cluster_model.protocol.records import Batch

pytestmark = pytest.mark.slow

RULES = st.builds(
    LogConfig,
    segment_bytes=st.sampled_from((14, 60, 1_000)),
    roll_us=st.sampled_from((0, 9, 60, 1 << 60)),
    index_bytes=st.sampled_from((24, 40, 1_000)),
    index_interval=st.sampled_from((0, 20)),
    by_timestamp=st.booleans(),
    jitter_us=st.sampled_from((0, 5)),
)
APPENDS = st.lists(
    st.tuples(
        st.sampled_from(("append", "append", "append", "roll", "load", "reopen")),
        st.sampled_from((1, 3, INT32_MAX)),
        st.integers(1, 30),
        st.integers(-1, 40),
        st.integers(0, 12),
    ),
    max_size=40,
)


@given(rules=RULES, appends=APPENDS)
def test_a_segment_lets_in_what_the_rule_lets_in(
    rules: LogConfig, appends: list[tuple[str, int, int, int, int]]
) -> None:
    quick, slow = Segments(rules), Segments(rules)
    for each in (quick, slow):
        each.set_jitter_seed(7)
    now, end = 0, 0
    for what, records, size, stamp, later in appends:
        now += later
        if what == "append":
            end += records
            rule = slow.roll_reason(end, size, stamp, now)
            assert quick.admit(end, size, stamp, stamp, now) == rule
            if rule:
                for each in (quick, slow):
                    each.roll(end - records, now)
                quick.count_append(size, stamp, stamp, now)
            slow.count_append(size, stamp, stamp, now)
        elif what == "roll":
            for each in (quick, slow):
                each.roll(end, now)
        elif what == "reopen":
            end = max(quick.first_base, end - records)
            for each in (quick, slow):
                assert each.reopen(end, now) <= end
        else:
            saved = quick.save()
            quick = Segments(rules)
            quick.set_jitter_seed(7)
            quick.load(saved)
        assert quick.save() == slow.save()


BATCHES = st.lists(st.tuples(st.integers(1, 4), st.integers(1, 50), st.integers(-1, 9)), min_size=1, max_size=12)


def written(batches: list[tuple[int, int, int]]) -> EpochBranch:
    epoch_branch = EpochBranch(0, 1, 0, 5)
    for index, (records, size, stamp) in enumerate(batches):
        names = (f"r{index}",) if index % 3 == 0 else ()
        epoch_branch.append(
            Batch(
                epoch_branch.end, records, size, index, f"p{index % 2}", -1, index, index % 2, names, stamp, index % 3
            )
        )
    return epoch_branch


@given(batches=BATCHES, more=BATCHES, share=st.integers(0, 100), most=st.integers(0, 200), parts=st.booleans())
def test_a_past_that_shares_columns_reads_like_one_of_its_own(
    batches: list[tuple[int, int, int]], more: list[tuple[int, int, int]], share: int, most: int, parts: bool
) -> None:
    whole = written(batches + more)
    length = max(1, len(batches) * share // 100)
    past = EpochBranchView(whole, length)
    own = written(batches[:length])
    if parts:
        another = Batch(own.end, 2, 33, 99, "other", 4, 0, -1, ("x",), 3, 1)
        for each in (past, own):
            each.append(another)
    assert (past.length, past.end) == (own.length, own.end)
    for start in range(own.start, own.end):
        assert past.batch_at(start) == own.batch_at(start)
        assert past.appended_at(start) == own.appended_at(start)
        for end in range(start + 1, own.end + 1):
            assert past.measure(start, end) == own.measure(start, end)
            assert past.bytes_between(start, end) == own.bytes_between(start, end)
            assert past.fit(start, end, most) == own.fit(start, end, most)
            assert list(past.between(start, end)) == list(own.between(start, end))
    untouched = written(batches + more)
    assert list(whole.between(own.start, whole.end)) == list(untouched.between(own.start, whole.end))
