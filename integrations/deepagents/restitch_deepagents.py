"""restitch behind deepagents' own `edit_file`, over any backend: python restitch_deepagents.py TASK"""

import asyncio
import sys
from typing import Any, TypeVar

from deepagents import create_deep_agent
from deepagents.backends import FilesystemBackend
from deepagents.backends.protocol import BackendProtocol, EditResult, FileDownloadResponse

from restitch_edit import Engine, Refused, apply

B = TypeVar("B", bound=BackendProtocol)


def restitch(backend: B, engine: Engine | None = None) -> B:
    """The same backend, but `edit` applies what the model meant, or says what to send instead.

    Over files on this machine give an engine with the same root: it also has locks, undo and a log.
    """
    # deepagents asks of which class a backend is.
    kind = type(backend)
    made = object.__new__(type(f"Restitch{kind.__name__}", (_Edits, kind), {"engine": engine}))
    vars(made).update(vars(backend))
    return made


class _Edits:
    engine: Engine | None
    virtual_mode = True

    def edit(self: Any, file_path: str, old_string: str, new_string: str, replace_all: bool = False) -> EditResult:
        if self.engine is not None:
            path = file_path.lstrip("/") if self.virtual_mode else file_path
            done = self.engine.edit(path, old_string, new_string, replace_all=replace_all)
            if isinstance(done, Refused):
                return EditResult(error=done.message)
            return EditResult(path=file_path, occurrences=done.replacements)
        [file] = self.download_files([file_path])
        edited, result = _edited(file, old_string, new_string, replace_all)
        if edited is not None:
            [written] = self.upload_files([(file_path, edited)])
            result = EditResult(error=written.error) if written.error else result
        return result

    async def aedit(self: Any, file_path: str, old_string: str, new_string: str, replace_all: bool = False) -> EditResult:
        if self.engine is not None:
            return await asyncio.to_thread(self.edit, file_path, old_string, new_string, replace_all)
        [file] = await self.adownload_files([file_path])
        edited, result = _edited(file, old_string, new_string, replace_all)
        if edited is not None:
            [written] = await self.aupload_files([(file_path, edited)])
            result = EditResult(error=written.error) if written.error else result
        return result


def _edited(file: FileDownloadResponse, old: str, new: str, replace_all: bool) -> tuple[bytes | None, EditResult]:
    if file.content is None:
        return None, EditResult(error=f"{file.path}: {file.error}")
    done = apply(file.content, old, new, replace_all=replace_all, path=file.path)
    if isinstance(done, Refused):
        return None, EditResult(error=done.message)
    return done.text, EditResult(path=file.path, occurrences=done.replacements)


if __name__ == "__main__":
    backend = restitch(FilesystemBackend(".", virtual_mode=True), Engine("."))
    agent = create_deep_agent("openai:gpt-5.2", backend=backend)
    print(agent.invoke({"messages": [("user", sys.argv[1])]})["messages"][-1].text)
