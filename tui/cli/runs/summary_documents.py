"""Results as JUnit XML: a suite per session, a case per expectation, for continuous integration to show.

Nothing in it depends on the clock: times are of the cluster, and there is no ``timestamp``.
"""

import re
from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from playbooks.engine.job import NOT_RUN
from playbooks.results.baseline import unused
from playbooks.results.result import Checked, Result
from tui.cli.runs.verdicts import Ended, cause_lines
from tui.output.result import ledger_words

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
MICROSECONDS = 1_000_000
COUNTS = (("tests", ""), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped"))
END = "the session reaches its end"


def junit(all_ended: Sequence[Ended]) -> str:
    """The document. Times are seconds of virtual time."""
    suites = Element("testsuites", name="floodmark")
    for ended in all_ended:
        suites.append(_suite(ended))
    for attribute, _ in COUNTS:
        suites.set(attribute, str(sum(int(suite.get(attribute, "0")) for suite in suites)))
    results = [each.outcome.result for each in all_ended]
    suites.set("time", _seconds(sum(each.virtual_us for each in results if each is not None)))
    indent(suites)
    return tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def _suite(ended: Ended) -> Element:
    suite = Element("testsuite", name=_clean(ended.name))
    result = ended.outcome.result
    _properties(suite, ended)
    if result is None:
        _unended(suite, ended)
    else:
        _cases(suite, ended, result)
    output = SubElement(suite, "system-out")
    output.text = _clean("\n".join(_output(ended)))
    for attribute, tag in COUNTS:
        found = suite.findall(f"./testcase/{tag}" if tag else "./testcase")
        suite.set(attribute, str(len(found)))
    suite.set("time", _seconds(result.virtual_us if result else 0))
    return suite


def _properties(suite: Element, ended: Ended) -> None:
    result, job = ended.outcome.result, ended.outcome.job
    told = {"seed": str(job.seed if result is None else result.seed), "verdict": ended.verdict, "file": job.path}
    if result is not None:
        told |= {"profile": result.profile, "digest": result.digest, "title": result.title}
    told |= {f"set {path}": value for path, value in job.settings.items()}
    properties = SubElement(suite, "properties")
    for name, value in told.items():
        SubElement(properties, "property", name=_clean(name), value=_clean(value))


def _cases(suite: Element, ended: Ended, result: Result) -> None:
    inconclusive = result.verdict == "inconclusive"
    for checked in result.expectations:
        case = _case(suite, ended, checked.text, checked.at_us)
        if not checked.ok:
            _judge(case, ended, checked, inconclusive=inconclusive)
    if inconclusive or not result.expectations:
        case = _case(suite, ended, END, result.virtual_us)
        if inconclusive:
            error = SubElement(case, "error", type="inconclusive", message=_clean(result.reason))
            error.text = _clean(f"{result.reason}\nrun it again: {ended.command}")
    for skipped in result.skipped:
        case = _case(suite, ended, f"inject {skipped.fault} on {skipped.target}", skipped.at_us)
        SubElement(case, "skipped", message=_clean(skipped.detail))


def _unended(suite: Element, ended: Ended) -> None:
    """The one case of a playbook without a verdict."""
    outcome = ended.outcome
    case = _case(suite, ended, END, 0)
    if outcome.code == NOT_RUN:
        SubElement(case, "skipped", message=_clean(outcome.error))
        return
    error = SubElement(case, "error", type=ended.verdict, message=_clean(outcome.error))
    account = f"\naccount: {outcome.account}" if outcome.account else ""
    error.text = _clean(f"{outcome.error}{account}\nrun it again: {ended.command}")


def _case(suite: Element, ended: Ended, name: str, at_us: int) -> Element:
    alone = unused(_clean(name), [case.get("name") for case in suite.iter("testcase")])
    return SubElement(suite, "testcase", classname=_clean(f"floodmark.{ended.name}"), name=alone, time=_seconds(at_us))


def _judge(case: Element, ended: Ended, checked: Checked, *, inconclusive: bool) -> None:
    if inconclusive:
        SubElement(case, "skipped", message=_clean(f"inconclusive: {checked.detail}"))
        return
    detail = checked.detail or "did not hold"
    failure = SubElement(case, "failure", type="expectation", message=_clean(detail))
    seed = ended.outcome.result.seed if ended.outcome.result else ended.outcome.job.seed
    lines = [f"{checked.text}: {detail}", *[f"cause: {cause}" for cause in cause_lines(ended)]]
    failure.text = _clean("\n".join([*lines, f"seed: {seed}", f"run it again: {ended.command}"]))


def _output(ended: Ended) -> list[str]:
    result = ended.outcome.result
    lines = [f"ledger: {ledger_words(result)}"] if result is not None else []
    return lines + ([f"session: {ended.outcome.session}"] if ended.outcome.session else [])


def _seconds(us: int) -> str:
    return f"{us // MICROSECONDS}.{us % MICROSECONDS:06d}"


def _clean(text: str) -> str:
    """Without the characters that XML cannot hold."""
    return _NOT_XML.sub("?", text)
