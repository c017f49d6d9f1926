"""Variables (``${name}``), their scopes and keys, and parts that apply only with certain settings (``given``).

A value that is ``${name}`` alone becomes the value of the variable as it was written: a number, a string or a list.
Inside a string the variable's text is inserted. ``$${`` stands for the two characters ``${``.

Values have the position where they are used, so that errors are reported there, and name the variable that they come
from. A name that a group of steps declares for its rounds (``as: round``) is left in the group's steps: it is replaced
when the group is unrolled, with :func:`substitute`.
"""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from playbooks.errors import PlaybookError, Problem, nearest, shown
from playbooks.model.playbook import SEED
from playbooks.parser.document.context import ErrorNotes
from playbooks.parser.document.field_types import (
    BAD,
    NAME,
    Fields,
    FieldSpec,
    FieldType,
    Record,
    Schema,
    TextType,
    is_for,
)
from playbooks.parser.document.grid import AxisError, text_of, values_at
from playbooks.parser.document.yaml_source import (
    MAX_BYTES,
    MAX_DEPTH,
    MAX_NODES,
    Node,
    Scalar,
    Sequence,
    ValueOrigin,
    found,
    height,
)
from playbooks.parser.document.yaml_source import Mapping as YamlMapping

NAME_PATTERN: Final = r"[A-Za-z_][A-Za-z0-9_-]{0,63}"
NAME_ALLOWED: Final = "a name of letters, digits, dashes and underscores that begins with a letter, at most 64"

_USE: Final = re.compile(r"\$\$\{|\$\{([^{}]*)(\}?)")
_LITERAL: Final = "\ud800{"
"""Stands for a literal ``${`` until all variables are replaced: half of a surrogate pair, which no file can have."""

ROUND: Final = "round"
"""Default name of the number of the round, or its value, in the steps of a group."""
_GROUP: Final = frozenset({"repeat", "each"})

NAMED: Final = 3
"""Maximum number of variables named in an error of a string."""

Lookup = Callable[[str], Node | str | None]
"""The value of a variable; a string with the error of its use; or None if it is unknown."""


def substitute(node: Node, values: Mapping[str, Node], notes: ErrorNotes | None = None) -> Node:
    """Return ``node`` with variables replaced; those missing in ``values`` are left.

    Names that a group of steps inside ``node`` declares for its own rounds are left in that group. The remaining
    ``$${`` become ``${``, except in the steps of such groups.

    Raises:
        PlaybookError: it grows too large. Lists inside strings are noted if there are ``notes``.
    """
    putting = VariableReplacer(values.get, ExpansionSize(notes), keep=None)
    return restored(putting.put(node, ""))


def round_name(step: Node) -> str:
    """Return the variable of a group of steps for its rounds; empty for other steps."""
    if not isinstance(step, YamlMapping) or _GROUP.isdisjoint(step.entries):
        return ""
    name = step.get("as")
    return name.text if isinstance(name, Scalar) and not name.empty else ROUND


def uses(text: str) -> bool:
    """Return whether a text uses a variable, or escapes one."""
    return "${" in text


@dataclass(slots=True)
class ExpansionSize:
    """Size of a file with its variables replaced, to limit exponential growth."""

    notes: ErrorNotes | None = None
    nodes: int = 0
    characters: int = 0

    def add(self, at: Node, key: str, nodes: int, characters: int = 0, deepest: int = 0) -> None:
        """Count an addition. Raises :class:`PlaybookError` if the file gets too large."""
        self.nodes += nodes
        self.characters += characters
        if self.nodes > MAX_NODES:
            raise self._refused(at, key, f"found more than {MAX_NODES} values with all variables replaced")
        if self.characters > MAX_BYTES:
            raise self._refused(at, key, f"found more than {MAX_BYTES} characters with all variables replaced")
        if deepest > MAX_DEPTH:
            raise self._refused(at, key, f"nested deeper than {MAX_DEPTH} levels with all variables replaced")

    def _refused(self, at: Node, key: str, message: str) -> PlaybookError:
        notes = self.notes or ErrorNotes("")
        before: list[Problem] = notes.errors
        single = ErrorNotes(notes.path)
        single.problem(at, key, f"{message}, the most allowed")
        return PlaybookError([*before, *single.problems])


