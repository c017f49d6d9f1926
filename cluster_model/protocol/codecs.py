"""Compression codecs as sizes and CPU time (``CompressionType``): what a batch shrinks to, and what that costs.

The figures are the model's own, for records of a few hundred bytes of JSON on one present-day core; real ones depend
on the data. A ratio is what is left, in thousandths. A batch's own header is not counted.
"""

from typing import Final, NamedTuple

from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.versions import Profile


class Codec(NamedTuple):
    """``code`` is what a batch's attributes hold; ``nanos_per_byte`` is the producer's CPU time per raw byte."""

    name: str
    code: int
    left_per_mille: int
    nanos_per_byte: int

    def size(self, raw: int) -> int:
        """Bytes of ``raw`` bytes of records once compressed."""
        return raw if self.code == 0 else max(1, raw * self.left_per_mille // 1_000)

    def cost_us(self, raw: int) -> int:
        """CPU time of compressing ``raw`` bytes."""
        return raw * self.nanos_per_byte // 1_000


CODECS: Final = {
    codec.name: codec
    for codec in (
        Codec("none", 0, 1_000, 0),
        Codec("gzip", 1, 250, 25),
        Codec("snappy", 2, 450, 3),
        Codec("lz4", 3, 450, 2),
        Codec("zstd", 4, 270, 5),
    )
}
"""By the name that ``compression.type`` takes."""


def codec_of(profile: Profile, name: str) -> Codec:
    """The codec of a producer.

    Raises:
        ModelError: zstd before 2.1 (KIP-110).
    """
    if name == "zstd" and profile.number < (2, 1, 0):
        raise ModelError(f"compression.type zstd exists since Kafka 2.1, this is {profile.version}")
    return CODECS[name]
