"""What is known of a target without having one."""

from __future__ import annotations

import re

# Shared memory of a block in bytes, at most.
_SHARED_MEMORY = {80: 166912, 86: 101376, 89: 101376}


def capability(arch: str) -> int:
    """80 for "sm_80"; ValueError for what is no target."""
    match = re.fullmatch(r"(?:sm_|compute_)?(\d+)[a-z]?", arch)
    if not match:
        raise ValueError(f"arch: expected a target such as sm_80, found '{arch}'")
    return int(match[1])


def shared_memory(capability: int) -> int:
    return _SHARED_MEMORY.get(capability, 232448 if capability >= 90 else 65536)