@dataclass(slots=True)
class VariableReplacer:
    """Replacer of variables in a tree; a tree without any is returned unchanged."""

    lookup: Lookup
    size: ExpansionSize
    keep: Collection[str] | None = ()
    """Names that are left for now; None: every name without a value."""
    depth: int = 0
    """Levels above the tree."""
    literals: bool = field(default=False, init=False)
    """Whether a ``$${`` was found, for which :func:`restored` is needed."""

    def put(self, node: Node, key: str) -> Node:
        """Return the tree with its variables replaced; ``key`` is its path."""
        return self._put(node, key, self.depth)

    def _put(self, node: Node, key: str, depth: int) -> Node:
        self.size.add(node, key, 1)
        if isinstance(node, Scalar):
            return self._scalar(node, key, depth) if uses(node.text) else node
        if isinstance(node, Sequence):
            items = tuple(self._put(item, f"{key}[{i}]", depth + 1) for i, item in enumerate(node.items, 1))
            same = all(new is old for new, old in zip(items, node.items, strict=True))
            return node if same else replace(node, items=items)
        entries: dict[str, tuple[Scalar, Node]] = {}
        own = round_name(node)
        for name, (where, value) in node.entries.items():
            child_key = f"{key}.{name}" if key else name
            if self.keep is not None and uses(name):
                self._problem(where, key, "found a variable in a key, allowed only in values")
                continue
            if name == "include" and self.keep is not None and isinstance(value, Scalar) and uses(value.text):
                self._problem(value, child_key, "found a variable in the path of a fragment, expected a literal path")
                value = _unknown(value)  # noqa: PLW2901 - the path is not needed
            inner = self._keeping(own) if own and name == "steps" else self
            entries[name] = (where, inner._put(value, child_key, depth + 1))
            self.literals |= inner.literals
        same = len(entries) == len(node.entries) and all(entries[name][1] is node.entries[name][1] for name in entries)
        return node if same else replace(node, entries=entries)

    def _keeping(self, name: str) -> "VariableReplacer":
        """Return a replacer for the steps of a group, where ``name`` is the number of the round."""
        lookup = self.lookup
        if self.keep is None:
            return VariableReplacer(lambda each: None if each == name else lookup(each), self.size, None)
        return VariableReplacer(lookup, self.size, (*self.keep, name))

    def _scalar(self, node: Scalar, key: str, depth: int) -> Node:
        alone = _USE.fullmatch(node.text)
        if alone and alone[2] and self._is_name(alone[1], node, key):
            if self.keep is not None and alone[1] in self.keep:
                return node
            value = self.lookup(alone[1])
            if value is None or isinstance(value, str):
                self._refuse(value, node, key, 0)
                return node if self.keep is None else _unknown(node)
            self.size.add(node, key, _count(value), _length(value), depth + height(value))
            return _placed(value, node, _of(node, value, f"from ${{{alone[1]}}}"))
        return self._text(node, key)

    def _text(self, node: Scalar, key: str) -> Node:
        """Replace the variables inside a string."""
        parts: list[str] = []
        brought: list[str] = []
        is_known, end = True, 0
        for use in _USE.finditer(node.text):
            parts.append(node.text[end : use.start()])
            end = use.end()
            if use[0] == "$${":
                parts.append(_LITERAL)
                self.literals = True
                continue
            value = self._inside(use, node, key)
            if isinstance(value, Scalar):
                parts.append(value.text)
                brought.append(_how(node, value, f"with {use[0]}"))
            else:
                parts.append(use[0])
                is_known &= value is not None
        parts.append(node.text[end:])
        self.size.add(node, key, 0, sum(map(len, parts)))
        text = "".join(parts)
        if text != node.text:
            node = replace(node, text=text, exact=0, origin=_because(node, *list(dict.fromkeys(brought))[:NAMED]))
        return node if is_known else _unknown(node)

    def _inside(self, use: re.Match[str], node: Scalar, key: str) -> Scalar | str | None:
        """Return the value to insert for a use; a string to leave it unchanged; None for an error."""
        name = use[1]
        if not use[2]:
            if self.keep is not None:
                message = "found ${ without its }, expected ${name}; use $${ for a literal ${"
                self._problem(node, key, message, use.start())
            return None if self.keep is not None else use[0]
        if not self._is_name(name, node, key, use.start()):
            return None if self.keep is not None else use[0]
        if self.keep is not None and name in self.keep:
            return use[0]
        value = self.lookup(name)
        if value is None or isinstance(value, str):
            self._refuse(value, node, key, use.start())
            return use[0] if self.keep is None else None
        if isinstance(value, Scalar):
            return None if value.origin and value.origin.unknown else value
        message = f"found ${{{name}}} inside a string; a list is allowed alone: {shown('key: ${' + name + '}')}"
        self._problem(node, key, message, use.start())
        return None

    def _is_name(self, name: str, node: Scalar, key: str, at: int = 0) -> bool:
        if re.fullmatch(NAME_PATTERN, name, re.ASCII):
            return True
        if self.keep is not None:
            message = f"found {shown('${' + name + '}')}, expected {NAME_ALLOWED}; use $${{ for a literal ${{"
            self._problem(node, key, message, at)
        return False

    def _refuse(self, message: str | None, node: Scalar, key: str, at: int) -> None:
        if message is not None:
            self._problem(node, key, message, at)

    def _problem(self, node: Scalar, key: str, message: str, at: int = 0) -> None:
        if self.size.notes is not None:
            self.size.notes.inside(node, key, message, at + 1)


