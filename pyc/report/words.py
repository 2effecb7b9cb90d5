"""Numbers and tables as text, for both forms of a report."""

from __future__ import annotations

from collections.abc import Sequence

from pyc.report.sections import KernelRow


def nbytes(count: int) -> str:
    """Bytes in a unit that keeps them short."""
    return _scaled(count, "B")


def amount(count: int, unit: str) -> str:
    """A count in thousands, millions ... of a unit."""
    number, _, prefix = _scaled(count, "").partition(" ")
    return " ".join(filter(None, (number, prefix, unit)))


def names(kernels: Sequence[str]) -> str:
    """Names of kernels, many of them by the first and the last."""
    if len(kernels) <= 4:
        return ", ".join(kernels)
    return f"{kernels[0]}, ... {kernels[-1]} ({len(kernels)} kernels)"


def by_schedule(rows: Sequence[KernelRow]) -> list[tuple[str, str, str]]:
    """Names of kernels that are run alike, how, and what was decided of them."""
    found: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        more = "" if row.exact else "; what depends on data is counted in full"
        found.setdefault((row.schedule + more, row.choice), []).append(row.name)
    return [(names(alike), schedule, choice) for (schedule, choice), alike in found.items()]


def _scaled(count: int, unit: str) -> str:
    size, prefixes = float(count), ["", "k", "M", "G", "T", "P"]
    while size >= 999.5 and len(prefixes) > 1:
        size /= 1000
        del prefixes[0]
    number = f"{count}" if prefixes[0] == "" else f"{size:.3g}"
    return f"{number} {prefixes[0]}{unit}"


def seconds(value: float | None) -> str:
    """A time in a unit that keeps it short; a dash for none."""
    if value is None:
        return "-"
    if value < 1e-9:
        return "< 1 ns"
    for limit, factor, unit in ((1e-6, 1e9, "ns"), (1e-3, 1e6, "us"), (1.0, 1e3, "ms")):
        if value < limit:
            return f"{value * factor:.3g} {unit}"
    return f"{value:.3g} s"


def percent(share: float | None) -> str:
    """A share; a dash for none."""
    return "-" if share is None else f"{share:.0%}"


def flops(counts: dict[str, int], repeated: dict[str, int]) -> str:
    """Flops by type, and those of each iteration of a loop whose length is not known."""
    parts = [amount(n, name) for name, n in counts.items()]
    parts += [f"{amount(n, name)} an iteration" for name, n in repeated.items()]
    return " + ".join(parts) or "0"


def table(rows: Sequence[Sequence[str]], indent: str = "  ") -> list[str]:
    """Rows as lines, their columns one under the other."""
    if not rows:
        return []
    widths = [max(len(row[k]) for row in rows if k < len(row)) for k in range(max(map(len, rows)))]
    lines = []
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        lines.append((indent + "  ".join(cells)).rstrip())
    return lines


def plural(count: int, name: str) -> str:
    """`1 kernel`, `2 kernels`."""
    return f"{count:,} {name}{'' if count == 1 else 's'}"
