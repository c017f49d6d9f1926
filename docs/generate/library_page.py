"""The manual's page of bundled playbooks: ``python -m docs.generate.library_page > docs/library.md``."""

from typing import Final

from cluster_model.protocol.versions import Profile
from playbooks.library.bundled import names, path_of
from playbooks.library.index import TAGS, THEMES, heading, theme_of
from playbooks.model.playbook import Playbook
from playbooks.parser.document.field_types import ranges_text
from playbooks.parser.loader import load
from playbooks.text import safe, table_text

_INTRODUCTION: Final = """# The library

The playbooks that come with floodmark, by theme. This page is made from their files
(`python -m docs.generate.library_page`), as is `floodmark library`.

`floodmark run NAME` plays one, `floodmark library NAME` tells what it does step by step and what must hold, and
`floodmark library NAME --yaml > mine.yaml` is the way to [one's own](playbooks.md). Each passes under the Kafka
versions that it names (`--set cluster.kafka=2.8` chooses one; 2.1+ is 2.1 and all later ones), and says where its story
comes from. `floodmark run playbooks/library` runs them all.
"""


def page() -> str:
    """The whole page, in Markdown."""
    playbooks = [load(path_of(name)) for name in names()]
    parts = [_INTRODUCTION]
    for theme, doc in THEMES.items():
        found = [each for each in playbooks if theme_of(each.tags) == theme]
        if found:
            parts.append(f"## {heading(theme)}\n\n{doc}\n\n{_overview(found)}")
            parts += [section(each) for each in found]
    parts.append(_tags(playbooks))
    return "\n".join(parts)


def section(playbook: Playbook) -> str:
    """All about one playbook but its steps."""
    own = Profile.of(playbook.spec.kafka, playbook.spec.mode).name
    rows = [
        ("Source", "; ".join(playbook.origins)),
        ("Kafka", f"{ranges_text(playbook.profiles)}; as it stands {own}"),
        ("Tags", ", ".join(playbook.tags)),
        ("Run over", "; ".join(playbook.grid.lines()) if playbook.grid is not None else ""),
    ]
    lines = [f"### {playbook.name}", "", f"**{safe(playbook.title)}.**", "", safe(playbook.story), ""]
    lines += [f"- {head}: {safe(text)}" for head, text in rows if text]
    return "\n".join([*lines, ""])


def _overview(playbooks: list[Playbook]) -> str:
    rows = [(f"[{each.name}](#{_anchor(each.name)})", ranges_text(each.profiles), each.title) for each in playbooks]
    return table_text(("playbook", "Kafka", "what happens"), rows)


def _tags(playbooks: list[Playbook]) -> str:
    """What the tags stand for, as far as a playbook has them."""
    counts = {tag: sum(tag in each.tags for each in playbooks) for tag in TAGS}
    rows = [(f"`{tag}`", doc, str(counts[tag])) for tag, doc in TAGS.items() if counts[tag]]
    told = "`floodmark library --tag TAG` lists the playbooks that have it."
    return f"## Tags\n\n{told}\n\n{table_text(('tag', 'what it stands for', 'playbooks'), rows)}"


def _anchor(name: str) -> str:
    """The anchor that Markdown gives to a heading."""
    return name.replace(".", "")


if __name__ == "__main__":
    print(page(), end="")
