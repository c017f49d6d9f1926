"""The table of what each bundled alert is worth."""

import shutil
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from docs.generate.metric_pages import BEGIN, END, PAGE, alert_value_table, alert_values, rule_names, write_alert_values
from playbooks.errors import BAD_INPUT, OK
from playbooks.metrics.alert_report import AlertReport, report_alerts
from playbooks.metrics.promtool import AlertInterval
from playbooks.metrics.time_series import Disturbance, SessionSeries
from tests.docs.test_readme import ROOT

pytestmark = pytest.mark.slow

S = 1_000_000


def report() -> AlertReport:
    faults = [Disturbance("fault", 1, "crash", "broker 1", 10 * S, 20 * S), Disturbance("fault", 2, "lag", "b", 90 * S)]
    intervals = [
        AlertInterval("Down", (("instance", "a"),), 10 * S, 15 * S, 20 * S),
        AlertInterval("Down", (("instance", "b"),), 10 * S, 30 * S, 40 * S),
        AlertInterval("Slow", (), 15 * S, -1, 20 * S),
        AlertInterval("Noise", (), 0, 0, 5 * S),
    ]
    return report_alerts(SessionSeries("made", 1, 5 * S, [], faults, 100 * S), intervals, 5 * S, 10 * S)


def test_each_alert_is_counted_once_per_fault(snapshot: SnapshotAssertion) -> None:
    values = alert_values([report(), report()])
    down = values["Down"]
    assert (down.saw, down.first, down.alone, down.times_us) == (2, 2, 2, [5 * S, 5 * S])
    assert (values["Slow"].pending, values["Noise"].without_fault) == (2, 2)
    assert alert_value_table([report()], ["Down", "Slow", "Noise", "Never"]) == snapshot


def test_the_page_has_every_bundled_alert() -> None:
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    table = text.partition(BEGIN)[2].partition(END)[0]
    assert [line.split()[1] for line in table.splitlines() if line.startswith("| Kafka")] == rule_names()


def test_an_unknown_playbook_is_refused() -> None:
    assert write_alert_values(["leader-crush"]) == BAD_INPUT


def test_the_table_is_written_into_its_page(tmp_path: Path) -> None:
    if shutil.which("promtool") is None:
        pytest.skip("promtool is not installed: no rule was evaluated")
    (tmp_path / "docs/operate").mkdir(parents=True)
    (tmp_path / PAGE).write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    assert write_alert_values(["consumer-bounce-static"], tmp_path) == OK
    text = (tmp_path / PAGE).read_text()
    assert text.startswith(f"before\n{BEGIN}\n\n1 playbook")
    assert "old" not in text
    assert text.endswith(f"{END}\nafter\n")
