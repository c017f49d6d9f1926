"""Release lines and the rules they follow, against Kafka's own history."""

from dataclasses import replace
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.known_issues import KNOWN_ISSUES
from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.releases import PATCHES, RELEASE_LINES, line_of, name_of, number_of, releases_between
from cluster_model.protocol.versions import (
    CLIENT_FLAGS,
    DEFAULT_RELEASE,
    FLAGS,
    NEWEST,
    ClientProfile,
    Profile,
    modes_of,
    with_rules,
)

LAST = RELEASE_LINES[-1]
PATCH_RELEASES = [patch for patches in PATCHES.values() for patch in patches]

HISTORY = [
    ("lag_messages", "0.8.2", "0.8.2"),
    ("group_membership", "0.9", LAST),
    ("rebalance_timeout", "0.10.1", LAST),
    ("times_out_new_members", "2.2", LAST),
    ("transactions", "0.11", LAST),
    ("verifies_transactions", "3.6", LAST),
    ("checks_epoch_first", "4.1.1", LAST),
    ("rejects_old_epoch", "4.1", LAST),
    ("unknown_without_replica", "0.8.2", "1.1"),
    ("transactions_v2", "4.0", LAST),
    ("strict_markers", "4.2", LAST),
    ("asks_marker_versions", "4.2.1", LAST),
    ("transaction_tools", "3.0", LAST),
    ("delete_groups", "1.1", LAST),
    ("group_retention", "2.1", LAST),
    ("member_id_required", "2.2", LAST),
    ("static_members", "2.3", LAST),
    ("offset_delete", "2.4", LAST),
    ("stable_offsets", "2.5", LAST),
    ("sync_timeout", "3.0", LAST),
    ("skip_assignment", "3.2", LAST),
    ("shrink_half", "0.10.2", LAST),
    ("caught_up_previous", "0.10.2", LAST),
    ("hw_waits_caught_up", "0.10.2", LAST),
    ("throttles", "0.10.1", LAST),
    ("exits_out_of_range", "0.8.2", "2.0.0"),
    ("epoch_truncation", "0.11", LAST),
    ("isr_epoch_start", "2.0.1", LAST),
    ("fails_whole_fetches", "0.8.2", "0.11"),
    ("leads_until_stopped", "3.3", "3.3.1"),
    ("restarts_after_missed_epochs", "2.0.1", LAST),
    ("keeps_empty_epochs", "2.0.1", "2.6.0"),
    ("counts_diverging_fetches", "2.7", "2.8.0"),
    ("keeps_hw_at_shrink", "2.7", "3.0"),
    ("keeps_last_isr", "1.1", LAST),
    ("epoch_on_elect", "2.0.1", LAST),
    ("fetch_sessions", "1.1", LAST),
    ("quits_waiting", "1.1", LAST),
    ("dynamic_config", "1.1", LAST),
    ("keeps_deleted_units", "1.1", "2.5"),
    ("loses_units", "2.6", "3.8.0"),
    ("loses_topic_overrides", "1.1", "2.4.0"),
    ("strays_hide_new_replicas", "3.3", "3.6"),
    ("kip_279", "2.0", LAST),
    ("kip_320", "2.1", LAST),
    ("session_epochs", "2.5", LAST),
    ("bounce_detected", "2.2", LAST),
    ("offset_not_available", "2.2", LAST),
    ("leo_is_in_sync", "2.1", LAST),
    ("hw_push", "2.4", "2.5"),
    ("reads_from_followers", "2.4", LAST),
    ("completes_follower_reads", "3.4", LAST),
    ("diverging_fetch", "2.7", LAST),
    ("alter_partition", "2.7", LAST),
    ("topic_ids", "2.8", LAST),
    ("refuses_collisions", "0.9", LAST),
    ("bounds_operations", "3.5", LAST),
    ("delete_horizon", "3.1", LAST),
    ("recovery_state", "3.2", LAST),
    ("eligible_isr", "3.3", LAST),
    ("leo_max_at_fetch", "3.3", LAST),
    ("caught_up_at_leo", "3.3", LAST),
    ("fetch_broker_epoch", "3.5", LAST),
    ("no_bump_on_shrink", "3.6", LAST),
    ("adding_completes", "3.3", "3.7"),
    ("reassign_by_adding", "4.3", LAST),
    ("fenced_last_known", "4.0", "4.0"),
    ("hw_needs_min_isr", "3.7", LAST),
    ("effective_min_isr", "3.7", LAST),
    ("late_port", "3.5", LAST),
    ("leader_hints", "3.7", LAST),
    ("consumer_protocol", "3.7", LAST),
    ("server_patterns", "4.0", LAST),
    ("assignment_epochs", "4.3", LAST),
    ("fences_rejoins", "3.7", "4.1"),
    ("revokes_in_epoch", "4.2", LAST),
    ("assignment_interval", "4.3", LAST),
    ("first_assignment_epoch", "4.3", LAST),
    ("assigns_by_new_assignor", "4.4", LAST),
    ("empty_group_epoch", "4.4", LAST),
    ("keeps_extra_partition", "4.0.1", LAST),
    ("uniform_by_member", "3.8", LAST),
    ("uniform_by_topic", "4.0", LAST),
    ("contiguous_ranges", "3.9", LAST),
    ("elr", "4.1", LAST),
    ("cleans_committed", "3.1", LAST),
    ("check_quorum", "3.7", LAST),
    ("pre_vote", "4.0", LAST),
    ("quorum_hw_push", "4.1", LAST),
    ("election_waits_out", "4.1", LAST),
    ("election_jitters", "4.0.1", LAST),
    ("heartbeat_retry_flat", "4.1", LAST),
    ("heartbeat_backoff_halved", "4.0", LAST),
    ("timestamps", "0.10.0", LAST),
    ("time_index", "0.10.1", LAST),
    ("offsets_for_times", "0.10.1", LAST),
    ("max_timestamp", "3.0", LAST),
    ("max_timestamp_compressed", "3.8", LAST),
    ("compact_and_delete", "0.10.1", LAST),
    ("compaction_needs_keys", "0.9", LAST),
    ("invalid_record", "2.4", LAST),
    ("zstd", "2.1", LAST),
    ("uncleanable_partitions", "2.1", LAST),
    ("log_dir_failure", "1.0", LAST),
    ("delete_records", "0.11", LAST),
    ("retention_waits_hw", "0.11.0.1", LAST),
    ("refetches_corrupt", "0.10.2", LAST),
    ("restarts_each_epoch", "2.1", LAST),
    ("restarts_by_epoch", "3.3", LAST),
    ("hw_waits_eligible", "3.6", LAST),
    ("idempotence", "0.11", LAST),
    ("unknown_producer_id", "1.0", "2.4"),
    ("unknown_after_marker", "2.0.1", "2.4"),
    ("five_batches", "1.0", LAST),
    ("markers_renew_nothing", "1.0", "2.4.0"),
    ("producer_epoch_bump", "2.5", LAST),
    ("producer_fenced", "2.7", LAST),
    ("transaction_abortable", "3.8", LAST),
    ("forgets_replaced_id", "4.1", LAST),
    ("transaction_version", "4.0", LAST),
    ("elr_version", "4.0", LAST),
    ("atomic_feature_updates", "4.0", LAST),
    ("describe_producers", "2.8", LAST),
    ("offsets_topic_replication", "0.11", LAST),
    ("fetch_all_offsets", "0.10.2", LAST),
    ("list_groups_by_state", "2.6", LAST),
    ("group_configs", "4.0", LAST),
    ("waits_for_own_session", "0.8.2", "0.8.2"),
    ("isr_change_notification", "0.9", LAST),
    ("async_zookeeper", "1.1", LAST),
    ("zk_controller_epoch", "2.1", LAST),
    ("topic_unclean_election", "2.0", LAST),
    ("stop_replica_epoch", "2.6", LAST),
    ("alter_reassignments", "2.4", LAST),
    ("unclean_on_demand", "2.4", LAST),
    ("controller_api_versions", "2.8", LAST),
]
"""Flag, first and last release line with it."""

