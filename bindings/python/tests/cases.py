"""The repository's fixtures, read as the Rust suite reads them."""

from __future__ import annotations

import json
import tomllib
from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from restitch_edit import Question

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"


@dataclass
class Packed:
    """A case of a pack: a file, a call, and what must come of it."""

    id: str
    path: str
    before: bytes
    old: str
    new: str
    expected: int | None
    replace_all: bool
    near_line: int | None
    right: list[bytes]
    refuse: list[str]
    known_failure: bool

    def accepts(self, code: str | None, after: bytes | None) -> bool:
        if code is None:
            return after in self.right
        return self.known_failure if self.right else code in self.refuse


def packed() -> Iterator[Packed]:
    for pack in sorted(FIXTURES.rglob("*.pack.jsonl")):
        sources: dict[str, dict[str, Any]] = {}
        for line in pack.read_text("utf-8").split("\n"):
            if not line.strip():
                continue
            row = json.loads(line)
            if "source" in row:
                sources[row["source"]] = row
                continue
            source = sources[row["of"]]
            before = source["text"].encode()
            if patch := row.get("patch"):
                before = before[: patch[0]] + patch[2].encode() + before[patch[1] :]
            right: list[bytes] = []
            if row.get("right"):
                start, end, texts = row["right"]
                right = [before[:start] + text.encode() + before[end:] for text in texts]
            count = row.get("expected")
            yield Packed(
                id=row["id"],
                path=source["path"],
                before=before,
                old=row["old"],
                new=row["new"],
                expected=count or None,
                replace_all=count == 0,
                near_line=row.get("near_line"),
                right=right,
                refuse=row.get("refuse", []),
                known_failure=bool(row.get("known_failure")),
            )


def tree(folder: Path) -> dict[str, bytes]:
    if not folder.is_dir():
        return {}
    files = (file for file in folder.rglob("*") if file.is_file())
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in files}


@dataclass
class Folder:
    """A case in a folder of its own."""

    id: str
    tool: str
    arguments: dict[str, Any]
    before: dict[str, bytes]
    after: list[dict[str, bytes]]
    refuse: list[str]
    rung: str | None
    model_calls: int | None
    replies: str | None
    known_failure: bool


def folders() -> Iterator[Folder]:
    for spec in sorted(FIXTURES.rglob("case.toml")):
        folder = spec.parent
        case = tomllib.loads(spec.read_text("utf-8"))
        arguments = dict(case.get("arguments", {}))
        for name in ("path", "expected_replacements", "replace_all", "near_line"):
            if name in case:
                arguments[name] = case[name]
        for name, file in (("old_str", "old.txt"), ("new_str", "new.txt")):
            if (folder / file).is_file():
                arguments[name] = (folder / file).read_bytes().decode()
        expect = case["expect"]
        replies = folder / "replies.jsonl"
        yield Folder(
            id=folder.relative_to(FIXTURES).as_posix(),
            tool=case.get("tool", "edit_file"),
            arguments=arguments,
            before=tree(folder / "before"),
            after=[tree(after) for after in sorted(folder.glob("after*"))],
            refuse=expect.get("refuse", []),
            rung=expect.get("rung"),
            model_calls=expect.get("model_calls"),
            replies=replies.read_text("utf-8") if replies.is_file() else None,
            known_failure=case.get("status") == "known_failure",
        )


class Files:
    """A store in a dictionary; a version is a counter."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files = dict(files)
        self.versions = {path: 1 for path in files}

    def load(self, path: str) -> tuple[bytes, str] | None:
        if path not in self.files:
            return None
        return self.files[path], str(self.versions[path])

    def store_if(self, path: str, bytes: bytes | None, version: str | None) -> bool:
        now = str(self.versions[path]) if path in self.files else None
        if now != version:
            return False
        if bytes is None:
            del self.files[path]
        else:
            self.files[path] = bytes
            self.versions[path] = self.versions.get(path, 0) + 1
        return True


SCHEMAS = {
    "correct_old": "corrected_old_str",
    "adjust_new": "adjusted_new_str",
    "repair_escapes": "repaired_escapes",
    "choose": "chosen_place",
}


@dataclass
class Recorded:
    """A model that gives recorded answers, each once, in order."""

    replies: str
    asked: int = 0
    queued: dict[str, deque[dict[str, Any]]] = field(default_factory=lambda: defaultdict(deque))

    def __post_init__(self) -> None:
        for line in self.replies.splitlines():
            if line.strip():
                row = json.loads(line)
                self.queued[SCHEMAS[row["ask"]]].append(row)

    def __call__(self, question: Question) -> str:
        self.asked += 1
        row = self.queued[question.schema_name].popleft()
        if "error" in row:
            raise RuntimeError(row["error"])
        return json.dumps(row["answer"])
