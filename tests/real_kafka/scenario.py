"""Timed run of a playbook's steps on a real cluster that has formed."""

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from faults.declarations import NoMatchError
from playbooks.engine.step_scheduler import StepSchedule
from playbooks.model import Playbook, Step, step_text
from tests.real_kafka import history
from tests.real_kafka.fault_board import FaultBoard
from tests.real_kafka.history import EventWriter
from tests.real_kafka.metadata_view import RealClusterQuery
from tests.real_kafka.processes import AdminError
from tests.real_kafka.real_cluster import SHARED, RealCluster, client_name, node_name
from tests.real_kafka.settings import members
from tests.real_kafka.steps import TargetResolver

TICK_S: Final = 0.01
LATE_US: Final = 180_000_000
"""How much longer than ``settle`` a run waits for servers that start slowly and replicas that are out of sync."""
_GROUPS_US: Final = 500_000
"""Interval at which the state of a group is asked for."""


@dataclass(slots=True)
class Scenario:
    """A playbook's steps at wall time, from the beginning to the end of settling."""

    playbook: Playbook
    cluster: RealCluster
    output: Path
    report: Callable[[str], None] = lambda text: None
    steps: EventWriter = field(init=False)
    board: FaultBoard = field(init=False)
    query: RealClusterQuery = field(init=False)
    schedule: StepSchedule = field(init=False)
    _groups: dict[str, tuple[int, Mapping[str, Any]]] = field(default_factory=dict)
    """Group → when it was described, and its description."""

    def __post_init__(self) -> None:
        cluster, spec = self.cluster, self.cluster.spec
        generator = random.Random(cluster.seed)
        self.steps = EventWriter(self.output / history.STEPS)
        resolver = TargetResolver(
            spec, cluster.view, cluster.voters, self._hosts(), node_name, lambda node: cluster.process(node).is_up,
            cluster.active_controller, generator,
        )  # fmt: skip
        self.board = FaultBoard(cluster, resolver, self.steps, generator)
        self.query = RealClusterQuery(
            cluster.view,
            tuple(cluster.brokers),
            int(spec.config.get("min.insync.replicas", 1)),
            cluster.now_us,
            lambda broker: cluster.servers[node_name(broker)].is_up,
            cluster.active_controller,
            self._describe_group,
            lambda: len(self.board.operations),
            self.board.count_faults,
        )
        self.schedule = StepSchedule(self.playbook)

    def _hosts(self) -> dict[str, str]:
        spec = self.cluster.spec
        names = [
            *(producer.name for producer in spec.producers),
            *(name for each in spec.groups for name in members(each)),
        ]
        return {name: client_name(name) if name in self.cluster.alone else SHARED for name in names}

    def _describe_group(self, group: str) -> Mapping[str, Any]:
        asked_us, found = self._groups.get(group, (-_GROUPS_US, {}))
        now_us = self.cluster.now_us()
        if now_us - asked_us >= _GROUPS_US:
            try:
                found = self.cluster.ask("describe_group", group=group).wait(5)
            except AdminError:  # the last answer stays
                found = dict(found)
            self._groups[group] = now_us, found
        return found

    def run(self) -> str:
        """Take all steps and settle; return ``completed``, or ``unmet`` if a ``when`` did not hold in time."""
        try:
            return self._run()
        finally:
            self.steps.close()

    def _run(self) -> str:
        self.cluster.begin()
        self.steps.write(0, "begin")
        ending = ""
        while (step := self.schedule.next) is not None and not ending:
            ending = self._wait_and_take(step)
        if ending != "stop":
            self._wait_for_faults()
            self._settle()
        self.steps.write(self.cluster.now_us(), "end")
        return "unmet" if ending == "unmet" else "completed"

    def _tick(self) -> None:
        self.board.tick()
        time.sleep(TICK_S)

    def _wait_and_take(self, step: Step) -> str:
        """Wait for a step and take it; return why no later one is taken, if so."""
        due_us = self.schedule.due_us(patient=False)
        condition = step.trigger.condition
        while condition is None and self.cluster.now_us() < due_us:
            self._tick()
        while condition is not None and not condition.holds(self.query):
            if self.cluster.now_us() >= due_us:
                self.steps.write(self.cluster.now_us(), "unmet", index=step.index, line=step.where.line)
                self.report(f"step {step.index + 1} is not taken: {condition.text} did not hold in time")
                return "unmet"
            self._tick()
        self._take(step)
        self.schedule.step_taken(self.cluster.now_us())
        return step.verb if step.verb in ("settle", "stop") else ""

    def _take(self, step: Step) -> None:
        at_us = self.cluster.now_us()
        fields: dict[str, Any] = {"nodes": [], "links": [], "params": {}, "fault": 0}
        outcome, error, message = "taken", "", ""
        try:
            if step.verb == "inject":
                fields |= self.board.inject(step)
            elif step.verb == "admin":
                fields["params"] = {name: str(value) for name, value in step.params.items()}
                self.board.begin_operation(step)
            elif step.verb == "heal":
                self.board.heal(step.name, "step")
        except NoMatchError as nobody:
            outcome, error, message = ("skipped" if step.if_any else "refused"), nobody.code, str(nobody)
        except AdminError as refused:
            outcome, error, message = "refused", refused.code, str(refused)
        text = step_text(step)
        self.report(f"{at_us / 1e6:7.3f} s  {text}" + (f": {outcome}, {message}" if message else ""))
        self.steps.write(
            at_us, "step", index=step.index, line=step.where.line, label=step.label, verb=step.verb, name=step.name,
            target=step.target, **fields, outcome=outcome, error=error, message=message, done_us=self.cluster.now_us(),
        )  # fmt: skip

    def _wait_for_faults(self) -> None:
        """Wait for faults that end by themselves, and for a load without steps."""
        load_us = self.playbook.settle_us if self.playbook.load_alone else 0
        while self.cluster.now_us() < load_us or self.board.ends_us >= 0:
            self._tick()

    def _settle(self) -> None:
        self.steps.write(self.cluster.now_us(), "settling")
        self.report(f"{self.cluster.now_us() / 1e6:7.3f} s  settling: producers stop, faults heal")
        self.board.heal("all", "settle")
        for process in self.cluster.clients.values():
            process.send("settle")
        end_us = self.cluster.now_us() + self.playbook.settle_us
        while self.cluster.now_us() < end_us or not self._is_quiet(end_us):
            self._tick()

    def _is_quiet(self, end_us: int) -> bool:
        """Return whether the cluster has recovered, or is given up on."""
        return self.cluster.settled or self.cluster.now_us() > end_us + LATE_US
