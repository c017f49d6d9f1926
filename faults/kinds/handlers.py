"""Handlers that throw."""

from typing import Final

from cluster_model.clients.consumer.record_handler import (
    CLOSE,
    CRASH,
    DEAD_LETTER,
    RETRY,
    SKIP,
    THEN,
    THROWN,
    USUAL,
    Trouble,
)
from cluster_model.cluster import Cluster
from cluster_model.spec.cluster_spec import GroupSpec
from faults.declarations.fault import (
    PERCENT,
    SECOND,
    Aim,
    Behaviour,
    Expectation,
    Fault,
    FaultError,
    Injury,
    Param,
    Stage,
    table,
)
from faults.declarations.impact import each_of, plain
from faults.declarations.spelling import percent
from faults.kinds.ending import back_again

_FATE: Final = {
    RETRY: "goes back to the first failed record again and again",
    SKIP: "skips them: nobody handles them",
    CRASH: "ends with the first failed record, and reads it again when it is started",
    CLOSE: "closes its consumer with the first failed record; automatic commits then cover it",
    DEAD_LETTER: "sends them to its dead-letter topic",
}


class FailingHandler(Behaviour):
    """The handler throws for some records."""

    def check(self, stage: Stage, aim: Aim) -> None:
        """What the application is to do then must be something that it can."""
        then = str(aim.params["then"])
        for node in aim.nodes:
            name = stage.cluster.clients.names[node]
            group = _group(stage.cluster, node)
            if then == DEAD_LETTER and not group.dead_letter:
                raise FaultError(f"{name} has no dead-letter topic: {group.name} has no dead_letter")
            if group.commit == "handed_off" and then not in (USUAL, SKIP):
                raise FaultError(
                    f"{name} hands records to another thread and does not wait for it: then takes {USUAL} or {SKIP}"
                )

    def apply(self, stage: Stage, injury: Injury) -> None:
        """It fails for records of later polls."""
        params = injury.params
        pause_us = int(params["pause"])
        trouble = Trouble(int(params["percent"]), bool(params["poison"]), str(params["then"]), pause_us)
        for node in injury.nodes:
            stage.cluster.clients.faults.fail(node, injury.id, trouble)

    def heal(self, stage: Stage, injury: Injury) -> None:
        """It can process everything again; who has ended by its exception is started, or will be when it has."""
        for node in injury.nodes:
            stage.cluster.clients.faults.lift(node, injury.id)
            if stage.cluster.consumers[stage.cluster.name_of(node)].failed == THROWN:
                back_again(stage, node)

    def expect(self, cluster: Cluster, aim: Aim) -> Expectation:
        """What becomes of the records."""
        hit = tuple([cluster.clients.names[node] for node in aim.nodes])
        share = percent(int(aim.params["percent"]))
        fate = _FATE.get(str(aim.params["then"])) or _usual(_group(cluster, aim.nodes[0]))
        return plain(f"{each_of(cluster, aim.nodes)} fails for {share} of the records, and {fate}", hit)


def _group(cluster: Cluster, node: int) -> GroupSpec:
    name = cluster.consumers[cluster.clients.names[node]].group
    return next(group for group in cluster.spec.groups if group.name == name)


def _usual(group: GroupSpec) -> str:
    tries = f"tries {group.retries} times more, then " if group.retries else ""
    return f"{tries}{_FATE[DEAD_LETTER] if group.dead_letter else _FATE[SKIP]}"


FAULTS: Final = table(
    Fault(
        name="failing_handler",
        letter="a",
        title="failing handler",
        family="clients",
        summary="The application's handler throws for some of the records that it is handed.",
        params=(
            Param("percent", "percent", "Share of the records.", default=PERCENT, low=1, high=100 * PERCENT),
            Param("poison", "bool", "The same records fail every time, whoever of the targets reads them.", False),
            Param(
                "then",
                "choice",
                "What the application does: " + "; ".join(f"{name}: {text}" for name, text in THEN.items()) + ".",
                default=USUAL,
                choices=tuple(THEN),
            ),
            Param("pause", "duration", "Before a record is polled again, with then: retry.", default=SECOND),
        ),
        accepts="consumers",
        lasting=True,
        heals="the handler can process everything; a process that its exception has ended is started again",
        glyph="!",
        colour="alarm",
        cause="a record that the code does not expect, a schema change, a service behind the handler that fails",
        may_break="records that are skipped; a partition that a poison record blocks; a process that crashes in a loop",
        usual_for_us=30 * SECOND,
        behaviour=FailingHandler(),
    ),
)
"""Faults by name."""
