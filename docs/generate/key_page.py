"""The manual's page of keys, made from the loader's tables: ``python -m docs.generate.key_page > docs/keys.md``."""

from typing import Final

from playbooks.parser.document.field_types import Key
from playbooks.parser.key_reference import BY_HAND, Told, taken, told
from playbooks.text import table_text

_INTRODUCTION: Final = """# Keys

Every key of a [playbook](playbooks.md), with what it takes. This page is made from the tables that files are read by
(`python -m docs.generate.key_page`); `floodmark keys PLACE` tells the same at a prompt, and `floodmark schema` prints
a JSON Schema of them for editors. The parameters of faults are on [their own page](faults.md).
"""


def page() -> str:
    """The whole page, in Markdown."""
    return "\n".join([_INTRODUCTION, *(_section(each) for each in told().values())])


def _section(page: Told) -> str:
    depth = "###" if page.path.startswith((f"{BY_HAND}.", "clients.")) else "##"
    rows: list[tuple[str, ...]] = [
        (_named(name, key), key.doc) if page.bare else (_named(name, key), taken(key.kind), key.doc)
        for name, key in page.keys.items()
    ]
    heads = ("key", "meaning") if page.bare else ("key", "takes", "meaning")
    return f"{depth} {page.path or 'The file'}\n\n{page.heading.rstrip('.')}.\n\n{table_text(heads, rows)}"


def _named(name: str, key: Key) -> str:
    return f"`{name}` (needed)" if key.required else f"`{name}`"


if __name__ == "__main__":
    print(page(), end="")
