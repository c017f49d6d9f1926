"""Every response that is offered, byte for byte as the schemas of another library have it."""

import importlib
import io
import uuid
from dataclasses import MISSING, fields
from typing import Any

import pytest
from kio.serial import entity_writer

from cluster_model.protocol.releases import Version
from gateway.protocol import api_versions, codec

OFFERED = api_versions.offered((4, 1, 0))


def classes(suffix: str) -> dict[int, Any]:
    """API → the other library's class."""
    found: dict[int, Any] = {}
    for name in ("metadata", "consumer", "producer", "admin"):
        module = importlib.import_module(f"kafka.protocol.{name}")
        for each in vars(module).values():
            if isinstance(each, type) and each.__name__.endswith(suffix) and hasattr(each, "API_KEY"):
                found[each.API_KEY] = each
    return found


RESPONSES, REQUESTS = classes("Response"), classes("Request")


def sample(schema: Any) -> dict[str, Any]:
    """Something in every field, one element in every list."""
    said: dict[str, Any] = {}
    for place, each in enumerate(fields(schema)):
        inner, kind = codec._entity(each.type), each.metadata.get("kafka_type")
        many = codec._is_many(each.type)
        if inner is not None:
            said[each.name] = [sample(inner)] if many else sample(inner)
        elif kind == "datetime_i64" or (each.metadata.get("tag") is not None and each.default is not MISSING):
            continue
        else:
            value = {
                "string": f"s{place}", "bytes": b"bytes", "records": b"records", "bool": True, "error_code": 6,
                "uuid": uuid.UUID(int=place + 1), "timedelta_i32": 1_000 + place, "timedelta_i64": 1_000 + place,
            }.get(str(kind), place + 1)  # fmt: skip
            said[each.name] = [value] if many else value
    return said


@pytest.mark.slow
@pytest.mark.parametrize("api", sorted(set(OFFERED) & set(RESPONSES)))
def test_responses(api: int) -> None:
    low, high = OFFERED[api]
    for version in range(low, high + 1):
        said = sample(codec.response_schema(api, version))
        plain = api == api_versions.API_VERSIONS
        if plain:  # with an error the other library takes it for an answer of version 0
            said["error_code"] = 0
        ours = codec.write_response(api, version, 77, said, plain=plain)
        told = RESPONSES[api].decode(ours, version=version, header=True)
        assert bytes(told.encode(header=True)) == ours, f"version {version}"


@pytest.mark.slow
@pytest.mark.parametrize("api", sorted(set(OFFERED) & set(REQUESTS)))
def test_requests(api: int) -> None:
    low, high = OFFERED[api]
    for version in range(low, high + 1):
        schema = codec.request_schema(api, version)
        meant = codec._maker(schema)(sample(schema))
        out = io.BytesIO()
        entity_writer(schema)(out, meant)
        request = REQUESTS[api].decode(out.getvalue(), version=version)
        request.with_header(correlation_id=5, client_id="me")
        frame = bytes(request.encode(version=version, header=True))
        header = codec.read_header(frame)
        assert header == (api, version, 5, "me")
        assert codec.read_request(header, frame) == meant, f"version {version}"


def test_most_of_what_is_offered_is_compared() -> None:
    assert len(set(OFFERED) & set(RESPONSES)) > 25


def test_responses_without_fields_can_be_encoded_in_every_version() -> None:
    for api, (low, high) in OFFERED.items():
        for version in (low, high):
            assert codec.write_response(api, version, 1, {})


ID = uuid.UUID(int=1)


@pytest.mark.parametrize(("api", "version", "said", "body"), [
    # As the schemas of Kafka 4.4 have it: compact lengths are one higher, 0 is null, and each structure ends in tags.
    (api_versions.API_VERSIONS, 5, {"error_code": 129}, "0081 01 00000000 00"),
    (api_versions.TXN_OFFSET_COMMIT, 6,
     {"topics": [{"name": "x", "topic_id": ID, "partitions": [{"partition_index": 2, "error_code": 100}]}]},
     f"00000000 02 {ID.hex} 02 00000002 0064 00 00 00"),
    (api_versions.DELETE_GROUPS, 3, {"results": [{"group_id": "g", "error_code": 69}]},
     "00000000 02 02 67 0045 00 00 00"),
    (api_versions.DELETE_GROUPS, 3, {"results": [{"group_id": "g", "error_code": 69, "error_message": "no"}]},
     "00000000 02 02 67 0045 03 6e6f 00 00"),
])  # fmt: skip
def test_responses_of_versions_that_no_library_has(api: int, version: int, said: dict[str, Any], body: str) -> None:
    assert codec.write_response(api, version, 7, said, plain=True).hex() == f"00000007 {body}".replace(" ", "")


@pytest.mark.parametrize(("api", "version", "body", "meant"), [
    (api_versions.API_VERSIONS, 5, "02 63 02 31 03 6964 00000002 00",
     {"client_software_name": "c", "client_software_version": "1", "cluster_id": "id", "node_id": 2}),
    (api_versions.API_VERSIONS, 5, "02 63 02 31 00 ffffffff 00",
     {"client_software_name": "c", "client_software_version": "1"}),
    (api_versions.TXN_OFFSET_COMMIT, 6,
     f"0274 0267 0000000000000009 0003 00000004 026d 00 02 {ID.hex} 02 00000000 0000000000000007 ffffffff 00000000",
     {"transactional_id": "t", "group_id": "g", "producer_id": 9, "producer_epoch": 3, "generation_id": 4,
      "member_id": "m", "topics": [{"topic_id": ID, "partitions": [
          {"partition_index": 0, "committed_offset": 7, "committed_metadata": None}]}]}),
    (api_versions.DELETE_GROUPS, 3, "02 02 67 00", {"groups_names": ["g"]}),
])  # fmt: skip
def test_requests_of_versions_that_no_library_has(api: int, version: int, body: str, meant: dict[str, Any]) -> None:
    frame = bytes.fromhex(f"{api:04x} {version:04x} 00000005 0002 6d65 00 {body}")
    request = codec.read_request(codec.read_header(frame), frame)
    assert request == codec._maker(codec.request_schema(api, version))(meant)


@pytest.mark.parametrize(
    ("release", "fetch", "groups"),
    [((1, 0, 0), 6, False), ((2, 8, 0), 12, True), ((3, 9, 0), 17, True), ((4, 1, 0), 18, True), ((4, 4, 0), 18, True)],
)
def test_a_release_offers_what_it_had(release: Version, fetch: int, groups: bool) -> None:
    offered = api_versions.offered(release)
    assert offered[api_versions.FETCH] == (4, fetch)
    assert (api_versions.DELETE_GROUPS in offered) == groups
    assert api_versions.advertised(offered)[0][:2] == (api_versions.PRODUCE, 0)
