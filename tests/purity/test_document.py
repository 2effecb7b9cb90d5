"""`docs/purity.md` is written from the tables and the probes; `--update-golden` renews it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from pyc.purity import table
from pyc.reasons import Reason
from tests.purity.test_probes import HARMLESS, IMPURE, RULES

DOCUMENT = Path(__file__).parents[2] / "docs" / "purity.md"

INTRODUCTION = """\
# Purity

A jitted function runs in Python while it is traced, once per signature, and then never again:
compiled code takes its place. What the function does besides computing its result would happen at
the trace only, and what it reads from a clock or a random state would be the same in every call. So
such functions are refused, with the line, the rule and what to do instead:

    PurityError: `print` writes while the function is traced: compiled code would not do so
      at model.py:12 in `step`:  print("energy", e)
                                 ^^^^^^^^^^^^^^^^^^
      Print each time the program runs, `pyc.debug.print("{{}}", x)`; or return the value,
      and print it outside of the jitted function.
      rule: purity_output
      more: python -m pyc explain PYC2001

`pyc.jit(f, purity=...)`, or the setting `purity` (`PYC_PURITY`), says what is done about it:

| | |
| --- | --- |
| `"strict"` | an error, before the effect where it can be seen coming; the default |
| `"warn"` | a `PurityWarning` with the same text, and the effect happens: once, at the trace |
| `"off"` | no effect is looked for: it happens, at the trace. The function is traced once |

**Changes of what exists outside** (the rules `purity_name`, `purity_object`, `purity_argument`) are
errors with `"warn"` too: they cannot take place. What a function reads from outside it gets as
copies and views, so a change would be lost; and a program made while an object of a library (a
`UserList`, a queue) changes would be one for what it held before. With `"off"` they are errors as
far as the copies tell: changes of lists, dicts, sets, attributes, classes, functions and names;
objects of libraries are changed at the trace, and if they change in each one the call is refused.

**A refused function leaves what is outside as it was.** Most effects are seen before they happen;
what is seen afterwards only, in an object that the function has itself, is put back: containers,
attributes, slots, classes, the memory of arrays and buffers, `ctypes`, contexts, streams in memory,
trees. Where that cannot be, as with the number of children of a `SeedSequence`, the error says what
it has left changed. An error of the function itself (`ValueError` in the middle of it) undoes
nothing, as in Python: the function is run again at the next call.

This page claims what its tables say, and no more. It is written from the tables of
`pyc/purity/table.py` and the functions of `tests/purity`, {impure} with an effect and {harmless}
that only look as if they had one, by `pytest tests/purity/test_document.py --update-golden`.

## Three nets

1. **When the function is decorated**, its own code is looked at: assignments of global names and of
   names of surrounding functions, generators, coroutines. Nothing has run yet, so this holds for
   branches that are never taken, too.
2. **While it is traced**, what runs is looked at, not what is written: a `print` in a branch that
   is not taken is fine, and one behind an alias, in a helper, in a decorator or in the standard
   library is not. Everything from outside is compared before and after, by the identity of what it
   holds.
3. **Afterwards** it is traced once more without hooks, and must give the same program.

The first call of a small function costs about half a millisecond more for it; later calls nothing.

## Rules

"""

MONITORING = "`sys.monitoring`"
SEEN = [
    ("code outside pyc and NumPy calls a function written in C", "profiler", MONITORING),
    ("a function of the standard library or the user's begins", "profiler", MONITORING),
    ("C calls a function written in Python: `sorted(x, key=f)`", "profiler", MONITORING),
    ("C calls one written in C that was read by a name: `map(print, x)`", "view", "view"),
    ("files, processes, sockets, threads, whoever asks", "audit hook", "audit hook"),
    ("a list, dict, set, deque, `bytearray`, `array` from outside changes", "before, after", ""),
    (
        "an iterator, a lock, a context variable, a hash or a socket from outside is used",
        "view",
        "",
    ),
    ("an attribute of an object, function or class changes", "view; before, after", ""),
    (
        "an attribute of an enumeration, its members, or a library's class changes",
        "before, after",
        "",
    ),
    ("`sys.modules` or an attribute of a module changes", "view", ""),
    ("a global name or one of a surrounding function changes", "before, after", ""),
    (
        "an object of the standard library changes (`UserList`, `ctypes`, queues)",
        "before, after",
        "",
    ),
    ("the state of `random` or `numpy.random` changes", "before, after", ""),
    ("an array that is an argument, or from outside, changes", "tracer", ""),
    ("two traces differ", "the two programs", ""),
    ("the line of what has changed, where only that is seen", "opcode trace", MONITORING),
    ("beside a profiler written in Python", "both are called", ""),
    ("beside `cProfile`", "it pauses, PYC2014", "both"),
    ("all tool ids of `sys.monitoring` are taken", "no matter", "profiler"),
]
"""What happens, and what sees it on 3.11 and from 3.12 on; empty: the same."""

REST = """
The *view* is what a traced function gets for the names that it reads: in place of `print`, `open`,
`time.time`, `sys.stdout` and their like something that refuses by itself, by whatever route it is
called.

## What is let through

* Loading a module, which may do anything: it happens once in a process.
* Reading Python sources and byte code, as tracebacks do.
* What is not the function's doing: the garbage collector's callbacks, `__del__`, finalizers, signal
  handlers, other threads.
* Streams in memory (`io.StringIO`), containers, objects, iterators, locks and random generators
  with a seed that the function makes itself; `print` into such a stream.
