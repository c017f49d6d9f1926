"""``keys`` and ``schema``: what can stand in a playbook."""

from typing import Any

from playbooks.errors import listed, nearest, shown
from playbooks.exit_codes import BAD_INPUT, OK
from playbooks.parser.key_words import Told, known, taken, told
from playbooks.parser.schema import text as schema_text
from tui.output.command_end import to_text
from tui.output.console import answers, complain, print_document, say, table


def keys(place: str | None, *, json: bool) -> int:
    """Tell the keys of a mapping of a playbook, by default those of the file itself; every place with ``json``."""
    pages = told()
    if place is not None and known(place) not in pages:
        places = [path for path in pages if path]
        hint = nearest(place, [*places, *(path.rpartition(".")[2] for path in places)])
        complain(f"no place {shown(place)} in a playbook{hint}; there are {listed(places, 'and')}")
        return BAD_INPUT
    chosen = pages[known(place or "")]
    if json:
        wanted = pages.values() if place is None else [chosen]
        print_document(to_text([_entry(page) for page in wanted]))
        return OK
    _tell(chosen)
    below = [path for path in pages if path and path.rpartition(".")[0] == chosen.path]
    if below:
        say(answers(), f"more: floodmark keys {' | '.join(below)}")
    return OK


def _tell(page: Told) -> None:
    console = answers()
    say(console, page.heading.rstrip("."), "bold")
    if page.bare:
        table(console, (page.path, "what it does"), [(name, key.doc) for name, key in page.keys.items()])
        return
    rows = [
        (name, taken(key.kind), f"{key.doc}{' Needed.' if key.required else ''}") for name, key in page.keys.items()
    ]
    table(console, ("key", "takes", "meaning"), rows)


def _entry(page: Told) -> dict[str, Any]:
    return {
        "place": page.path,
        "what": page.heading,
        "keys": [
            {"name": name, "takes": "" if page.bare else taken(key.kind), "needed": key.required, "doc": key.doc}
            for name, key in page.keys.items()
        ],
    }


def schema() -> int:
    """Print the JSON Schema of playbooks."""
    print_document(schema_text())
    return OK
