"""Command-line options of ``floodmark cluster import``."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from tui.cli.commands import options as known

IMPORT_HELP = """Write a cluster file from what is known about an existing cluster.

The formats of files are recognized by their content: the output of kafka-topics --describe, kafka-configs --describe
--all, kafka-metadata-quorum describe --status and kcat -L -J, server.properties (or a folder with one for each node),
and Strimzi's Kafka, KafkaNodePool and KafkaTopic resources. Several files complete each other. With --bootstrap a live
cluster is asked; only describing requests are sent.

Examples:

  floodmark cluster import topics.txt configs.txt --kafka 3.9.1 --rack 1=a --rack 2=b --rack 3=c

  kubectl get kafka,kafkanodepool,kafkatopic -o yaml | floodmark cluster import - -o shop.yaml

  floodmark cluster import --bootstrap broker:9092 --command-config client.properties --anonymize

A playbook uses the file by cluster: {from: cluster.yaml}. What the file does not have is printed, and is in its first
comments. Exit code 0: written. 2: bad input, with the file and line of each error.
"""


def register_cluster(app: typer.Typer, end: Callable[[Callable[[], int]], NoReturn]) -> None:
    """Add the commands; ``end`` does what a command does and leaves with its exit code."""
    group = typer.Typer(
        help="Describe your own cluster in a file that playbooks use.",
        no_args_is_help=True,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.add_typer(group, name="cluster")

    @group.command("import", help=IMPORT_HELP)
    def _import(
        inputs: Annotated[
            list[str] | None, typer.Argument(metavar="[FILE|FOLDER]...", help="Inputs; - is standard input.")
        ] = None,
        bootstrap: Annotated[
            str, typer.Option(metavar="HOST:PORT", help="Ask the live cluster of this broker, or of several.")
        ] = "",
        properties: Annotated[
            Path | None,
            typer.Option("--command-config", help="Properties of a Kafka client for the connection: TLS, SASL."),
        ] = None,
        kafka: Annotated[
            str | None,
            typer.Option(metavar="RELEASE", help="Kafka release of the cluster.", autocompletion=known.versions),
        ] = None,
        mode: Annotated[str | None, typer.Option(metavar="MODE", help="kraft or zookeeper.")] = None,
        racks: Annotated[
            list[str] | None, typer.Option("--rack", metavar="ID=RACK", help="Rack of a broker; repeat it for others.")
        ] = None,
        name: Annotated[str | None, typer.Option(help="Name of the cluster; default: that of the file.")] = None,
        anonymize: Annotated[bool, typer.Option("--anonymize", help="Replace the names of topics and racks.")] = False,
        output: Annotated[
            str, typer.Option("--output", "-o", metavar="FILE", help="Cluster file to write; - is standard output.")
        ] = "cluster.yaml",
        force: Annotated[bool, typer.Option("--force", help="Write over an existing file.")] = False,
    ) -> None:
        from tui.cli.clusters.cluster_import import ImportRequest, run_import  # noqa: PLC0415

        given = str(properties) if properties is not None else None
        request = ImportRequest(
            tuple(inputs or ()), bootstrap, given, kafka, mode, tuple(racks or ()), name, anonymize, output, force
        )
        end(lambda: run_import(request))
