"""Clean shutdowns of brokers: one broker, a decommissioned broker, a rolling restart, or a rolling upgrade."""

from typing import Final

from cluster_model.clients import Answer, DescribeMetadata
from cluster_model.kernel import ProcessState
from cluster_model.protocol.admin_messages import UnregisterBrokerRequest
from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.messages import MetadataResponse
from faults.declarations.fault import MS, FaultError
from faults.declarations.operation import POLL_US
from faults.operations.base import OperationBehaviour, OperationContext, OperationJob, error_and_detail
from faults.operations.reassignment import Plan, ReplicaMove, decommission_plan

CHECK_INTERVAL_US: Final = 100 * MS
"""Interval at which an operator checks whether a process has ended, in microseconds."""


class BrokerShutdown(OperationBehaviour):
    """Clean shutdown of one broker, with an optional restart."""

    def check(self, context: OperationContext, job: OperationJob) -> None:
        """Refuse a process that is not running."""
        broker = job.params["broker"]
        if not context.cluster.is_up(broker):
            raise FaultError(f"broker {broker} is down already", code="down_already")
        if context.cluster.state_of(broker) is ProcessState.PAUSED:
            raise FaultError(f"broker {broker} is paused and cannot shut down", code="paused")

    def begin(self, context: OperationContext, job: OperationJob) -> None:
        """Send SIGTERM."""
        context.cluster.shutdown(job.params["broker"])
        job.stage, job.accepted = "stopping", True
        context.schedule(job, CHECK_INTERVAL_US)

    def on_timer(self, context: OperationContext, job: OperationJob) -> None:
        """Check whether the broker is down."""
        broker, after_us = job.params["broker"], job.params["restart_after"]
        if job.stage == "stopping":
            if context.cluster.is_up(broker):
                context.schedule(job, CHECK_INTERVAL_US)
            elif after_us < 0 or job.cancelled:
                context.end(job, "", f"broker {broker} is down")
            else:
                job.stage = "down"
                context.progress(job, f"broker {broker} is down")
                context.schedule(job, after_us)
            return
        if job.cancelled:
            context.end(job, "", f"broker {broker} is down")
            return
        if not context.cluster.is_up(broker):
            context.cluster.restart(broker)
        context.end(job, "", f"broker {broker} is starting")

    def cancel(self, context: OperationContext, job: OperationJob) -> None:
        """Cancel the restart: the broker stays down."""
        del context
        if job.params["restart_after"] < 0:
            broker = job.params["broker"]
            raise FaultError(
                f"broker {broker} is in controlled shutdown, which cannot be cancelled", code="no_way_back"
            )
        job.cancelled = True


class Decommission(ReplicaMove):
    """Removal of a broker: move all replicas off it, shut it down, unregister it."""

    def plan(self, job: OperationJob, metadata: MetadataResponse) -> Plan:
        """Return moves of its replicas to the brokers with the fewest."""
        return decommission_plan(metadata, job.params["broker"])

    def finish(self, context: OperationContext, job: OperationJob) -> None:
        """Shut the broker down if it is empty."""
        broker = job.params["broker"]
        if job.stage == "unregister" or job.error or job.cancelled:
            super().finish(context, job)
            return
        job.stage = "stopping"
        context.progress(job, f"broker {broker} has no replicas left and is shutting down")
        if context.cluster.is_up(broker):
            if context.cluster.state_of(broker) is ProcessState.RUNNING:
                context.cluster.shutdown(broker)
            else:
                job.stage = "paused"
        context.schedule(job, CHECK_INTERVAL_US)

    def on_timer(self, context: OperationContext, job: OperationJob) -> None:
        """Check whether the broker is down."""
        if job.stage not in ("stopping", "paused"):
            super().on_timer(context, job)
            return
        cluster, broker = context.cluster, job.params["broker"]
        if job.stage == "paused" and cluster.state_of(broker) is ProcessState.RUNNING:
            job.stage = "stopping"
            cluster.shutdown(broker)
        if cluster.is_up(broker):
            context.schedule(job, CHECK_INTERVAL_US)
        elif cluster.profile.kraft:
            job.stage = "unregister"
            context.send(job, UnregisterBrokerRequest(0, broker))
        else:
            context.end(job, "", f"broker {broker} is removed")

    def on_response(self, context: OperationContext, job: OperationJob, answer: Answer) -> None:
        """End with the response to the unregistration."""
        if job.stage != "unregister":
            super().on_response(context, job, answer)
            return
        error, detail = error_and_detail(answer)
        context.end(job, error, detail or f"broker {job.params['broker']} is removed")


