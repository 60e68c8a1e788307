"""Writes rows of `restitch harness … --rows FILE` to one Parquet file, for DuckDB, Polars, Spark and pandas.

    pip install 'restitch-edit[parquet]'
    python -m restitch_edit.parquet --out results.parquet part-*.rows.jsonl

The fields are those of docs/reference/rows.md. A line that is not a row of this schema stops it with an
error that names the line, and no file is written.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, cast

BATCH = 20_000

#: The fields in their order: the name, the Arrow type, and whether every row has it.
FIELDS: list[tuple[str, str, bool]] = [
    ("command", "string", True),
    ("restitch", "string", True),
    ("id", "string", True),
    ("family", "string", True),
    ("way", "string", True),
    ("language", "string", True),
    ("path", "string", True),
    ("aim", "string", False),
    ("verdict", "string", True),
    ("rung", "string", False),
    ("code", "string", False),
    ("new_syntax_errors", "bool_", False),
    ("micros", "uint64", False),
    ("model_calls", "uint64", True),
    ("prompt_bytes", "uint64", True),
    ("client", "string", False),
    ("agent_error", "string", False),
    ("agrees_with_retry", "bool_", False),
    ("turns", "uint64", False),
    ("tokens", "uint64", False),
    ("old_str", "string", False),
    ("new_str", "string", False),
    ("before", "string", False),
    ("wanted", "string", False),
    ("got", "string", False),
    ("refusal", "string", False),
]


def _arrow() -> Any:
    try:
        # Imported here, since pyarrow has no types and only this module needs it.
        return importlib.import_module("pyarrow")
    except ImportError:
        sys.exit("restitch_edit.parquet needs pyarrow: pip install 'restitch-edit[parquet]'")


def schema() -> Any:
    """The schema as `pyarrow.Schema`."""
    arrow = _arrow()
    return arrow.schema([arrow.field(name, getattr(arrow, kind)(), nullable=not all_have) for name, kind, all_have in FIELDS])


def _rows(files: Iterable[Path]) -> Iterator[dict[str, Any]]:
    known = {name for name, _, _ in FIELDS}
    needed = {name for name, _, all_have in FIELDS if all_have}
    for file in files:
        with open(file, encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                try:
                    value: Any = json.loads(line)
                except ValueError as error:
                    raise ValueError(f"{file}, line {number}: {error}") from None
                if not isinstance(value, dict):
                    raise ValueError(f"{file}, line {number}: this is not a row, which is a JSON object")
                row = cast("dict[str, Any]", value)
                given = {name for name, value in row.items() if value is not None}
                if not needed <= given or not row.keys() <= known:
                    wrong = sorted((needed - given) | (row.keys() - known))
                    raise ValueError(f"{file}, line {number}: missing or unknown: {', '.join(wrong)}")
                yield row


def write(out: str | os.PathLike[str], files: Iterable[str | os.PathLike[str]]) -> int:
    """Writes the rows of all files into one Parquet file, and returns how many there are.

    Rows are read in batches, so that the memory does not grow with their number. The file is written as
    a whole or not at all.
    """
    arrow = _arrow()
    parquet = importlib.import_module("pyarrow.parquet")
    fields = schema()
    target = Path(out)
    temp = target.with_name(f".{target.name}.{os.getpid()}")
    rows = _rows(map(Path, files))
    count = 0
    try:
        with parquet.ParquetWriter(temp, fields, compression="zstd") as writer:
            while batch := list(islice(rows, BATCH)):
                try:
                    writer.write_batch(arrow.RecordBatch.from_pylist(batch, schema=fields))
                except (arrow.ArrowInvalid, arrow.ArrowTypeError, OverflowError) as error:
                    raise ValueError(f"a value among rows {count + 1} to {count + len(batch)} has another type: {error}") from None
                count += len(batch)
        os.replace(temp, target)
    finally:
        temp.unlink(missing_ok=True)
    return count


def main() -> int:
    """`python -m restitch_edit.parquet`"""
    parser = argparse.ArgumentParser(
        prog="python -m restitch_edit.parquet", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", required=True, metavar="FILE", help="the Parquet file")
    parser.add_argument("files", nargs="+", metavar="ROWS", help="a file that --rows wrote")
    given = parser.parse_args()
    try:
        count = write(given.out, given.files)
    except (OSError, ValueError) as error:
        print(f"restitch_edit.parquet: {error}", file=sys.stderr)
        return 2
    print(f"{count} rows in {given.out}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
