"""Mutation testing: what the tests notice. ``make mutants`` does all of it, for hours; the steps one by one:

python -m tests.mutation sample --seed 29 --count 400 > build/mutation/sample.json
SAMPLE=build/mutation/sample.json pytest -p tests.mutation.reach -n auto
pytest -p tests.mutation.run --mutants build/mutation/sample.json --outcomes build/mutation/outcomes.jsonl
python -m tests.mutation table build/mutation/outcomes.jsonl
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from tests.mutation.sample import SHARES, Mutant, sample


def table(lines: Iterable[str]) -> str:
    """How many mutants of each package were noticed, as Markdown; what hangs is noticed as well."""
    counts: dict[str, Counter[str]] = {package: Counter() for package in SHARES}
    for line in lines:
        outcome = json.loads(line)
        counts[Mutant(*outcome["mutant"]).package][outcome["verdict"]] += 1
    rows = ["| package | mutants | noticed | survived | unreached | score |", "|---|---|---|---|---|---|"]
    for package, count in [*counts.items(), ("all", sum(counts.values(), Counter()))]:
        noticed = count["killed"] + count["timeout"]
        score = f"{noticed / count.total():.0%}" if count else ""
        rows.append(
            f"| {package} | {count.total()} | {noticed} | {count['survived']} | {count['unreached']} | {score} |"
        )
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__.split("\n\n", maxsplit=1)[0])
    commands = parser.add_subparsers(dest="command", required=True)
    drawing = commands.add_parser("sample", help="draw mutants and print them as JSON")
    drawing.add_argument("--seed", type=int, default=29)
    drawing.add_argument("--count", type=int, default=400)
    telling = commands.add_parser("table", help="print the score of each package")
    telling.add_argument("outcomes", type=Path)
    given = parser.parse_args()
    if given.command == "sample":
        json.dump(sample(given.seed, given.count), sys.stdout, indent=1)
    else:
        print(table(given.outcomes.read_text(encoding="utf-8").splitlines()))


if __name__ == "__main__":
    main()
