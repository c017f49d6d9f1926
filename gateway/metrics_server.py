"""HTTP endpoint of ``floodmark serve --metrics``: the metrics of the running session for a real Prometheus.

prometheus_client answers scrapes in threads of its own. They see the sample of the last second, which the event loop
takes: the model is never read while it changes.
"""

import asyncio
from collections.abc import Iterator
from threading import Thread
from typing import Final
from wsgiref.simple_server import WSGIServer

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.events import Event
from gateway.server import Gateway
from playbooks.engine.session import Session
from playbooks.metrics.catalogue import METRICS
from playbooks.metrics.sampler import MetricSampler, Sample

REFRESH_S: Final = 1.0
"""Seconds between two samples."""


class SampleCollector(Collector):
    """Collector of prometheus_client over the latest sample."""

    def __init__(self) -> None:
        self.latest: Sample = {}
        """Replaced as a whole, never changed: other threads read it."""

    def collect(self) -> Iterator[Metric]:
        """Yield each metric with its series."""
        families: dict[str, Metric] = {}
        for (name, labels), value in sorted(self.latest.items()):
            metric = METRICS[name]
            if name not in families:
                family = name.removesuffix("_total") if metric.kind == "counter" else name
                families[name] = Metric(family, metric.meaning, metric.kind)
            families[name].add_sample(name, dict(labels), value)
        yield from families.values()


class MetricsServer:
    """Endpoint of one session; pass it the session's events by :meth:`take`."""

    def __init__(self, session: Session) -> None:
        self._sampler = MetricSampler(session.cluster)
        self._collector = SampleCollector()
        self._server: WSGIServer | None = None
        self._thread: Thread | None = None
        self._task: asyncio.Task[None] | None = None
        self.url = ""
        """Address to scrape, once it is open."""

    def take(self, events: list[Event]) -> None:
        """Count the next events of the session."""
        self._sampler.take(events)

    def refresh(self) -> None:
        """Take a sample now."""
        self._collector.latest = self._sampler.sample()

    def open(self, host: str, port: int) -> None:
        """Listen, and take a sample every second in the running event loop; port 0 picks a free one.

        Raises:
            ModelError: it cannot listen.
        """
        registry = CollectorRegistry(auto_describe=False)
        self.refresh()
        registry.register(self._collector)
        try:
            self._server, self._thread = start_http_server(port, addr=host, registry=registry)
        except OSError as error:
            raise ModelError(
                f"--metrics {port}: cannot listen on {host}: {error.strerror or error}", code="cannot_listen"
            ) from None
        self.url = f"http://{host}:{self._server.server_port}/metrics"
        self._task = asyncio.get_running_loop().create_task(self._repeat())

    def close(self) -> None:
        """Stop listening."""
        if self._task is not None:
            self._task.cancel()
        if self._server is not None and self._thread is not None:
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()

    async def _repeat(self) -> None:
        while True:
            await asyncio.sleep(REFRESH_S)
            self.refresh()


async def open_gateway(gateway: Gateway, host: str, port: int, metrics_port: int) -> MetricsServer:
    """Open a gateway with an endpoint for metrics; its ``on_events`` is called as before.

    Raises:
        OSError: the gateway cannot listen.
        ModelError: the endpoint cannot listen.
    """
    metrics, report = MetricsServer(gateway.session), gateway.on_events

    def take(events: list[Event]) -> None:
        metrics.take(events)
        report(events)

    gateway.on_events = take
    await gateway.open(port)
    try:
        metrics.open(host, metrics_port)
    except ModelError:
        await gateway.close()
        raise
    return metrics
