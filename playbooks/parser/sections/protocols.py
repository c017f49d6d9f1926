"""Which protocol a group of a playbook goes by, against what its cluster has (KIP-848)."""

from cluster_model.coordinators.group.consumer_protocol.config import enabled
from cluster_model.protocol.versions import Profile
from cluster_model.spec.cluster_spec import ClusterSpec, GroupSpec
from playbooks.parser.document.context import Notes
from playbooks.parser.document.field_types import Fields

SETTING = "group.coordinator.rebalance.protocols"


def check_protocol(fields: Fields, group: GroupSpec, spec: ClusterSpec, notes: Notes) -> None:
    """``group.protocol: consumer`` needs a coordinator that shares partitions out, and by that protocol."""
    if group.config.get("group.protocol") != "consumer":
        return
    profile = Profile.of(spec.kafka, spec.mode)
    node, path = fields.at("config"), fields.path("config")
    if not group.coordinated:
        notes.problem(node, path, "found group.protocol consumer, allowed only with 'coordinated: true'")
    elif profile.consumer_protocol and profile.kraft and not enabled(profile, spec.config):
        message = f"found group.protocol consumer, allowed only with {SETTING} 'classic,consumer' of the cluster"
        notes.problem(node, path, message)
