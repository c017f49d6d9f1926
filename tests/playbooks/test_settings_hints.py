"""What ``--set`` says of a configuration without its place."""

import pytest

from playbooks.parser.settings import SettingError, apply_settings

TEXT = "floodmark: 1\ntopics: [{name: orders}]\n"


def test_a_configuration_is_set_where_it_belongs() -> None:
    with pytest.raises(SettingError) as caught:
        apply_settings(TEXT, {"acks": "1"})
    assert str(caught.value) == (
        "--set acks: it is set where it belongs, as in producers.NAME.config.acks; "
        "everywhere at once with --vary acks=1"
    )
    with pytest.raises(SettingError, match=r"cluster\.config\.min\.insync\.replicas or topics\.NAME\.config"):
        apply_settings(TEXT, {"min.insync.replicas": "2"})


def test_a_variable_may_have_the_name_of_a_configuration() -> None:
    text = TEXT + "vars: {acks: all}\n"
    assert "acks: 1" in apply_settings(text, {"acks": "1"})
