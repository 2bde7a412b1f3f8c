"""The exact meaning of PyTorch functions: traced on stand-in tensors, lowered operator by operator to PTX kernels.

A kernel has a thread for each cell of its result and computes in `f64` registers, over the reals; exact functions
are the instructions `real.*`. The engine executes these kernels like all others.
"""

from coequal._torch._trace import trace

__all__ = ["trace"]