class RollingRestart(OperationBehaviour):
    """Rolling restart: each broker is shut down and restarted, the next one when the cluster has recovered."""

    def begin(self, context: OperationContext, job: OperationJob) -> None:
        """Start with the first broker."""
        nodes = self.nodes(context, job)
        job.memo |= {"left": nodes, "total": len(nodes)}
        job.accepted = True
        self._next(context, job)

    def nodes(self, context: OperationContext, job: OperationJob) -> tuple[int, ...]:
        """Return the nodes in the order of their restarts."""
        brokers: tuple[int, ...] = job.params["brokers"] or tuple(sorted(context.cluster.brokers))
        return brokers

    def before_start(self, context: OperationContext, job: OperationJob) -> None:
        """Do what there is to do while a node is down; nothing for a restart."""

    def _next(self, context: OperationContext, job: OperationJob) -> None:
        left = job.memo["left"]
        done = job.memo["total"] - len(left)
        if not left or job.cancelled:
            context.end(job, "", f"{done} of {job.memo['total']} restarted" if left else f"{done} restarted")
            return
        job.memo |= {"broker": left[0], "left": left[1:]}
        job.stage = "stop"
        self.on_timer(context, job)

    def on_timer(self, context: OperationContext, job: OperationJob) -> None:
        """Continue with the current stage."""
        getattr(self, f"_{job.stage.replace(' ', '_')}")(context, job)

    def _stop(self, context: OperationContext, job: OperationJob) -> None:
        """Shut the broker down.

        A paused broker is shut down when it resumes; one that is down already is only started.
        """
        cluster, broker = context.cluster, job.memo["broker"]
        if cluster.is_up(broker) and cluster.state_of(broker) is not ProcessState.RUNNING:
            context.schedule(job, CHECK_INTERVAL_US)
            return
        if cluster.is_up(broker):
            cluster.shutdown(broker)
            context.progress(job, f"{cluster.name_of(broker)} is shutting down")
        job.stage = "stopping"
        context.schedule(job, CHECK_INTERVAL_US)

    def _stopping(self, context: OperationContext, job: OperationJob) -> None:
        if context.cluster.is_up(job.memo["broker"]):
            context.schedule(job, CHECK_INTERVAL_US)
        else:
            job.stage = "start"
            context.schedule(job, job.params["down"])

    def _start(self, context: OperationContext, job: OperationJob) -> None:
        cluster, broker = context.cluster, job.memo["broker"]
        if not cluster.is_up(broker):
            self.before_start(context, job)
            cluster.restart(broker)
        context.progress(job, f"{cluster.name_of(broker)} is starting")
        if job.params["wait"] == "isr":
            job.stage = "check isr"
            context.schedule(job, POLL_US)
        else:
            self.pause_or_end(context, job)

    def _check_isr(self, context: OperationContext, job: OperationJob) -> None:
        if job.cancelled:
            self._next(context, job)
        elif context.cluster.brokers[job.memo["broker"]].control.registered:
            context.send(job, DescribeMetadata(0))
        else:  # The broker has not registered yet.
            context.schedule(job, POLL_US)

    def on_response(self, context: OperationContext, job: OperationJob, answer: Answer) -> None:
        """Continue with the next broker if this one is back and every replica is in sync."""
        all_done = (
            isinstance(answer, MetadataResponse)
            and job.memo["broker"] in answer.brokers
            and all(len(state.isr) >= len(state.replicas) for state in answer.partitions)
        )
        if all_done:
            context.progress(job, f"broker {job.memo['broker']} is back, all replicas are in sync")
            self.pause_or_end(context, job)
        else:
            context.schedule(job, POLL_US)

    def pause_or_end(self, context: OperationContext, job: OperationJob) -> None:
        """Pause before the next node, or end after the last one."""
        if not job.memo["left"]:
            self._next(context, job)
        else:
            job.stage = "next one"
            context.schedule(job, job.params["pause"])

    def _next_one(self, context: OperationContext, job: OperationJob) -> None:
        self._next(context, job)

    def cancel(self, context: OperationContext, job: OperationJob) -> None:
        """Stop after the current broker, which restarts."""
        del context
        job.cancelled = True


_CAUGHT_UP: Final = ("active", "follower", "leader")
"""Roles of a member of the quorum that has found the leader, or leads."""


class RollingUpgrade(RollingRestart):
    """Rolling restart with new software: dedicated controllers first, then brokers, one at a time."""

    def check(self, context: OperationContext, job: OperationJob) -> None:
        """Refuse a release that lacks the cluster's controller mode or its protocol."""
        cluster, params = context.cluster, job.params
        if params["protocol"] and cluster.profile.kraft:
            raise FaultError(
                "rolling_upgrade: protocol is for ZooKeeper mode; in KRaft mode upgrade_features finalizes it",
                code="not_in_mode",
            )
        for node in self.nodes(context, job):
            try:
                cluster.releases.changed(node, params["to"], params["protocol"])
            except ModelError as error:
                raise FaultError(str(error), code=error.code) from error

    def nodes(self, context: OperationContext, job: OperationJob) -> tuple[int, ...]:
        """Return the nodes in the order of their restarts."""
        brokers = super().nodes(context, job)
        controllers = [node for node in context.cluster.releases.nodes if node not in context.cluster.brokers]
        return (*controllers, *brokers) if job.params["controllers"] else brokers

    def before_start(self, context: OperationContext, job: OperationJob) -> None:
        """Replace the software of a node that is down."""
        context.cluster.upgrade(job.memo["broker"], job.params["to"], job.params["protocol"])

    def _check_isr(self, context: OperationContext, job: OperationJob) -> None:
        """Wait for a controller to catch up with the quorum, as ``kafka-metadata-quorum.sh`` shows it."""
        node = job.memo["broker"]
        if job.cancelled or node in context.cluster.brokers:
            super()._check_isr(context, job)
            return
        members = {view.node: view for view in context.cluster.plane.member_views()}
        committed = max(view.committed for view in members.values())
        if members[node].role in _CAUGHT_UP and members[node].end >= committed:
            context.progress(job, f"{context.cluster.name_of(node)} is back and has caught up with the quorum")
            self.pause_or_end(context, job)
        else:
            context.schedule(job, POLL_US)