CLIENT_HISTORY = [
    ("asks_api_versions", "0.10.2", LAST),
    ("unknown_topic_is_stale", "0.9", LAST),
    ("caps_backoff", "3.7", LAST),
    ("learns_leaders", "3.7", LAST),
    ("skips_backoff", "3.7", LAST),
    ("fails_oldest_first", "2.0", LAST),
    ("expires_batches", "0.9", LAST),
    ("delivery_timeout", "2.1", LAST),
    ("splits_batches", "0.11", LAST),
    ("five_in_flight", "1.0", LAST),
    ("strict_in_flight", "4.0", LAST),
    ("idempotent_by_default", "3.2", LAST),
    ("bumps_epoch", "2.5", LAST),
    ("consumer_group_metadata", "2.5", LAST),
    ("aborts_when_fenced", "2.7", LAST),
    ("knows_abortable", "3.8", LAST),
    ("epoch_per_transaction", "4.0", LAST),
    ("sticky_partitioner", "2.4", LAST),
    ("round_robin_partitioner", "2.4", LAST),
    ("built_in_partitioner", "3.3", LAST),
    ("round_robin_two_turns", "2.4", "3.9.1"),
    ("default_partitioner", "0.8.2", "3.9"),
    ("uniform_sticky_partitioner", "2.4", "3.9"),
    ("sticky_assignor", "0.11", LAST),
    ("cooperative_assignor", "2.4", LAST),
    ("static_member_order", "2.4", LAST),
    ("sticky_generations", "2.3", LAST),
    ("constrained_sticky", "2.5.1", LAST),
    ("cooperative_generation", "2.8.1", LAST),
    ("even_sticky", "3.0", LAST),
    ("claims_by_partition", "3.4.1", LAST),
    ("reports_joined_generation", "3.4", LAST),
    ("keeps_lowest", "3.7.1", LAST),
    ("exact_racks", "3.7.1", LAST),
    ("on_partitions_lost", "2.4", LAST),
    ("member_racks", "3.5", LAST),
    ("detects_truncation", "2.3", LAST),
    ("polls_in_rebalance", "2.5", LAST),
    ("forgets_id_of_generation", "0.9", "3.1"),
    ("keeps_paused", "2.4", LAST),
    ("reset_by_duration", "4.0", LAST),
    ("group_tables", "1.1", LAST),
]
"""The same of clients."""

