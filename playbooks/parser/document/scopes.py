"""The variables of one file and of the fragments at its head: declared, given from outside, resolved when used."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from playbooks.errors import nearest, shown
from playbooks.parser.document.context import Notes
from playbooks.parser.document.variables import NAME_ALLOWED, NAME_PATTERN, Putting, Size, unknown_variable
from playbooks.parser.document.yaml_source import Mapping as YamlMapping
from playbooks.parser.document.yaml_source import Node, Origin, Scalar, found

VALUE_ALLOWED: Final = "a text, a number or a list"
MAX_CHAIN: Final = 20
"""Variables made of variables, one after the other."""


@dataclass(frozen=True, slots=True)
class Declared:
    """One variable as a file declares it."""

    where: Scalar
    """Its name."""
    value: Node | None
    """None where it must be given, or is no value at all."""
    given: bool = False
    """Whether it comes from an include's ``with``, and is resolved already."""


@dataclass(slots=True)
class Scope:
    """What ``${name}`` means in one file."""

    notes: Notes
    size: Size
    reserved: Mapping[str, object]
    """Names that variables may not have: keys of a playbook, which ``--set`` takes by the same word."""
    declared: dict[str, Declared] = field(default_factory=dict)
    used: dict[str, bool] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    """Names that were used and that nobody declared."""
    literals: bool = False
    _values: dict[str, Node | None] = field(default_factory=dict)
    _resolving: list[str] = field(default_factory=list)

    def declare(self, tree: YamlMapping, *, needed: bool) -> None:
        """Take the ``vars`` of a file; what was declared before has its value replaced. ``needed``: no empty ones."""
        node = tree.get("vars")
        if node is None or (isinstance(node, Scalar) and node.empty):
            return
        if not isinstance(node, YamlMapping):
            self.notes.refuse(node, "vars", "a mapping of names to values")
            return
        for name, (where, value) in node.entries.items():
            wrong = self._wrong_name(name)
            if wrong:
                self.notes.problem(where, "vars", wrong)
                continue
            empty = isinstance(value, Scalar) and value.empty
            if needed and empty:
                self.notes.refuse(value, f"vars.{name}", VALUE_ALLOWED)
            wrong_value = self._wrong_value(value, f"vars.{name}")
            self.declared[name] = Declared(where, None if empty or wrong_value else value)
            if wrong_value or (needed and empty):
                self._values[name] = None

    def give(self, given: Mapping[str, tuple[Scalar, Node]], key: str, fragment: str) -> None:
        """Take the values of an include's ``with``, which are resolved already."""
        for name, (where, value) in given.items():
            if name not in self.declared:
                known = f"allowed are {', '.join(self.declared)}" if self.declared else "which has none"
                message = f"found {shown(name)}, which is no variable of {fragment}, {known}"
                self.notes.problem(where, f"{key}.with", message + nearest(name, self.declared))
            elif isinstance(value, Scalar) and value.empty:
                self.notes.refuse(value, f"{key}.with.{name}", VALUE_ALLOWED)
                self._values[name] = None
            elif self._wrong_value(value, f"{key}.with.{name}"):
                self._values[name] = None
            else:
                self.declared[name] = Declared(where, value, given=True)

    def need(self, at: Node, key: str, fragment: str, how: str) -> None:
        """Tell which variables must be given and are not; ``how`` says how. ``fragment``: whose, empty: see there."""
        for name, each in self.declared.items():
            if each.value is None and name not in self._values:
                whose = fragment or (each.where.origin or Origin()).path
                message = f"found no value for the variable {shown(name)} of {whose}, which must be given: "
                self.notes.problem(at, key, message + how.replace("NAME", name))
                self._values[name] = None

    def lookup(self, name: str) -> Node | str | None:
        """The value of a variable, resolved; what is wrong with using it; None where it has none."""
        self.used[name] = True
        return self._value(name)

    def resolve_all(self) -> None:
        """Find the mistakes also in variables that nothing uses."""
        for name in self.declared:
            self._value(name)

    def unused(self, tree: YamlMapping) -> None:
        """Tell which variables that a file declares are used by nothing, unless it is their name that was misspelt."""
        node = tree.get("vars")
        for name, (where, _) in node.entries.items() if isinstance(node, YamlMapping) else ():
            if (
                name in self.declared
                and name not in self.used
                and not any(nearest(each, [name]) for each in self.missing)
            ):
                others = [each for each in self.declared if each != name]
                message = f"found the variable {shown(name)}, which nothing uses as ${{{name}}}"
                self.notes.problem(where, "vars", message + nearest(name, others))

    def _value(self, name: str) -> Node | str | None:
        if name in self._values:
            return self._values[name]
        if name not in self.declared:
            self.missing.append(name)
            return unknown_variable(name, self.declared)
        if name in self._resolving:
            chain = [*self._resolving[self._resolving.index(name) :], name]
            return f"found ${{{name}}}, which is made of itself: {', '.join(f'${{{each}}}' for each in chain)}"
        if len(self._resolving) >= MAX_CHAIN:
            return f"found variables made of more than {MAX_CHAIN} variables one after the other, the most allowed"
        self._values[name] = self._resolved(name, self.declared[name])
        return self._values[name]

    def _resolved(self, name: str, declared: Declared) -> Node:
        if declared.value is None:
            return Scalar(declared.where.line, declared.where.column, "", False, 0, Origin(unknown=True))
        if declared.given:
            return declared.value
        self._resolving.append(name)
        putting = Putting(self.lookup, self.size)
        value = putting.put(declared.value, f"vars.{name}")
        self.literals |= putting.literals
        self._resolving.pop()
        return value

    def _wrong_name(self, name: str) -> str:
        if not re.fullmatch(NAME_PATTERN, name, re.ASCII):
            return f"found {shown(name)}, allowed is {NAME_ALLOWED}"
        if name in self.reserved:
            return f"found a variable named {shown(name)}, which is a key of playbooks: allowed is another name"
        return ""

    def _wrong_value(self, node: Node, key: str) -> bool:
        """Whether there is a mapping in a value."""
        if isinstance(node, Scalar):
            return False
        if isinstance(node, YamlMapping):
            self.notes.problem(node, key, f"found {found(node)}, allowed is {VALUE_ALLOWED}")
            return True
        wrong = [self._wrong_value(item, f"{key}[{i}]") for i, item in enumerate(node.items, 1)]
        return any(wrong)
