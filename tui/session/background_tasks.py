"""From the model to the page of a finding: what the books, the logs and the events so far tell of it."""

from cluster_model.checker.root_cause.findings import Finding, Place
from cluster_model.checker.root_cause.loss_chain import lineage_of
from cluster_model.protocol.errors import ModelError
from playbooks.model.peeking import Peekable, Peeked, peek
from tui.session.session_controller import SimBridge
from tui.viewmodel.autopsy_page import MOST_PLACES, Case
from tui.viewmodel.finding_page import Copy, Frame, chosen, frame
from tui.viewmodel.partition_history import Chronicle


def findings_so_far(bridge: SimBridge) -> tuple[Finding, ...]:
    """All that went wrong with records by now, in the order in which ``floodmark run`` tells it."""
    cluster = bridge.session.cluster
    return cluster.checker.casebook.findings(cluster.now_us)


def case_of(bridge: SimBridge, findings: tuple[Finding, ...], number: int) -> Case:
    """The finding of that number, from 1, with everything that the page shows."""
    cluster, chronicle = bridge.session.cluster, bridge.chronicle
    finding = findings[number - 1]
    partition = next((link.partition for link in finding.chain if link.partition), finding.partitions[0])
    there = [each for each in finding.places if each.partition == partition] or list(finding.places)
    place = max(there, key=lambda each: each.count)  # the chain is that of the most records
    first = [peeked for each in finding.places[:MOST_PLACES] for peeked in _peeked(cluster, each)]
    start, end = place.log_offset, place.log_offset + place.count
    return Case(
        number=number,
        total=len(findings),
        finding=finding,
        now_us=cluster.now_us,
        frames=_frames(cluster, chronicle, finding, place),
        partition=partition,
        peeked=tuple(first),
        readers=cluster.checker.readings.handed_to(partition, start, end) if start >= 0 else (),
        broken=chronicle.broken(finding.partitions, cluster.now_us),
    )


def _frames(cluster: Peekable, chronicle: Chronicle, finding: Finding, place: Place) -> tuple[Frame, ...]:
    partition = place.partition
    record = cluster.world.records.get(partition)
    replicas = record.assignment if record is not None else ()
    copies = _copies(cluster, place)
    chain = [link for link in finding.chain if link.partition in ("", partition)] or list(finding.chain)
    return tuple(
        frame(finding, chain, link, chronicle.standing(partition, replicas, link), replicas, copies)
        for link in chosen(chain)
    )


def _copies(cluster: Peekable, place: Place) -> tuple[Copy, ...]:
    """Who had the first records of a place: its leader, who dropped them, and who has them."""
    world, checker, partition = cluster.world, cluster.checker, place.partition
    start, end = place.log_offset, place.log_offset + place.count
    lineage = lineage_of(world, partition, place.leader_epoch, start, place.client, place.sequence)
    if lineage is None:
        return ()
    gone = {cut.event.broker: cut.event.at_us for cut in checker.history.cuts_of(partition, lineage.id, (start, end))}
    for broker, (_moment, event) in checker.history.removed(partition).items():
        if event.log_offset < end and event.end_offset > start:
            gone[broker] = event.at_us
    replicas = world.replicas.get(partition, {})
    has = [broker for broker, replica in replicas.items() if replica.log.holds(lineage.id, start, end)]
    in_sync = checker.ledger.vouched.isr_at(partition, lineage.id, start) if place.acks < 0 else ()
    return tuple(
        Copy(broker, broker == lineage.broker or broker in in_sync, -1 if broker in has else gone.get(broker, -1))
        for broker in dict.fromkeys((lineage.broker, *in_sync, *gone, *has))
    )


def _peeked(cluster: Peekable, place: Place) -> tuple[Peeked, ...]:
    """The first record of a place, of all that ever stood at its offset."""
    if place.log_offset < 0:
        return ()
    try:
        found = peek(cluster, place.partition, place.log_offset)
    except ModelError:
        return ()  # its partition has been deleted
    return tuple(each for each in found if each.record.epoch == place.leader_epoch)
