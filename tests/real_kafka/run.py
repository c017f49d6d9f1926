"""One playbook on real brokers: refuse or load it, form the cluster, take its steps, collect the evidence."""

import contextlib
import shutil
import signal
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FrameType
from typing import Any, Final

from cluster_model.spec import ClusterSpec
from playbooks.errors import PlaybookError
from playbooks.library.bundled import path_of
from playbooks.model import Playbook
from playbooks.parser import loader
from playbooks.parser.settings import SettingError, apply_settings
from tests.real_kafka import evidence, history, namespaces
from tests.real_kafka.kafka_jars import KafkaUnavailableError, missing_programs
from tests.real_kafka.namespaces import NamespaceUnavailableError
from tests.real_kafka.processes import AdminError, compiled_clients, unused_directory
from tests.real_kafka.real_cluster import ClusterStartError, RealCluster
from tests.real_kafka.scenario import Scenario
from tests.real_kafka.settings import MODELLED, SMALL, members, with_small_cluster
from tests.real_kafka.steps import alone, controllers_needed, duplicated, refusals

FAILURES: Final = (
    KafkaUnavailableError, NamespaceUnavailableError, ClusterStartError, PlaybookError, SettingError, AdminError,
    TimeoutError,
)  # fmt: skip
"""Errors with a message for the user."""


class RunRefusedError(Exception):
    """A playbook that cannot be run on real brokers, or a machine that cannot run them; one reason a line."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Options of a run: the file or library name of a playbook, the release, settings, the directory of evidence."""

    playbook: str
    release: str
    output: Path
    settings: Mapping[str, str] = field(default_factory=dict)
    controllers: int = 0
    """0: as many as the steps need."""
    report: Callable[[str], None] = lambda text: None


def load(options: RunOptions) -> Playbook:
    """Return the playbook for this release, with the settings and a small cluster.

    Raises:
        PlaybookError: it is invalid, or not for this release.
        SettingError: a setting does not apply.
        RunRefusedError: it cannot be run on real brokers; there is a line for each reason.
    """
    try:
        path = options.playbook if Path(options.playbook).is_file() else str(path_of(options.playbook))
    except KeyError as error:
        raise RunRefusedError(f"no file, and {error.args[0]}") from None
    text = loader.read_text(path)
    first = loader.loads(text, path)
    settings = {**options.settings, "cluster.kafka": f'"{options.release}"'}
    playbook = loader.loads(apply_settings(text, settings, first.fragments, first.variables), path)
    found = refusals(playbook)
    if found:
        raise RunRefusedError("\n".join(refusal.text(path) for refusal in found))
    return replace(playbook, spec=with_small_cluster(playbook.spec))


def deviations(spec: ClusterSpec, given: ClusterSpec, controllers: int) -> list[str]:
    """Return in sentences where a run differs from its playbook."""
    found = [f"{name} is {spec.config[name]}" for name in MODELLED if name not in given.config]
    found += [
        f"{name} is {value} on servers" for name, value in SMALL.items() if name not in (*MODELLED, *given.config)
    ]
    if not spec.combined and controllers != spec.controllers:
        found.append(f"{controllers} instead of {spec.controllers} controllers: no step is about the quorum")
    found.append("servers have heaps of 384 MB and a serial collector")
    return found


def missing() -> list[str]:
    """Return what this machine lacks for a run."""
    return [*(f"the program {name}" for name in missing_programs()), *namespaces.missing()]


def run(options: RunOptions) -> str:
    """Run a playbook and collect its evidence; return the outcome of ``run.json``.

    Raises:
        RunRefusedError: nothing was started.
        KafkaUnavailableError: neither, if the jars cannot be had.
        One of :data:`FAILURES`: with the evidence so far, if there is any.
    """
    playbook = load(options)
    if lacking := missing():
        raise RunRefusedError(f"real brokers need {', '.join(lacking)}")
    if options.output.exists() and any(options.output.iterdir()):
        raise RunRefusedError(f"{options.output} is not empty: name a directory that is empty or does not exist")
    compiled_clients(options.release)  # with the jars that they need
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / history.PLAYBOOK).write_text(playbook.source, encoding="utf-8")
    controllers = options.controllers or controllers_needed(playbook)
    directory = unused_directory("floodmark-kafka-")
    cluster = RealCluster(
        playbook.spec,
        options.release,
        playbook.seed,
        controllers,
        alone(playbook),
        duplicated(playbook),
        directory,
        options.output,
        options.report,
    )
    outcome = "interrupted"
    try:
        with terminable():
            cluster.form()
            outcome = Scenario(playbook, cluster, options.output, options.report).run()
    except FAILURES as error:
        outcome = str(error).splitlines()[0]
        raise
    finally:
        end_us = cluster.now_us()
        try:
            cluster.kill_all()
            options.report("collecting the evidence")
            evidence.collect(cluster, options.output)
            history.write_run(options.output, _summary(options, playbook, cluster, outcome, end_us))
        finally:
            cluster.close()
            shutil.rmtree(directory, ignore_errors=True)
    return outcome


@contextlib.contextmanager
def terminable() -> Iterator[None]:
    """Turn SIGTERM, and SIGINT where a shell has it ignored, into KeyboardInterrupt: everything is cleaned up."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        del number, frame
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _summary(
    options: RunOptions, playbook: Playbook, cluster: RealCluster, outcome: str, end_us: int
) -> dict[str, Any]:
    spec = playbook.spec
    given = loader.loads(playbook.source, playbook.path, playbook.fragments).spec
    addresses = {server.node: server.namespace.address for server in cluster.servers.values()}
    return {
        "format": history.FORMAT,
        "playbook": playbook.name,
        "settings": [list(pair) for pair in options.settings.items()],
        "release": options.release,
        "cluster_id": cluster.cluster_id,
        "start_unix_us": cluster.start_unix_us,
        "end_us": end_us,
        "outcome": outcome,
        "brokers": {str(each.id): {"rack": each.rack, "address": addresses.get(each.id, "")} for each in spec.brokers},
        "controllers": {str(node): {"address": addresses.get(node, "")} for node in cluster.voters},
        "topics": cluster.topics,
        "producers": [producer.name for producer in spec.producers],
        "groups": {group.name: members(group) for group in spec.groups},
        "deviations": deviations(spec, given, cluster.controllers),
        "seed": playbook.seed,
    }
