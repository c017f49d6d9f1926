"""The record of the rules that a cluster reads."""

from dataclasses import replace

from cluster_model.protocol.versions import CLIENT_FLAGS, FLAGS
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec
from cluster_model.spec.rule_usage import recorded_rules

SPEC = ClusterSpec("3.6.0", "kraft", (BrokerSpec(1),), ())


def test_a_rule_is_recorded_when_it_is_read() -> None:
    with recorded_rules() as names:
        profile = SPEC.profile
        assert names == set()
        assert not profile.elr
        assert names == {"elr"}
        assert profile.client.bumps_epoch
        assert names == {"elr", "bumps_epoch"}


def test_views_for_clients_are_recorded_too() -> None:
    with recorded_rules() as names:
        view = SPEC.profile.for_client("3.0")
        assert names == set()
        assert view.topic_ids
        assert view.client.version == "3.0"
        assert not view.client.member_racks
    assert names == {"topic_ids", "member_racks"}


def test_recorded_profiles_have_the_same_rules() -> None:
    spec = replace(SPEC, rules=(("elr", True), ("bumps_epoch", False)))
    plain = spec.profile
    with recorded_rules() as names:
        profile = spec.profile
        for version in ("", "3.0"):
            mine, its = (each.for_client(version) for each in (plain, profile))
            assert [getattr(its, flag.name) for flag in FLAGS] == [getattr(mine, flag.name) for flag in FLAGS]
            client, its_client = mine.client, its.client
            for flag in CLIENT_FLAGS:
                assert getattr(its_client, flag.name) == getattr(client, flag.name)
    assert len(names) == len(FLAGS) + len(CLIENT_FLAGS)


def test_a_recording_does_not_outlive_its_block() -> None:
    with recorded_rules() as names:
        pass
    assert not SPEC.profile.elr
    assert SPEC.profile == SPEC.profile
    assert names == set()


def test_two_recordings_do_not_hide_reads_from_each_other() -> None:
    for _time in range(2):
        with recorded_rules() as names:
            assert SPEC.profile.client.keeps_paused
        assert names == {"keeps_paused"}
