"""Rolling upgrades: new software node by node, then the feature levels that every node supports (KIP-584, KIP-778)."""

from collections.abc import Mapping
from typing import Any, Final

from cluster_model.clients import Request
from cluster_model.protocol.admin_messages import FeatureUpdate, UpdateFeaturesRequest
from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.features import levels_of_release
from faults.declarations.fault import FaultError
from faults.declarations.operation import ALL_FEATURES, POLL_US
from faults.operations.base import OperationContext, OperationJob, RequestOperation
from faults.operations.broker_restarts import RollingRestart

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
            self.rest(context, job)
        else:
            context.schedule(job, POLL_US)


def _update_features(params: Mapping[str, Any]) -> Request:
    """Return the request of ``kafka-features.sh upgrade --release-version``, for all features or one of them."""
    levels = {name: level for name, level in levels_of_release(params["release"]).items() if level}
    wanted = params["feature"]
    if wanted != ALL_FEATURES:
        if wanted not in levels:
            raise FaultError(
                f"upgrade_features: Kafka {params['release']} has no default level of {wanted}; it has "
                f"{', '.join(levels)}",
                code="no_feature",
            )
        levels = {wanted: levels[wanted]}
    return UpdateFeaturesRequest(0, tuple([FeatureUpdate(name, level) for name, level in levels.items()]), False)


FEATURE_UPGRADE: Final = RequestOperation(_update_features)
