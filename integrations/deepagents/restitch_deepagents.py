"""restitch behind deepagents' own `edit_file`, over any backend: python restitch_deepagents.py TASK"""

import sys
from collections.abc import Callable
from typing import Any

from deepagents import create_deep_agent
from deepagents.backends import FilesystemBackend
from deepagents.backends.protocol import (
    BackendProtocol,
    EditResult,
    FileDownloadResponse,
    SandboxBackendProtocol,
)

from restitch_edit import Engine, Refused, apply


class RestitchBackend(BackendProtocol):
    """The files of another backend; `edit` applies what the model meant, or says what to send instead.

    Over files on this machine give an engine with the same root: it also has locks, undo and a log.
    """

    def __init__(self, inner: BackendProtocol, engine: Engine | None = None) -> None:
        self.inner, self.engine = inner, engine

    def edit(self, file_path: str, old_string: str, new_string: str, replace_all: bool = False) -> EditResult:
        if self.engine is not None:
            done = self.engine.edit(file_path.lstrip("/"), old_string, new_string, replace_all=replace_all)
            if isinstance(done, Refused):
                return EditResult(error=done.message)
            return EditResult(path=file_path, occurrences=done.replacements)
        [file] = self.inner.download_files([file_path])
        edited, result = _edited(file, old_string, new_string, replace_all)
        if edited is not None:
            [written] = self.inner.upload_files([(file_path, edited)])
            result = EditResult(error=written.error) if written.error else result
        return result

    async def aedit(self, file_path: str, old_string: str, new_string: str, replace_all: bool = False) -> EditResult:
        if self.engine is not None:
            return await super().aedit(file_path, old_string, new_string, replace_all)
        [file] = await self.inner.adownload_files([file_path])
        edited, result = _edited(file, old_string, new_string, replace_all)
        if edited is not None:
            [written] = await self.inner.aupload_files([(file_path, edited)])
            result = EditResult(error=written.error) if written.error else result
        return result


class RestitchSandbox(RestitchBackend, SandboxBackendProtocol):
    """The same over a backend that runs commands."""

    @property
    def id(self) -> str:
        return self.inner.id


def _edited(file: FileDownloadResponse, old: str, new: str, replace_all: bool) -> tuple[bytes | None, EditResult]:
    if file.content is None:
        return None, EditResult(error=f"{file.path}: {file.error}")
    done = apply(file.content, old, new, replace_all=replace_all, path=file.path)
    if isinstance(done, Refused):
        return None, EditResult(error=done.message)
    return done.text, EditResult(path=file.path, occurrences=done.replacements)


def _of_inner(name: str) -> Callable[..., Any]:
    def method(self: RestitchBackend, *args: Any, **named: Any) -> Any:
        return getattr(self.inner, name)(*args, **named)

    return method


# Whatever else a backend can do, the inner one does.
for _protocol, _class in ((BackendProtocol, RestitchBackend), (SandboxBackendProtocol, RestitchSandbox)):
    for _name, _member in vars(_protocol).items():
        if callable(_member) and not _name.startswith("_") and _name not in ("edit", "aedit"):
            setattr(_class, _name, _of_inner(_name))


if __name__ == "__main__":
    backend = RestitchBackend(FilesystemBackend(".", virtual_mode=True), Engine("."))
    agent = create_deep_agent("openai:gpt-5.2", backend=backend)
    print(agent.invoke({"messages": [("user", sys.argv[1])]})["messages"][-1].text)
