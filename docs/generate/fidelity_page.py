# ruff: noqa: E501 - a page of prose and tables
"""The fidelity card as a page, ``docs/fidelity.md``, made from it: ``python -m docs.generate.fidelity_page``."""

from typing import Final

from cluster_model.fidelity import AREAS, Area
from playbooks.reference_text import changes, versions

_HEAD: Final = """# Fidelity card

What is modelled, after which versions and sources, which tests pin it, and what is not modelled. `floodmark profiles --card`
prints it, `floodmark profiles --card 2.8` what one release has of it. This page is made from it (`python -m docs.generate.fidelity_page`).

How it is held to be true: most rules were read in Kafka's source, up to 4.0, release by release, and the others in the KIPs
named here, which is also where the defaults of 4.1 are from. The traces those KIPs tell are [playbooks](library.md) and come to
the tables they print; and [real clients](gateway.md) of three libraries talk to the model. It has not been run beside a broker
of Kafka's own. Where code and document differ, the code was followed; what has no single answer, such as how long a disk takes, is
[said where the model is](model.md#choices-where-kafka-has-no-single-answer).

"""


def page() -> str:
    """The whole page."""
    index = "| area | Kafka | rules that changed |\n|---|---|---|\n" + "".join(
        f"| [{area.name}](#{_anchor(area)}) | {versions(area)} | {len(area.flags) or ''} |\n" for area in AREAS
    )
    return _HEAD + index + "".join(_section(area) for area in AREAS)


def _section(area: Area) -> str:
    lines = ["", f"## {area.name}", "", area.what, "", f"- **Kafka** {versions(area)}", f"- **after** {area.sources}"]
    lines.append(f"- **pinned by** {', '.join(f'`{each}`' for each in area.test_ids)}")
    if area.left_out:
        lines += ["- **not modelled**", *(f"  - {each}" for each in area.left_out)]
    if area.flags:
        lines += ["", "| rule | Kafka | what it says |", "|---|---|---|"]
        lines += [f"| `{name}` | {kafka} | {says} |" for name, kafka, says in changes(area)]
    return "\n".join(lines) + "\n"


def _anchor(area: Area) -> str:
    return area.name.lower().replace(" ", "-")


if __name__ == "__main__":
    print(page(), end="")
