"""The pytest plugin, from outside: what is collected, what a failure says, what is written."""

import json

import pytest
from test_cli import CASES

ARGUMENTS = ("-p", "coequal.pytest_plugin", "-p", "no:cacheprovider")


@pytest.fixture
def cases(pytester):
    pytester.makepyfile(test_cases=CASES)
    return pytester


def test_instances_are_tests(cases):
    result = cases.runpytest_subprocess(*ARGUMENTS, "-v")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*test_cases.py::Same PASSED*", "*test_cases.py::Unlike PASSED*"])


def test_a_failure_shows_the_verdict_and_the_witness(cases):
    cases.makepyfile(test_cases=CASES.replace('expect = "inequivalent"', 'expect = "equivalent"'))
    result = cases.runpytest_subprocess(*ARGUMENTS)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "expected equivalent",
            "inequivalent *::Unlike: y[[]0] differs*",
            "*witness for y[[]0]",
            "*A stores 2",
            "*B stores 3",
        ]
    )
    result.stdout.no_fnmatch_line("*pytest_plugin.py*")


def test_without_an_expectation_a_test_wants_equivalence(cases):
    cases.makepyfile(test_cases=CASES.replace('expect = "inequivalent"', ""))
    cases.runpytest_subprocess(*ARGUMENTS).assert_outcomes(passed=1, failed=1)


def test_reports_and_reproducers_are_written(cases):
    cases.makepyfile(test_cases=CASES.replace('expect = "inequivalent"', 'expect = "equivalent"'))
    cases.runpytest_subprocess(*ARGUMENTS, "--coequal-report", "reports")
    folder = cases.path / "reports"
    assert sorted(p.name for p in folder.iterdir()) == [
        "test_cases.py-Same.json",
        "test_cases.py-Unlike",
        "test_cases.py-Unlike.json",
    ]
    report = json.loads((folder / "test_cases.py-Unlike.json").read_text())
    assert report["verdict"] == "inequivalent" and report["tool"]["name"] == "coequal"
    assert (folder / "test_cases.py-Unlike" / "Unlike.toml").is_file()


def test_markers_give_options(cases):
    marked = CASES.replace("class Same(", "@pytest.mark.coequal(cells=1)\nclass Same(").replace(
        'expect = "equivalent"', 'expect = "unknown"'
    )
    cases.makepyfile(test_cases="import pytest\n" + marked)
    cases.runpytest_subprocess(*ARGUMENTS, "--strict-markers").assert_outcomes(passed=2)


def test_expected_failures_and_skips_are_those_of_pytest(cases):
    marked = CASES.replace("class Same(", "@pytest.mark.xfail(strict=True)\nclass Same(").replace(
        'expect = "inequivalent"', 'expect = "equivalent"'
    )
    marked = marked.replace("class Unlike(", "@pytest.mark.xfail(strict=True, reason='known')\nclass Unlike(")
    cases.makepyfile(
        test_cases="import pytest\n" + marked,
        test_skipped="import pytest\npytestmark = pytest.mark.skip\n" + CASES,
    )
    # Same is as expected, which a strict expectation of failure does not allow.
    cases.runpytest_subprocess(*ARGUMENTS).assert_outcomes(failed=1, xfailed=1, skipped=2)


def test_checks_in_functions_follow_markers_too(pytester):
    pytester.makepyfile(
        test_functions="import pytest\n"
        + CASES
        + '''
@pytest.mark.coequal(cells=1)
def test_marked():
    assert cq.check(Same).verdict == "unknown"
    assert cq.check(Same, cells="all").verdict == "equivalent"

def test_unmarked():
    assert cq.check(Same).verdict == "equivalent"
'''
    )
    pytester.runpytest_subprocess(*ARGUMENTS, "-k", "marked").assert_outcomes(passed=2, deselected=2)


def test_workers_share_the_tests(cases):
    pytest.importorskip("xdist")
    result = cases.runpytest_subprocess(*ARGUMENTS, "-n", "2", "--coequal-report", "reports")
    result.assert_outcomes(passed=2)
    assert len(list((cases.path / "reports").glob("*.json"))) == 2
