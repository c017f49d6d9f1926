"""``serve --metrics``: a scrape has the metrics of the running session."""

import asyncio
import socket
import urllib.request

import pytest

from cluster_model.protocol.errors import ModelError
from faults.declarations import Action
from gateway.server import Gateway
from playbooks.engine.session import Session
from playbooks.metrics.catalogue import METRICS
from tests.support.playbooks import timed

pytest.importorskip("prometheus_client")

from prometheus_client.parser import text_string_to_metric_families

from gateway.metrics_server import open_gateway

pytestmark = [pytest.mark.sockets, pytest.mark.slow]


def scraped(url: str) -> dict[str, dict[str, float]]:
    """Value of each series of a scrape, by metric and instance."""
    with urllib.request.urlopen(url, timeout=10) as answer:
        text = answer.read().decode()
    found: dict[str, dict[str, float]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, {})[sample.labels["instance"]] = sample.value
    return found


async def test_a_scrape_has_the_metrics_of_the_running_session() -> None:
    gateway = Gateway(Session.start(timed(), open_ended=True))
    seen: list[object] = []
    gateway.on_events = seen.extend
    metrics = await open_gateway(gateway, "127.0.0.1", 0, 0)
    try:
        gateway.act(Action("inject", "crash", "broker(2)", {}))
        await asyncio.sleep(0.3)
        gateway.engine.advance()
        metrics.refresh()
        found = await asyncio.to_thread(scraped, metrics.url)
    finally:
        await gateway.close()
        metrics.close()
    assert seen
    assert set(found) <= set(METRICS)
    assert (found["up"]["broker-1:7071"], found["up"]["broker-2:7071"]) == (1, 0)
    assert found["kafka_producer_producer_metrics_record_send_total"]["checkout"] > 0


async def test_a_port_in_use_is_one_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        gateway = Gateway(Session.start(timed(), open_ended=True))
        with pytest.raises(ModelError) as caught:
            await open_gateway(gateway, "127.0.0.1", 0, taken.getsockname()[1])
    assert caught.value.code == "cannot_listen"
