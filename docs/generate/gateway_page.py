"""Text of the page that lists the APIs of the gateway, made from the tables that it answers by."""

from collections.abc import Mapping
from typing import Final

from kio.index import load_request_schema

from cluster_model.protocol.versions import PROFILE_VERSIONS, Profile, modes_of
from gateway.handlers.registry import HANDLERS
from gateway.protocol.api_versions import ADVERTISED_FROM_ZERO, KRAFT_ONLY, OLDEST, offered

_HEAD: Final = """# APIs of the gateway

The APIs that a broker of [`floodmark serve`](../test/real-clients.md) answers, and their versions, as ApiVersions
reports them. This page is made from the gateway's own tables
(`python -m docs.generate gateway-apis > docs/reference/gateway-apis.md`).

The newest version is that of the release: `5 (1.0), 6 (2.0)` is 5 from 1.0 on and 6 from 2.0 on. The oldest is that of
Kafka 4.0, or older if the codec has it. An API with "(KRaft)" is not offered in ZooKeeper mode. An API without a row is
not offered: see [what is not modelled](../test/real-clients.md#what-is-not-modelled).

| API | key | oldest | newest |
|---|---|---|---|
"""


def api_page() -> str:
    """The page, in Markdown: a row for each API, with the releases at which its newest version changed."""
    numbers = {version: Profile.of(version).number for version in PROFILE_VERSIONS}
    ranges = {
        version: offered(number, kraft="kraft" in modes_of(version))
        for version, number in numbers.items()
        if number >= OLDEST
    }
    return _HEAD + "".join(_row(api, ranges) for api in sorted(HANDLERS))


def _row(api: int, ranges: Mapping[str, Mapping[int, tuple[int, int]]]) -> str:
    found = {version: each[api] for version, each in ranges.items() if api in each}
    changes: dict[int, str] = {}
    for version, (_low, high) in found.items():
        changes.setdefault(high, version)
    lowest = min(low for low, _high in found.values())
    name = load_request_schema(api, lowest).__name__.removesuffix("Request")
    newest = ", ".join(f"{high} ({version})" for high, version in changes.items())
    if api in KRAFT_ONLY:
        name += " (KRaft)"
    return f"| {name} | {api} | {0 if api in ADVERTISED_FROM_ZERO else lowest} | {newest} |\n"
