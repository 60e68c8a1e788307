"""The interface as programs use it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, get_args

import pytest
from cases import Files

import restitch_edit
from restitch_edit import (
    Applied,
    AsyncEngine,
    Edit,
    Edited,
    Engine,
    Format,
    Question,
    Refused,
    RefusedError,
    SyntaxMode,
    apply,
    apply_many,
)

GO = "func serve(c *Conn) {\n\tfor {\n\t\tif err := c.Next(); err != nil {\n\t\t\treturn\n\t\t}\n\t}\n}\n"


def test_a_mistake_is_undone_in_both_strings() -> None:
    result = apply(GO, "if err := c.Next(); err != nil {\n\treturn\n}", "if err := c.Next(); err != nil {\n\tlog.Println(err)\n\treturn\n}", path="serve.go")
    assert isinstance(result, Applied)
    assert "\n\t\t\tlog.Println(err)\n" in result.text
    assert result.rung == "indentation" and result.rewrites == ("indentation",)
    assert result.spans[0].before.start_line == 3 and result.diff.startswith("--- a/serve.go")


def test_a_refusal_is_a_result_and_unwrap_raises() -> None:
    result = apply(GO, "if err := c.Last(); err != nil {", "if true {")
    assert isinstance(result, Refused) and not result.ok
    assert result.code == "EDIT_NO_OCCURRENCE_FOUND"
    # Only a text after an edit is called `text`, so a refusal is never written to a file.
    assert not hasattr(result, "text") and result.message.startswith("EDIT_NO_OCCURRENCE_FOUND: ")
    assert result.nearest[0].start_line == 3 and result.hint
    with pytest.raises(RefusedError, match="EDIT_NO_OCCURRENCE_FOUND") as raised:
        result.unwrap()
    assert raised.value.refused is result


def test_bytes_stay_in_their_encoding() -> None:
    result = apply("café\r\nthé\r\n".encode("latin-1"), "thé", "lait")
    assert result.unwrap().text == "café\r\nlait\r\n".encode("latin-1")
    refused = apply(b"\x7fELF\x00\x00\x00\x01\x00\x00\xff\xfe", "a", "b")
    assert isinstance(refused, Refused) and refused.code == "EDIT_NOT_TEXT"


def test_half_a_character_is_refused() -> None:
    refused = apply("a\n", "a", "\ud83d")
    assert isinstance(refused, Refused) and refused.code == "EDIT_INVALID_ARGUMENTS"


def test_many_are_all_or_nothing_against_the_original() -> None:
    text = "one\ntwo\nthree\n"
    done = apply_many(text, [Edit("three", "two"), Edit("two", "2")])
    assert done.unwrap().text == "one\n2\ntwo\n"
    refused = apply_many(text, [Edit("one", "1"), Edit("four", "4")])
    assert isinstance(refused, Refused) and refused.reason.startswith("edit 2 of 2: ")
    assert not apply_many(text, []).ok


def test_counts() -> None:
    text = "a\nb\na\n"
    assert apply(text, "a", "c", replace_all=True).unwrap().text == "c\nb\nc\n"
    assert apply(text, "a", "c", expected=2).unwrap().replacements == 2
    assert apply(text, "a", "c", near_line=3).unwrap().text == "a\nb\nc\n"
    refused = apply(text, "a", "c")
    assert isinstance(refused, Refused) and refused.occurrences == (1, 3)


def test_an_engine_edits_reads_and_undoes(tmp_path: Path) -> None:
    file = tmp_path / "serve.go"
    file.write_text(GO)
    engine = Engine(tmp_path, state=tmp_path.parent / "state")
    rehearsed = engine.edit("serve.go", "for {", "for range 3 {", dry_run=True)
    assert rehearsed.unwrap().durability == "dry_run" and file.read_text() == GO
    edited = engine.edit("serve.go", "for {", "for range 3 {")
    assert isinstance(edited, Edited) and "for range 3" in file.read_text()
    assert engine.read("serve.go", offset=2, limit=1).unwrap().text == "\tfor range 3 {"
    assert engine.undo().unwrap().revision == edited.revision
    assert file.read_text() == GO
    assert not engine.undo().ok, "nothing of this engine is left"
    assert not engine.read("absent.go").ok


def test_syntax_errors_are_told_or_not_looked_for() -> None:
    def warnings(syntax: SyntaxMode) -> str:
        result = apply("fn a() {}\n", "{}", "{", path="a.rs", syntax=syntax)
        return " ".join(result.unwrap().warnings)

    assert "new syntax error" in warnings("veto") and "new syntax error" in warnings("warn")
    assert warnings("off") == ""
    with pytest.raises(ValueError, match='no syntax mode `no`; use one of: off, warn, veto'):
        warnings("no")  # type: ignore[arg-type]
    modes: tuple[tuple[SyntaxMode, bool], ...] = (("veto", True), ("warn", True), ("off", False))
    for mode, told in modes:
        engine = Engine(store=Files({"a.rs": b"fn a() {}\n"}), syntax=mode)
        edited = engine.edit("a.rs", "{}", "{").unwrap()
        assert ("new syntax error" in " ".join(edited.warnings)) == told


def test_tools_are_declared_and_called() -> None:
    engine = Engine(store=Files({"a.txt": b"one\n"}))
    for form in get_args(Format):
        assert engine.tools(form)
    names = {tool["name"] for tool in engine.tools("anthropic")}
    assert "edit_file" in names and "search" not in names, "a store cannot be searched"
    reply = engine.call("Edit", {"file_path": "a.txt", "old_string": "one", "new_string": "two"})
    assert reply.ok, reply.message
    assert engine.call("edit_file", "{no json").code == "EDIT_INVALID_ARGUMENTS"
    assert engine.call("search", {"keyword": "x"}).code == "EDIT_BLOCKED"
    with pytest.raises(ValueError, match="there is no format"):
        engine.tools("yaml")  # type: ignore[arg-type]


def test_a_store_undoes_and_meets_other_writers() -> None:
    store = Files({"a.txt": b"one\ntwo\n", "b.txt": b"three\n"})
    engine = Engine(store=store)

    original = store.store_if
    raced: list[str] = []

    def store_if(path: str, bytes: bytes | None, version: str | None) -> bool:
        if not raced:
            raced.append(path)
            assert original("a.txt", b"zero\none\ntwo\n", "1")
        return original(path, bytes, version)

    store.store_if = store_if  # type: ignore[method-assign]
    assert engine.edit("a.txt", "two", "2").ok
    assert store.files["a.txt"] == b"zero\none\n2\n", "the other writer's line stands"
    assert engine.undo().ok and store.files["a.txt"] == b"zero\none\ntwo\n"

    def broken(path: str, bytes: bytes | None, version: str | None) -> bool:
        if path == "b.txt":
            raise OSError("disk on fire")
        return original(path, bytes, version)

    store.store_if = broken  # type: ignore[method-assign]
    before = dict(store.files)
    both = [
        {"path": "a.txt", "old_str": "one", "new_str": "1"},
        {"path": "b.txt", "old_str": "three", "new_str": "3"},
    ]
    reply = engine.call("multi_edit", {"edits": both})
    assert reply.code == "EDIT_FILE_WRITE_ERROR" and "disk on fire" in reply.message
    assert store.files == before, "all or nothing"


def test_a_model_of_the_caller_is_asked() -> None:
    asked: list[Question] = []

    def model(question: Question) -> str:
        asked.append(question)
        return json.dumps({"corrected_target_snippet": "  total = quantity * price"})

    store = Files({"a.py": b"def total():\n  total = quantity * price\n  return total\n"})
    engine = Engine(store=store, model=model)
    result = engine.edit("a.py", "  amount = count * price", "  amount = count * price * 2")
    assert asked and asked[0].schema_name == "corrected_old_str" and asked[0].timeout > 30
    assert "quantity" in asked[0].prompt and asked[0].schema["type"] == "object"
    assert isinstance(result, Edited) or result.attempts

    def down(_: Question) -> str:
        raise RuntimeError("no credit left")

    refused = Engine(store=store, model=down).edit("a.py", "  amount = count * price", "  x = 1")
    assert isinstance(refused, Refused) and "no credit left" in refused.attempts[0].detail


def test_async() -> None:
    class Slow(Files):
        async def load(self, path: str) -> tuple[bytes, str] | None:  # type: ignore[override]
            await asyncio.sleep(0.01)
            return super().load(path)

        async def store_if(  # type: ignore[override]
            self, path: str, bytes: bytes | None, version: str | None
        ) -> bool:
            await asyncio.sleep(0.01)
            return super().store_if(path, bytes, version)

    async def main() -> None:
        store = Slow({f"{n}.txt": b"one\n" for n in range(8)})
        engine = AsyncEngine(store=store)
        done = await asyncio.gather(*(engine.edit(f"{n}.txt", "one", "two") for n in range(8)))
        assert all(one.ok for one in done)
        assert set(store.files.values()) == {b"two\n"}
        assert (await engine.read("0.txt")).unwrap().text == "two\n"
        assert (await engine.undo()).ok

    asyncio.run(main())


def test_the_gil_is_released() -> None:
    """While a call works on one thread, another counts."""
    text = "".join(f"line {n} of a long file with words in it\n" for n in range(60_000))
    old = "".join(f"\tline {n} of a long file with word in it\n" for n in range(100, 400))
    counted = 0
    done = threading.Event()

    def count() -> None:
        nonlocal counted
        while not done.is_set():
            counted += 1
            time.sleep(0)

    thread = threading.Thread(target=count)
    thread.start()
    before = counted
    sys.setswitchinterval(10)
    try:
        apply(text, old, "x")
        during = counted - before
    finally:
        sys.setswitchinterval(0.005)
        done.set()
        thread.join()
    assert during > 0


COMMAND = [sys.executable, "-m", "restitch_edit"]


def run(*arguments: str, **more: Any) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*COMMAND, *arguments], capture_output=True, check=False, **more)


def test_python_dash_m_is_the_command() -> None:
    edited = run("edit", "-", "--old", "one", "--new", "two", input=b"one")
    assert (edited.returncode, edited.stdout) == (0, b"two")
    assert restitch_edit.__version__.encode() in run("--version").stdout
    refused = run("edit", "-", "--old", "other", "--new", "two", input=b"one")
    assert (refused.returncode, refused.stdout) == (1, b"")
    assert run("no-such-command").returncode == 2


def test_doctor_starts_this_command(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    run("init", "claude", "--write", cwd=tmp_path)
    checked = run("doctor", "--client", "claude", cwd=tmp_path)
    assert b"edited a test file" in checked.stdout, checked


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
@pytest.mark.parametrize("which", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_command(which: signal.Signals, tmp_path: Path) -> None:
    serve = [*COMMAND, "--root", str(tmp_path), "mcp"]
    pipe = subprocess.PIPE
    # What starts the tests in the background may ignore SIGINT, and so would its children.
    default = lambda: signal.signal(which, signal.SIG_DFL)  # noqa: E731
    with subprocess.Popen(serve, stdin=pipe, stdout=pipe, stderr=pipe, preexec_fn=default) as server:
        assert server.stdin is not None and server.stdout is not None
        server.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
        server.stdin.flush()
        assert b'"id":1' in server.stdout.readline()
        server.send_signal(which)
        assert server.wait(timeout=60) == 128 + which
