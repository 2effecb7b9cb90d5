"""What a program may do besides computing: print, and call Python functions back.

print(fmt, *args, **kwargs)      prints when the program runs
callback(function, *args)        calls a function for its effect when the program runs

Effects that are declared so happen each time, in the order of the program, and are no breach of
purity.
"""

from __future__ import annotations

from pyc.trace.host_calls import callback
from pyc.trace.host_calls import debug_print as print

__all__ = ["callback", "print"]
