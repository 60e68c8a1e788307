"""Runs cases through the edit function of one tool.

Reads one case a line from stdin as JSON, and writes one result a line to stdout:
{id, after} or {id, error}.

Usage: python3 python.py TOOL INSTALLED SCRATCH
"""
import difflib
import json
import os
import subprocess
import sys
import tempfile
import types

tool, installed, scratch = sys.argv[1:4]


def aider():
    # Only the edit functions are needed; the modules that they import for the chat are empty here.
    sys.path.insert(0, installed)
    empty = {
        "aider.utils": {},
        "aider.dump": {"dump": print},
        "aider.coders.base_coder": {"Coder": object},
    }
    for name, folder in (("aider", "aider"), ("aider.coders", "aider/coders")):
        package = types.ModuleType(name)
        package.__path__ = [os.path.join(installed, folder)]
        sys.modules[name] = package
    for name, content in empty.items():
        module = types.ModuleType(name)
        module.__dict__.update(content)
        sys.modules[name] = module
        setattr(sys.modules[name.rpartition(".")[0]], name.rpartition(".")[2], module)
    from aider.coders.editblock_coder import do_replace

    def edit(case):
        text = case["before"]
        # Like aider, read and write the file in universal newline mode.
        crlf = "\r\n" in text
        after = do_replace(os.path.join(scratch, case["name"]), text.replace("\r\n", "\n"), case["old"], case["new"], ("```", "```"))
        if not after:
            raise ValueError("no match")
        return (after.replace("\n", "\r\n") if crlf else after).encode("utf-8")

    return edit


def codex():
    # The binary acts as apply_patch when it is called by that name.
    link = os.path.join(scratch, "apply_patch")
    if not os.path.lexists(link):
        os.symlink(binary(), link)

    def edit(case):
        path = os.path.join(scratch, case["name"])
        with open(path, "wb") as file:
            file.write(case["before"].encode("utf-8"))
        old, new = case["old"].split("\n"), case["new"].split("\n")
        if old and new and old[-1] == new[-1] == "":
            old, new = old[:-1], new[:-1]
        lines = []
        for kind, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
            if kind == "equal":
                lines += [" " + line for line in old[a:b]]
            else:
                lines += ["-" + line for line in old[a:b]] + ["+" + line for line in new[c:d]]
        patch = "\n".join(["*** Begin Patch", "*** Update File: " + case["name"], "@@", *lines, "*** End Patch"])
        done = subprocess.run([link, patch], cwd=scratch, capture_output=True, timeout=20)
        if done.returncode != 0:
            raise ValueError(done.stderr.decode("utf-8", "replace"))
        with open(path, "rb") as file:
            after = file.read()
        if after == case["before"].encode("utf-8"):
            raise ValueError("no change")
        return after

    return edit


def binary():
    for folder, _, files in os.walk(installed):
        if "codex" in files and "vendor" in folder:
            return os.path.join(folder, "codex")
    raise SystemExit("the package has no binary for this machine")


def command(name, arguments):
    # Each case has a process and a folder of its own, since these tools leave backups beside the
    # file. A text may begin with `-`, so it is passed behind `=` or after `--`.
    program = os.path.join(installed, "bin", name)

    def edit(case):
        before = case["before"].encode("utf-8")
        with tempfile.TemporaryDirectory(dir=scratch) as folder:
            path = os.path.join(folder, case["name"])
            with open(path, "wb") as file:
                file.write(before)
            call = [program, *arguments(case)]
            done = subprocess.run(call, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
            if done.returncode != 0:
                raise ValueError((done.stdout + done.stderr).decode("utf-8", "replace"))
            with open(path, "rb") as file:
                after = file.read()
        if after == before:
            raise ValueError("no change")
        return after

    return edit


def atomwrite():
    # By default, `edit` wants exactly one match, and its tolerant mode is on.
    return command("atomwrite", lambda case: [
        "--workspace", ".", "edit", "--old=" + case["old"], "--new=" + case["new"], "--", case["name"],
    ])


def patchloom(*more):
    # These are the options of `agent_preset` in its MCP tool: one match, a change, and similar texts
    # from a score of 0.9 on. A similar text is suggested and refused; with `--allow-absent-old` it is
    # replaced.
    return command("patchloom", lambda case: [
        "replace", "--apply", "--unique", "--require-change", "--fuzzy", "--min-fuzzy-score=0.9", *more,
        "--new=" + case["new"], "--", case["old"], case["name"],
    ])


tools = {
    "aider": aider,
    "atomwrite": atomwrite,
    "codex": codex,
    "patchloom": patchloom,
    "patchloom-approximate": lambda: patchloom("--allow-absent-old"),
}
edit = tools[tool]()
for line in sys.stdin:
    case = json.loads(line)
    try:
        reply = {"id": case["id"], "after": edit(case).decode("utf-8")}
    except Exception as error:
        reply = {"id": case["id"], "error": str(error)[:200]}
    sys.stdout.write(json.dumps(reply) + "\n")
    sys.stdout.flush()
