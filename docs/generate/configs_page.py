# ruff: noqa: E501 - a page of prose and tables
"""The page of configurations and versions, made from them: ``python -m docs.generate.configs_page > docs/configs.md``."""

from typing import Final

from cluster_model.protocol.config_defs import SCOPES, ConfigKey
from cluster_model.protocol.versions import FLAGS, PROFILE_VERSIONS, modes_of
from playbooks.reference_text import releases
from playbooks.text import table_text
from tui.terminal.format import taken

_HEAD: Final = """# Configurations and versions

Kafka's configurations that can be set, by Kafka's own names and units, and the rules by which its versions differ. This page is
made from the model (`python -m docs.generate.configs_page`); `floodmark configs` and `floodmark profiles` print the same. A name that is
not here is refused, never ignored: what is listed does what it does in Kafka. Defaults are those of the version
(`cluster.kafka`), a client's those of its `client.version`.

A broker's stand in `cluster.config`, a topic's in its `config`, a client's in its own; [playbooks](playbooks.md#the-file) shows
where. What is *cluster-wide* or *per-broker* can change while the cluster runs, by
[`alter_broker_config`](playbooks.md#steps); a topic's always can, by `alter_topic_config`. A class goes by its name alone, as it
stands here, or with its package before it.
"""


def page() -> str:
    """All of it, in Markdown."""
    configs = [f"\n## Of a {scope}\n\n{_table(scope, list(keys.values()))}" for scope, keys in SCOPES.items()]
    versions = [(f"`{each}`", " or ".join(modes_of(each))) for each in PROFILE_VERSIONS]
    rules = [(f"`{flag.name}`", releases(flag), flag.meaning) for flag in FLAGS]
    return (
        _HEAD
        + "".join(configs)
        + f"\n## Versions\n\n{table_text(('cluster.kafka', 'cluster.mode'), versions)}"
        + "\n## Rules of some versions only\n\nEach with its sources and tests on the [fidelity card](fidelity.md).\n\n"
        + table_text(("rule", "versions", "what it says"), rules)
    )


def _table(scope: str, keys: list[ConfigKey]) -> str:
    """Two columns: some names take half of a page. Of brokers alone it is said which can change in a running cluster."""
    rows = [
        (f"`{key.name}`", f"{key.doc} Takes {_taken(key)}{f'; {key.dynamic}' if scope == 'broker' else ''}.")
        for key in keys
    ]
    return table_text(("name", "meaning, and what it takes"), rows)


def _taken(key: ConfigKey) -> str:
    """Without the names of classes that only have their package before them: they are wider than a page."""
    short = [
        each for each in key.choices if each.rpartition(".")[2] == each or each.rpartition(".")[2] not in key.choices
    ]
    return " or ".join(short) if key.choices else taken(key)


if __name__ == "__main__":
    print(page(), end="")
