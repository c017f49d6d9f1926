"""What a coordinator takes for a regular expression, and what it matches, held against Python's where both agree."""

import random
import re

import pytest

from cluster_model.coordinators.group.consumer_protocol.subscription_patterns import (
    DEAREST,
    PatternError,
    is_regular,
    matches,
    parsed,
)

TOPICS = ("a", "b", "ab", "ba", "aab", "abab", "orders", "orders-1", "ORDERS.eu_2", "a.b", "__x", "{2}")


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


@pytest.mark.slow
def test_it_matches_what_pythons_match() -> None:
    draw = random.Random(3)
    agreed = dear = 0
    for _turn in range(3_000):
        pattern = random_pattern(draw)
        if not is_regular(pattern):  # too many repetitions within each other
            dear += 1
            continue
        for topic in TOPICS:
            expected = re.fullmatch(pattern, topic, re.ASCII) is not None
            assert matches(pattern, topic) == expected, (pattern, topic)
            agreed += expected
    assert agreed > 3_000
    assert dear < 50


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
    ],
)  # fmt: skip
def test_the_syntax_of_re2(pattern: str, yes: str, no: str) -> None:
    assert matches(pattern, yes)
    assert not matches(pattern, no)


@pytest.mark.parametrize(
    "pattern",
    [
        "orders(", "orders)", "(?=o)rders", "(?!o)", "(?<=o)", r"(o)\1", "a*+", "a**", "a{2}{3}", "*a", "+", "?", "a|*",
        "[", "[a", "[b-a]", r"[a-\d]", "[[:none:]]", "a{1001}", "a{3,2}", "\\",
        r"\y", r"\p{None}", r"\x", r"\x{110000}", "(((a*)*)*)*",
        "(?x)a", "(?", "(?P<>a)", "(?P<a", "(?P=a)", "(" * 200 + ")" * 200, "(a{1000}){1001}", "a" * 4001,
    ],
)  # fmt: skip
def test_what_is_none_is_refused_with_its_place(pattern: str) -> None:
    assert not is_regular(pattern)
    with pytest.raises(PatternError, match=r"found .* at \d+"):
        parsed(pattern)


@pytest.mark.parametrize(
    "pattern", ["(a+)+b", "(a|aa)*b", "(.*)*b", "a*a*a*a*a*a*a*a*b", "(a{0,90}){0,9}b", "((a|b)*c)*d"]
)
def test_no_expression_goes_back_over_what_it_has_seen(pattern: str) -> None:
    assert parsed(pattern).cost <= DEAREST
    assert not matches(pattern, "a" * 249)


@pytest.mark.slow
def test_whatever_a_stranger_sends_is_an_expression_or_is_none() -> None:
    draw = random.Random(5)
    taken = 0
    for _turn in range(20_000):
        pattern = "".join(draw.choices("ab.*+?{}()[]|^$\\-,:<>=!12pPQExiLdw\u00e9", k=draw.randint(1, 12)))
        if is_regular(pattern):
            taken += 1
            matches(pattern, "orders-1")
    assert 1_000 < taken < 19_000
