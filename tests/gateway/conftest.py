"""What tests of the gateway leave behind."""

from collections.abc import Iterator

import pytest

from tests.gateway.running import abandon_all


@pytest.fixture(autouse=True)
def _no_client_outlives_its_test() -> Iterator[None]:
    yield
    abandon_all()