def unknown_variable(name: str, variables: Collection[str]) -> str:
    """Return the error of using an undeclared variable."""
    if not variables:
        return f"found ${{{name}}}, but there are no variables here; declare it under 'vars'"
    return f"found ${{{name}}}, expected the variables {', '.join(variables)}{nearest(name, variables)}"


def restored(node: Node) -> Node:
    """Return the tree with literal ``${`` restored, except in the steps of groups still to be unrolled."""
    return _replaced(node, "${", groups=False)


def escaped(node: Node) -> Node:
    """Return the tree with literal ``${`` escaped as in a file: ``$${``."""
    return _replaced(node, "$${", groups=True)


def _replaced(node: Node, literal: str, *, groups: bool) -> Node:
    if isinstance(node, Scalar):
        return replace(node, text=node.text.replace(_LITERAL, literal)) if _LITERAL in node.text else node
    if isinstance(node, Sequence):
        items = tuple(_replaced(item, literal, groups=groups) for item in node.items)
        same = all(new is old for new, old in zip(items, node.items, strict=True))
        return node if same else replace(node, items=items)
    waits = "steps" if not groups and round_name(node) else ""
    entries = {
        name: (where, value if name == waits else _replaced(value, literal, groups=groups))
        for name, (where, value) in node.entries.items()
    }
    same = all(entries[name][1] is node.entries[name][1] for name in entries)
    return node if same else replace(node, entries=entries)


def _placed(value: Node, use: Scalar, origin: ValueOrigin) -> Node:
    """Return ``value`` with the position of ``use``."""
    if isinstance(value, Scalar):
        return Scalar(use.line, use.column, value.text, value.plain, 0, origin)
    if isinstance(value, Sequence):
        return Sequence(use.line, use.column, tuple(_placed(item, use, origin) for item in value.items), origin)
    entries = {
        name: (_key(where, use, origin), _placed(each, use, origin)) for name, (where, each) in value.entries.items()
    }
    return YamlMapping(use.line, use.column, entries, origin)


def _key(where: Scalar, use: Scalar, origin: ValueOrigin) -> Scalar:
    return Scalar(use.line, use.column, where.text, where.plain, 0, origin)


def _how(use: Scalar, value: Node, how: str) -> str:
    """Describe the variable of a value, and its line."""
    here, there = use.origin or ValueOrigin(), value.origin or ValueOrigin()
    file = f" of {there.path or 'the playbook'}" if here.path != there.path else ""
    return f"{how}, line {value.line}{file}"


