"""The tutorial of docs/python.md, followed step by step."""

import re

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton")

STEP = re.compile(r"<!-- (\w+): (\S+) -->\n```\w+\n(.*?)```", re.S)


def shown(text):
    """Lines without their indentation and without folders in front of file names."""
    return [re.sub(r"(/[^\s:]+/)+", "", line).strip() for line in text.splitlines()]


def test_the_tutorial(pytester, root):
    done = []
    for step, name, text in STEP.findall((root / "docs/python.md").read_text()):
        done.append(step)
        if step == "file":
            (pytester.path / name).write_text(text)
        elif step == "replace":
            path = pytester.path / name
            before, after = (line[1:] + "\n" for line in text.splitlines())
            assert path.read_text().count(before) == 1
            path.write_text(path.read_text().replace(before, after))
        else:
            result = pytester.runpytest_subprocess("-q", "-p", "coequal.pytest_plugin", "test_softmax.py")
            assert result.ret == (0 if name == "passes" else 1)
            printed = shown(result.stdout.str())
            for line in shown(text)[1:]:
                assert any(line in other for other in printed), line
    assert done == ["file", "file", "run", "replace", "run", "file"]
    # The instance of the page; softmax.py still has the mistake.
    (pytester.path / "softmax.py").write_text(
        (pytester.path / "softmax.py").read_text().replace("other=0.0", 'other=float("-inf")')
    )
    pytester.runpytest_subprocess("-q", "-p", "coequal.pytest_plugin", "cases.py").assert_outcomes(passed=1)