BACKPORTS = {
    "heartbeat_retry_flat": ("3.9.2", "4.0.1"),
    "checks_epoch_first": ("3.9.2", "4.0.2"),
    "idempotent_by_default": ("3.0.1", "3.1.1"),
    "election_jitters": ("3.9.2",),
    "completes_follower_reads": ("3.3.2",),
    "refetches_corrupt": ("0.10.1.1",),
    "times_out_new_members": ("2.1.1",),
    "sync_timeout": ("2.8.1",),
}
"""Rule → patches of older lines from which on these have it, too."""
FIXES = {"loses_units": ("3.7.2",), "counts_diverging_fetches": ("2.7.2",)}
"""Bug → patches of lines before its last release from which on these no longer have it."""

ROOT = Path(__file__).parents[3]
REVIEWED = {
    "cluster_model/protocol/versions.py": "4.4",
    "cluster_model/protocol/config_defaults.py": "4.4",
    "cluster_model/protocol/metadata_versions.py": "4.4",
    "cluster_model/protocol/features.py": "4.4",
    "cluster_model/protocol/rule_gates.py": "4.4",
    "gateway/protocol/api_versions.py": "4.4",
    "faults/declarations/operation.py": "4.4",
    "playbooks/diagnosis/remedies.py": "4.4",
}
"""Files that list what a release has → the newest release that they were compared with."""


