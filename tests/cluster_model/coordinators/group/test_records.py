"""Records of ``__consumer_offsets`` as text, and the effect of commits on a group's offsets."""

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.coordinators.group.group_metadata import (
    GroupOffsets,
    GroupRecord,
    GroupValue,
    OffsetAndMetadata,
    OffsetRecord,
    StoredMember,
    decode,
    encode,
)
from cluster_model.log.record_keys import named_keys
from cluster_model.protocol.group_messages import Assignment, Subscription

COMMIT = OffsetAndMetadata(42, 3, "half = done", 1_000, -1)
STORED = StoredMember(
    "a=b-1", "pod=0", "a=b", 3_501, 60_000_000, 10_000_000,
    Subscription(("orders", "x=y"), ("orders-0",), 4, "rack", "u=v"), Assignment(("orders-0", "orders-1"), "=="),
)  # fmt: skip
GROUP = GroupValue("consumer", 7, "range", "a=b-1", 55, (STORED, STORED._replace(member_id="c-2")))


@pytest.mark.parametrize(
    "record",
    [
        OffsetRecord("g", "orders-0", COMMIT),
        OffsetRecord("g=h", "with-dashes-12", COMMIT._replace(expires_us=9)),
        OffsetRecord("", "orders-0", None),
        GroupRecord("g", GROUP),
        GroupRecord("g", GROUP._replace(members=(), protocol="", leader="")),
        GroupRecord("g", None),
    ],
)
def test_a_record_survives_its_text(record: OffsetRecord | GroupRecord) -> None:
    assert decode(encode(record)) == record


def test_the_cleaner_sees_a_key_and_whether_it_is_a_tombstone() -> None:
    texts = [
        encode(OffsetRecord("g=h", "orders-0", COMMIT)),
        encode(OffsetRecord("g=h", "orders-0", None)),
        encode(OffsetRecord("g=h", "orders-1", COMMIT)),
        encode(GroupRecord("g=h", GROUP)),
        encode(GroupRecord("g=h", None)),
    ]
    seen = named_keys(tuple(texts))
    assert seen.keys[0] == seen.keys[1]
    assert seen.keys[3] == seen.keys[4]
    assert len(set(seen.keys)) == 3
    assert seen.deletes == {1, 4}


def test_a_strangers_record_is_refused(snapshot: SnapshotAssertion) -> None:
    with pytest.raises(ValueError, match="group") as caught:
        decode('[9,"g"]=[]')
    assert str(caught.value) == snapshot


def at(offset: int, committed_us: int = 0, expires_us: int = -1) -> OffsetAndMetadata:
    return OffsetAndMetadata(offset, -1, "", committed_us, expires_us)


def test_a_commit_counts_once_it_is_replicated() -> None:
    offsets = GroupOffsets()
    offsets.prepare((("t-0", at(5)),))
    assert (offsets.committed, offsets.unstable("t-0"), offsets.empty) == ({}, True, False)
    offsets.appended((("t-0", at(5)),), 10)
    assert (offsets.committed, offsets.unstable("t-0")) == ({"t-0": at(5)}, False)


def test_the_last_one_appended_wins_even_if_it_goes_back() -> None:
    offsets = GroupOffsets()
    first, second = (("t-0", at(9)),), (("t-0", at(4)),)
    offsets.prepare(first)
    offsets.prepare(second)
    offsets.appended(first, 10)
    assert offsets.committed == {"t-0": at(9)}
    assert offsets.unstable("t-0")
    offsets.appended(second, 11)
    assert offsets.committed == {"t-0": at(4)}
    assert not offsets.unstable("t-0")


def test_a_commit_that_failed_leaves_what_was() -> None:
    offsets = GroupOffsets()
    offsets.put("t-0", at(1), 3)
    offsets.prepare((("t-0", at(2)),))
    offsets.failed((("t-0", at(2)),))
    assert offsets.committed == {"t-0": at(1)}
    assert not offsets.unstable("t-0")


def test_an_offset_removed_during_a_commit_stays_removed() -> None:
    offsets = GroupOffsets()
    offsets.put("t-0", at(1), 3)
    offsets.prepare((("t-0", at(2)),))
    assert offsets.remove(["t-0", "t-1"]) == ["t-0"]
    offsets.appended((("t-0", at(2)),), 4)
    assert offsets.empty


@pytest.mark.parametrize(("committed", "known"), [(True, at(7)), (False, at(1))])
def test_a_transactions_commit_counts_from_its_end(committed: bool, known: OffsetAndMetadata) -> None:
    offsets = GroupOffsets()
    offsets.put("t-0", at(1), 3)
    staged = (("t-0", at(7)),)
    offsets.prepare_in_transaction(9, staged)
    offsets.appended_in_transaction(9, staged, 5)
    assert (offsets.committed, offsets.unstable("t-0"), offsets.unstable("t-1")) == ({"t-0": at(1)}, True, False)
    offsets.end_transaction(9, committed=committed)
    assert (offsets.committed, offsets.unstable("t-0")) == ({"t-0": known}, False)


def test_a_commit_that_came_later_than_a_transactions_stays() -> None:
    offsets = GroupOffsets()
    staged = (("t-0", at(7)),)
    offsets.prepare_in_transaction(9, staged)
    offsets.appended_in_transaction(9, staged, 5)
    offsets.put("t-0", at(8), 6)
    offsets.end_transaction(9, committed=True)
    assert offsets.committed == {"t-0": at(8)}


def test_a_transactions_commit_that_never_reached_the_log_is_nothing() -> None:
    offsets = GroupOffsets()
    staged = (("t-0", at(7)),)
    offsets.prepare_in_transaction(9, staged)
    offsets.failed_in_transaction(9, staged)
    assert offsets.empty
    offsets.end_transaction(9, committed=True)
    assert offsets.committed == {}


def test_offsets_expire_by_the_time_that_counts() -> None:
    offsets = GroupOffsets()
    offsets.put("a-0", at(1, committed_us=100), 1)
    offsets.put("b-0", at(1, committed_us=100, expires_us=150), 2)
    offsets.put("c-0", at(1, committed_us=140), 3)
    offsets.put("d-0", at(1, committed_us=100), 4)
    offsets.prepare((("d-0", at(2)),))
    by_commit = offsets.expired(149, 49, lambda value: value.committed_us)
    assert by_commit == ["a-0"]
    assert offsets.expired(150, 49, lambda value: value.committed_us) == ["a-0", "b-0"]
    assert offsets.expired(150, 49, lambda value: value.committed_us, ("a",)) == ["b-0"]


def test_saved_offsets_come_back_as_they_were() -> None:
    offsets = GroupOffsets()
    offsets.put("a-0", at(1), 1)
    offsets.prepare((("a-0", at(2)),))
    offsets.prepare_in_transaction(9, (("b-0", at(7)),))
    again = GroupOffsets()
    again.load(offsets.save())
    assert again.save() == offsets.save()
    again.appended((("a-0", at(2)),), 2)
    again.appended_in_transaction(9, (("b-0", at(7)),), 3)
    again.end_transaction(9, committed=True)
    assert again.committed == {"a-0": at(2), "b-0": at(7)}
