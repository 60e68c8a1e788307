from typing import Any, TypeAlias, TypeVar, final

from ._types import Rung

_T = TypeVar("_T", str, bytes)

__all__ = ["Change", "Engine", "apply_many", "main", "version"]

_Extent: TypeAlias = tuple[int, int, int, int]
_Applied: TypeAlias = tuple[
    _T,
    Rung,
    tuple[str, ...],
    int,
    tuple[str, ...],
    tuple[str, str] | None,
    Change,
]

@final
class Change:
    def spans(self) -> list[tuple[_Extent, _Extent]]: ...
    def diff(self) -> str: ...

def version() -> str: ...
def main(program: list[str], arguments: list[str]) -> int: ...
def apply_many(
    text: _T,
    edits: list[tuple[str, str, bool, int | None, int | None]],
    path: str | None,
    syntax: str,
) -> _Applied[_T] | tuple[dict[str, Any], str]: ...

@final
class Engine:
    def __new__(
        cls,
        root: str | None,
        store: object | None,
        model: object | None,
        state: str | None,
        allow_protected: list[str],
        syntax: str,
    ) -> Engine: ...
    def call(self, name: str, arguments: str, dry_run: bool, request_id: str | None) -> str: ...
    def tools(self, format: str) -> str: ...