* Iterators, locks and functions with an effect that are handed on, compared or asked for their
  facts (`hasattr`, `isinstance`, `stream.name`), and not used.
* A warning that a filter suppresses, a log record that no handler takes.
* `np.errstate` and `np.printoptions` in a `with` statement.
* `id()`, `hash()`: texts have another hash in another process, objects another id, and in it always
  the same; what platform the process runs on.

## What is not seen

* Effects inside of compiled extensions that ask the process for nothing that has an audit event,
  and calls through `ctypes`.
* Changes of objects of installed packages, which may keep there what they have computed: if
  they change in each trace the call is refused.
* Iterators and locks that are inside of an object of a library (`held[0]` of a `UserList`): if what
  they give makes the programs of two traces differ the call is refused.
* What is assigned and set back again before the function ends.
* `datetime.now` and methods of streams called by C (`map(datetime.now, zones)`) where the function
  got them other than by a name of its module.
* What the decimal context holds is read at the trace only.
"""

FUNCTIONS = """
## Functions that are refused

By the rule that they break; methods by the class that has them. Where a function has Python code,
what that code calls decides.

"""

_KNOWN_AS = {"builtins": "", "io": "", "_io": "", "_signal": "signal.", "_locale": "locale."}


def known_as(module: str, name: str) -> str:
    return _KNOWN_AS.get(module, f"{module}.") + name


def rows_of_rules() -> list[str]:
    counts = Counter(RULES[name.partition("_")[0]] for name in IMPURE)
    rows = ["| code | rule | refused if | probes |", "| --- | --- | --- | --- |"]
    for reason in Reason:
        if reason.group == "purity" and reason in counts:
            rows.append(f"| {reason.code} | `{reason}` | {reason.meaning} | {counts[reason]} |")
    return rows


def rows_of_functions() -> list[str]:
    found: dict[Reason, set[str]] = {}
    for (module, name), effect in table.FUNCTIONS.items():
        found.setdefault(effect.rule, set()).add(known_as(module, name))
    for (file, name), effect in table.PYTHON.items():
        called = table.name_of_python(file, name).replace("`", "")
        found.setdefault(effect.rule, set()).add(called)
    for name in table.WITH_ARGUMENTS:
        found.setdefault(Reason.PURITY_CLOCK, set()).add(f"time.{name} without a time")
    for name in sorted(table.NOW):
        found.setdefault(Reason.PURITY_CLOCK, set()).add(f"datetime.{name}")
    for name in sorted(table.STREAM_METHODS):
        found.setdefault(Reason.PURITY_OUTPUT, set()).add(f"stream.{name}")
    for module, effect in table.UNSEEN.items():
        found.setdefault(effect.rule, set()).add(f"objects of {module}")
    changed = {f"{name} of what is outside" for name in ("iterator.__next__", "ContextVar.set")}
    found.setdefault(Reason.PURITY_OBJECT, set()).update(changed)
    found.setdefault(Reason.PURITY_THREAD, set()).add("lock.acquire of what is outside")
    for cls, names in table.CHANGES.items():
        found.setdefault(Reason.PURITY_OBJECT, set()).update(f"{cls}.{name}" for name in names)
    for event, effect in table.EVENTS.items():
        found.setdefault(effect.rule, set()).add(f"event {event}{'*' if event[-1] in '._' else ''}")
    rows = ["| rule | functions |", "| --- | --- |"]
    for rule in sorted(found, key=lambda rule: rule.code):
        names = ", ".join(f"`{name}`" for name in sorted(found[rule]))
        rows.append(f"| `{rule}` | {names} |")
    found_random = "`os.urandom`, `os.getrandom`, " + ", ".join(
        f"`random.{name}` of a generator from outside" for name in sorted(table.DRAWS)
    )
    rows.append(f"| `purity_random` | {found_random} |")
    rows.append(
        "| by name | every other function of `os` that is written in C, but "
        + ", ".join(f"`{name}`" for name in sorted(table.POSIX_PURE) if name[0] != "_")
        + "; every other one of "
        + ", ".join(f"`{module.removeprefix('_')}`" for module in sorted(table.MODULES))
        + " that is written in C, but "
        + ", ".join(f"`{known_as(*key).removeprefix('_')}`" for key in sorted(table.PURE))
        + " |"
    )
    return rows


def rows_of_versions() -> list[str]:
    rows = ["", "", "## What sees it, by Python version", ""]
    rows += ["| what happens | 3.11 | 3.12 | 3.13 |", "| --- | --- | --- | --- |"]
    for what, old, new in SEEN:
        rows.append(f"| {what} | {old} | {new or old} | {new or old} |")
    return rows


def text() -> str:
    parts = [
        INTRODUCTION.format(impure=len(IMPURE), harmless=len(HARMLESS)),
        "\n".join(rows_of_rules()),
        "\n".join(rows_of_versions()),
        "\n",
        REST,
        FUNCTIONS,
        "\n".join(rows_of_functions()),
        "\n",
    ]
    return "".join(parts)


def test_the_page_is_up_to_date(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--update-golden"):
        DOCUMENT.write_text(text())
    assert DOCUMENT.read_text() == text()


def test_every_rule_has_probes() -> None:
    rules = {r for r in Reason if r.group == "purity"} - {Reason.PURITY_HOOK_TAKEN}
    assert set(RULES.values()) == rules
    assert {name.partition("_")[0] for name in IMPURE} == set(RULES)
