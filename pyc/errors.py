"""Exception classes of pyc. (The formatter of user locations is below them.)"""

from __future__ import annotations


class PycError(Exception):
    """Base of all errors that pyc raises on purpose."""


class ShapeError(PycError, ValueError):
    """Shapes that do not fit together."""


class DTypeError(PycError, TypeError):
    """An element type that is not supported or does not fit."""