def _because(use: Scalar, *brought: str) -> ValueOrigin | None:
    """Return the origin of ``use`` with the variables used there."""
    here = use.origin or ValueOrigin()
    return replace(here, notes=(*brought, *here.notes)) if brought else use.origin


def _of(use: Scalar, value: Node, how: str) -> ValueOrigin:
    """Return the origin of a whole value from a variable at the position of ``use``."""
    known = value.origin is None or not value.origin.unknown
    return replace(_because(use, _how(use, value, how)) or ValueOrigin(), unknown=not known)


def _unknown(node: Scalar) -> Scalar:
    return replace(node, exact=0, origin=replace(node.origin or ValueOrigin(), unknown=True))


def _count(node: Node) -> int:
    if isinstance(node, Sequence):
        return 1 + sum(map(_count, node.items))
    return 1 + sum(1 + _count(value) for _, value in node.entries.values()) if isinstance(node, YamlMapping) else 1


def _length(node: Node) -> int:
    if isinstance(node, Scalar):
        return len(node.text)
    children = node.items if isinstance(node, Sequence) else [value for _, value in node.entries.values()]
    return sum(map(_length, children))


# ``given``: a part of a playbook applies only with certain values of settings, as in some cells of a grid.
#
# It reads the settings in the file, not the grid: so it has the same effect in a cell of a grid, in its recording,
# under ``--set``, and when the file is run directly.


class AxisCondition(FieldType):
    """A mapping of axes to a value or a list of values; its value is whether all of them match this file."""

    def _read(self, node: Node, key: str, notes: ErrorNotes) -> Any:
        if not isinstance(node, YamlMapping) or not node.entries:
            notes.refuse(node, key, "a mapping of axes to values, such as {acks: all}")
            return BAD
        before = len(notes.problems)
        # All of them are evaluated, so that all errors are reported.
        held = [_holds(name, where, value, f"{key}.{shown(name)[1:-1]}", notes)
                for name, (where, value) in node.entries.items()]  # fmt: skip
        return BAD if len(notes.problems) > before else all(held)

    def _schema(self) -> Schema:
        value: Schema = {"type": ["string", "number", "boolean", "array", "object"]}
        return {"type": "object", "additionalProperties": value}


GIVEN: Final = FieldSpec(AxisCondition(), "Only with these values of settings, as in some cells of vary.")


def _holds(name: str, where: Scalar, value: Node, key: str, notes: ErrorNotes) -> bool:
    root = notes.root
    wanted = value.items if isinstance(value, Sequence) else (value,)
    if not wanted or any(isinstance(each, Scalar) and each.empty for each in wanted):
        notes.refuse(value, key, "a value, or a list of values")
        return False
    if name == SEED:
        notes.problem(where, key, "found the seed, expected other axes: a result of one seed is no guarantee")
        return False
    if root is None:
        return False
    try:
        nodes = values_at(name, root, notes.values)
    except AxisError as error:
        notes.problem(where, key, str(error))
        return False
    texts = [_plain(text_of(each)) for each in wanted]
    values = [_current_value(name, node, notes) for node in nodes]
    return all(each is not None and _plain(each) in texts for each in values)


def _current_value(name: str, node: Node | None, notes: ErrorNotes) -> str | None:
    """Return the current value of a setting: that of the file, or the defaults of version and mode."""
    if node is not None:
        return text_of(node)
    return {"kafka": notes.facts.kafka, "mode": notes.facts.mode}.get(name.removeprefix("cluster."))


def _plain(text: str) -> str:
    return text.lower() if text.lower() in ("true", "false") else text


def counts(fields: Fields, notes: ErrorNotes) -> bool:
    """Return whether a part applies to this file, by its ``kafka`` and its ``given``; without them it does."""
    given: bool = fields.get("given", True)
    return is_for(fields.get("kafka"), notes) and given


# The variables of one file and of the fragments at its head: declared, passed by includes, resolved on use.


VALUE_ALLOWED: Final = "a string, a number or a list"
MAX_CHAIN: Final = 20
"""Maximum chain of variables made of variables."""


@dataclass(frozen=True, slots=True)
class VariableDeclaration:
    """One variable as a file declares it."""

    where: Scalar
    """Its name."""
    value: Node | None
    """None if it is required, or its value is invalid."""
    given: bool = False
    """Whether it is passed by an include's ``with``, and so is resolved already."""


