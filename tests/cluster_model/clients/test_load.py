"""Rate curves: what they make adds up however time is cut, and nothing drifts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster_model.clients.workload import NEVER, RateCurve
from cluster_model.spec.cluster_spec import HOUR_US, RATE_UNITS, RateProfile, RateSegment, constant

SECOND = 1_000_000


def per_second(number: int) -> int:
    return number * 3_600 * RATE_UNITS


def stretch(seconds: int, start: int, end: int | None = None) -> RateSegment:
    return RateSegment(seconds * SECOND, per_second(start), per_second(start if end is None else end))


rates = st.one_of(st.just(0), st.integers(1, per_second(2_000_000)))
timed = st.builds(RateSegment, st.integers(1, HOUR_US), rates, rates)


@st.composite
def profiles(draw: st.DrawFn) -> RateProfile:
    stretches = tuple(draw(st.lists(timed, min_size=1, max_size=5)))
    if draw(st.booleans()):
        return RateProfile(stretches, repeats=True)
    last = draw(rates)
    return RateProfile((*stretches, RateSegment(-1, last, last)))


@pytest.mark.slow
@given(profiles(), st.lists(st.integers(0, 20 * HOUR_US), min_size=2, max_size=30))
def test_the_record_count_never_decreases_and_matches_its_inverse(profile: RateProfile, cuts: list[int]) -> None:
    curve = RateCurve(profile)
    cuts.sort()
    made = [curve.made(at) for at in cuts]
    assert made == sorted(made)
    for at, count in zip(cuts, made, strict=True):
        assert count == 0 or curve.when(count) <= at
        assert not 0 <= curve.when(count + 1) <= at


@given(profiles(), st.integers(1, 10**9))
def test_a_record_is_made_in_the_first_microsecond_that_has_it_whole(profile: RateProfile, count: int) -> None:
    curve = RateCurve(profile)
    at = curve.when(count)
    if at == NEVER:
        assert curve.made(100_000 * HOUR_US) < count
    else:
        assert curve.made(at) >= count
        assert at > 0
        assert curve.made(at - 1) < count


@given(profiles(), st.integers(0, 20 * HOUR_US))
def test_going_from_record_to_record_leaves_none_out(profile: RateProfile, now: int) -> None:
    curve = RateCurve(profile)
    made = curve.made(now)
    following = curve.when(made + 1)
    assert following == NEVER or following > now
    if made:
        assert 0 < curve.when(made) <= now


def test_a_third_of_a_millisecond_does_not_drift() -> None:
    curve = RateCurve(constant(per_second(3_000)))
    assert [curve.when(count) for count in (1, 2, 3, 4)] == [334, 667, 1_000, 1_334]
    assert curve.when(3_000 * 86_400) == 86_400 * SECOND


def test_a_ramp_makes_half_of_what_its_end_would() -> None:
    curve = RateCurve(RateProfile((stretch(10, 0, 100), stretch(10, 100, 0), RateSegment(-1, 0, 0))))
    assert curve.made(5 * SECOND) == 125
    assert curve.made(10 * SECOND) == 500
    assert curve.made(15 * SECOND) == 875
    assert curve.made(20 * SECOND) == curve.made(HOUR_US) == 1_000
    assert curve.when(125) == 5 * SECOND
    assert curve.when(875) == 15 * SECOND
    assert curve.when(1_001) == NEVER


def test_steps_change_at_their_time_and_the_last_stays() -> None:
    last = RateSegment(-1, per_second(100), per_second(100))
    curve = RateCurve(RateProfile((stretch(1, 10), stretch(2, 0), last)))
    assert [curve.made(at * SECOND) for at in (1, 2, 3, 4, 10)] == [10, 10, 10, 110, 710]
    assert curve.when(11) == 3_010_000


def test_a_period_comes_again_with_the_same_shape() -> None:
    curve = RateCurve(RateProfile((stretch(2, 1_000), stretch(28, 50)), repeats=True))
    one = 2_000 + 28 * 50
    for period in (0, 1, 7, 100_000):
        assert curve.made(period * 30 * SECOND) == period * one
        assert curve.made((period * 30 + 2) * SECOND) == period * one + 2_000
        assert curve.when(period * one + 1) == period * 30 * SECOND + 1_000
        assert curve.when(period * one + one) == (period + 1) * 30 * SECOND


@pytest.mark.parametrize("profile", [constant(0), RateProfile((stretch(5, 0),), repeats=True)])
def test_no_rate_makes_nothing(profile: RateProfile) -> None:
    curve = RateCurve(profile)
    assert curve.when(1) == NEVER
    assert curve.made(HOUR_US) == 0