def with_rule(flag: str, first: str, last: str) -> list[str]:
    """Patch releases that have a rule: from the first to the last, and later ones of lines that got it in a patch."""
    among = set(releases_between(first, last))
    for patch in BACKPORTS.get(flag, ()):
        among |= set(releases_between(patch, line_of(patch)))
    for patch in FIXES.get(flag, ()):
        among -= set(releases_between(patch, line_of(patch)))
    return [name for name in PATCH_RELEASES if name in among]


@pytest.mark.slow
@pytest.mark.parametrize(("flag", "first", "last"), HISTORY)
def test_a_rule_holds_from_its_first_release_to_its_last_and_in_no_other(flag: str, first: str, last: str) -> None:
    assert [name for name in PATCH_RELEASES if getattr(Profile.of(name), flag)] == with_rule(flag, first, last)


@pytest.mark.parametrize(("flag", "first", "last"), CLIENT_HISTORY)
def test_a_rule_of_clients_holds_from_its_first_release_to_its_last_and_in_no_other(
    flag: str, first: str, last: str
) -> None:
    assert [name for name in PATCH_RELEASES if getattr(ClientProfile.of(name), flag)] == with_rule(flag, first, last)


def test_a_line_is_its_last_patch() -> None:
    for line, patches in PATCHES.items():
        assert number_of(line) == number_of(patches[-1])
        assert {line_of(patch) for patch in patches} == {line}
        assert Profile.of(line).number == Profile.of(patches[-1]).number == number_of(line)
        assert name_of(number_of(line)) == line


def test_a_range_of_releases_has_lines_by_their_last_patch() -> None:
    assert releases_between("2.3", "2.4.0") == ("2.3", "2.3.0", "2.3.1", "2.4.0")
    assert releases_between("2.4.1", "2.5.0") == ("2.4", "2.4.1", "2.5.0")
    assert releases_between("0.9", "0.9") == ("0.9", "0.9.0.0", "0.9.0.1")
    assert releases_between("2.5", "2.4") == ()


def test_rules_can_be_switched_on_and_off() -> None:
    plain = Profile.of("4.1")
    switched = with_rules(plain, (("pre_vote", False), ("learns_leaders", False)))
    assert (switched.pre_vote, switched.client.learns_leaders) == (False, False)
    assert switched.client_of("3.6").learns_leaders is False
    assert replace(switched, pre_vote=True, rules=()) == plain


def test_every_rule_has_a_history_here() -> None:
    rows = {flag for flag, _first, _last in (*HISTORY, *CLIENT_HISTORY)}
    shown = {issue.rule for issue in KNOWN_ISSUES}
    missing = [flag.name for flag in (*FLAGS, *CLIENT_FLAGS) if flag.name not in rows | shown]
    assert missing == [], "add its first and last release to HISTORY, or to CLIENT_HISTORY"
    assert {flag for flag, _first, _last in HISTORY} <= {flag.name for flag in FLAGS}
    assert {flag for flag, _first, _last in CLIENT_HISTORY} <= {flag.name for flag in CLIENT_FLAGS}


def test_clients_of_a_profile_are_of_its_release() -> None:
    for version in RELEASE_LINES:
        assert Profile.of(version).client is ClientProfile.of(version)
    assert ClientProfile.of("3.0.2").number == ClientProfile.of("3.0").number


def test_every_rule_says_what_it_means() -> None:
    flags = (*FLAGS, *CLIENT_FLAGS)
    assert all(flag.meaning for flag in flags)
    assert len({flag.name for flag in flags}) == len(flags)


