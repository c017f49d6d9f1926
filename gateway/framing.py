"""Frames: four bytes of length, then so many bytes (``NetworkReceive``). A length that nobody sends closes the door."""

import struct
from collections.abc import Iterator
from typing import Final

LARGEST: Final = 100 * 1024 * 1024
"""``socket.request.max.bytes``."""
_LENGTH: Final = struct.Struct(">i")


class FrameError(ValueError):
    """Bytes that are no frame; the message says what was found and what is allowed."""


class Frames:
    """Cuts a stream of bytes into frames. What is kept is what has arrived: a length alone takes no memory."""

    __slots__ = ("_buffer", "_largest", "_wanted")

    def __init__(self, largest: int = LARGEST) -> None:
        self._buffer = bytearray()
        self._largest = largest
        self._wanted = -1
        """Length of the frame that is arriving, -1 while its length is."""

    @property
    def waiting(self) -> int:
        """Bytes that are no whole frame yet."""
        return len(self._buffer)

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Whole frames, in order.

        Raises:
            FrameError: a length that is negative or more than is allowed.
        """
        buffer = self._buffer
        buffer += data
        at = 0
        while True:
            if self._wanted < 0:
                if len(buffer) - at < _LENGTH.size:
                    break
                self._wanted = self._checked(_LENGTH.unpack_from(buffer, at)[0])
                at += _LENGTH.size
            if len(buffer) - at < self._wanted:
                break
            frame = bytes(memoryview(buffer)[at : at + self._wanted])
            at += self._wanted
            self._wanted = -1
            yield frame
        del buffer[:at]

    def _checked(self, length: int) -> int:
        if not 0 < length <= self._largest:
            raise FrameError(f"found a frame of {length} bytes, allowed are 1 to {self._largest}")
        return length


def framed(payload: bytes) -> bytes:
    """A frame."""
    return _LENGTH.pack(len(payload)) + payload
