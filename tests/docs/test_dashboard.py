"""The Grafana dashboard asks for metrics that there are, in PromQL that Prometheus accepts."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from playbooks.metrics.catalogue import METRICS
from playbooks.metrics.promtool import BUILTIN_RULES, check_rules
from tests.docs.test_readme import ROOT

DASHBOARD = json.loads((ROOT / "docs/operate/grafana-dashboard.json").read_text(encoding="utf-8"))
RULES = yaml.safe_load(BUILTIN_RULES.read_text(encoding="utf-8"))


def expressions() -> list[str]:
    """All expressions of the dashboard and of the bundled rules."""
    asked = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
    return asked + [rule["expr"] for group in RULES["groups"] for rule in group["rules"]]


def test_every_expression_asks_for_metrics_of_the_catalogue() -> None:
    assert len(expressions()) > 25
    named = {name for text in expressions() for name in re.findall(r"\b(?:kafka_\w+|up)\b", text)}
    assert named - set(METRICS) == set()


def test_panels_do_not_overlap() -> None:
    cells: list[Any] = []
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        cells += [(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24


def test_prometheus_accepts_every_expression(tmp_path: Path) -> None:
    if shutil.which("promtool") is None:
        pytest.skip("promtool is not installed: no expression was checked")
    rules = [{"record": f"test:n{number}", "expr": text} for number, text in enumerate(expressions())]
    path = tmp_path / "rules.yml"
    path.write_text(json.dumps({"groups": [{"name": "g", "rules": rules}]}))
    assert check_rules([path]) == len(rules)
