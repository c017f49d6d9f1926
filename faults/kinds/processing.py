"""Applications that read too slowly, or not at all: consumer lag."""

from typing import Final

from cluster_model.clients.consumer.record_handler import WHOLE
from cluster_model.cluster import Cluster
from faults.declarations.fault import (
    MS,
    PERCENT,
    SECOND,
    Aim,
    Alias,
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
from faults.kinds.lifting import Lifted
from faults.kinds.process import refuse_down


class SlowProcessing(Lifted):
    """More time for every record."""

    def check(self, stage: Stage, aim: Aim) -> None:
        """It must be slower than usual in one way or the other."""
        if not aim.params["extra"] and aim.params["factor"] <= 100 * PERCENT:
            raise FaultError("slow_processing needs extra time or a factor above 100%, found neither")

    def apply(self, stage: Stage, injury: Injury) -> None:
        """Records of later polls take longer."""
        for node in injury.nodes:
            stage.cluster.clients.faults.slow(
                node, injury.id, int(injury.params["extra"]), int(injury.params["factor"])
            )  # fmt: skip

    def expect(self, cluster: Cluster, aim: Aim) -> Expectation:
        """How many records a second are left to it."""
        hit = _names(cluster, aim)
        usual = max(cluster.consumers[name].handling.record_us for name in hit)
        slow = usual * int(aim.params["factor"]) // WHOLE + int(aim.params["extra"])
        who = each_of(cluster, aim.nodes)
        if not slow:
            return plain(f"{who} spends no time on records: a factor of that changes nothing", hit)
        return plain(f"{who} processes at most {SECOND // slow} records a second; lag grows if more come", hit)


class PausedMember(Behaviour):
    """``Consumer.pause``."""

    holds_process = True

    def check(self, stage: Stage, aim: Aim) -> None:
        """Only what lives can call its client."""
        refuse_down(stage.cluster, aim.nodes)

    def apply(self, stage: Stage, injury: Injury) -> None:
        """Pause what each is assigned now."""
        for node in injury.nodes:
            stage.cluster.clients.faults.pause(node, injury.id)

    def heal(self, stage: Stage, injury: Injury) -> None:
        """Resume what is still paused of that."""
        for node in injury.nodes:
            stage.cluster.clients.faults.resume(node, injury.id)

    def expect(self, cluster: Cluster, aim: Aim) -> Expectation:
        """What nobody reads meanwhile."""
        hit = _names(cluster, aim)
        owned = sum(len(cluster.consumers[name].assignment) for name in hit)
        what = "1 partition" if owned == 1 else f"{owned} partitions"
        return plain(f"{each_of(cluster, aim.nodes)} stays in its group and fetches nothing of its {what}", hit)


def _names(cluster: Cluster, aim: Aim) -> tuple[str, ...]:
    return tuple([cluster.clients.names[node] for node in aim.nodes])


FAULTS: Final = table(
    Fault(
        name="slow_processing",
        letter="j",
        title="slow processing",
        family="clients",
        summary="The application takes longer for every record: what comes faster than that waits in the log.",
        params=(
            Param("extra", "duration", "Added to the time for each record.", default=10 * MS),
            Param(
                "factor",
                "percent",
                "The time for each record, of the usual.",
                default=100 * PERCENT,
                low=PERCENT,
                high=100_000 * PERCENT,
            ),
        ),
        accepts="consumers",
        lasting=True,
        heals="records of later polls take their usual time, and the lag is worked off",
        glyph="~",
        colour="warning",
        cause="a slow database or service behind the handler, a noisy neighbour, a new version that does more",
        may_break="lag; max.poll.interval.ms where a poll's records take longer than that: then the member leaves",
        usual_for_us=60 * SECOND,
        behaviour=SlowProcessing(),
    ),
    Fault(
        name="paused_member",
        letter="q",
        title="paused member",
        family="clients",
        summary="The application has paused its partitions (Consumer.pause): it polls and stays in its group, but "
        "fetches nothing; a partition that is taken away and given back is not paused any more.",
        params=(),
        accepts="consumers",
        lasting=True,
        heals="it resumes what it has had ever since",
        glyph="‖",
        colour="warning",
        cause="back-pressure that was never released, a circuit breaker that stays open, an operator's command",
        may_break="lag, without a rebalance or an error; records that retention deletes before anybody reads them",
        usual_for_us=30 * SECOND,
        aliases=(Alias("pause_consumer"),),
        behaviour=PausedMember(),
    ),
)
"""Faults by name."""