@dataclass(slots=True)
class VariableScope:
    """Scope of variables: the meaning of ``${name}`` in one file."""

    notes: ErrorNotes
    size: ExpansionSize
    reserved: Mapping[str, object]
    """Names that variables may not have: keys of a playbook, since ``--set`` uses the same names."""
    declared: dict[str, VariableDeclaration] = field(default_factory=dict)
    used: dict[str, bool] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    """Undeclared names that were used."""
    literals: bool = False
    _values: dict[str, Node | None] = field(default_factory=dict)
    _resolving: list[str] = field(default_factory=list)

    def declare(self, tree: YamlMapping, *, needed: bool) -> None:
        """Add the ``vars`` of a file; values of earlier declarations are replaced. ``needed``: values are required."""
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
            self.declared[name] = VariableDeclaration(where, None if empty or wrong_value else value)
            if wrong_value or (needed and empty):
                self._values[name] = None

    def give(self, given: Mapping[str, tuple[Scalar, Node]], key: str, fragment: str) -> None:
        """Add the values of an include's ``with``, which are resolved already."""
        for name, (where, value) in given.items():
            if name not in self.declared:
                known = f"expected {', '.join(self.declared)}" if self.declared else "which has none"
                message = f"found {shown(name)}, which is not a variable of {fragment}, {known}"
                self.notes.problem(where, f"{key}.with", message + nearest(name, self.declared))
            elif isinstance(value, Scalar) and value.empty:
                self.notes.refuse(value, f"{key}.with.{name}", VALUE_ALLOWED)
                self._values[name] = None
            elif self._wrong_value(value, f"{key}.with.{name}"):
                self._values[name] = None
            else:
                self.declared[name] = VariableDeclaration(where, value, given=True)

    def need(self, at: Node, key: str, fragment: str, how: str) -> None:
        """Report required variables without a value; ``how`` says how to give it.

        ``fragment``: its file, empty: see there.
        """
        for name, each in self.declared.items():
            if each.value is None and name not in self._values:
                whose = fragment or (each.where.origin or ValueOrigin()).path
                message = f"found no value for the variable {shown(name)} of {whose}, which is required: "
                self.notes.problem(at, key, message + how.replace("NAME", name))
                self._values[name] = None

    def lookup(self, name: str) -> Node | str | None:
        """Return the value of a variable, resolved; a string with the error of its use; None if it has none."""
        self.used[name] = True
        return self._value(name)

    def resolve_all(self) -> None:
        """Resolve all variables, to find errors in unused ones as well."""
        for name in self.declared:
            self._value(name)

    def unused(self, tree: YamlMapping) -> None:
        """Report declared variables that are not used, unless a use is misspelt."""
        node = tree.get("vars")
        for name, (where, _) in node.entries.items() if isinstance(node, YamlMapping) else ():
            if (
                name in self.declared
                and name not in self.used
                and not any(nearest(each, [name]) for each in self.missing)
            ):
                others = [each for each in self.declared if each != name]
                message = f"found the variable {shown(name)}, which is not used as ${{{name}}}"
                self.notes.problem(where, "vars", message + nearest(name, others))

    def _value(self, name: str) -> Node | str | None:
        if name in self._values:
            return self._values[name]
        if name not in self.declared:
            self.missing.append(name)
            return unknown_variable(name, self.declared)
        if name in self._resolving:
            chain = [*self._resolving[self._resolving.index(name) :], name]
            return f"found ${{{name}}}, which refers to itself: {', '.join(f'${{{each}}}' for each in chain)}"
        if len(self._resolving) >= MAX_CHAIN:
            return f"found a chain of more than {MAX_CHAIN} variables, the most allowed"
        self._values[name] = self._resolved(name, self.declared[name])
        return self._values[name]

    def _resolved(self, name: str, declared: VariableDeclaration) -> Node:
        if declared.value is None:
            return Scalar(declared.where.line, declared.where.column, "", False, 0, ValueOrigin(unknown=True))
        if declared.given:
            return declared.value
        self._resolving.append(name)
        putting = VariableReplacer(self.lookup, self.size)
        value = putting.put(declared.value, f"vars.{name}")
        self.literals |= putting.literals
        self._resolving.pop()
        return value

    def _wrong_name(self, name: str) -> str:
        if not re.fullmatch(NAME_PATTERN, name, re.ASCII):
            return f"found {shown(name)}, expected {NAME_ALLOWED}"
        if name in self.reserved:
            return f"found a variable named {shown(name)}, which is a key of playbooks; choose another name"
        return ""

    def _wrong_value(self, node: Node, key: str) -> bool:
        """Return whether there is a mapping in a value."""
        if isinstance(node, Scalar):
            return False
        if isinstance(node, YamlMapping):
            self.notes.problem(node, key, f"found {found(node)}, expected {VALUE_ALLOWED}")
            return True
        wrong = [self._wrong_value(item, f"{key}[{i}]") for i, item in enumerate(node.items, 1)]
        return any(wrong)


