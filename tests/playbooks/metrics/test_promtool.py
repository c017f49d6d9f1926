"""Alerts as Prometheus itself evaluates them, and their attribution to faults."""

import shutil
from pathlib import Path

import pytest

from playbooks.metrics.alert_report import report_alerts
from playbooks.metrics.promtool import (
    AlertInterval,
    PromtoolError,
    check_rules,
    evaluate,
    find_promtool,
    parsed_us,
    refusal,
    rule_files,
    values_text,
)
from playbooks.metrics.sampler import Series
from playbooks.metrics.time_series import Disturbance, SessionSeries

S = 1_000_000
QUOTED = 'broker "1"\n\\é'


def series_of(columns: dict[Series, list[float | None]], *faults: Disturbance) -> SessionSeries:
    """Time series with a scrape every five seconds."""
    length = max(map(len, columns.values()), default=0)
    scrapes = [
        {series: value for series, column in columns.items() if (value := column[at]) is not None}
        for at in range(length)
    ]
    return SessionSeries("made", 1, 5 * S, scrapes, list(faults), length * 5 * S)


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    """A rule file; skips where Prometheus is not installed."""
    if shutil.which("promtool") is None:
        pytest.skip("promtool is not installed: no rule was evaluated")
    path = tmp_path / "rules.yml"
    path.write_text(
        """\
groups:
  - name: g
    rules:
      - {record: "all:up", expr: sum(up)}
      - {alert: Down, expr: up == 0, for: 10s, labels: {severity: page}}
      - {alert: None, expr: "all:up == 0", keep_firing_for: 10s}
      - {alert: Gone, expr: absent(up)}
"""
    )
    return path


def test_states_are_those_of_prometheus(rules: Path) -> None:
    labels = (("instance", QUOTED), ("job", "kafka"))
    made = series_of({("up", labels): [1, 0, 0, 0, 1, 1, 1, 1, None, None]})
    assert check_rules([rules]) == 4
    found = evaluate([rules], made, 5 * S)
    down = (*labels, ("severity", "page"))
    assert found == [
        AlertInterval("None", (), 5 * S, 5 * S, 30 * S),
        AlertInterval("Down", down, 5 * S, 15 * S, 20 * S),
        AlertInterval("Gone", (), 40 * S, 40 * S, -1),
    ]


def test_nothing_is_active(rules: Path) -> None:
    assert evaluate([rules], series_of({("up", (("job", "kafka"),)): [1.0, 1.5]}), 5 * S) == []


@pytest.mark.parametrize("wrong", ["expr: sum(up", "exp: up", "- nothing"])
def test_a_malformed_rule_is_one_error(rules: Path, wrong: str) -> None:
    rules.write_text(rules.read_text().replace("expr: sum(up)", wrong))
    with pytest.raises(PromtoolError) as caught:
        check_rules([rules])
    assert caught.value.code == "bad_rules"
    assert str(rules) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_rule_files_are_a_file_or_a_directory(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.yml"):
        with pytest.raises(PromtoolError) as caught:
            rule_files(path)
        assert caught.value.code == "no_rules"
    (tmp_path / "a.yml").write_text("groups: []")
    (tmp_path / "notes.txt").write_text("x")
    assert rule_files(tmp_path) == rule_files(tmp_path / "a.yml")


def test_a_missing_promtool_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PromtoolError) as caught:
        find_promtool()
    assert caught.value.code == "no_promtool"


def test_values_are_runs_with_a_stale_marker_where_a_series_ends() -> None:
    written = values_text([None, None, 1, 1, 1, 2.5, None, None, None, 3])
    assert written.split() == ["_x2", "1+0x2", "2.5", "stale", "_x2", "3"]
    assert [parsed_us(text) for text in ("0s", "1m5s", "2.5s", "500ms", "1h0m1s")] == [
        0, 65 * S, 2_500_000, 500_000, 3_601 * S,
    ]  # fmt: skip
    said = refusal("Checking a.yml\n  FAILED:\na.yml: wrong:\n  line 3: no\n")
    assert said.split(": ") == ["a.yml", "wrong", "line 3", "no"]


def fault(number: int, began_s: int, ended_s: int) -> Disturbance:
    return Disturbance("fault", number, "crash", "broker 1", began_s * S, ended_s * S if ended_s >= 0 else -1)


def test_alerts_follow_the_faults_that_were_active_or_ended_last() -> None:
    intervals = [
        AlertInterval("Early", (), 0, 5 * S, -1),
        AlertInterval("Fresh", (), 30 * S, 40 * S, 50 * S),
        AlertInterval("Both", (), 36 * S, 45 * S, 50 * S),
        AlertInterval("Late", (), 70 * S, 75 * S, 80 * S),
        AlertInterval("Slow", (), 30 * S, -1, 50 * S),
        AlertInterval("Alone", (), 900 * S, 900 * S, -1),
    ]
    made = series_of({}, fault(1, 10, 60), fault(2, 29, 35), fault(3, 500, 500))
    report = report_alerts(made, intervals, 5 * S, 60 * S)
    followed = {each.interval.alert: [fault.id for fault in each.faults] for each in report.alerts}
    assert followed == {"Early": [], "Fresh": [2], "Both": [1, 2], "Late": [1], "Slow": [2], "Alone": []}
    assert {each.interval.alert: each.delay_us for each in report.fired} == {
        "Early": -1, "Fresh": 11 * S, "Both": 16 * S, "Late": 65 * S, "Alone": -1,
    }  # fmt: skip
    assert [each.time_to_detect_us for each in report.faults] == [35 * S, 11 * S, -1]
    assert [each.fault.id for each in report.unseen] == [3]
    assert [each.interval.alert for each in report.without_fault] == ["Early", "Alone"]
    assert report.faults[0].seen_by == ("Both", "Late")
    assert report.faults[1].seen_by == ("Fresh", "Both")
    assert report.faults[1].pending == ("Slow",)
    assert report.faults[2].already_firing == ("Early",)
    assert not report.good