@pytest.mark.slow
@pytest.mark.parametrize("flag", [flag for flag, _first, _last in HISTORY])
def test_a_rule_is_the_same_in_both_modes_of_a_release(flag: str) -> None:
    for version in RELEASE_LINES:
        assert len({getattr(Profile.of(version, mode), flag) for mode in modes_of(version)}) == 1


@pytest.mark.parametrize(
    ("version", "modes"),
    [
        ("0.8.2", ("zookeeper",)),
        ("2.8", ("zookeeper",)),
        ("3.2", ("zookeeper",)),
        ("3.3", ("kraft", "zookeeper")),
        ("3.9", ("kraft", "zookeeper")),
        ("4.0", ("kraft",)),
        ("4.1", ("kraft",)),
        ("4.4", ("kraft",)),
    ],
)
def test_kraft_begins_with_3_3_and_zookeeper_ends_with_3_9(version: str, modes: tuple[str, ...]) -> None:
    assert modes_of(version) == modes


def test_the_usual_mode_is_taken_when_none_is_given() -> None:
    assert Profile.of("3.9").name == "3.9-kraft"
    assert Profile.of("3.2").name == "3.2-zookeeper"
    assert (Profile.of("3.9").kraft, Profile.of("3.9", "zookeeper").kraft) == (True, False)


def test_the_newest_release_is_the_last_of_the_list() -> None:
    assert (NEWEST, DEFAULT_RELEASE) == ("4.4", "4.4")


@pytest.mark.parametrize("path", REVIEWED)
def test_every_table_of_releases_was_compared_with_the_newest_one(path: str) -> None:
    """A release that is added has what the one before has, until somebody looks: none is forgotten."""
    assert (ROOT / path).exists()
    assert REVIEWED[path] == NEWEST, f"compare {path} with Kafka {NEWEST}, then write {NEWEST} beside it in REVIEWED"


def test_release_lines_are_listed_oldest_first() -> None:
    numbers = [Profile.of(version).number for version in RELEASE_LINES]
    assert numbers == sorted(set(numbers))


@pytest.mark.parametrize(("version", "near"), [("3.95", "3.9"), ("v2.8", "2.8"), ("0.8", "0.8.2")])
def test_an_unknown_version_is_refused_with_the_nearest_known(
    version: str, near: str, snapshot: SnapshotAssertion
) -> None:
    with pytest.raises(ModelError) as caught:
        Profile.of(version)
    assert caught.value.code == "no_version"
    assert str(caught.value).endswith(f" {near!r}?")
    assert str(caught.value) == snapshot


def test_an_unknown_patch_is_refused_with_the_patches_of_its_line(snapshot: SnapshotAssertion) -> None:
    with pytest.raises(ModelError) as caught:
        Profile.of("3.6.9")
    assert caught.value.code == "no_version"
    assert str(caught.value) == snapshot


def test_a_version_like_no_other_gets_the_list_and_no_guess(snapshot: SnapshotAssertion) -> None:
    with pytest.raises(ModelError) as caught:
        Profile.of("latest")
    assert ", ".join(RELEASE_LINES) in str(caught.value)
    assert "?" not in str(caught.value)
    assert caught.value.code == "no_version"
    assert str(caught.value) == snapshot


@pytest.mark.parametrize(("version", "mode", "has"), [("4.0", "zookeeper", "kraft"), ("2.8", "kraft", "zookeeper")])
def test_a_mode_that_a_release_lacks_is_refused(version: str, mode: str, has: str, snapshot: SnapshotAssertion) -> None:
    with pytest.raises(ModelError) as caught:
        Profile.of(version, mode)
    assert caught.value.code == "no_mode"
    assert str(caught.value).split()[-1] == has
    assert str(caught.value) == snapshot


def test_an_unknown_mode_is_refused_with_those_there_are(snapshot: SnapshotAssertion) -> None:
    with pytest.raises(ModelError) as caught:
        Profile.of("3.9", "raft")
    assert caught.value.code == "no_mode"
    assert str(caught.value) == snapshot
