# ruff: noqa: E501 - pages of prose and tables
"""Pages about playbooks: functions of conditions, manual steps, providers of record contents."""

from typing import Final

from cluster_model.manual.verbs import MANUAL_VERBS
from playbooks.conditions.condition import ALL
from playbooks.model.record_contents import OWN, PROVIDERS, TEMPLATES, Provider

# docs/reference/conditions.md


_CONDITIONS_HEAD: Final = """# Conditions

Steps (`when`), expectations, guards and Python tests share one small expression language. It has no effects, always ends, and is checked
before anything runs. This page is generated from its functions (`python -m docs.generate conditions`). [Steps and targets](../run/steps.md) and
[write a playbook](../run/playbooks.md#expectations) show where conditions go.

## The language

- **Numbers** are whole. `+ - * / %` work as usual; `/` rounds down. Compare shares without fractions: `acked_lost() * 100 < acked()`.
- **Times** are durations: `now() > 5s`. A time and a number do not mix; a time may be multiplied or divided by a number.
- **Comparisons** are `== != < <= > >=`, and may be chained: `hw(orders-0, 1) == hw(orders-0, 2) == 10`.
- **Lists**: `leader(orders-0) in [2, 3]`, `not in`. Two lists are equal if their elements are, in order; `isr(...)` is in ascending order.
- **Logic**: `and`, `or`, `not`, parentheses, `true`, `false`.
- **Names**: a bare word is a name. **A dash inside a word belongs to it**: `orders-0` is a partition, never a subtraction. Put a name in quotes
  if it begins with a digit or is a word of the language: `leader("2024-orders-0") == 1`.
- An argument may be an expression: `hw(orders-0, leader(orders-0))`.
- A division by zero has no value, and a condition without a value does not hold.
- YAML reads a condition that begins with `[`, or contains `: ` or ` #`, as something else. Put such a condition in quotes.

## Functions

Arguments in brackets are optional.

| function | value |
|---|---|
"""


def conditions_page() -> str:
    """Return the page of the conditions' functions, in Markdown."""
    return _CONDITIONS_HEAD + "".join(f"| `{each.signature}` | {each.doc} |\n" for each in ALL.values())


# docs/reference/manual-steps.md


_MANUAL_HEAD: Final = """# Manual steps

The steps of a playbook with `stepping: manual`. Each is one protocol action; [manual stepping](../run/manual-stepping.md) explains how to use
them. This page is generated from the steps themselves (`python -m docs.generate manual-steps`). Parameters in brackets are optional.

| step | what it does |
|---|---|
"""


def manual_steps_page() -> str:
    """Return the page of manual steps, in Markdown."""
    rows = []
    for name, verb in MANUAL_VERBS.items():
        params = ", ".join(key if param.required else f"[{key}]" for key, param in verb.params.items())
        rows.append(f"| `{name}`{f': {params}' if params else ''} | {verb.doc} |\n")
    return _MANUAL_HEAD + "".join(rows)


# docs/reference/record-contents.md


_CONTENTS_HEAD: Final = """# Record contents

`records` of a producer says what its records contain. This page is generated from the providers (`python -m docs.generate record-contents`).

A log of the model stores no contents, only a size and a position. The contents are generated when you look at a record
([`floodmark peek`](../run/sessions.md#look-at-a-record), `p` in the TUI), and they are always the same for the same seed, producer, partition and
record number. They change nothing else in a run, not even the size of the record.

`records` takes a template:

"""
_CONTENTS_MAP: Final = """
or a map of fields, each with a provider:

```yaml
records:
  id: uuid4
  who: "pyint(1, 50000)"
  state: "random_element('new', 'paid')"
  amount: "pyfloat(1, 500)"
  at: timestamp
```

A provider takes its arguments in order or by name (`pyint(min_value=1, max_value=9)`): whole numbers, and texts in quotes. It is looked up in
this list and never evaluated. The first {own} providers are floodmark's; the others have the names and meanings of
[Faker](https://faker.readthedocs.io).

## Providers

| provider | contents |
|---|---|
"""


def record_contents_page() -> str:
    """Return the page of providers of record contents, in Markdown."""
    templates = ", ".join(f"`faker:{name}`" for name in TEMPLATES) + "\n"
    head = _CONTENTS_HEAD + templates + _CONTENTS_MAP.format(own=len(OWN))
    return head + "".join(f"| {_provider(name, each)} | {each.doc} |\n" for name, each in PROVIDERS.items())


def _provider(name: str, provider: Provider) -> str:
    """Return a provider as in the table: its name, then its arguments."""
    takes = provider.signature(name).removeprefix(name).strip("()")
    return f"`{name}`{f': {takes}' if takes else ''}"
