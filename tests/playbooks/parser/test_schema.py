import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

import playbooks
from cluster_model.manual.verbs import MANUAL_VERBS
from docs.generate.playbook_pages import conditions_page, manual_steps_page
from playbooks.conditions.condition import ALL
from playbooks.engine.session import Session
from playbooks.library import bundled
from playbooks.parser.key_reference import schema, text
from playbooks.parser.loader import PLAYBOOK, load, loads
from playbooks.recording.recorder import Recorder
from playbooks.text import MODELINE, without_modeline

PUBLISHED = Path(playbooks.__file__).parent / "floodmark.schema.json"
DOCS = Path(__file__).parents[3] / "docs"
CONDITIONS = (DOCS / "reference" / "conditions.md").read_text(encoding="utf-8")
MANUAL_STEPS = (DOCS / "reference" / "manual-steps.md").read_text(encoding="utf-8")
GUIDES = "".join(page.read_text(encoding="utf-8") for page in sorted((DOCS / "run").glob("*.md")))
WHOLE = schema()

TYPES: dict[str, Any] = {
    "object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": (int, float),
    "null": type(None),
}  # fmt: skip


def fits(value: Any, rule: dict[str, Any]) -> bool:
    """Whether ``value`` follows ``rule``: the part of JSON Schema that ours is written in, and no more."""
    known = {
        "$schema", "$defs", "$ref", "title", "description", "type", "enum", "const", "pattern", "minLength", "minimum",
        "maximum", "items", "minItems", "maxItems", "uniqueItems", "properties", "patternProperties",
        "additionalProperties", "required", "maxProperties", "anyOf",
    }  # fmt: skip
    assert set(rule) <= known
    if "$ref" in rule:
        return fits(value, WHOLE["$defs"][rule["$ref"].rpartition("/")[2]])
    if "anyOf" in rule and not any(fits(value, each) for each in rule["anyOf"]):
        return False
    if "enum" in rule and value not in rule["enum"]:
        return False
    if "const" in rule and value != rule["const"]:
        return False
    kinds = rule.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(
        isinstance(value, TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool)) for kind in kinds
    ):
        return False
    if isinstance(value, dict):
        return fits_object(value, rule)
    if isinstance(value, list):
        return fits_list(value, rule)
    return fits_text(value, rule) if isinstance(value, str) else fits_number(value, rule)


def fits_object(value: dict[str, Any], rule: dict[str, Any]) -> bool:
    keys = {str(key): each for key, each in value.items()}
    if not set(rule.get("required", [])) <= set(keys) or len(keys) > rule.get("maxProperties", len(keys)):
        return False
    for key, each in keys.items():
        patterns = [inner for pattern, inner in rule.get("patternProperties", {}).items() if re.search(pattern, key)]
        inner = rule.get("properties", {}).get(key) or (patterns[0] if patterns else None)
        if (inner is None and rule.get("additionalProperties") is False) or (
            inner is not None and not fits(each, inner)
        ):
            return False
    return True


def fits_list(value: list[Any], rule: dict[str, Any]) -> bool:
    if rule.get("uniqueItems") and any(each in value[:place] for place, each in enumerate(value)):
        return False
    return rule.get("minItems", 0) <= len(value) <= rule.get("maxItems", len(value)) and all(
        fits(each, rule.get("items", {})) for each in value
    )


def fits_text(value: str, rule: dict[str, Any]) -> bool:
    return len(value) >= rule.get("minLength", 0) and re.search(rule.get("pattern", ""), value) is not None


def fits_number(value: Any, rule: dict[str, Any]) -> bool:
    return value is None or bool(rule.get("minimum", value) <= value <= rule.get("maximum", value))


def test_the_published_file_is_current() -> None:
    assert PUBLISHED.read_text() == text(), (
        "run: python -m playbooks.parser.key_reference > playbooks/floodmark.schema.json"
    )


@pytest.mark.slow
def test_the_module_prints_it() -> None:
    printed = subprocess.run(
        [sys.executable, "-m", "playbooks.parser.key_reference"], capture_output=True, text=True, check=True
    )
    assert json.loads(printed.stdout) == WHOLE


