"""bench.py RUST FOLDER OUT COMMAND: times one edit from each side and prints the result as JSON."""

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from restitch_edit import apply

size, *rust = sys.argv[1].split()
folder, out = Path(sys.argv[2]), Path(sys.argv[3])
command = sys.argv[4]

TEXT = "".join(
    f"func step{n}(c *Conn) error {{\n\tfor {{\n\t\tif err := c.Next{n}(); err != nil {{\n\t\t\treturn err\n\t\t}}\n\t}}\n}}\n\n"
    for n in range(250)
)
assert len(TEXT) == int(size), (len(TEXT), size)
CALLS = [
    ("\t\tif err := c.Next125(); err != nil {", "\t\tif err := c.Last(); err != nil {"),
    ("if err := c.Next125(); err != nil {\n\treturn err\n}", "if err := c.Last(); err != nil {\n\treturn err\n}"),
]


def micros(work, rounds=400):
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e6


def python():
    return [micros(lambda: apply(TEXT, old, new, path="a.go").unwrap()) for old, new in CALLS]


def batch():
    found = []
    with subprocess.Popen([command, "batch"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as run:
        for old, new in CALLS:
            line = json.dumps({"arguments": {"text": TEXT, "path": "a.go", "old_str": old, "new_str": new}}).encode() + b"\n"

            def ask():
                run.stdin.write(line)
                run.stdin.flush()
                assert b'"ok":true' in run.stdout.readline()

            found.append(micros(ask, 200))
        run.stdin.close()
    return found


def mcp():
    """A real edit of a file on the disk, and back: each call is one durable commit."""
    found = []
    (folder / "work").mkdir()
    surroundings = {**os.environ, "RESTITCH_STATE_DIR": str(folder / "state")}
    serve = [command, "--root", str(folder / "work"), "--no-model", "mcp"]
    with subprocess.Popen(serve, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=surroundings) as run:
        number = 0

        def ask(method, params):
            nonlocal number
            number += 1
            run.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n")
            run.stdin.flush()
            while (reply := json.loads(run.stdout.readline())).get("id") != number:
                pass
            return reply["result"]

        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
        ask("initialize", hello)
        run.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        for old, new in CALLS:
            (folder / "work/a.go").write_text(TEXT)
            turn = [0]

            def edit():
                pair = (old, new) if turn[0] % 2 == 0 else (new, old)
                turn[0] += 1
                done = ask("tools/call", {"name": "edit_file", "arguments": {"path": "a.go", "old_str": pair[0], "new_str": pair[1]}})
                assert not done.get("isError"), done

            found.append(micros(edit, 60))
        run.stdin.close()
    return found


def best(*arguments):
    return min(timed(arguments) for _ in range(15)) * 1e3


def timed(arguments):
    start = time.perf_counter()
    subprocess.run(arguments, check=True, cwd=folder, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    return time.perf_counter() - start


def node(package):
    run = subprocess.run(["node", "bench.mjs", package], cwd=folder, capture_output=True, text=True, check=True, input=json.dumps([TEXT, CALLS]))
    return json.loads(run.stdout)


def megabytes(file):
    return round(file.stat().st_size / 1e6, 2)


def alone(pattern):
    return megabytes(next(iter(sorted(folder.glob(pattern)))))


def imports(package):
    return "node", "--input-type=module", "-e", f"import '{package}'"


rows = [
    ("Rust, `apply`", [float(n) for n in rust], None),
    ("Python, `apply`", python(), best(sys.executable, "-c", "import restitch_edit") - best(sys.executable, "-c", "pass")),
    ("Node, `apply`", node("restitch"), best("node", "-e", "require('restitch')") - best("node", "-e", "0")),
    ("WebAssembly in Node, `apply`, no parser", node("restitch-wasm"), best(*imports("restitch-wasm")) - best(*imports("node:fs"))),
    ("`restitch batch`, `text`", batch(), best(command, "--version")),
    ("`restitch mcp`, a file, durable", mcp(), None),
]
sizes = {file.name: megabytes(file) for file in sorted(out.iterdir()) if file.is_file() and file.name != "SHA256SUMS"}
sizes["the Python module alone"] = alone("venv/lib/python*/site-packages/restitch_edit/_native*.so")
sizes["the Node addon alone"] = alone("node_modules/@restitch/*/*.node")
sizes["the WebAssembly module alone"] = alone("node_modules/restitch-wasm/*.wasm")
sizes["the command alone"] = megabytes(Path(command))
json.dump(
    {
        "bytes": len(TEXT),
        "calls": [
            {
                "from": name,
                "exact_micros": round(exact, 1),
                "shallow_micros": round(shallow, 1),
                "start_millis": None if start is None else round(start, 1),
            }
            for name, (exact, shallow), start in rows
        ],
        "megabytes": sizes,
    },
    sys.stdout,
)
