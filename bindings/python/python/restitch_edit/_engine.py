"""Edits files below a root, or in the caller's own store."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import json
import os
from collections.abc import Awaitable, Callable
from typing import Any, Literal, Protocol, TypeVar

from . import _native
from ._types import Edited, Question, ReadText, Refused, Reply, Undone, edited_of, refused_of

Format = Literal["openai", "openai-responses", "anthropic", "gemini", "mcp"]
Style = Literal["plain", "numbered", "hashline"]
SyntaxMode = Literal["off", "warn", "veto"]
"""What to do about a new syntax error: `warn` reports it; `veto` (the default) also refuses the edit
if a correction by restitch caused it; `off` checks no syntax."""

R = TypeVar("R")


class Store(Protocol):
    """Files of your own: a sandbox, a database, an editor's buffers."""

    def load(self, path: str, /) -> tuple[bytes, str] | None:
        """The bytes and an id of this version, such as an ETag; `None` if there is no file."""

    def store_if(self, path: str, bytes: bytes | None, version: str | None, /) -> bool:
        """Writes the file if its current version is `version`, where `None` means no file.

        `bytes` of `None` removes the file. Returns whether the file was written or removed.
        """
        ...


class AsyncStore(Protocol):
    """A `Store` for `AsyncEngine`."""

    async def load(self, path: str, /) -> tuple[bytes, str] | None: ...

    async def store_if(self, path: str, bytes: bytes | None, version: str | None, /) -> bool: ...


Model = Callable[[Question], str]
"""Answers a question with the JSON that its schema asks for."""

AsyncModel = Callable[[Question], Awaitable[str]]


class Engine:
    """Edits files below `root`, or in `store`; asks `model` about a call that no rule explains.

    One engine is one session: it keeps its own record of reads and edits, and `undo()` takes back
    only its own edits.
    """

    def __init__(
        self,
        root: str | os.PathLike[str] | None = None,
        *,
        store: Store | None = None,
        model: Model | None = None,
        state: str | os.PathLike[str] | None = None,
        allow_protected: tuple[str, ...] = (),
        syntax: SyntaxMode = "veto",
    ) -> None:
        """`state` is the folder for history and journals, by default that of the `restitch` command."""
        self._native = _native.Engine(
            None if root is None else os.fspath(root),
            store,
            None if model is None else functools.partial(_ask, model),
            None if state is None else os.fspath(state),
            list(allow_protected),
            syntax,
        )

    def call(
        self,
        name: str,
        arguments: dict[str, Any] | str,
        *,
        dry_run: bool = False,
        request_id: str | None = None,
    ) -> Reply:
        """Runs a tool as a model calls it: one of `tools()`, also under its name in other agents."""
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        return Reply(**json.loads(self._native.call(name, text, dry_run, request_id)))

    def tools(self, format: Format = "openai") -> list[dict[str, Any]]:
        """The declarations of the tools for that interface."""
        declared: Any = json.loads(self._native.tools(format))
        tools: list[dict[str, Any]] = declared["tools"] if format == "mcp" else declared
        return tools

    def edit(
        self,
        path: str,
        old: str,
        new: str,
        *,
        replace_all: bool = False,
        expected: int | None = None,
        near_line: int | None = None,
        dry_run: bool = False,
    ) -> Edited | Refused:
        """Replaces `old` by `new` in a file; an empty `old` creates it."""
        arguments = _edit_arguments(path, old, new, replace_all, expected, near_line)
        return _edited(self.call("edit_file", arguments, dry_run=dry_run))

    def read(
        self,
        path: str,
        *,
        offset: int | None = None,
        limit: int | None = None,
        style: Style = "plain",
    ) -> ReadText | Refused:
        """Reads a file or some of its lines."""
        return _read(self.call("read_file", _read_arguments(path, offset, limit, style)))

    def undo(self, revision: int | None = None) -> Undone | Refused:
        """Takes back the last edit of this engine, or the one with this revision."""
        return _undone(self.call("undo", {} if revision is None else {"revision": revision}))