def test_its_keys_are_the_loaders() -> None:
    assert set(WHOLE["properties"]) == set(PLAYBOOK.keys)
    assert WHOLE["required"] == ["floodmark"]
    from_file = {"required": ["cluster"], "properties": {"cluster": {"required": ["from"]}}}
    assert WHOLE["anyOf"] == [{"required": ["topics"]}, {"required": ["include"]}, from_file]


@pytest.mark.slow
@pytest.mark.parametrize("name", bundled.names())
def test_bundled_playbooks_fit_it(name: str) -> None:
    assert fits(yaml.safe_load(bundled.path_of(name).read_text()), WHOLE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("at: 5s", "at: 5"),
        ("inject: crash", "inject: crush"),
        ("target:", "taget:"),
        ("rate: 200/s", "rate: 200"),
        ("acks: all", "acks: most"),
        ("since: heal", "since: now"),
        ("min.insync.replicas", "min.insync.replica"),
        ("floodmark: 1", "floodmark: 2"),
    ],
)
def test_mistakes_do_not_fit_it(old: str, new: str) -> None:
    source = bundled.path_of("leader-crash").read_text()
    assert old in source
    assert not fits(yaml.safe_load(source.replace(old, new, 1)), WHOLE)


def test_the_documentation_lists_every_function_as_it_is() -> None:
    """Made by ``python -m docs.generate conditions > docs/reference/conditions.md``."""
    assert conditions_page() == CONDITIONS
    documented = re.findall(r"^\| `([^`]+\([^`]*)` \| (.+) \|$", CONDITIONS, re.MULTILINE)
    assert documented == [(function.signature, function.doc) for function in ALL.values()]


def test_the_documentation_lists_every_step_by_hand_as_it_is() -> None:
    """Made by ``python -m docs.generate manual-steps > docs/reference/manual-steps.md``."""
    assert manual_steps_page() == MANUAL_STEPS
    documented = re.findall(r"^\| `([a-z_]+)`(?:: ([^|]+))? \| (.+) \|$", MANUAL_STEPS, re.MULTILINE)
    for name, params, doc in documented:
        if name in MANUAL_VERBS:
            wanted = [word if param.required else f"[{word}]" for word, param in MANUAL_VERBS[name].params.items()]
            assert (params, doc) == (", ".join(wanted), MANUAL_VERBS[name].doc)
    assert set(MANUAL_VERBS) <= {name for name, _, _ in documented}


def test_the_documentation_names_every_key() -> None:
    words = set(re.findall(r"[a-z_]+", (DOCS / "run" / "playbooks.md").read_text(encoding="utf-8")))
    assert set(PLAYBOOK.keys) <= words


def test_the_examples_of_the_documentation_load() -> None:
    examples = re.findall(r"```yaml\n(floodmark: 1\n.*?)```", GUIDES, re.DOTALL)
    assert len(examples) >= 8
    for example in examples:
        assert loads(example, "docs.yaml").steps


@pytest.mark.parametrize("name", bundled.names())
def test_the_first_line_of_a_bundled_playbook_leads_to_the_schema(name: str) -> None:
    path = bundled.path_of(name)
    first, _, rest = path.read_text(encoding="utf-8").partition("\n")
    begin, _, target = first.partition("$schema=")
    assert begin == f"{MODELINE} "
    assert (path.parent / target).resolve() == PUBLISHED.resolve()
    assert without_modeline(f"{first}\n{rest}") == without_modeline(rest) == rest


def test_a_session_has_the_playbook_without_that_line(tmp_path: Path) -> None:
    playbook = load(bundled.path_of("leader-crash"))
    recorder = Recorder(tmp_path)
    Session.start(playbook, recorder=recorder)
    assert recorder.path is not None
    recorded = (recorder.path / "playbook.yaml").read_text(encoding="utf-8")
    assert playbook.source.endswith(recorded)
    assert recorded.startswith("floodmark: 1\n")
    recorder.discard()
