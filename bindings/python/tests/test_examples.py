"""Each recipe, as a process of its own, against a model that plays a script."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).resolve()
EXAMPLES = HERE.parents[1] / "examples"
MODEL = HERE.parents[3] / "tests/it/agents/clients/model.mjs"

BEFORE = "func serve() {\n\tfor {\n\t\tif next() {\n\t\t\treturn\n\t\t}\n\t}\n}\n"
AFTER = "func serve() {\n\tfor {\n\t\tif next() {\n\t\t\tlog()\n\t\t\treturn\n\t\t}\n\t}\n}\n"
# One call that names something that is not there, then one that is a tab too shallow.
WRONG = {"path": "serve.go", "old_str": "if last() {", "new_str": "if first() {"}
SHALLOW = {"path": "serve.go", "old_str": "if next() {\n\treturn\n}", "new_str": "if next() {\n\tlog()\n\treturn\n}"}


def own(arguments: dict[str, str]) -> dict[str, str]:
    """The same in the words of deepagents' own tool."""
    names = {"path": "file_path", "old_str": "old_string", "new_str": "new_string"}
    renamed = {names[name]: value for name, value in arguments.items()}
    return {**renamed, "file_path": "/serve.go"}


def script(example: str) -> list[dict[str, object]]:
    turns: list[dict[str, object]] = []
    if example == "deepagents_agent":
        turns.append({"tool": "read_file", "arguments": {"file_path": "/serve.go"}})
    for call in (WRONG, SHALLOW):
        arguments = own(call) if example == "deepagents_agent" else call
        turns.append({"tool": "edit_file", "arguments": arguments})
    if example == "smolagents_agent":
        turns.append({"tool": "final_answer", "arguments": {"answer": "It is done."}})
    return [*turns, {"text": "It is done."}]


NEEDS = {
    "openai_agents_sdk": "agents",
    "pydantic_ai_agent": "pydantic_ai",
    "langchain_agent": "langchain",
    "deepagents_agent": "deepagents",
    "smolagents_agent": "smolagents",
}


def test_every_example_is_run() -> None:
    assert {file.stem for file in EXAMPLES.glob("*.py")} == set(NEEDS)


@pytest.fixture
def model(tmp_path: Path) -> Iterator[list[str]]:
    yield ["node", str(MODEL), str(tmp_path / "script.json"), str(tmp_path / "asked")]


@pytest.mark.parametrize("example", NEEDS)
def test_example(example: str, tmp_path: Path, model: list[str]) -> None:
    if importlib.util.find_spec(NEEDS[example]) is None:
        pytest.skip(f"SKIPPED: {NEEDS[example]} is not installed (requirements.txt in examples/)")
    work, asked = tmp_path / "work", tmp_path / "asked"
    work.mkdir()
    asked.mkdir()
    (work / "serve.go").write_text(BEFORE)
    (tmp_path / "script.json").write_text(json.dumps(script(example)))
    with subprocess.Popen(model, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            port = server.stdout.readline().strip()
            surroundings = {
                **os.environ,
                "OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1",
                "OPENAI_API_KEY": "none",
                "OPENAI_AGENTS_DISABLE_TRACING": "1",
                "RESTITCH_STATE_DIR": str(tmp_path / "state"),
            }
            run = subprocess.run(
                [sys.executable, str(EXAMPLES / f"{example}.py"), "Log before the return."],
                cwd=work, env=surroundings, capture_output=True, text=True, timeout=300,
            )
        finally:
            server.kill()
    assert run.returncode == 0, run.stdout + run.stderr
    assert "It is done." in run.stdout, run.stdout
    assert (work / "serve.go").read_text() == AFTER, run.stdout
    heard = "".join(file.read_text() for file in sorted(asked.iterdir()))
    assert "EDIT_NO_OCCURRENCE_FOUND" in heard, "the model was told why the first call was refused"
