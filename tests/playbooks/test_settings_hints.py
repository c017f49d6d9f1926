"""What ``--set`` says of a configuration without its place."""

import pytest
from syrupy.assertion import SnapshotAssertion

from playbooks.parser.settings import SettingError, apply_settings

TEXT = "floodmark: 1\ntopics: [{name: orders}]\n"


@pytest.mark.parametrize("name", ["acks", "min.insync.replicas"])
def test_a_configuration_is_set_where_it_belongs(name: str, snapshot: SnapshotAssertion) -> None:
    with pytest.raises(SettingError) as caught:
        apply_settings(TEXT, {name: "1"})
    assert str(caught.value) == snapshot


def test_a_variable_may_have_the_name_of_a_configuration() -> None:
    text = TEXT + "vars: {acks: all}\n"
    assert "acks: 1" in apply_settings(text, {"acks": "1"})
