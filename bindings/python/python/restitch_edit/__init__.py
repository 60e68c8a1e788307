"""Applies the edit a language model meant, or refuses with a reason that makes the next call succeed.

>>> from restitch_edit import apply
>>> file = "def area(r):\\n    return 3 * r ** 2\\n"
>>> result = apply(file, "return 3 * r**2", "return math.pi * r**2", path="area.py")
>>> result.unwrap().text
'def area(r):\\n    return math.pi * r ** 2\\n'
"""

from __future__ import annotations

from . import _native

# What an edit of a text does not need is imported when it is first used; `typing` takes longer than
# all the rest.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, TypeVar

    from ._engine import (
        AsyncEngine,
        AsyncModel,
        AsyncStore,
        Engine,
        Format,
        Model,
        Store,
        Style,
        SyntaxMode,
    )
    from ._types import (
        Applied,
        Attempt,
        Code,
        Conflict,
        Corrected,
        Difference,
        Edit,
        Edited,
        Extent,
        Near,
        Outcome,
        Question,
        ReadText,
        Refused,
        RefusedError,
        Reply,
        Rung,
        Span,
        Undone,
    )

    T = TypeVar("T", str, bytes)

__version__ = _native.version()

__all__ = [
    "Applied",
    "AsyncEngine",
    "AsyncModel",
    "AsyncStore",
    "Attempt",
    "Code",
    "Conflict",
    "Corrected",
    "Difference",
    "Edit",
    "Edited",
    "Engine",
    "Extent",
    "Format",
    "Model",
    "Near",
    "Outcome",
    "Question",
    "ReadText",
    "Refused",
    "RefusedError",
    "Reply",
    "Rung",
    "Span",
    "Store",
    "Style",
    "SyntaxMode",
    "Undone",
    "apply",
    "apply_many",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import _types

    owner: Any = _types
    if not hasattr(owner, name):
        from . import _engine

        owner = _engine
    value = globals()[name] = getattr(owner, name)
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def apply(
    text: T,
    old: str,
    new: str,
    *,
    replace_all: bool = False,
    expected: int | None = None,
    near_line: int | None = None,
    path: str | None = None,
    syntax: SyntaxMode = "veto",
) -> Applied[T] | Refused:
    """Replaces `old` by `new` in a text, as a model meant it; touches no file.

    `text` is a string, or the bytes of a file, which stay in their encoding. `path` tells the
    language and appears in the diff.
    """
    row = (old, new, replace_all, expected, near_line)
    return _result(_native.apply_many(text, [row], path, syntax))


def apply_many(
    text: T,
    edits: Iterable[Edit],
    *,
    path: str | None = None,
    syntax: SyntaxMode = "veto",
) -> Applied[T] | Refused:
    """Applies edits that all refer to the text as it is given, all or none of them."""
    rows = [(e.old, e.new, e.replace_all, e.expected, e.near_line) for e in edits]
    return _result(_native.apply_many(text, rows, path, syntax))


def _result(answer: _native._Applied[T] | tuple[dict[str, Any], str]) -> Applied[T] | Refused:
    """The result of what the native half answers."""
    from ._types import Applied, Corrected, refused_of

    if len(answer) == 2:
        return refused_of(*answer)
    after, rung, rewrites, replacements, warnings, corrected, change = answer
    used = None if corrected is None else Corrected(*corrected)
    return Applied(after, rung, rewrites, replacements, warnings, used, change)
