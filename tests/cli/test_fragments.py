"""Variables and fragments at the prompt: checked, run, set, recorded, looked at again without the files."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.cli.running import Typed

Type = Callable[..., Typed]

FRAGMENT = """\
floodmark: 1
fragment: dark
vars: {broker: , outage: 3s}
topics: [{name: orders, placement: [[1, 2, 3]]}]
clients: {producers: [{name: checkout, topic: orders, rate: 20/s}]}
steps:
  - {at: 2s, inject: crash, target: "broker(${broker})", for: "${outage}"}
"""
PLAYBOOK = """\
floodmark: 1
name: shop
include: parts/dark.yaml
vars: {broker: 2}
settle: 5s
expect: ["acked_lost() == 0"]
"""


@pytest.fixture
def shop(here: Path) -> Path:
    (here / "parts").mkdir()
    (here / "parts/dark.yaml").write_text(FRAGMENT)
    (here / "shop.yaml").write_text(PLAYBOOK)
    return here


def test_check_takes_fragments(typed: Type, shop: Path, snapshot: SnapshotAssertion) -> None:
    sound = typed("check", "shop.yaml", "parts/dark.yaml")
    assert sound.code == 0
    (shop / "parts/dark.yaml").write_text(FRAGMENT.replace("inject: crash", "inject: crush").replace("3s", "three"))
    wrong = typed("check", "parts/dark.yaml", "shop.yaml")
    assert wrong.code == 2
    assert {"sound": sound.err, "wrong": wrong.err} == snapshot


def test_a_fragment_is_not_run(typed: Type, shop: Path, snapshot: SnapshotAssertion) -> None:
    done = typed("run", "parts/dark.yaml")
    assert done.code == 2
    assert done.err == snapshot


@pytest.mark.slow
def test_variables_are_set_and_sessions_need_no_files(typed: Type, shop: Path) -> None:
    done = typed("run", "shop.yaml", "--set", "outage=1s", "--set", "broker=3", "--json")
    assert done.code == 0
    document = json.loads(done.out)
    shutil.rmtree(shop / "parts")
    (shop / "shop.yaml").unlink()
    assert typed("replay", document["session"]).code == 0
    assert typed("peek", document["session"], "orders-0", "3").code == 0
    again = typed("run", Path(document["session"]) / "playbook.yaml", "--json")
    assert json.loads(again.out)["digest"] == document["digest"]
    events = map(json.loads, (Path(document["session"]) / "events.jsonl").read_text().splitlines())
    struck = [(event["fault"], event["target"]) for event in events if event["kind"] == "fault_injected"]
    assert struck == [("crash", "broker 3")]


@pytest.mark.parametrize("setting", ["outrage=1s", "vars.outrage=1s", "outage=1x", "producers.checkout.rate=1/s"])
def test_settings_of_unknown_fragment_keys_are_rejected(
    typed: Type, shop: Path, setting: str, snapshot: SnapshotAssertion
) -> None:
    done = typed("run", "shop.yaml", "--set", setting)
    assert (done.code, done.out) == (2, "")
    assert done.err == snapshot
    assert not (shop / "sessions").exists()


def test_a_folder_is_a_suite_without_its_fragments(typed: Type, shop: Path) -> None:
    (shop / "again.yaml").write_text(PLAYBOOK.replace("name: shop", "name: again"))
    done = typed("run", ".", "--json")
    assert done.code == 0
    assert [each["playbook"] for each in json.loads(done.out)] == ["again", "shop"]
