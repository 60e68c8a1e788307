"""`restitch harness measure` on a Ray cluster: the same figures as on one machine.

    pip install ray restitch-edit
    python examples/ray_measure.py --shards 64 --out parts -- --corpus /data/corpus --max 100000

What comes after `--` goes to `restitch harness measure`: cases are generated, replayed and counted
on the workers. They need the material at the same path, and the Python package, which brings
the command; `--pip restitch-edit` has Ray install it on them, and `--restitch` names another command. Each shard is
a task that can be run again: a worker that dies costs its shard's time and nothing else, and
parts that are in the folder from an earlier run are not measured again. `--address auto` uses
a cluster that runs; without it Ray starts one on this machine.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import ray


def command(given: str | None) -> list[str]:
    """The command on this machine: the one that is named, or that of the Python package."""
    return [given] if given else [sys.executable, "-m", "restitch_edit"]


def measure(given: str | None, arguments: list[str], shard: str) -> str:
    """One part, as the command prints it."""
    done = subprocess.run(
        [*command(given), "harness", "measure", *arguments, "--shard", shard],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise RuntimeError(f"shard {shard}: exit {done.returncode}: {done.stderr.strip()[-500:]}")
    return done.stdout


def is_whole(file: Path) -> bool:
    try:
        return "found" in json.loads(file.read_text())
    except (OSError, ValueError):
        return False


def add(total: Counter[str], part: str) -> None:
    """Adds the counts of one part."""
    for row in json.loads(part)["found"]["rows"].values():
        total["cases"] += row["recoverable"] + row["must_refuse"]
        for verdict in ("right", "refused", "wrong"):
            total[verdict] += row[verdict]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shards", type=int, required=True, help="how many parts; a few for each core")
    parser.add_argument("--out", type=Path, required=True, help="the folder for the parts")
    parser.add_argument("--address", help="the cluster; `auto` finds a running one")
    parser.add_argument("--restitch", metavar="COMMAND", help="the command on every worker, in place of the package's")
    parser.add_argument("--pip", action="append", metavar="PACKAGE", help="have Ray install this on the workers, such as restitch-edit")
    parser.add_argument("--retries", type=int, default=3, help="how often a shard is tried again")
    parser.add_argument("--json", action="store_true", help="end with the JSON of `harness merge`")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="-- ARGUMENTS")
    options = parser.parse_args()
    arguments = [argument for argument in options.arguments if argument != "--"]

    # Parts of another call are in a folder of their own.
    call = hashlib.sha256(json.dumps([arguments, options.shards]).encode()).hexdigest()[:12]
    folder = options.out / call
    folder.mkdir(parents=True, exist_ok=True)
    files = {f"{n}/{options.shards}": folder / f"part-{n:05}.json" for n in range(1, options.shards + 1)}
    waiting = [shard for shard, file in files.items() if not is_whole(file)]
    total: Counter[str] = Counter()
    for shard, file in files.items():
        if shard not in waiting:
            add(total, file.read_text())
    print(f"{len(files) - len(waiting)} of {len(files)} parts are there", file=sys.stderr)

    if waiting:
        # Ray tells of lost workers on stdout, which is for the figures.
        sys.stdout = sys.stderr
        environment = {"runtime_env": {"pip": options.pip}} if options.pip else {}
        ray.init(address=options.address, log_to_driver=False, include_dashboard=False, **environment)
        # One core each: the command uses as many as it finds, and Ray gives out the others.
        task = ray.remote(num_cpus=1, max_retries=options.retries, retry_exceptions=True)(measure)
        start = time.monotonic()
        running = {task.remote(options.restitch, arguments, shard): shard for shard in waiting}
        while running:
            done, _ = ray.wait(list(running), num_returns=1)
            for reference in done:
                shard = running.pop(reference)
                # Written under another name first: a part is there as a whole or not at all.
                temp = files[shard].with_suffix(".tmp")
                part = ray.get(reference)
                temp.write_text(part)
                os.replace(temp, files[shard])
                add(total, part)
            finished = len(files) - len(running)
            said = f"{total['cases']} cases: {total['right']} right, {total['refused']} refused, {total['wrong']} silently wrong"
            print(f"{finished} of {len(files)} parts, {time.monotonic() - start:.0f} s, {said}", file=sys.stderr)
        ray.shutdown()

    merge = [*command(options.restitch), *(["--json"] if options.json else []), "harness", "merge"]
    return subprocess.run([*merge, *map(str, files.values())]).returncode


if __name__ == "__main__":
    sys.exit(main())
