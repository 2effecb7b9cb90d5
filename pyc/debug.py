"""What a program may do besides computing: print, and call Python functions back.

print(fmt, *args, **kwargs)      prints when the program runs
callback(function, *args)        calls a function for its effect when the program runs
check(condition, message, *args) ends the program with an error unless a condition holds
breakpoint()                     stops in the debugger when the program runs

Effects that are declared so happen each time, in the order of the program, and are no breach of
purity.
"""

from __future__ import annotations

from pyc.trace.debugging import breakpoint, check
from pyc.trace.host_calls import callback
from pyc.trace.host_calls import debug_print as print

__all__ = ["breakpoint", "callback", "check", "print"]
