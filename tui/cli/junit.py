"""Results as JUnit XML: a suite per session, a case per expectation, for continuous integration to show."""

import re
from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from playbooks.result import Checked, Result

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
MICROSECONDS = 1_000_000


def junit(results: Sequence[Result]) -> str:
    """The document. Times are seconds of virtual time."""
    suites = Element("testsuites", name="floodmark")
    for result in results:
        suites.append(_suite(result))
    indent(suites)
    return tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def _suite(result: Result) -> Element:
    suite = Element("testsuite", name=_clean(result.playbook))
    inconclusive = result.verdict == "inconclusive"
    for checked in result.expectations:
        case = _case(suite, result, checked.text, checked.at_us)
        if not checked.ok:
            _judge(case, checked, inconclusive=inconclusive)
    if inconclusive or not result.expectations:
        case = _case(suite, result, "the session reaches its end", result.virtual_us)
        if inconclusive:
            SubElement(case, "error", type="inconclusive", message=_clean(result.reason))
    for skipped in result.skipped:
        case = _case(suite, result, f"inject {skipped.fault} on {skipped.target}", skipped.at_us)
        SubElement(case, "skipped", message=_clean(skipped.detail))
    for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(attribute, str(len(suite.findall(f"./testcase/{tag}"))))
    suite.set("tests", str(len(suite.findall("./testcase"))))
    suite.set("time", _seconds(result.virtual_us))
    return suite


def _case(suite: Element, result: Result, name: str, at_us: int) -> Element:
    return SubElement(
        suite, "testcase", classname=_clean(f"floodmark.{result.playbook}"), name=_clean(name), time=_seconds(at_us)
    )


def _judge(case: Element, checked: Checked, *, inconclusive: bool) -> None:
    if inconclusive:
        SubElement(case, "skipped", message=_clean(f"inconclusive: {checked.detail}"))
    else:
        SubElement(case, "failure", type="expectation", message=_clean(checked.detail or "did not hold"))


def _seconds(us: int) -> str:
    return f"{us // MICROSECONDS}.{us % MICROSECONDS:06d}"


def _clean(text: str) -> str:
    """Without the characters that XML cannot hold."""
    return _NOT_XML.sub("?", text)
