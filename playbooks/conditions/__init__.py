"""The language of conditions, such as `isr(orders-0) == [1] and acked_lost() == 0`.

grammar: the grammar and its parser's tables, the types of the language, and its errors.
condition: `Condition` and `parse`: functions of the language, type check, and compilation of a condition to a
closure.

`python -m playbooks.conditions.grammar` writes `conditions.tables`. Builds on `cluster_model` and on
`playbooks.errors` and `units`; it knows neither YAML nor playbooks.
"""

__all__ = [
    "condition",
    "grammar",
]
