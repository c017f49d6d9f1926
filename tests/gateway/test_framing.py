import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from gateway.protocol.codec import RequestError, read_header, read_request
from gateway.server import FrameError, Frames, framed


@pytest.mark.slow
@given(st.lists(st.binary(min_size=1, max_size=40), max_size=8), st.lists(st.integers(1, 30), min_size=1, max_size=9))
def test_frames_come_out_as_they_went_in_however_they_are_cut(payloads: list[bytes], cuts: list[int]) -> None:
    stream, frames, found, at, turn = b"".join(map(framed, payloads)), Frames(), [], 0, 0
    while at < len(stream):
        size = cuts[turn % len(cuts)]
        found += frames.feed(stream[at : at + size])
        at, turn = at + size, turn + 1
    assert found == payloads
    assert frames.waiting == 0


@pytest.mark.parametrize("length", [0, -1, -(1 << 31), 101, (1 << 31) - 1])
def test_a_length_that_is_not_allowed_is_refused_before_anything_is_kept(
    length: int, snapshot: SnapshotAssertion
) -> None:
    with pytest.raises(FrameError) as caught:
        list(Frames(100).feed(struct.pack(">i", length)))
    assert str(caught.value) == snapshot


def test_a_frame_is_kept_as_far_as_it_has_come_and_no_further() -> None:
    frames = Frames(1 << 30)
    assert list(frames.feed(struct.pack(">i", 1 << 30) + b"abc")) == []
    assert frames.waiting == 3


@given(st.binary(max_size=80), st.sampled_from([(3, 9), (0, 9), (1, 12), (11, 9), (18, 3)]))
def test_no_bytes_break_the_reader_of_requests(noise: bytes, kind: tuple[int, int]) -> None:
    frame = struct.pack(">hhih", *kind, 7, -1) + noise
    try:
        header = read_header(frame)
        read_request(header, frame)
    except RequestError:
        return
    assert header[:3] == (*kind, 7)


@pytest.mark.parametrize("frame", [b"", b"\0" * 9, struct.pack(">hhih", 3, 9, 1, 500), b"\0\3\0\0\0\0\0\1\0\1\xff"])
def test_a_header_that_is_none_is_refused(frame: bytes) -> None:
    with pytest.raises(RequestError):
        read_header(frame)
