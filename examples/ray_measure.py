"""`restitch-evidence measure` on a Ray cluster: each task measures a share of the packages.

    cargo build --release -p restitch-evidence && pip install ray
    python examples/ray_measure.py --corpus /data/corpus --tasks 64 --command target/release/restitch-evidence -- --max 1000

Each task runs the ordinary command on its packages, and this driver adds up the JSON. What comes after `--` goes to
every run, so `--max` counts within a share. The workers need the corpus and the command at the same paths. A worker
that dies costs the time of its share and nothing else. `--address auto` uses a cluster that runs; without it Ray
starts one on this machine. Shares of transcripts are mined in the same way, by `restitch --json harness mine`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import ray


def measure(command: str, packages: list[Path], arguments: list[str]) -> dict:
    """The results for some packages, as the command prints them."""
    with tempfile.TemporaryDirectory() as share:
        for package in packages:
            (Path(share) / package.name).symlink_to(package)
        done = subprocess.run(
            [command, "--json", "measure", "--corpus", share, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
    # 1 says that some cases did not come out as they should; they are in the results.
    if done.returncode not in (0, 1):
        names = ", ".join(package.name for package in packages)
        raise RuntimeError(f"{names}: exit {done.returncode}: {done.stderr.strip()[-500:]}")
    return json.loads(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, required=True, help="a folder of packages, each with its versions in a and b")
    parser.add_argument("--tasks", type=int, required=True, help="how many shares; a few for each core")
    parser.add_argument("--address", help="the cluster; `auto` finds a running one")
    parser.add_argument("--command", required=True, help="restitch-evidence, on every worker")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="-- ARGUMENTS")
    options = parser.parse_args()
    arguments = [argument for argument in options.arguments if argument != "--"]
    packages = sorted(path for path in options.corpus.resolve().iterdir() if (path / "a").is_dir() and (path / "b").is_dir())
    shares = [packages[first :: options.tasks] for first in range(min(options.tasks, len(packages)))]

    # Ray tells of lost workers on stdout, which is for the results.
    results, sys.stdout = sys.stdout, sys.stderr
    ray.init(address=options.address, log_to_driver=False, include_dashboard=False)
    # One core each: the command uses as many as it finds, and Ray gives out the others.
    task = ray.remote(num_cpus=1, max_retries=3)(measure)
    running = [task.remote(options.command, share, arguments) for share in shares]
    edits, rows = 0, {}
    while running:
        (done,), running = ray.wait(running)
        found = ray.get(done)
        edits += found["edits"]
        for row in found["rows"]:
            rows.setdefault((row.pop("family"), row.pop("way")), Counter()).update(row)
        total = sum(rows.values(), Counter())
        said = f"{total['right']} right, {total['refused']} refused, {total['wrong']} silently wrong"
        print(f"{len(shares) - len(running)} of {len(shares)} shares: {said}", file=sys.stderr)
    ray.shutdown()
    lines = [{"family": family, "way": way, **counts} for (family, way), counts in rows.items()]
    print(json.dumps({"edits": edits, "rows": lines}), file=results)


if __name__ == "__main__":
    main()
