"""Random streams: the same on every machine, independent of one another, with only a position to save."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster_model.kernel.rng import BLOCK, RandomStream, RandomStreams

PINNED = [
    (0, "a", (12183076091369781635, 17881413739554450902, 958000466521522774)),
    (7, "link:checkout>broker 1", (18010023380546929367, 15640341114779155335, 1610844450371649303)),
    (7, "targets", (6865573117914011486, 15120375857633570588, 13687873450198405353)),
    (2**63, "placement:orders", (9181873677253605647, 16723950726246602659, 10711743639221304247)),
    (-1, "é", (7792543504185040328, 13567080686131901066, 14039245292898608898)),
]


@pytest.mark.parametrize(("seed", "name", "draws"), PINNED)
def test_the_first_draws_are_pinned(seed: int, name: str, draws: tuple[int, ...]) -> None:
    stream = RandomStream(seed, name)
    assert tuple(stream.next64() for _draw in draws) == draws


def test_bounded_draws_are_pinned() -> None:
    stream = RandomStream(7, "targets")
    assert [stream.below(6) for _draw in range(12)] == [2, 4, 4, 5, 2, 5, 4, 2, 4, 0, 0, 0]


def test_the_first_draw_of_the_second_block_is_pinned() -> None:
    stream = RandomStream(7, "targets")
    stream.position = BLOCK
    assert stream.next64() == 7689858911334787454


def test_reaching_the_second_block_by_drawing_is_the_same_as_going_there() -> None:
    walked, jumped = RandomStream(3, "x"), RandomStream(3, "x")
    drawn = [walked.next64() for _draw in range(BLOCK + 3)]
    jumped.position = BLOCK
    assert [jumped.next64() for _draw in range(3)] == drawn[BLOCK:]


def test_position_counts_draws_of_both_kinds() -> None:
    stream = RandomStream(1, "n")
    stream.next64()
    stream.below(10)
    assert stream.position == 2


@pytest.mark.slow
@given(st.integers(0, 1000), st.lists(st.integers(0, 600), min_size=1, max_size=6))
def test_position_is_the_whole_state(seed: int, positions: list[int]) -> None:
    wandering = RandomStream(seed, "w")
    for position in positions:
        wandering.position = position
        fresh = RandomStream(seed, "w")
        fresh.position = position
        assert [wandering.next64(), wandering.next64()] == [fresh.next64(), fresh.next64()]


@pytest.mark.slow
@given(st.integers(), st.text(max_size=20), st.integers(1, 2**40))
def test_below_stays_below_its_bound_and_not_below_zero(seed: int, name: str, bound: int) -> None:
    stream = RandomStream(seed, name)
    assert all(0 <= stream.below(bound) < bound for _draw in range(5))


def test_below_reaches_every_value_about_equally_often() -> None:
    stream = RandomStream(11, "dice")
    counts = [0] * 6
    for _throw in range(6000):
        counts[stream.below(6)] += 1
    assert min(counts) > 850
    assert max(counts) < 1150


def test_below_one_is_always_zero() -> None:
    stream = RandomStream(5, "only")
    assert [stream.below(1) for _draw in range(20)] == [0] * 20


def test_draws_of_one_name_do_not_move_another() -> None:
    quiet, busy = RandomStreams(9), RandomStreams(9)
    for _draw in range(300):
        busy.named("noise").next64()
    assert busy.named("signal").next64() == quiet.named("signal").next64()


def test_names_and_seeds_that_run_together_are_still_different_streams() -> None:
    first = {RandomStream(seed, name).next64() for seed, name in ((1, "2"), (12, ""), (1, "2/"), (1, "/2"), (2, "1"))}
    assert len(first) == 5


def test_a_name_always_means_the_same_stream() -> None:
    streams = RandomStreams(4)
    assert streams.named("a") is streams.named("a")
    assert streams.named("a") is not streams.named("b")


def test_loading_goes_back_and_streams_used_since_start_afresh() -> None:
    streams = RandomStreams(4)
    streams.named("old").next64()
    saved = streams.save()
    expected = [streams.named("old").next64(), streams.named("late").next64()]
    streams.load(saved)
    assert [streams.named("old").next64(), streams.named("late").next64()] == expected


def test_a_save_loads_into_streams_that_have_never_been_used() -> None:
    streams = RandomStreams(4)
    for _draw in range(BLOCK + 5):
        streams.named("a").next64()
    other = RandomStreams(4)
    other.load(streams.save())
    assert other.save() == streams.save() == (4, (("a", BLOCK + 5),))
    assert other.named("a").next64() == streams.named("a").next64()


def test_another_seed_continues_at_the_same_positions() -> None:
    streams, other = RandomStreams(4), RandomStreams(9)
    kept = streams.named("a")
    for _draw in range(3):
        kept.next64()
        other.named("a").next64()
    streams.reseed(9)
    assert streams.named("a") is kept
    assert kept.next64() == other.named("a").next64()
    assert streams.named("new").next64() == RandomStream(9, "new").next64()


def test_a_block_in_hand_is_of_the_old_seed_and_is_dropped() -> None:
    stream = RandomStream(4, "a")
    stream.next64()
    stream.reseed(9)
    fresh = RandomStream(9, "a")
    fresh.position = 1
    assert stream.next64() == fresh.next64()


def test_going_back_takes_the_seed_back() -> None:
    streams = RandomStreams(4)
    streams.named("a").next64()
    saved = streams.save()
    expected = streams.named("a").next64()
    streams.reseed(9)
    streams.named("a").next64()
    streams.load(saved)
    assert (streams.seed, streams.named("a").next64()) == (4, expected)
