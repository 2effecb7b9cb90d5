"""Settings: one frozen record, from the environment, for a block, or for good.

    pyc.config.current().cache            what holds now
    pyc.config.update("cache", "ro")      for this process
    with pyc.config.using(cache="off"):   for a block (this thread and context)
    PYC_CACHE=off python ...              for a process, from outside

A field is described once, in `Settings`: its environment variable is its name in capitals after
`PYC_`. Unknown `PYC_` variables and bad values in the environment give a warning with the closest
match, never an error at import. `KEY_FIELDS` names the fields that enter the cache key: what
compiled code depends on beyond the program, its arguments and the target's facts.

Imports nothing of pyc.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from pyc.frozen import Field, field, frozen, replace

PREFIX = "PYC_"


class ConfigWarning(UserWarning):
    """A setting in the environment is unknown or has a value that cannot be read."""


def _choice(*allowed: str) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        if value not in allowed:
            raise ValueError(f"must be one of {', '.join(allowed)}, got {value!r}")
        return str(value)

    return read


def _text(value: Any) -> str:
    if not isinstance(value, (str, os.PathLike)):
        raise ValueError(f"must be a text or a path, got {value!r}")
    return os.fsdecode(value)


def _folder(value: Any) -> str:
    """An absolute path: what is relative is so to the directory that is the current one now."""
    text = _text(value)
    if "\0" in text:
        raise ValueError(f"must be a path, got {value!r}")
    path = os.path.expanduser(text)
    if path.startswith("~"):
        raise ValueError(f"names a home directory that there is not, got {value!r}")
    try:
        return os.path.abspath(path) if path else ""
    except FileNotFoundError:
        raise ValueError(f"is relative to a directory that is gone, got {value!r}") from None


def _switch(value: Any) -> bool:
    known = {"1": True, "true": True, "on": True, "yes": True}
    known |= {"0": False, "false": False, "off": False, "no": False, "": False}
    found = known.get(str(value).lower())
    if found is None:
        raise ValueError(f"must be 0 or 1, got {value!r}")
    return found


def device_parts(name: str) -> tuple[str, int] | None:
    """The kind and number of the device called "cpu", "cuda" or "cuda:N"; None for other names."""
    kind, colon, number = name.partition(":")
    known = number.isdecimal() and (kind == "cuda" or int(number) == 0) if colon else True
    return (kind, int(number or 0)) if kind in ("cpu", "cuda") and known else None


def _device(value: Any) -> str:
    name = str(value)
    if name and device_parts(name) is None:
        raise ValueError(f"must be cpu, cuda or cuda:N, got {value!r}")
    return name


def _count(value: Any) -> int:
    try:
        number = int(value)
    except (TypeError, ValueError):
        number = -1
    if number < 0 or isinstance(value, float):
        raise ValueError(f"must be a whole number, 0 or more, got {value!r}")
    return number


_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}


def read_bytes(value: Any) -> int:
    """Bytes of a whole number, or of a text such as "500MB" or "2 GB"; ValueError for others."""
    text = str(value).strip().lower().removesuffix("b").strip()
    unit = text[-1:] if text[-1:] in _UNITS else ""
    try:
        number = float(text.removesuffix(unit))
    except ValueError:
        number = -1.0
    if not 0 <= number < 1 << 62 or (number != int(number) and not unit):
        raise ValueError(f"must be bytes, as 500MB or 2GB or a whole number, got {value!r}")
    return int(number * _UNITS[unit])


def _setting(default: Any, read: Callable[[Any], Any], meaning: str) -> Any:
    return field(default=default, metadata={"read": read, "meaning": meaning})


@frozen()
class Settings:
    """All settings. Each field has a default, a reader that checks a value, and a meaning."""

    cache: str = _setting(
        "rw",
        _choice("off", "ro", "rw", "frozen"),
        "disk cache: off, ro (never written), rw, or frozen (a miss is an error)",
    )
    cache_dir: str = _setting(
        "", _folder, "where the disk cache lies; empty: $XDG_CACHE_HOME/pyc or ~/.cache/pyc"
    )
    cache_max_bytes: int = _setting(
        1_000_000_000,
        read_bytes,
        "bytes (or 500MB, 2GB) of the disk cache: entries used least recently leave; 0: no bound",
    )
    debug: bool = _setting(
        False, _switch, "verify the program after every pass, keep pyc's frames in tracebacks"
    )
    default_device: str = _setting(
        "",
        _device,
        "where functions run of which neither `jit` nor an argument says it, and `device_put` puts "
        "arrays: cpu, cuda, cuda:N; empty: functions on the CPU, arrays on the first GPU",
    )
    device_kept_bytes: int = _setting(
        0,
        read_bytes,
        "bytes (or 500MB, 2GB) of freed memory kept on each GPU; 0: a quarter of its memory. Read "
        "when it is first used",
    )
    device_linalg: str = _setting(
        "library",
        _choice("library", "host"),
        "linear algebra in programs of a GPU: library (cuSOLVER, where it is installed), or host "
        "(LAPACK, with the CPU's bits). Read when a program is compiled",
    )
    dump_dir: str = _setting("", _text, "write the text of every level there; empty: nowhere")
    num_threads: int = _setting(0, _count, "threads of the worker pool; 0: as many as are usable")
    purity: str = _setting(
        "strict",
        _choice("strict", "warn", "off"),
        "effects of functions that are jitted: strict (an error), warn, or off (not looked for)",
    )
    target: str = _setting(
        "native",
        _choice(
            "native", "x86-64-v3", "x86-64-v4", "x86-64-v4-bf16", "x86-64-v4-fp16", "x86-64-v4-amx"
        ),
        "processor that code is made for: native, x86-64-v3, x86-64-v4, x86-64-v4-bf16, "
        "x86-64-v4-fp16, x86-64-v4-amx",
    )


KEY_FIELDS: tuple[str, ...] = ("device_linalg", "target")
"""The settings that enter the cache key."""

_FIELDS: dict[str, Field] = Settings.__fields__  # type: ignore[attr-defined]


def names() -> list[str]:
    """The names of all settings."""
    return list(_FIELDS)


def closest(name: str, known: Sequence[str]) -> str:
    """A hint at the known name that is fewest typing mistakes away, or at all of them; to be put at
    the end of a message."""
    found = nearest(name, known)
    if found is not None:
        return f"; did you mean {found}?"
    return f"; known are {', '.join(known)}" if known else ""


def nearest(name: str, known: Sequence[str]) -> str | None:
    """The known name that is fewest typing mistakes away, None if none is near."""
    found = min(known, key=lambda k: _mistakes(name, k), default=None)
    if found is None:
        return None
    mistakes = _mistakes(name, found)
    return found if mistakes <= max(len(name) // 3, 2) and 2 * mistakes <= len(name) else None


def _mistakes(a: str, b: str) -> int:
    """Letters to insert, delete or replace to turn `a` into `b` (difflib would cost 1 ms at each
    start, for something that is seldom needed)."""
    row = list(range(len(b) + 1))
    for i, letter in enumerate(a):
        above, row = row, [i + 1]
        for j, other in enumerate(b):
            row.append(min(above[j] + (letter != other), above[j + 1] + 1, row[j] + 1))
    return row[-1]


def _read(name: str, value: Any) -> Any:
    """The checked value of a field. ValueError names the field, what was found and what fits."""
    if name not in _FIELDS:
        raise ValueError(f"there is no setting {name!r}{closest(name, list(_FIELDS))}")
    try:
        return _FIELDS[name].metadata["read"](value)
    except ValueError as error:
        raise ValueError(f"setting {name!r} {error}") from None


def _warn(text: str) -> None:
    # The place is the environment: a line of this file, or of the import, would mislead.
    warnings.warn_explicit(text, ConfigWarning, filename="environment", lineno=0)


def from_environment(environment: Mapping[str, str]) -> Settings:
    """Settings of the `PYC_` variables of `environment`.

    A variable that is unknown, or whose value does not fit, is left out with a `ConfigWarning`.
    """
    changes: dict[str, Any] = {}
    for variable in sorted(environment):
        if not variable.startswith(PREFIX):
            continue
        name = variable[len(PREFIX) :].lower()
        if name not in _FIELDS or variable != variable.upper():
            known = [PREFIX + f.upper() for f in _FIELDS]
            _warn(f"unknown environment variable {variable}{closest(variable.upper(), known)}")
            continue
        try:
            changes[name] = _read(name, environment[variable])
        except ValueError as error:
            _warn(f"{variable} is left out: {error}")
    return Settings(**changes)


_process: list[Settings] = [from_environment(os.environ)]
_overrides: ContextVar[dict[str, Any] | None] = ContextVar("pyc_config", default=None)


_blocks: list[dict[str, Any]] = []
"""What the blocks of `using` change that are open now, in any thread or context."""

_listeners: list[Callable[[], object]] = []


def listen(listener: Callable[[], object]) -> None:
    """From now on calls `listener` whenever settings have changed, in the thread that did it."""
    _listeners.append(listener)


def _tell() -> None:
    for listener in _listeners:
        listener()


def current() -> Settings:
    """The settings that hold here."""
    changes = _overrides.get()
    return _process[0] if changes is None else replace(_process[0], **changes)


def value(name: str) -> Any:
    """The value of one setting that holds here."""
    changes = _overrides.get()
    if changes is not None and name in changes:
        return changes[name]
    return getattr(_process[0], name)


def anywhere(name: str) -> list[Any]:
    """The values of a setting that hold now in some thread or context."""
    return [getattr(_process[0], name), *(c[name] for c in tuple(_blocks) if name in c)]


def check(name: str, value: Any) -> None:
    """ValueError: no such setting (with the closest match), or a value that does not fit."""
    _read(name, value)


def update(name: str, value: Any) -> None:
    """Sets a setting for this process; blocks of `using` keep theirs.

    raises ValueError: no such setting (with the closest match), or a value that does not fit
    """
    _process[0] = replace(_process[0], **{name: _read(name, value)})
    _tell()


@contextmanager
def using(**changes: Any) -> Iterator[Settings]:
    """The settings with `changes`, current inside the block, in this thread and context; but there
    is one worker pool, so `num_threads` holds for all threads while the block lasts.

    raises ValueError: no such setting, or a value that does not fit
    """
    checked = {name: _read(name, value) for name, value in changes.items()}
    token = _overrides.set({**(_overrides.get() or {}), **checked})
    _blocks.append(checked)
    try:
        _tell()
        yield current()
    finally:
        _blocks[:] = [c for c in _blocks if c is not checked]
        _overrides.reset(token)
        _tell()


def key_fields(settings: Settings | None = None) -> dict[str, Any]:
    """Names and values of the settings that enter the cache key."""
    settings = settings or current()
    return {name: getattr(settings, name) for name in KEY_FIELDS}


def show() -> str:
    """A table of the settings: value, environment variable, meaning; changed ones marked `*`."""
    now, default = current(), Settings()
    width = max(len(str(getattr(now, name))) for name in _FIELDS)
    wide = max(map(len, _FIELDS))
    rows = []
    for name, described in _FIELDS.items():
        value = getattr(now, name)
        mark = " " if value == getattr(default, name) else "*"
        meaning = described.metadata["meaning"]
        variable = f"{PREFIX + name.upper():<{wide + len(PREFIX)}}"
        rows.append(f"{mark} {name:<{wide}} {variable} {value!s:<{width}} {meaning}")
    return "\n".join(rows)
