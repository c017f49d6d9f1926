"""``floodmark profiles --card``: what is modelled after what, and what is not."""

from cluster_model.fidelity import Area
from playbooks.exit_codes import BAD_INPUT, OK
from playbooks.fidelity_words import areas_of, changes, document, versions
from tui.cli.reference.catalogue import is_modelled
from tui.output.console import answers, print_document, say, table


def print_card(version: str | None, *, json: bool = False) -> int:
    """Every area, or those of a release line."""
    if not is_modelled(version):
        return BAD_INPUT
    areas = areas_of(version)
    if json:
        from tui.output.command_end import to_text  # noqa: PLC0415 - it reads what runs playbooks

        print_document(to_text([document(area) for area in areas]))
        return OK
    for area in areas:
        _tell(area)
    return OK


def _tell(area: Area) -> None:
    console = answers()
    say(console, f"{area.name} ({versions(area)})", "bold")
    say(console, f"  {area.what}")
    say(console, f"  after {area.sources}")
    say(console, f"  pinned by {', '.join(area.test_ids)}")
    for each in area.left_out:
        say(console, f"  not modelled: {each}")
    if area.flags:
        table(console, ("rule", "kafka", "what it says"), changes(area))
    say(console, "")