class AsyncEngine:
    """`Engine` for asyncio: calls run on threads, `store` and `model` are awaited on the loop."""

    def __init__(
        self,
        root: str | os.PathLike[str] | None = None,
        *,
        store: AsyncStore | None = None,
        model: AsyncModel | None = None,
        state: str | os.PathLike[str] | None = None,
        allow_protected: tuple[str, ...] = (),
        syntax: SyntaxMode = "veto",
    ) -> None:
        self._engine = Engine(
            root,
            store=None if store is None else _OnLoop(store),
            model=None if model is None else functools.partial(_model_on_loop, model),
            state=state,
            allow_protected=allow_protected,
            syntax=syntax,
        )

    async def call(
        self,
        name: str,
        arguments: dict[str, Any] | str,
        *,
        dry_run: bool = False,
        request_id: str | None = None,
    ) -> Reply:
        """As `Engine.call`."""
        call = functools.partial(
            self._engine.call, name, arguments, dry_run=dry_run, request_id=request_id
        )
        _loop.set(asyncio.get_running_loop())
        return await asyncio.to_thread(call)

    def tools(self, format: Format = "openai") -> list[dict[str, Any]]:
        """As `Engine.tools`."""
        return self._engine.tools(format)

    async def edit(
        self,
        path: str,
        old: str,
        new: str,
        *,
        replace_all: bool = False,
        expected: int | None = None,
        near_line: int | None = None,
        dry_run: bool = False,
    ) -> Edited | Refused:
        """As `Engine.edit`."""
        arguments = _edit_arguments(path, old, new, replace_all, expected, near_line)
        return _edited(await self.call("edit_file", arguments, dry_run=dry_run))

    async def read(
        self,
        path: str,
        *,
        offset: int | None = None,
        limit: int | None = None,
        style: Style = "plain",
    ) -> ReadText | Refused:
        """As `Engine.read`."""
        return _read(await self.call("read_file", _read_arguments(path, offset, limit, style)))

    async def undo(self, revision: int | None = None) -> Undone | Refused:
        """As `Engine.undo`."""
        return _undone(await self.call("undo", {} if revision is None else {"revision": revision}))


# The event loop of the call. `to_thread` copies the context, so the call's thread finds it here.
_loop: contextvars.ContextVar[asyncio.AbstractEventLoop] = contextvars.ContextVar("restitch_loop")


def _await(coroutine: Any) -> Any:
    """Runs a coroutine on the event loop of the call and waits for its result."""
    return asyncio.run_coroutine_threadsafe(coroutine, _loop.get()).result()


class _OnLoop:
    """A `Store` over an `AsyncStore`, whose methods run on the event loop of the call."""

    def __init__(self, store: AsyncStore) -> None:
        self._store = store

    def load(self, path: str, /) -> tuple[bytes, str] | None:
        return _await(self._store.load(path))  # type: ignore[no-any-return]

    def store_if(self, path: str, bytes: bytes | None, version: str | None, /) -> bool:
        return _await(self._store.store_if(path, bytes, version))  # type: ignore[no-any-return]


def _model_on_loop(model: AsyncModel, question: Question) -> str:
    return _await(asyncio.wait_for(model(question), question.timeout))  # type: ignore[no-any-return]


def _ask(
    model: Model,
    system: str,
    prompt: str,
    schema_name: str,
    schema: str,
    max_tokens: int,
    timeout: float,
) -> str:
    question = Question(system, prompt, schema_name, json.loads(schema), max_tokens, timeout)
    return model(question)


def _edit_arguments(
    path: str,
    old: str,
    new: str,
    replace_all: bool,
    expected: int | None,
    near_line: int | None,
) -> dict[str, Any]:
    arguments: dict[str, Any] = {"path": path, "old_str": old, "new_str": new}
    if replace_all:
        arguments["replace_all"] = True
    if expected is not None:
        arguments["expected_replacements"] = expected
    if near_line is not None:
        arguments["near_line"] = near_line
    return arguments


def _read_arguments(
    path: str, offset: int | None, limit: int | None, style: Style
) -> dict[str, Any]:
    arguments: dict[str, Any] = {"path": path, "style": style}
    if offset is not None:
        arguments["offset"] = offset
    if limit is not None:
        arguments["limit"] = limit
    return arguments


def _edited(reply: Reply) -> Edited | Refused:
    if not reply.ok:
        return refused_of(reply.report, reply.message)
    return edited_of(reply.report, reply.message)


def _read(reply: Reply) -> ReadText | Refused:
    if not reply.ok:
        return refused_of(reply.report, reply.message)
    names = ("path", "text", "total_lines", "snapshot", "encoding", "line_ending")
    return ReadText(**{name: reply.report[name] for name in names}, message=reply.message)


def _undone(reply: Reply) -> Undone | Refused:
    if not reply.ok:
        return refused_of(reply.report, reply.message)
    files = tuple(edited_of(file, file["path"]) for file in reply.report["files"])
    return Undone(revision=reply.report["undone"], files=files, message=reply.message)
