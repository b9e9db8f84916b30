"""Damaged tables and odd arguments for ``fairbook allocate``, and what must hold whatever they are."""

import gzip
import json
import os
from pathlib import Path
from random import Random

from tests.commands import ROOT, run

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
    """Change a table here and there: cells, rows, line ends; and perhaps pack it, and cut that off."""
    rows = [line.split(",") for line in text.splitlines()]
    for _ in range(rng.choice((0, 1, 1, 1, 2, 4))):
        kind, k = rng.randrange(5), rng.randrange(len(rows))
        if kind == 0:
            rows.insert(k, rng.choice(([], [""], list(rows[k]))))
        elif kind == 1 and len(rows) > 1:
            del rows[k]
        elif kind == 2:  # a column more, or one twice
            name, value = rng.choice(CELLS), rng.choice(CELLS)
            rows = [[*row, value if i else name] for i, row in enumerate(rows)]
        else:
            at = rng.randrange(len(rows[k]) + 1)
            rows[k][at : at + rng.randrange(2)] = [rng.choice(CELLS)] * rng.randrange(2)
    data = rng.choice(("\n", "\n", "\r\n", "\r", "\n\n")).join(map(",".join, rows)).encode("utf8", "surrogatepass")
    data = rng.choice((b"",) * 20 + (b"\xef\xbb\xbf", b"\xff\xfe", b"\x1f\x8b", b"PK\x03\x04")) + data
    return gzip.compress(data, 1)[: rng.randint(20, 2000)] if rng.random() < 0.15 else data


# ------------------------------------------------------------------------------------------------ commands

_NUMBERS = ("0", "1", "2", "0.5", "-1", "nan", "1e999", "1e75", "x", "", "9" * 25, "1e-300")
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
#: its files, then options with the values to try (None: a flag).
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
}
#: What goes with the whole tables, mostly: else nothing behind the question of how much there is would be tried.
_POOLS = {"users": ["--capacity", "cpu=1", "memory=1", "gpu=1"], "phases": ["--capacity", "cpu=9", "memory=18"]}
_SECOND = {"machines": "--machines", "clusters": "--clusters"}


def command_line(name: str, rng: Random, folder: Path) -> list[str]:
    """Write the files of a command, some damaged, and give its arguments."""
    tables, options = COMMANDS[name]
    argv = ["allocate"]
    for table in tables:
        path = folder / rng.choice((f"{table}.csv",) * 5 + (f"-{table}", f"$(x){table}", f"{table}%d.gz"))
        path.write_bytes(damaged(rng, TABLES[table]) if rng.random() < 0.6 else TABLES[table].encode())
        argv += [_SECOND[table], str(path)] if table in _SECOND else [str(path)]
    argv += _POOLS.get(tables[0], []) if rng.random() < 0.8 else []
    argv += ["--output", str(folder / rng.choice(("out.csv", "out.json", "out.txt", "no/out.csv")))]
    for option in rng.sample(sorted(options), k=min(len(options), rng.choice((0, 0, 1, 1, 2, 3)))):
        argv += [option, *([rng.choice(options[option])] if options[option] else [])]
    if rng.random() < 0.05:
        argv.insert(rng.randrange(len(argv) + 1), rng.choice(("--nosuch", "-", "--", "--help", "x" * 5000)))
    return argv


def contents(folder: Path) -> dict[str, bytes]:
    """Give every file below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def check_command(argv: list[str], folder: Path) -> str:
    """Run a command and hold it against what the command line promises; give the outcome."""
    before = contents(folder)
    code, out, err = run(*argv)
    after, lines = contents(folder), err.splitlines()
    assert code in (0, 2), code
    assert all(line.startswith("fairbook: ") and "warning: " not in line for line in lines), err
    assert [line.startswith("fairbook: error: ") for line in lines].count(True) == (code == 2), err
    assert {name: after[name] for name in before} == before  # nothing that was there has changed
    new = sorted(after.keys() - before.keys())
    assert len(new) <= (code == 0), new
    assert not new or not new[0].endswith("json") or json.loads(after[new[0]])
    assert code == 0 or (out == "" and "fairbook: error: " in lines[-1])
    return "refused" if code else "fine"


def try_command(name: str, rng: Random, folder: Path) -> str:
    """Run a command on files and options drawn at random."""
    place = os.getcwd()
    os.chdir(folder)  # what a name such as -users or ../x means depends on where one is
    try:
        argv = command_line(name, rng, folder)
        return check_command(argv, folder)
    except AssertionError as error:
        raise AssertionError(f"{argv}: {error}") from error
    finally:
        os.chdir(place)
