"""Command-line options of ``floodmark cluster import``, ``floodmark cluster risks`` and ``floodmark new``."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from tui.cli.commands import options as known
from tui.cli.commands.options import JsonOption

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

RISKS_HELP = """Show what the placement of a cluster can stand.

For the loss of every broker, rack and pair of racks it counts the partitions that are offline (no leader) and below min
ISR (writes with acks=all fail), and those of them that are coordinators of groups or transactions. It lists single
points of failure, and an order of a rolling restart in which no partition falls below min ISR. All replicas are in sync
before the loss. The numbers follow from the placement; --simulate counts the same in a run for each loss, which also
shows how long partitions had no leader.

Examples:

  floodmark cluster risks cluster.yaml

  floodmark cluster risks cluster.yaml --survive rack --json

Exit code 0: no partition is offline or below min ISR after the losses that --survive names. 1: some are. 2: bad input.
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

    @group.command("risks", help=RISKS_HELP)
    def _risks(
        file: Annotated[Path, typer.Argument(metavar="FILE", help="Cluster file, or a playbook.")],
        survive: Annotated[
            str, typer.Option(metavar="LOSS", help="Loss to be survived: broker, rack, two-racks, or none.")
        ] = "broker",
        simulate: Annotated[bool, typer.Option("--simulate", help="Count the same in a run for each loss.")] = False,
        json: JsonOption = False,
    ) -> None:
        from tui.cli.clusters.cluster_risks import RisksRequest, run_risks  # noqa: PLC0415

        end(lambda: run_risks(RisksRequest(str(file), survive, simulate, json)))


def register_new(app: typer.Typer, end: Callable[[Callable[[], int]], NoReturn]) -> None:
    """Add the command; ``end`` does what a command does and leaves with its exit code."""

    @app.command("new")
    def _new(
        cluster: Annotated[str, typer.Argument(metavar="CLUSTER", help="Cluster file, see: floodmark cluster import.")],
        output: Annotated[
            str, typer.Option("--output", "-o", metavar="FILE", help="Playbook to write; - is standard output.")
        ] = "playbook.yaml",
        force: Annotated[bool, typer.Option("--force", help="Write over an existing file.")] = False,
    ) -> None:
        """Write a first playbook on your own cluster, with comments that say what to change.

        The broker that leads the most partitions crashes, while producers with acks=all write to the topics with the
        most partitions and a group reads them. Exit code 0: written. 2: bad input.
        """
        from tui.cli.clusters.new_playbook import run_new  # noqa: PLC0415

        end(lambda: run_new(cluster, output, overwrite=force))
