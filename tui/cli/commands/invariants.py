"""``floodmark invariants``: what the protocol promises, and which versions do."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from playbooks.exit_codes import BAD_INPUT, OK
from tui.cli.commands import completed_names as known
from tui.output.console import answers, complain, print_document, say, table

if TYPE_CHECKING:
    from cluster_model.checker.invariants.promise import Promise


def register(app: typer.Typer) -> None:
    """Have the command in ``app``."""

    @app.command("invariants")
    def _invariants(
        name: Annotated[
            str | None, typer.Argument(help="Tell all about this one.", autocompletion=known.invariants)
        ] = None,
        json: Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")] = False,
    ) -> None:
        """List what the protocol promises and since which version, or tell all about one property."""
        raise typer.Exit(invariants(name, json=json))


def invariants(name: str | None, *, json: bool = False) -> int:
    """List the safety properties that are checked, or tell all about one."""
    from cluster_model.checker.invariants.registry import PROMISES  # noqa: PLC0415
    from playbooks.errors import (
        nearest,  # noqa: PLC0415
        shown,  # noqa: PLC0415
    )
    from tui.output.command_end import to_text  # noqa: PLC0415

    if name is not None and name not in PROMISES:
        complain(f"no invariant {shown(name)}{nearest(name, PROMISES)}; there are {', '.join(PROMISES)}")
        return BAD_INPUT
    chosen = [each for each in PROMISES.values() if name in (None, each.name)]
    if json:
        entries = [_entry(each) for each in chosen]
        print_document(to_text(entries if name is None else entries[0]))
    elif name is not None:
        _tell(chosen[0])
    else:
        _list(chosen)
    return OK


def _list(chosen: "list[Promise]") -> None:
    from playbooks.reference_text import promised_words  # noqa: PLC0415

    rows = [(each.name, promised_words(each), each.title) for each in chosen]
    table(answers(), ("invariant", "promised by", "what it is about"), rows)


def _tell(promise: "Promise") -> None:
    from playbooks.reference_text import (
        mends_words,  # noqa: PLC0415
        promised_words,  # noqa: PLC0415
        special_words,  # noqa: PLC0415
    )

    console = answers()
    say(console, f"{promise.name}: {promise.title}", "bold")
    say(console, promise.text)
    rows = [("promised", f"by {promised_words(promise)}")]
    rows += [("", f"{where}: {words}") for where, words in special_words(promise)]
    rows += [("mended", text) for text in mends_words(promise)]
    rows += [("excused", promise.exceptions)] if promise.exceptions else []
    rows.append(("source", promise.source))
    before = ""
    for head, text in rows:
        say(console, f"{head if head != before else '':<11}{text}")
        before = head


def _entry(promise: "Promise") -> dict[str, Any]:
    from playbooks.reference_text import (
        PROFILES,  # noqa: PLC0415
        known_words,  # noqa: PLC0415
        promised_words,  # noqa: PLC0415
    )

    known = {each.name: known_words(promise, each) for each in PROFILES}
    return {
        "invariant": promise.name,
        "title": promise.title,
        "promise": promise.text,
        "promised_by": promised_words(promise),
        "exceptions": promise.exceptions,
        "source": promise.source,
        "known": {profile: texts for profile, texts in known.items() if texts},
    }
