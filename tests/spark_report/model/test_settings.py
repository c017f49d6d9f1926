"""Which settings tell sessions of one playbook apart."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from spark_report.input.sessions import SessionInput, check_session
from spark_report.model import report
from spark_report.model.comparison import all_tables
from spark_report.model.report import ReportModel, build_story, differing_settings, joined_settings
from spark_report.render import html, sections, tables, text
from tests.spark_report.stories import HOSTILE, story
from tests.support.sessions import leader_crash, write_session

PLAYBOOK = """\
topics:
  - {name: orders, config: {retention.ms: 20000}}
clients:
  producers: [{name: shop, config: {acks: 1}}, {name: pay, config: {acks: 1}}]
"""
ACKS = "clients.producers.shop.config.acks"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> SessionInput:
    path = write_session(tmp_path_factory.mktemp("settings"), leader_crash(), session_id="s0", playbook="grid")
    (path / "playbook.yaml").write_text(PLAYBOOK, encoding="utf-8")
    return check_session(path)


def cells(recorded: SessionInput, *settings: Mapping[str, str], playbook: str = "grid") -> list[SessionInput]:
    """Sessions of one playbook with these settings."""
    return [
        replace(recorded, start=replace(recorded.start, session_id=f"s{n}", settings=dict(own), playbook=playbook))
        for n, own in enumerate(settings)
    ]


def words(sessions: list[SessionInput]) -> list[str]:
    """What tells each apart."""
    found = differing_settings(sessions)
    return [joined_settings(found[one.session_id]) for one in sessions]


def test_settings_equal_in_all_sessions_are_left_out(recorded: SessionInput) -> None:
    alike = {"topics.orders.config.retention.ms": "20000"}
    assert words(cells(recorded, {ACKS: "all", **alike}, {ACKS: "1", **alike})) == ["acks=all", "acks=1"]
    assert words(cells(recorded, {ACKS: "all"}, {ACKS: '"all"'})) == ["", ""]


def test_a_setting_that_is_no_text_is_compared_as_one(recorded: SessionInput) -> None:
    sessions = cells(recorded, {}, {}, {}, {})
    for one, value in zip(sessions, (5, True, [1], "5"), strict=True):
        one.start.settings[ACKS] = value  # type: ignore[assignment]
    assert words(sessions) == ["acks=5", "acks=true", "acks=[1]", "acks=5"]


def test_a_playbook_is_parsed_once_for_all_paths(recorded: SessionInput, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    parse = report._playbook
    monkeypatch.setattr(report, "_playbook", lambda one: read.append(one.session_id) or parse(one))
    retention = "topics.orders.config.retention.ms"
    assert words(cells(recorded, {ACKS: "all", retention: "5"}, {})) == [
        "acks=all, retention.ms=5",
        "acks=1, retention.ms=20000",
    ]
    assert read == ["s1"]


def test_a_session_alone_and_sessions_of_other_playbooks_have_none(recorded: SessionInput) -> None:
    assert words(cells(recorded, {ACKS: "all"})) == [""]
    assert words([*cells(recorded, {ACKS: "all"}), *cells(recorded, {ACKS: "1"}, playbook="other")]) == ["", ""]


def test_unset_settings_have_the_value_of_the_playbook(recorded: SessionInput) -> None:
    assert words(cells(recorded, {ACKS: "all"}, {})) == ["acks=all", "acks=1"]
    assert words(cells(recorded, {"producers.1.config.acks": "all"}, {})) == ["acks=all", "acks=1"]
    # The playbook says nothing: only the one that does has a value.
    one, other = differing_settings(cells(recorded, {"cluster.kafka": '"2.8"'}, {})).values()
    assert (one[0].value, other[0].value) == ("2.8", None)


@pytest.mark.parametrize("text", ["{", "a: &a [*a]", "x: [" * 2000, "just text"])
def test_a_playbook_that_cannot_be_read_says_nothing(recorded: SessionInput, tmp_path: Path, text: str) -> None:
    (tmp_path / "playbook.yaml").write_text(text, encoding="utf-8")
    one, other = cells(replace(recorded, path=tmp_path), {ACKS: "all"}, {})
    assert [own[0].value for own in differing_settings([one, other]).values()] == ["all", None]


def test_settings_that_end_alike_are_one_or_named_in_full(recorded: SessionInput) -> None:
    pay = ACKS.replace("shop", "pay")
    together = cells(recorded, {ACKS: "all", pay: "all"}, {ACKS: "1", pay: "1"})
    assert words(together) == ["acks=all", "acks=1"]
    apart = cells(recorded, {ACKS: "all", pay: "1"}, {ACKS: "1", pay: "1"}, {ACKS: "1", pay: "0"})
    assert words(apart)[2] == f"{ACKS}=1, {pay}=0"


def test_seeds_show_them_apart_too(recorded: SessionInput) -> None:
    one, other = cells(recorded, {}, {})
    other = replace(other, start=replace(other.start, seed=8))
    assert [own[-1].text for own in differing_settings([one, other]).values()] == [f"seed={one.start.seed}", "seed=8"]


def test_only_the_first_of_many_settings_are_shown(recorded: SessionInput) -> None:
    many = cells(recorded, *({f"cluster.config.k{n}": value for n in range(9)} for value in "ab"))
    assert words(many)[0].startswith("k0=a, ")
    assert words(many)[0].endswith(", 3 more")


@pytest.mark.slow
def test_every_form_shows_them(tmp_path: Path) -> None:
    told = story(tmp_path, sessions=2)
    recorded = [
        replace(one.recorded, start=replace(one.recorded.start, settings={ACKS: value}))
        for one, value in zip(told.sessions, ("all", HOSTILE), strict=True)
    ]
    made: ReportModel = build_story(recorded, [], told.tables)
    rows = all_tables(made)["settings"].to_pylist()
    assert [(row["session_id"], row["setting"], row["name"]) for row in rows] == [
        ("s0", ACKS, "acks"), ("s1", ACKS, "acks")
    ]  # fmt: skip
    assert tables.overview(made).rows[0][2] == tables.differences(made).rows[0][1] == "acks=all"
    assert sections._setting_rows(made)[0][:2] == ("acks", "all")
    page = html.html_page(made)
    assert page.count('<p class="settings">acks=all</p>') == 1
    assert "<img" not in page
    assert "<code>acks=all</code>" in text.markdown_text(made)
