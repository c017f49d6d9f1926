"""``python -m spark_report.campaigns FOLDER --runs N``: the missing runs of a campaign, then its fleet report.

``floodmark storm`` and ``floodmark run``, with ``--engine spark``, write the directory's ``plan.json`` and start this.
Exit codes: 0 every run is done, 2 bad input, 70 Spark failed, 130 stopped.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from playbooks.campaign.runner import CampaignResult, keep_first
from playbooks.campaign.store import CampaignError, open_campaign, read_head
from playbooks.campaign.workloads.fuzz_workload import read_plan
from playbooks.recording.recorder import RecordingError
from spark_report.campaigns.job import CampaignJob, CampaignOptions
from spark_report.fleet.tables import FORMATS, TERMINAL
from spark_report.job import EXIT_INTERRUPTED, Stages, memory_size, run_guarded
from spark_report.spark.errors import ReportError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FLEET: Final = "fleet"
"""Directory of the fleet report in the campaign's."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m spark_report.campaigns", description=(__doc__ or "").split(":")[1])
    parser.add_argument("folder", metavar="FOLDER", type=Path)
    parser.add_argument("--runs", type=int, required=True)
    parser.add_argument("--quiet", action="store_true", help="write the fleet report without printing it")
    parser.add_argument("--stop-on", default="", metavar="KEY")
    parser.add_argument("--master", metavar="URL")
    parser.add_argument("--memory", metavar="SIZE", type=memory_size)
    options = parser.parse_args(arguments)
    wanted = CampaignOptions(options.folder, options.runs, options.master, options.memory, options.stop_on)
    return run_guarded(lambda: _run(wanted, Stages(), quiet=options.quiet))


def _run(wanted: CampaignOptions, stage: Callable[[str], None], *, quiet: bool) -> int:
    def after(spark: "SparkSession", result: CampaignResult) -> None:
        from spark_report.fleet.report import report  # noqa: PLC0415 - imports PySpark

        _keep(wanted.folder, result, stage)
        formats = [name for name in FORMATS if not (quiet and name == TERMINAL)]
        report([wanted.folder], wanted.folder / FLEET, spark=spark, stage=stage, formats=formats)

    result = CampaignJob(wanted, stage).run(after)
    return EXIT_INTERRUPTED if result.interrupted else 0


def _keep(folder: Path, result: CampaignResult, stage: Callable[[str], None]) -> None:
    """Record the first run of each finding, so that the report can name its playbook."""
    work = read_plan(folder)
    campaign = open_campaign(folder, work, read_head(folder)["playbook"], rows=False)
    try:
        keep_first(work, campaign, result.groups, lambda number, of: stage(f"recording {number} of {of} runs"))
    except (CampaignError, RecordingError, OSError) as error:
        raise ReportError(str(error), code="not_kept") from error
    campaign.keep({})


if __name__ == "__main__":
    sys.exit(main())
