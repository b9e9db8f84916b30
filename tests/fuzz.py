"""Damaged files and odd arguments for every reader and command, and what must hold whatever they are."""

import contextlib
import gzip
import io
import json
import os
from pathlib import Path
from random import Random

from book import __main__ as laboratory
from fairbook import cli

ROOT = Path(__file__).resolve().parents[1]

# ------------------------------------------------------------------------------------------------ material

#: Files of each command, by the place where they go.
TABLES = {
    name: (ROOT / "data" / f"example_{name}.csv").read_text("utf8")
    for name in ("users", "tasks", "machines", "phases", "periods", "requests", "clusters")
}

HOSTILE = (
    "",
    " ",
    "0",
    "-1",
    "nan",
    "inf",
    "-inf",
    "1e999",
    "1e75",
    "1e-75",
    "1e76",
    "5e-324",
    "9" * 30,
    "1" * 4000,
    "0x10",
    "1_000",
    "1,5",
    "4 GB",
    "true",
    "None",
    "=1+1",
    "+cmd|' /C calc'!A0",
    "@x",
    "-x",
    "$(touch pwned)",
    "`touch pwned`",
    "%s%n",
    "\0",
    "\x1b[2J",
    "\u00e4\u4e2d",
    "\u202e",
    '"',
    '"a',
    "'",
    ";",
    "\t",
    "|",
    "\\",
    "../../x",
    "x" * 300,
    "user",
    "weight",
    "ann",
    "\ufeff",
    "\r",
    "\u0661",
    "1\u00a0",
    "__import__('os')",
    "{0}",
    "1e5",
    "2.5",
    "007",
)

CELLS = (*HOSTILE, *(str(k) for k in range(4)))


def damaged(rng: Random, text: str) -> bytes:
    """Change a table here and there: cells, rows, columns, line ends; and perhaps pack it, and cut that off."""
    rows = [line.split(",") for line in text.splitlines()]
    for _ in range(rng.choice((0, 1, 1, 1, 2, 4))):
        kind = rng.randrange(8)
        k = rng.randrange(len(rows)) if rows else 0
        if not rows or kind == 0:
            rows.insert(k, rng.choice(([], [""], [rng.choice(CELLS)], list(rows[k]) if rows else [])))
        elif kind == 1:
            del rows[k]
        elif kind == 2 and rows[k]:
            del rows[k][rng.randrange(len(rows[k]))]
        elif kind == 3:
            rows[k].insert(rng.randrange(len(rows[k]) + 1), rng.choice(CELLS))
        elif kind == 4:  # a column more, or one twice
            name, value = rng.choice(CELLS), rng.choice(CELLS)
            rows = [[*row, name if not i else value] for i, row in enumerate(rows)]
        elif rows[k]:
            rows[k][rng.randrange(len(rows[k]))] = rng.choice(CELLS)
    end = rng.choice(("\n", "\n", "\n", "\n", "\r\n", "\r", "\n\n"))
    data = end.join(",".join(row) for row in rows).encode("utf8", "surrogatepass")
    data += rng.choice((end.encode(),) * 8 + (b"",))
    data = rng.choice((b"",) * 20 + (b"\xef\xbb\xbf", b"\xff\xfe", b"\x1f\x8b", b"PK\x03\x04")) + data
    return gzip.compress(data, 1)[: rng.randint(20, 2000)] if rng.random() < 0.15 else data


# ------------------------------------------------------------------------------------------------ commands

_NUMBERS = ("0", "1", "2", "0.5", "-1", "nan", "1e999", "1e75", "x", "", "9" * 25, "1e-300")
_WHOLE = ("0", "1", "2", "3", "-1", "1.5", "x", "", "9" * 25)
_NAMES = ("ann", "bob", "team-a", "nobody", "", "=1", "\x1b[2J", "ann:1", "ann:9", "cpu", "user")
_CAPACITY = ("cpu=9", "memory=18", "gpu=1", "north=40", "cpu=0", "cpu=x", "=3", "12", "cpu=1e999", "cpu", "a=b=3", "30")

