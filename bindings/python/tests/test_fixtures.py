"""Every case of the repository: the bytes and codes of the Rust core."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import TypeVar

import pytest
from cases import FIXTURES, Files, Folder, Packed, Recorded, folders, packed

from restitch_edit import Engine, Refused, apply

T = TypeVar("T", str, bytes)

PACKED = list(packed())
FOLDERS = list(folders())


def test_there_are_cases() -> None:
    assert len(PACKED) > 1000 and len(FOLDERS) > 100, FIXTURES


@pytest.fixture(scope="module")
def core() -> Iterator[dict[str, tuple[str | None, str | None]]]:
    """What the command makes of each text: the same core in another process."""
    path = os.environ.get("RESTITCH_COMMAND")
    command = [path] if path else [sys.executable, "-m", "restitch_edit"]
    lines: list[str] = []
    for number, case in enumerate(PACKED):
        arguments: dict[str, object] = {
            "text": case.before.decode(),
            "path": case.path,
            "old_str": case.old,
            "new_str": case.new,
        }
        if case.replace_all:
            arguments["replace_all"] = True
        if case.expected is not None:
            arguments["expected_replacements"] = case.expected
        if case.near_line is not None:
            arguments["near_line"] = case.near_line
        lines.append(json.dumps({"id": number, "arguments": arguments}))
    run = subprocess.run(
        [*command, "batch"], input="\n".join(lines), capture_output=True, text=True, check=True
    )
    answers: dict[str, tuple[str | None, str | None]] = {}
    for case, line in zip(PACKED, run.stdout.splitlines(), strict=True):
        reply = json.loads(line)
        answers[case.id] = (reply["code"], reply["report"].get("text"))
    yield answers


@pytest.mark.parametrize("case", PACKED, ids=[case.id for case in PACKED])
def test_packed(case: Packed, core: dict[str, tuple[str | None, str | None]]) -> None:
    def call(text: T) -> tuple[str | None, T | None]:
        result = apply(
            text,
            case.old,
            case.new,
            replace_all=case.replace_all,
            expected=case.expected,
            near_line=case.near_line,
            path=case.path,
        )
        if isinstance(result, Refused):
            return result.code, None
        return None, result.text

    code, after = call(case.before)
    assert case.accepts(code, after), (code, after)
    assert call(case.before.decode()) == core[case.id]


@pytest.mark.parametrize("case", FOLDERS, ids=[case.id for case in FOLDERS])
def test_folder(case: Folder) -> None:
    store = Files(case.before)
    model = None if case.replies is None else Recorded(case.replies)
    reply = Engine(store=store, model=model).call(case.tool, case.arguments)
    if not reply.ok:
        assert store.files == case.before, "a refusal has written"
        assert reply.code in case.refuse or case.known_failure, reply.message
    else:
        assert case.after and store.files in case.after, reply.message
        assert case.rung in (None, reply.report.get("rung"))
    if case.model_calls is not None:
        assert (0 if model is None else model.asked) == case.model_calls
