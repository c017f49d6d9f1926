"""Golden timelines: messages of each procedure of a ZooKeeper-mode controller, with their order and epochs.

``make goldens`` renews them; the essential results of each are asserted in test_procedures.
"""

from pathlib import Path

import pytest

from tests.cluster_model.controller.zookeeper.stories import STORIES
from tests.support.golden import GoldenFile

pytestmark = pytest.mark.slow

FILES = Path(__file__).parent / "timelines"
CASES = [(name, kafka) for name, (_story, versions) in STORIES.items() for kafka in versions]


@pytest.mark.parametrize(("name", "kafka"), CASES)
def test_the_timeline_is_as_written_down(name: str, kafka: str, golden_file: GoldenFile) -> None:
    story = STORIES[name][0]
    text = f"# {story.__doc__}\n# Kafka {kafka}\n{story(kafka).text()}"
    assert text == golden_file(FILES / f"{name}@{kafka}.txt")


def test_every_file_is_compared() -> None:
    assert {path.name for path in FILES.iterdir()} == {f"{name}@{kafka}.txt" for name, kafka in CASES}
