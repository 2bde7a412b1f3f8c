"""These tests need PyTorch."""

import importlib.util

_torch = importlib.util.find_spec("torch")
# This folder is found as a package without files where PyTorch is not.
collect_ignore_glob = [] if _torch is not None and _torch.origin else ["test_*.py"]
