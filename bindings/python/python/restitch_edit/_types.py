"""The results of calls. A refusal is a result too, not an exception."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Literal, NoReturn, TypeVar

if TYPE_CHECKING:
    from ._native import Change

T = TypeVar("T", str, bytes)

Code = Literal[
    "EDIT_NO_OCCURRENCE_FOUND",
    "EDIT_EXPECTED_OCCURRENCE_MISMATCH",
    "EDIT_NO_CHANGE",
    "EDIT_ALREADY_APPLIED",
    "EDIT_INVALID_PATH",
    "EDIT_FILE_NOT_FOUND",
    "EDIT_FILE_READ_ERROR",
    "EDIT_FILE_WRITE_ERROR",
    "ATTEMPT_TO_CREATE_EXISTING_FILE",
    "EDIT_CONFLICT",
    "EDIT_AMBIGUOUS",
    "EDIT_STALE_ANCHOR",
    "EDIT_NOT_TEXT",
    "EDIT_TOO_LARGE",
    "EDIT_OVERLAP",
    "EDIT_OMISSION",
    "EDIT_SYNTAX",
    "EDIT_BLOCKED",
    "EDIT_UNENCODABLE",
    "EDIT_INVALID_ARGUMENTS",
]
"""The stable codes of refusals."""

Rung = Literal[
    "exact",
    "line_endings",
    "unescaped",
    "line_numbers",
    "diff_markers",
    "code_fence",
    "html_entities",
    "outer_blank_lines",
    "trailing_blanks",
    "look_alikes",
    "indentation",
    "look_alikes_and_indentation",
    "blank_lines",
    "spacing",
    "punctuation",
    "reflowed",
    "elided",
    "aligned",
    "model",
    "carried",
    "create",
    "delete",
    "rename",
    "move",
    "undo",
    "repeated",
    "staged",
    "init",
]
"""What had to be forgiven for a call to match."""


@dataclass(frozen=True, slots=True)
class Edit:
    """One replacement of text by text."""

    old: str
    new: str
    replace_all: bool = False
    expected: int | None = None
    """How often `old` must occur; all occurrences are replaced. `None` means once."""
    near_line: int | None = None
    """A line near the text, to choose among several occurrences."""


@dataclass(frozen=True, slots=True)
class Extent:
    """One side of a changed span. Lines are counted from 1; an empty side has `end_line = start_line - 1`."""

    start_line: int
    end_line: int
    start_byte: int
    end_byte: int


@dataclass(frozen=True, slots=True)
class Span:
    """A changed span, before and after."""

    before: Extent
    after: Extent


@dataclass(frozen=True, slots=True)
class Corrected:
    """The strings that were used in place of those that were sent."""

    old_str: str
    new_str: str


@dataclass(frozen=True, slots=True)
class Difference:
    """A line of the call and the line of the file, with whitespace made visible."""

    line: int
    old_line: int
    expected: str
    found: str


@dataclass(frozen=True, slots=True)
class Near:
    """Lines of the file that are similar to `old`."""

    start_line: int
    end_line: int
    score: float
    first_difference: Difference | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """One of several possible results of a call."""

    how: str
    diff: str


@dataclass(frozen=True, slots=True)
class Conflict:
    """Lines that the call changes, and that differ in the file from what the call assumed."""

    start_line: int
    end_line: int
    believed: str
    found: str
    written: str | None = None


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt to correct a call by a model."""

    ask: str
    outcome: str
    detail: str


@dataclass(frozen=True, slots=True)
class Applied(Generic[T]):
    """A text after an edit, and how the call was understood."""

    text: T
    rung: Rung
    """The rung of the ladder that matched; `exact` if nothing had to be forgiven."""
    rewrites: tuple[str, ...]
    replacements: int
    warnings: tuple[str, ...]
    corrected: Corrected | None
    _change: Change = field(repr=False, compare=False)
    ok: Literal[True] = field(default=True, init=False)

    @property
    def spans(self) -> tuple[Span, ...]:
        """Each changed span. Made anew each time it is asked for, like `diff`."""
        return tuple([Span(Extent(*b), Extent(*a)) for b, a in self._change.spans()])

    @property
    def diff(self) -> str:
        """The unified diff."""
        return self._change.diff()

    def unwrap(self) -> Applied[T]:
        return self


