"""Variables and fragments at the prompt: checked, run, set, recorded, looked at again without the files."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

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


def test_check_takes_fragments(typed: Type, shop: Path) -> None:
    done = typed("check", "shop.yaml", "parts/dark.yaml")
    assert done.code == 0
    assert "shop.yaml: sound" in done.err
    assert "dark.yaml: sound as far as a fragment can be (1 step; variables: broker, outage = 3s)" in done.err
    (shop / "parts/dark.yaml").write_text(FRAGMENT.replace("inject: crash", "inject: crush").replace("3s", "three"))
    done = typed("check", "parts/dark.yaml", "shop.yaml")
    assert done.code == 2
    assert "parts/dark.yaml:7:22: steps[1].inject: found 'crush'" in done.err
    assert "(included by shop.yaml:3)" in done.err


def test_a_fragment_is_not_run(typed: Type, shop: Path) -> None:
    done = typed("run", "parts/dark.yaml")
    assert done.code == 2
    assert "parts/dark.yaml:2:1: fragment: found a fragment, which is no playbook by itself" in done.err


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
    crash = next(
        line for line in (Path(document["session"]) / "events.jsonl").read_text().splitlines() if "crash" in line
    )
    assert "broker 3" in crash


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("outrage=1s", "--set outrage: there is no key and no variable 'outrage' (did you mean 'outage'?)"),
        ("vars.outrage=1s", "--set vars.outrage: there is no variable 'outrage'"),
        ("outage=1x", "steps[1].for: found '1x'"),
        ("producers.checkout.rate=1/s", "is in the fragment parts/dark.yaml, which --set does not reach"),
    ],
)
def test_what_cannot_be_set_is_told(typed: Type, shop: Path, setting: str, said: str) -> None:
    done = typed("run", "shop.yaml", "--set", setting)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert not (shop / "sessions").exists()


def test_a_folder_is_a_suite_without_its_fragments(typed: Type, shop: Path) -> None:
    (shop / "again.yaml").write_text(PLAYBOOK.replace("name: shop", "name: again"))
    done = typed("run", ".", "--json")
    assert done.code == 0
    assert [each["playbook"] for each in json.loads(done.out)] == ["again", "shop"]
