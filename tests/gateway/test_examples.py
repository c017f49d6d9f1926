"""The examples of the clients' pages, each run as it stands against a served cluster of its own."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.gateway.hosting import served

pytestmark = [pytest.mark.sockets, pytest.mark.slow]
PAGES = Path(__file__).parents[2] / "docs" / "test" / "clients"
RECORDS = 100
PATIENCE_S = 240


def example(page: str) -> tuple[str, str]:
    """Its language, and its text."""
    found = re.search(r"```(\w+)\n(.*?)```", (PAGES / f"{page}.md").read_text(), re.DOTALL)
    assert found is not None
    return found.group(1), found.group(2)


def command(language: str, text: str, folder: Path) -> list[str]:
    """How it is run, in a folder of its own; skips where it cannot be."""
    if language == "python":
        return [sys.executable, "-c", text]
    if language == "sh":
        if shutil.which("kcat") is None:
            pytest.skip("kcat is not installed")
        return ["sh", "-ec", text]
    if language == "java":
        java, classes = shutil.which("java"), os.environ.get("KAFKA_CLIENTS")
        if java is None or classes is None:
            pytest.skip("no java, or KAFKA_CLIENTS names no class path with kafka-clients")
        source = folder / "Shop.java"
        source.write_text(text)
        return [java, "-cp", classes, str(source)]
    node = shutil.which("node")
    if node is None or subprocess.run([node, "-e", "require('kafkajs')"], capture_output=True, check=False).returncode:
        pytest.skip("node with kafkajs is not installed")
    return [node, "-e", text]


@pytest.mark.parametrize("page", sorted(each.stem for each in PAGES.glob("*.md")))
def test_it_does_what_it_says(page: str, tmp_path: Path) -> None:
    language, text = example(page)
    assert 3 <= len(text.strip().splitlines()) <= 20
    with served() as host:
        run = command(language, text.replace("127.0.0.1:9092", host.bootstrap.split(",")[0]), tmp_path)
        done = subprocess.run(run, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        assert done.returncode == 0, done.stderr
        assert len(done.stdout.splitlines()) >= (RECORDS if language != "js" else 1), done.stdout + done.stderr
    ledger = host.stop().ledger
    assert (ledger.acked, ledger.acked_lost) == (RECORDS, 0)
