"""What a run of a kernel reports: findings, and the failed site."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Finding:
    """Something undefined that a run met.

    kind: "race", "divergence", "deadlock", "bounds", "unwritten" (read before written),
    "unstored" (output never stored), "unwaited" (asynchronous copy), "phase", "shuffle",
    "uniform", "type", "store-in" or "endless"; statement: its printed text.
    """

    kind: str
    message: str
    statement: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}\n  at: {self.statement}"


@dataclass(slots=True)
class Outcome:
    """What a run found: `failed` is (lowest failed site, its least value as unsigned bits, read as
    int64), None if no `Fail` fired."""

    findings: list[Finding] = field(default_factory=list)
    failed: tuple[int, int] | None = None


class SimulationError(Exception):
    """The kernel cannot be run, or (check=True) a finding; the printed kernel is a note."""