@dataclass(frozen=True, slots=True)
class Edited:
    """A file after an edit."""

    path: str
    rung: Rung
    rewrites: tuple[str, ...]
    replacements: int
    warnings: tuple[str, ...]
    spans: tuple[Span, ...]
    corrected: Corrected | None
    diff: str
    anchors: tuple[str, ...]
    revision: int | None
    durability: str
    message: str
    """The text for a model."""
    ok: Literal[True] = field(default=True, init=False)

    def unwrap(self) -> Edited:
        return self


@dataclass(frozen=True, slots=True)
class Undone:
    """A commit that was taken back, file by file."""

    revision: int
    files: tuple[Edited, ...]
    message: str
    ok: Literal[True] = field(default=True, init=False)

    def unwrap(self) -> Undone:
        return self


@dataclass(frozen=True, slots=True)
class ReadText:
    """Lines of a file, as they are shown to a model."""

    path: str
    text: str
    total_lines: int
    snapshot: str
    encoding: str
    line_ending: str
    message: str
    """The text for a model."""
    ok: Literal[True] = field(default=True, init=False)

    def unwrap(self) -> ReadText:
        return self


class RefusedError(Exception):
    """Raised by `unwrap()` of a refusal."""

    def __init__(self, refused: Refused) -> None:
        super().__init__(refused.message)
        self.refused = refused


@dataclass(frozen=True, slots=True)
class Refused:
    """An edit that did not happen. Nothing was written."""

    code: Code
    """Stable: `EDIT_NO_OCCURRENCE_FOUND`, `EDIT_AMBIGUOUS`, …"""
    reason: str
    """What is wrong, in one sentence."""
    hint: str | None
    """What to do next."""
    message: str
    """The text for a model: the cause, the nearest lines, the next step."""
    nearest: tuple[Near, ...] = ()
    occurrences: tuple[int, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    path: str | None = None
    ok: Literal[False] = field(default=False, init=False)

    def unwrap(self) -> NoReturn:
        raise RefusedError(self)


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer of a tool, with the report as parsed JSON."""

    ok: bool
    code: Code | None
    message: str
    """The text for a model."""
    report: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Question:
    """What a model is asked: system text, task, and the schema of the answer."""

    system: str
    prompt: str
    schema_name: str
    schema: dict[str, Any]
    """JSON schema of the answer, in the strict subset."""
    max_tokens: int
    timeout: float
    """How many seconds are left for this call."""


def spans_of(rows: list[dict[str, Any]]) -> tuple[Span, ...]:
    return tuple(Span(Extent(**row["before"]), Extent(**row["after"])) for row in rows)


def refused_of(report: dict[str, Any], message: str) -> Refused:
    def near(row: dict[str, Any]) -> Near:
        first = row["first_difference"]
        difference = None if first is None else Difference(**first)
        return Near(row["start_line"], row["end_line"], row["score"], difference)

    return Refused(
        code=report["code"],
        reason=report["message"],
        hint=report["hint"],
        message=message,
        nearest=tuple(near(row) for row in report["nearest"]),
        occurrences=tuple(report["occurrences"]),
        outcomes=tuple(Outcome(**row) for row in report.get("outcomes", ())),
        conflicts=tuple(Conflict(**row) for row in report.get("conflicts", ())),
        attempts=tuple(Attempt(**row) for row in report["attempts"]),
        path=report.get("path"),
    )


def edited_of(report: dict[str, Any], message: str) -> Edited:
    corrected = report["corrected"]
    return Edited(
        path=report["path"],
        rung=report["rung"],
        rewrites=tuple(report["rewrites"]),
        replacements=report["replacements"],
        warnings=tuple(report["warnings"]),
        spans=spans_of(report["spans"]),
        corrected=None if corrected is None else Corrected(**corrected),
        diff=report["diff"],
        anchors=tuple(report["anchors"]),
        revision=report["revision"],
        durability=report["durability"],
        message=message,
    )
