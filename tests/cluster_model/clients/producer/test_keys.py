"""Where a key goes: murmur2 as Kafka computes it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster_model.clients.producer.partitioners import PartitionerConfig, partitioner_of
from cluster_model.kernel.rng import RandomStream
from cluster_model.protocol.versions import ClientProfile
from cluster_model.util.deterministic_math import murmur2, partition_for_key
from tests.cluster_model.clients.producer.queues import Waiting

# key, murmur2, then its partition among 3, 6 and 12.
VECTORS = [
    (b"", 0x106E08D9, 0, 3, 9),
    (b"a", 0xA2D0B27C, 1, 4, 4),
    (b"ab", 0x12D8262A, 2, 2, 2),
    (b"abc", 0x1C94221B, 0, 3, 3),
    (b"abcd", 0xB11AB5F4, 2, 2, 8),
    (b"21", 0xC5F2F8EC, 0, 0, 0),
    (b"foobar", 0xD0E47BBE, 0, 0, 6),
    (b"a-little-bit-long-string", 0xC53B1DA0, 2, 2, 8),
    (b"order-1", 0x48D1D1F6, 1, 4, 10),
    (b"user-42", 0x5700682C, 1, 4, 4),
    (bytes.fromhex("0000002a"), 0x5FC52BB8, 0, 0, 0),
    (bytes.fromhex("fffefdfcfb"), 0x1F3CA77F, 1, 1, 7),
]
VERSIONS = ["0.10.2", "2.3.1", "2.4", "3.2.3", "3.3", "4.0"]
SIGNED = {
    b"a": -1563381124, b"abc": 479470107, b"abcd": -1323649548, b"21": -973932308, b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536, b"user-42": 1459644460,
}  # fmt: skip
"""The same as Java's int, which Kafka's own tests have."""


@pytest.mark.parametrize(("key", "hashed", "of_3", "of_6", "of_12"), VECTORS)
def test_the_hash_and_the_partitions_of_a_key(key: bytes, hashed: int, of_3: int, of_6: int, of_12: int) -> None:
    assert murmur2(key) == hashed
    assert [partition_for_key(key, total) for total in (3, 6, 12)] == [of_3, of_6, of_12]


@pytest.mark.parametrize(("key", "signed"), SIGNED.items())
def test_with_a_sign_the_hash_is_javas(key: bytes, signed: int) -> None:
    assert (murmur2(key) ^ 1 << 31) - (1 << 31) == signed


@given(st.binary(max_size=40), st.integers(1, 500))
def test_a_keys_partition_does_not_depend_on_leaders(key: bytes, total: int) -> None:
    partition = partition_for_key(key, total)
    assert 0 <= partition < total
    for version in VERSIONS:
        partitioner = partitioner_of(ClientProfile.of(version), PartitionerConfig(), RandomStream(1, "p"))
        for available in [(), (0,), tuple(range(total))]:
            assert partitioner.partition(key, Waiting(total, 100, available).topic) == partition


def by_the_book(key: bytes) -> int:
    """Murmur2 as its author wrote it: byte by byte."""
    mixer = 0x5BD1E995
    hashed = 0x9747B28C ^ len(key)
    whole, tail = len(key) // 4 * 4, key[len(key) // 4 * 4 :]
    for at in range(0, whole, 4):
        word = (key[at] | key[at + 1] << 8 | key[at + 2] << 16 | key[at + 3] << 24) * mixer % (1 << 32)
        word = (word ^ word >> 24) * mixer % (1 << 32)
        hashed = hashed * mixer % (1 << 32) ^ word
    for at in reversed(range(len(tail))):
        hashed ^= tail[at] << 8 * at
    if tail:
        hashed = hashed * mixer % (1 << 32)
    hashed = (hashed ^ hashed >> 13) * mixer % (1 << 32)
    return hashed ^ hashed >> 15


@given(st.binary(max_size=40))
def test_every_key_hashes_as_by_the_book(key: bytes) -> None:
    assert murmur2(key) == by_the_book(key)
