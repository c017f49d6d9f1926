"""Regular expressions as a coordinator takes them: RE2's syntax, whole names, in linear time and little memory."""

import random
import re

import pytest

from cluster_model.coordinators.group.consumer_protocol import PatternError
from playbooks.engine.session import MAX_MEMORY_BYTES, Session, compile_re2_pattern
from playbooks.parser.loader import loads

TOPICS = ("a", "b", "ab", "ba", "aab", "abab", "orders", "orders-1", "ORDERS.eu_2", "a.b", "__x", "{2}")
TOO_LARGE = "(a{1000}){1000}", r"\pL{1000}"


def random_pattern(draw: random.Random, depth: int = 0) -> str:
    kind = draw.randrange(9 if depth < 3 else 5)
    if kind < 3:
        return draw.choice(["a", "b", ".", "o", "-", r"\.", r"\w", r"\d", r"\W", "[ab]", "[^a]", "[a-o_]", "[^o-s1]"])
    if kind == 3:
        return draw.choice(["^", "$", r"\b", r"\B", "", "orders", "[^-]"])
    if kind == 4:
        return draw.choice(["a", "b", "[ab]", "(?:ab)"]) + draw.choice(
            ["*", "+", "?", "{2}", "{1,}", "{0,2}", "*?", "+?"]
        )
    if kind == 5:
        return f"({random_pattern(draw, depth + 1)})" + draw.choice(["", "*", "+", "?", "{1,2}"])
    if kind == 6:
        return f"(?:{random_pattern(draw, depth + 1)}|{random_pattern(draw, depth + 1)})"
    return random_pattern(draw, depth + 1) + random_pattern(draw, depth + 1)


def test_it_matches_what_pythons_match() -> None:
    draw = random.Random(3)
    agreed = 0
    for _turn in range(1_000):
        pattern = random_pattern(draw)
        matches = compile_re2_pattern(pattern)
        for topic in TOPICS:
            expected = re.fullmatch(pattern, topic, re.ASCII) is not None
            assert matches(topic) == expected, (pattern, topic)
            agreed += expected
    assert agreed > 1_000


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("(?i)orders", "OrDeRs", "orderz"), ("(?i:O)rders", "orders", "ORDERS"), ("o(?i)R|x", "oR", "Orders"),
        ("(?-i)a", "a", "A"), ("(?P<name>a)b", "ab", "b"), (r"\Qa.b\E+", "a.bbb", "axb"),
        (r"\Qa.b", "a.b", "axb"), (r"\x61\x{62}", "ab", "a"),
        (r"\pL+\p{Nd}", "orders1", "orders"), (r"\PL", "1", "a"), ("[[:alpha:]]+[[:^digit:]]", "ab-", "ab1"),
        (r"[]a]+", "]a", "b"), ("[a-]+", "a-a", "b"), (r"[\d-]+", "1-2", "a"), ("a{,2}", "a{,2}", "aa"),
        ("a{1,2}", "aa", "aaa"), ("a{2}", "aa", "aaa"), ("a{2,}", "aaaa", "a"), ("(ab){1,2}c", "ababc", "abababc"),
        ("x{", "x{", "x"), ("(?i)[^a]", "b", "A"),
        ("(?<name>a)b", "ab", "b"), (r"\Aa\z", "a", "aa"), ("(|a)+", "aaa", "b"), ("", "", "a"),
        (r"\p{Greek}+", "\u03b1", "a"), ("(((a*)*)*)*", "aa", "b"), ("a" * 4001, "a" * 4001, "a"),
    ],
)  # fmt: skip
def test_the_syntax_of_re2(pattern: str, yes: str, no: str) -> None:
    matches = compile_re2_pattern(pattern)
    assert matches(yes)
    assert not matches(no)


@pytest.mark.parametrize(
    "pattern",
    [
        "orders(", "orders)", "(?=o)rders", "(?!o)", "(?<=o)", r"(o)\1", "a*+", "a**", "a{2}{3}", "*a", "+", "?", "a|*",
        "[", "[a", "[b-a]", r"[a-\d]", "[[:none:]]", "a{1001}", "a{3,2}", "\\",
        r"\y", r"\p{None}", r"\x", r"\x{110000}",
        "(?x)a", "(?", "(?P<>a)", "(?P<a", "(?P=a)", *TOO_LARGE, "\ud800",
    ],
)  # fmt: skip
def test_invalid_re2_patterns_are_rejected_without_output_on_stderr(
    pattern: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(PatternError, match=r".{5,}"):
        compile_re2_pattern(pattern)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "pattern", ["(a+)+b", "(a|aa)*b", "(.*)*b", "a*a*a*a*a*a*a*a*b", "(a{0,90}){0,9}b", "((a|b)*c)*d"]
)
def test_no_expression_goes_back_over_what_it_has_seen(pattern: str, capfd: pytest.CaptureFixture[str]) -> None:
    matches = compile_re2_pattern(pattern)
    assert not matches("a" * 249)
    assert capfd.readouterr() == ("", "")


def test_an_expression_may_take_two_mebibytes() -> None:
    assert MAX_MEMORY_BYTES == 2 * 1024 * 1024
    assert compile_re2_pattern(".{1000}")("a" * 1000)


@pytest.mark.slow
def test_whatever_a_stranger_sends_is_an_expression_or_is_none() -> None:
    draw = random.Random(5)
    taken = 0
    for _turn in range(20_000):
        pattern = "".join(draw.choices("ab.*+?{}()[]|^$\\-,:<>=!12pPQExiLdw\u00e9", k=draw.randint(1, 12)))
        try:
            matches = compile_re2_pattern(pattern)
        except PatternError:
            continue
        taken += 1
        matches("orders-1")
    assert 1_000 < taken < 19_000


PLAYBOOK = """\
floodmark: 1
name: by-pattern
title: A group by a pattern
cluster: {kafka: "4.0", brokers: 3}
topics:
  - {name: orders, partitions: 1, replication: 3}
  - {name: audit, partitions: 1, replication: 3}
clients:
  producers: [{name: p, topic: orders, rate: 10/s}]
  groups: [{name: g, pattern: PATTERN, members: 1, config: {group.protocol: consumer}}]
"""


@pytest.mark.parametrize(("pattern", "read"), [("'(?P<first>o)rders'", True), ("'(o)rders(?=)'", False)])
def test_a_session_and_its_twin_match_by_it(pattern: str, read: bool) -> None:
    session = Session.start(loads(PLAYBOOK.replace("PATTERN", pattern), "by-pattern.yaml"))
    assert session.unrecorded_copy().cluster.compile_pattern is session.cluster.compile_pattern is compile_re2_pattern
    session.advance(20_000_000)
    (member,) = session.cluster.consumers.values()
    assert bool(member.assignment) == read
