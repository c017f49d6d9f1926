"""Random UUIDs that are drawn from a stream."""

from cluster_model.kernel.rng import Stream


def uuid(stream: Stream) -> str:
    """The next one (``UUID.randomUUID``)."""
    bits = stream.next64() << 64 | stream.next64()
    bits = bits & ~(0xF << 76) | 0x4 << 76
    bits = bits & ~(0x3 << 62) | 0x2 << 62
    text = f"{bits:032x}"
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
