"""What the front page and the comparison say in numbers is so; commands and links are looked at next door."""

import re
from xml.etree import ElementTree as ET

from cluster_model.protocol.releases import RELEASE_LINES
from faults.catalogue import CATALOGUE
from playbooks.engine.session_runner import start_session
from tests.docs.test_readme import README, ROOT, TOUR
from tests.playbooks.test_library import TRACES
from tests.support.library import playbook_of
from tui.keybindings.keymap import KEYS

TEXT = README.read_text(encoding="utf-8")
SPOKEN = " ".join(line.removeprefix("> ") for line in (TEXT + TOUR.read_text(encoding="utf-8")).splitlines())
NUMBERS = {"Thirteen": 13, "Fourteen": 14, "Fifteen": 15, "Sixteen": 16}


def said(pattern: str) -> tuple[str, ...]:
    """What stands in one place of the README or of the tour."""
    found = re.findall(pattern, SPOKEN)
    assert len(found) == 1, pattern
    return found[0] if isinstance(found[0], tuple) else (found[0],)


def test_it_opens_with_two_sentences_and_a_picture() -> None:
    _title, sentences, picture, commands, *_rest = TEXT.split("\n\n")
    assert len(re.findall(r"\.(?:\s|$)", sentences)) == 2
    assert picture.startswith("![")
    assert re.findall(r"^\$ (make \w+)", commands, re.MULTILINE) == ["make demo", "make test"]


def test_it_is_short_and_shows_a_test_early() -> None:
    assert len(TEXT.split()) <= 900
    assert "def test_" in "\n".join(TEXT.splitlines()[:40])


def test_the_first_picture_plays_for_half_a_minute_and_pauses_for_who_asks() -> None:
    drawn = (ROOT / "docs" / "media" / "story.svg").read_text(encoding="utf-8")
    frames = len(re.findall(r"@keyframes", drawn))
    assert frames >= 5
    assert len(re.findall(r'class="b b\d+"', drawn)) == frames
    assert {float(each) for each in re.findall(r"animation:k\d+ ([\d.]+)s step-end", drawn)} == {29.5}
    assert f"prefers-reduced-motion){{.b{{animation:none}}.b{frames - 1}{{visibility:visible}}" in drawn
    assert ET.fromstring(drawn).tag.endswith("svg")
    assert "<script" not in drawn


def test_the_loss_is_reported_as_the_program_reports_it() -> None:
    playbook = playbook_of("kip-101-loss")
    (finding,) = start_session(playbook).finish().findings
    assert finding.sentence in SPOKEN
    assert playbook.spec.kafka == said(r"fixed, first under Kafka ([\d.]+), then under")[0]


def test_numbers_of_playbooks_faults_and_versions() -> None:
    many, first, last = said(r"(\w+) of the traces run under every Kafka version from ([\d.]+) to ([\d.]+\d)")
    assert (NUMBERS[many], first, last) == (len(TRACES), RELEASE_LINES[0], RELEASE_LINES[-1])
    assert said(r"under any version from ([\d.]+) to ([\d.]+\d)") == (RELEASE_LINES[0], RELEASE_LINES[-1])
    assert said("can fail in more than (forty) ways")
    assert len(CATALOGUE) > 40
    assert all(fault.heals for fault in CATALOGUE.values() if fault.is_lasting)
    compared = (ROOT / "docs" / "learn" / "comparison.md").read_text(encoding="utf-8")
    assert re.findall(r"of (\d+) release", compared) == [str(len(RELEASE_LINES))]


def test_the_steps_of_the_shrunk_one_are_counted() -> None:
    (before,) = said(r"shrink kip-279-fast-failovers .*?# (\d+) steps become \d+")
    assert len(playbook_of("kip-279-fast-failovers").steps) == int(before)


def test_the_keys_do_what_is_said_of_them() -> None:
    does = {key.shown: key.id for key in KEYS}
    named = set(re.findall(r"`([^` ]|space)`", TEXT.partition("```yaml")[0]))
    told = {"f": "fault", "H": "heal", "space": "pause", ".": "step", ",": "back", "[": "slower", "]": "faster",
            "?": "help", "C": "control", "a": "admin"}  # fmt: skip
    assert {key: does.get(key) for key in told} == told
    assert named == {*told, "c", "t", "s"}  # a fault's letter, and two keys of the welcome page
    assert CATALOGUE["crash"].letter == "c"