#: What all allocations may be given.
_ANY: dict[str, tuple[str, ...] | None] = {
    "--explain": _NAMES,
    "--verify": None,
    "--whole": None,
    "--placement": None,
    "--user-column": ("user", "cpu", "x"),
}
#: What each command may be given, by its words and, for allocations, what is allocated:
#: its first file, then options with the values to try (None: a flag).
COMMANDS: dict[str, tuple[tuple[str, ...], dict[str, tuple[str, ...] | None]]] = {
    "allocate": (
        ("users",),
        _ANY
        | {
            "--mechanism": ("drf", "drf", "drf_by_task", "dmfa_srq", "dynamic_drf", "static_optimum", "x"),
            "--capacity": _CAPACITY,
            "--set": ("stuck=skip", "stuck=stop", "stuck=x", "stuck", "x=1"),
        },
    ),
    "allocate phases": (
        ("phases",),
        _ANY
        | {
            "--mechanism": ("cbdrf", "karma", "x"),
            "--capacity": _CAPACITY,
            "--set": (
                *(f"{name}={text}" for name in ("rho", "step_up", "alpha", "initial_credit") for text in _NUMBERS),
                *("credit_cap=none", "credit_floor=1", "held=stays", "grant=capped", "penalty=graded", "grant=x"),
            ),
        },
    ),
    "allocate periods": (
        ("periods", "machines"),
        _ANY
        | {
            "--method": ("heuristic", "lexicographic"),
            "--mechanism": ("karma", "drf"),
            "--set": ("unserved=waits", "alone=whole_bundles", "alone=resources", "memory=false", "memory=x"),
        },
    ),
    "allocate machines": (
        ("tasks", "machines"),
        _ANY
        | {
            "--mechanism": ("gdrf", "drfh", "mdrf", "per_server_drf", "drf"),
            "--set": (
                *("match=same", "match=any", "least=shares", "machine_type=amount", "choice=first", "queue=one_by_one"),
                *("method=first_fit", "method=fluid", "reading=type", "seed=x", "seed=3"),
            ),
        },
    ),
    "allocate clusters": (
        ("requests", "clusters"),
        _ANY
        | {
            "--capacity": _CAPACITY,
            "--method": ("exact", "spanning", "relaxation", "greedy", "mixed_knapsack", "metagreedy", "vector_packing"),
            "--set": (
                *("whole=false", "node_limit=1", "node_limit=x", "seed=3", "load=free", "fit=best_fit", "small=0"),
                *("general=metagreedy", "top_up=true", "top_up=x"),
            ),
        },
    ),
    "claims": (
        (),
        {
            "--paper": ("dmfa_srq", "x", ""),
            "--id": ("dmfa_srq.figure_1", "x"),
            "--verdict": ("holds", "x"),
            "--format": ("table", "csv"),
        },
    ),
    "results": ((), {"--check": None, "--force": None, "--only": ("dmfa_srq/fig5", "x", "../x")}),
    "figures": ((), {"--only": ("x", "fig99"), "--runs": ("0", "x"), "--seed": ("-1",)}),
}
#: What goes with the whole tables, mostly: else nothing behind the question of how much there is would be tried.
_POOLS = {"users": ["--capacity", "cpu=1", "memory=1", "gpu=1"], "phases": ["--capacity", "cpu=9", "memory=18"]}
_SECOND = {"machines": "--machines", "clusters": "--clusters"}


def command_line(name: str, rng: Random, folder: Path) -> tuple[list[str], str]:
    """Write the files of a command, some damaged, and give its arguments and the place of its output."""
    tables, options = COMMANDS[name]
    argv = name.split()[:1]
    given = folder / "in"
    given.mkdir()

    def file(table: str) -> str:
        odd = (f"-{table}", f"{table}\n.csv", f"$(x){table}", f"{table}%d.gz")
        path = given / rng.choice((f"{table}.csv",) * 5 + odd)
        whole = TABLES[table] if rng.random() < 0.95 else rng.choice(list(TABLES.values()))
        path.write_bytes(damaged(rng, whole) if rng.random() < 0.6 else whole.encode())
        return str(path)

    for table in tables:
        if table not in _SECOND:
            argv.append(file(table))
        elif table != "clusters" or rng.random() < 0.7:
            argv += [_SECOND[table], file(table)]
    argv += _POOLS.get(tables[0], []) if tables and rng.random() < 0.8 else []
    out = str(folder / rng.choice(("out.csv", "out.json") * 4 + ("out.txt", "no/out.csv", "in")))
    if name == "figures":  # not all of them, which takes minutes
        argv += ["--only", "fig99"]
    if name == "figures" or (tables and rng.random() < 0.7):
        argv += ["--output", out]
    for option in rng.sample(sorted(options), k=min(len(options), rng.choice((0, 0, 1, 1, 2, 3)))):
        values = options[option]
        argv.append(option)
        if values is not None:
            value = rng.choice(values)
            argv.append(file(value[1:]) if value.startswith("@") else value)
            if option in ("--capacity", "--explain", "--id", "--only") and rng.random() < 0.5:
                argv += rng.sample(values, k=2)
    if rng.random() < 0.05:
        odd = ("--nosuch", "-", "--", "--help", "x" * 5000)
        argv.insert(rng.randrange(len(argv) + 1), rng.choice(odd))
    return argv, out


def contents(folder: Path) -> dict[str, bytes]:
    """Give every file below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def run(argv: list[str]) -> tuple[int, str, str]:
    """Run a command in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = (laboratory if argv[0] in ("claims", "figures", "results") else cli).main(argv)
    return code, out.getvalue(), err.getvalue()


def check_command(argv: list[str], folder: Path) -> str:
    """Run a command twice and hold it against what the command line promises; give the outcome."""
    before = contents(folder)
    code, out, err = run(argv)
    after = contents(folder)
    assert code in (0, 1, 2), code
    lines = err.splitlines()
    assert all(line.startswith("fairbook: ") for line in lines), err
    assert not any("warning: " in line and "MissingParts" not in line and "missing" not in line for line in lines), err
    errors = [line for line in lines if line.startswith("fairbook: error: ")]
    assert len(errors) == (code == 2), err
    if errors:
        assert lines[-1] == errors[0]
        assert out == "", out
    assert {name: after.get(name) for name in before} == before  # nothing that was there has changed
    new = sorted(after.keys() - before.keys())
    assert not any(name.endswith(".part") or "/." in name or name.startswith(".") for name in new), new
    if code == 2:
        assert new == [], new
    assert run(argv)[:2] == (code, out) or code == 2
    assert contents(folder) == after  # the same again
    for name in new:
        if name.endswith(".json"):
            json.loads(after[name])
    return ("fine", "negative", "refused")[code]


def try_command(name: str, rng: Random, folder: Path) -> str:
    """Run a command on files and options drawn at random."""
    place = os.getcwd()
    os.chdir(folder)  # what a name such as -users or ../x means depends on where one is
    try:
        (folder / "work").mkdir()
        argv, _ = command_line(name, rng, folder / "work")
        return check_command(argv, folder / "work")
    except AssertionError as error:
        raise AssertionError(f"{argv}: {error}") from error
    finally:
        os.chdir(place)