# The keys of variables and includes; their values are processed before.


@dataclass(frozen=True, slots=True)
class PassThrough(FieldType):
    """A value that was processed before and is passed through."""

    allowed: str

    def _read(self, node: Node, key: str, notes: ErrorNotes) -> Any:
        del key, notes
        return node


@dataclass(frozen=True, slots=True)
class Values(PassThrough):
    """Names of variables and their values."""

    allowed: str = f"a mapping of names to values: {VALUE_ALLOWED}"

    def _schema(self) -> Schema:
        value: Schema = {"type": ["string", "number", "boolean", "array", "null"]}
        return {"type": "object", "patternProperties": {f"^{NAME_PATTERN}$": value}, "additionalProperties": False}


@dataclass(frozen=True, slots=True)
class Paths(PassThrough):
    """Path of one fragment, or a list of paths."""

    allowed: str = "the path of a fragment from this file, or the name of a bundled one; or a list of those"

    def _schema(self) -> Schema:
        text: Schema = {"type": "string", "minLength": 1}
        return {"anyOf": [text, {"type": "array", "items": text}]}


VARS: Final = FieldSpec(Values(), "Variables by name; values anywhere in the file may use one as ${name}.")
INCLUDE: Final = FieldSpec(
    Paths(), "Fragments with defaults: lists are joined; single values of the file take precedence."
)
FRAGMENT_NAME: Final = FieldSpec(NAME, "The name; a file with this key is not a playbook by itself.", required=True)

STEP_INCLUDE: Final = Record(
    {
        "include": FieldSpec(
            TextType(allowed="the path of a fragment"), "A fragment, whose steps replace this one.", required=True
        ),
        "with": FieldSpec(Values(), "Values for the fragment's variables."),
    }
)
"""A step that is replaced by the steps of a fragment."""


VARIABLE: Final[Schema] = {
    "type": "string",
    "pattern": r"\$\{",
    "description": "A variable as ${name}, alone or inside a string.",
}
"""JSON Schema of a value with a variable."""


def with_variables(schema: Schema) -> Schema:
    """Return the schema where each value may also be a variable, which stands for a string, a number or a list."""
    opened = dict(schema)
    for part in ("properties", "patternProperties"):
        if part in schema:
            opened[part] = {name: _open(name, each) for name, each in schema[part].items()}
    if "items" in schema:
        opened["items"] = _open("", schema["items"])
    if "anyOf" in schema:
        opened["anyOf"] = [with_variables(each) for each in schema["anyOf"]]
    return opened


def _open(name: str, schema: Schema) -> Schema:
    if name in _FIXED or "$ref" in schema:
        return schema
    inner = with_variables(schema)
    if schema.get("type") == "object" or (schema.get("type") == "string" and "pattern" not in schema):
        return inner
    description = {"description": inner.pop("description")} if "description" in inner else {}
    forms = inner["anyOf"] if set(inner) == {"anyOf"} else [inner]
    return {"anyOf": [*forms, {"$ref": "#/$defs/variable"}], **description}


_FIXED: Final = ("floodmark", "vars", "with", "include", "fragment")
"""Keys whose values cannot have variables."""
