"""The page of PyTorch operators is up to date."""

from pathlib import Path

import pytest
import torch
from coequal._torch import coverage

PAGE = Path(__file__).resolve().parents[3] / "docs" / "torch.md"


def test_page_is_up_to_date() -> None:
    text = PAGE.read_text()
    if f"PyTorch {torch.__version__.split('+')[0]}." not in text:
        pytest.skip("the page was made with another version of PyTorch")
    assert text == coverage.page(), "run 'python -m coequal._torch.coverage docs/torch.md'"
