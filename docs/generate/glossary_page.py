# ruff: noqa: E501 - a page of prose and tables
"""The glossary as a page, made from the screen's own: ``python -m docs.generate.glossary_page > docs/glossary.md``."""

from typing import Final

from playbooks.text import safe
from tui.viewmodel.help import GLOSSARY

_HEAD: Final = """# Glossary

The words of Kafka, and of this program. It is made from the one that the screen explains words with
(`python -m docs.generate.glossary_page`); there the help page (`?`) has it, and a word that is new is explained where you first rest on it.
How the words hang together: [concepts](concepts.md).

"""


def page() -> str:
    """All of it, in Markdown."""
    return _HEAD + "\n".join(f"- **{safe(each.word)}**: {safe(each.meaning)}" for each in GLOSSARY) + "\n"


if __name__ == "__main__":
    print(page(), end="")
