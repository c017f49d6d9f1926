"""``floodmark new``: a commented first playbook on the cluster of a cluster file."""

from pathlib import Path

from playbooks.cluster_risks import first_playbook
from playbooks.errors import BAD_INPUT, OK, os_error_text, shown
from playbooks.parser.document import is_fragment_file
from tui.output.command_end import exit_code_of
from tui.output.console import print_document, print_error, print_line, stderr_console

STANDARD_OUTPUT = "-"


def run_new(cluster: str, output: str, *, overwrite: bool) -> int:
    """Write the playbook; return 0, or 2 for bad input."""
    path = Path(cluster)
    if not path.is_file() or not is_fragment_file(path):
        print_error(f"found {shown(cluster)}, expected a cluster file, as floodmark cluster import writes it")
        return BAD_INPUT
    if output != STANDARD_OUTPUT and Path(output).exists() and not overwrite:
        print_error(f"{output} exists, expected a new file, or --force to write over it")
        return BAD_INPUT
    return exit_code_of(lambda: _write(path, output))


def _write(path: Path, output: str) -> int:
    text = first_playbook(path, "playbook.yaml" if output == STANDARD_OUTPUT else output)
    if output == STANDARD_OUTPUT:
        print_document(text)
        return OK
    try:
        Path(output).write_text(text, "utf-8")
    except OSError as error:
        print_error(os_error_text(error))
        return BAD_INPUT
    print_line(stderr_console(), f"wrote {output}; run it with: floodmark run {output}")
    return OK
