"""Old versions of an API are told errors that they know."""

import pytest

from cluster_model.protocol.errors import KafkaError as E
from gateway.protocol import api_versions as api
from gateway.protocol.api_versions import ERROR_REPLACEMENTS, with_known_errors
from tests.gateway.test_transactions_wire import Shop

CASES = [
    # API, the first version that has the error, the error, and the one before it
    (api.PRODUCE, 4, 56, 6),
    (api.FETCH, 6, 56, 6),
    (api.LIST_OFFSETS, 5, 78, 5),
    (api.INIT_PRODUCER_ID, 4, 90, 47),
    (api.ADD_PARTITIONS_TO_TXN, 2, 90, 47),
    (api.ADD_OFFSETS_TO_TXN, 2, 90, 47),
    (api.END_TXN, 2, 90, 47),
    (api.TXN_OFFSET_COMMIT, 2, 14, 15),
]


def test_nothing_else_is_changed() -> None:
    assert sum(map(len, ERROR_REPLACEMENTS.values())) == len(CASES)


@pytest.mark.parametrize(("number", "since", "error", "before"), CASES)
def test_a_version_below_gets_another_and_from_there_on_the_error_itself(
    number: int, since: int, error: int, before: int
) -> None:
    lowest, _ceilings = api.CEILINGS[number]
    assert lowest < since <= max(ceiling for _release, ceiling in _ceilings), "nobody would ever see the difference"
    said = {"error_code": error, "topics": [{"name": "t", "partitions": [{"partition_error_code": error}]}]}
    told = with_known_errors(number, since - 1, said)
    assert told == {"error_code": before, "topics": [{"name": "t", "partitions": [{"partition_error_code": before}]}]}
    assert with_known_errors(number, since, said) is said
    assert with_known_errors(number, since - 1, {"error_code": E.NONE}) == {"error_code": E.NONE}


@pytest.mark.parametrize(("number", "fields"), [
    (api.END_TXN, {"committed": True}),
    (api.ADD_OFFSETS_TO_TXN, {"group_id": "g"}),
])  # fmt: skip
def test_a_client_that_was_fenced_learns_of_it_in_words_of_its_time(number: int, fields: dict[str, object]) -> None:
    shop = Shop("3.9")
    old = shop.epoch
    shop.pid, shop.epoch = shop.begin()
    told = [
        shop.wire.ask(
            shop.at, number, version, transactional_id="t", producer_id=shop.pid, producer_epoch=old, **fields
        ).error_code
        for version in (0, 1, 2, 3)
    ]
    assert told == [E.INVALID_PRODUCER_EPOCH] * 2 + [E.PRODUCER_FENCED] * 2
