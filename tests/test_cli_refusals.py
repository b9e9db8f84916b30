"""What commands refuse: arguments, options and tables, each with words of the one line that says why."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from fairbook.cli import periods, phases, tables
from tests.commands import ALLOCATE, CLUSTER, COMMANDS, PERIODS, PHASES, Command, refused, run

# ------------------------------------------------------------------------------------------------- the words of a call

#: Whole calls, refused before any file is read or because there is none.
LINES = {
    "": "COMMAND",
    "alocate": "invalid choice",
    "allocate": "users.csv",
    "allocate u.csv --mechanism best": "invalid choice",
    "allocate u.csv --after 0": "at least 1",
    "allocate u.csv --after 1.5": "at least 1",
    f"allocate u.csv --after {'9' * 30}": "at least 1",
    "allocate u.csv --verif": "unrecognized",
    "allocate u.csv --capacity": "--capacity",
    "allocate a\0b": "holds a null byte",
    f"allocate {'x' * 5000}": "name",
    "allocate .": "Is a directory",
    "claims --verdict true": "invalid choice",
    "claims --effort full": "--recompute",
    "claims --output ledger.csv": "a .json file",
    "claims --mutants --output ledger.json": "--mutants",
    "traces": "ACTION",
    "traces digest folder": "--output",
    "phases": "phases.csv",
    "phases p.csv --rule drf": "invalid choice",
    "phases p.csv --rho x": "argument --rho: must be a number, got 'x'",
    "phases p.csv --rho nan": "must be a number",
    "phases p.csv --step-up 1e": "must be a number",
    "phases p.csv --held goes": "invalid choice",
    "phases p.csv --grant best": "invalid choice",
    "phases p.csv --penalty none": "invalid choice",
    "periods": "demands.csv",
    "periods d.csv": "--machines",
    "periods d.csv --machines m.csv --method lp": "invalid choice",
    "periods d.csv --machines m.csv --alone none": "invalid choice",
    "periods d.csv --machines m.csv --unserved stays": "invalid choice",
    "periods - --machines -": "only one file can be -",
    "place": "users.csv",
    "place u.csv": "--machines",
    "place u.csv --machines m.csv --rule fifo": "invalid choice",
    "place u.csv --machines m.csv --match best": "invalid choice",
    "place - --machines -": "only one file can be -",
    "cluster": "requests.csv",
    "cluster r.csv": "--clusters --capacity is required",
    "cluster r.csv --capacity 9 --clusters c.csv": "not allowed with",
    "cluster r.csv --capacity 9 --method knapsack": "invalid choice",
    "cluster - --clusters -": "only one file can be -",
    "allocate none.csv": "none.csv: No such file",
    "phases none.csv": "none.csv: No such file",
    "periods none.csv --machines m.csv": "none.csv: No such file",
    "place none.csv --machines m.csv": "none.csv: No such file",
    "cluster none.csv --capacity 9": "none.csv: No such file",
}

#: Options that do not go with good tables.
OPTIONS: dict[str, dict[str, str]] = {
    "allocate": {
        "--mechanism drf --after 1": "has none",
        "--mechanism drf --stuck skip": "drf_by_task",
        "--mechanism dynamic_drf --weights weight": "equal part",
        "--mechanism dmfa_srq --max-tasks max_tasks": "no bounds",
        "--mechanism drf_by_task --verify": "whole tasks",
        "--mechanism dmfa_srq --after 3": "from 1 to 2",
        "--mechanism dmfa_srq --after 1 --explain bob": "bob",
        "--weights tire": "has no column 'tire'",
        "--weights cpu --max-tasks cpu": "cannot serve twice",
        "--weights user": "cannot serve twice",
        "--capacity cpu": "name=number",
        "--capacity cpu=nine": "name=number",
        "--capacity cpu=nan": "name=number",
        "--capacity cpu=inf": "name=number",
        "--capacity =1": "none of the resources",
        "--capacity disk=1": "none of the resources cpu, memory",
        "--capacity cpu=1 --capacity cpu=2": "twice",
        "--capacity cpu=-9 memory=1": "--capacity cpu must be positive",
        "--capacity cpu=0 memory=1": "--capacity cpu must be positive",
        "--capacity cpu=1e999 memory=1": "finite",
        "--capacity cpu=1e99 memory=1": "capacities",
        "--mechanism dmfa_srq --capacity cpu=1e99 memory=1": "capacities",
        "--capacity cpu=1": "also for memory",
    },
    "phases": {
        "--rule karma --rho 0.5": "--rho belongs to cbdrf, not to karma",
        "--rule karma --grant scaled": "--grant belongs to cbdrf",
        "--alpha 0.5": "--alpha belongs to karma, not to cbdrf",
        "--rho 1.5": "--rho must be between 0 and 1, got 1.5",
        "--rho=-1": "--rho must be between 0 and 1",
        "--step-up=-0.1": "--step-up must be between",
        "--step-down 1e99": "--step-down must be between",
        "--initial-credit 0": "--initial-credit must be positive",
        "--credit-cap 0.5": "--credit-cap must be",
        "--credit-floor 2": "--credit-floor must be between 0 and 1",
        "--rule karma --alpha 2": "--alpha must be between 0 and 1",
        "--rule karma --initial-credit=-1": "--initial-credit",
        "--explain dan": "--explain 'dan' is no user",
        "--explain ann:4": "phases.csv has no phase '4'",
        "--explain ann:x": "--explain 'ann:x'",
        "--explain :1": "--explain ':1'",
        "--capacity disk=1": "none of the resources cpu, memory",
        "--capacity cpu=1": "also for memory",
    },
    "periods": {
        "--explain dan": "--explain 'dan' is no user of",
        "--explain ann:4": "demands.csv has no period '4'",
        "--explain ann:x": "has no period 'x'",
        "--contributions none.csv": "names in column 'user' who brought a machine",
        "--placement p.csv --method lexicographic": "--placement goes with --method heuristic",
        "--placement p.txt": "--placement must end in .csv",
        "--placement -": "--placement must end in .csv",
        "--placement p.csv --output ./p.csv": "must not be the same file",
    },
    "place": {
        "--seed -1": "whole number",
        "--rule drfh --match any": "--match belongs to gdrf, not to drfh",
        "--method fluid": "--method belongs to drfh, not to gdrf",
        "--rule drfh --seed 1": "--seed belongs to gdrf, mdrf",
        "--rule mdrf --weights w": "--weights belongs to drfh, per_server_drf",
        "--rule drfh --method fluid --table states": "--table states",
        "--table states --explain": "--explain goes with --table users",
        "--max-tasks most": "has no column 'most'",
        "--rule drfh --weights most": "has no column 'most'",
    },
    "cluster": {
        "--method relaxation --load least": "invalid choice",
        "--node-limit 0": "must be a whole number of at least 1, got '0'",
        "--seed -1": "whole number",
        f"--seed {2**40}": "error: --seed must be a whole number from 0",
        "--high dear": "must be a number, got 'dear'",
        "--high 1 --low 2": "--low must be between 0 and --high, got --low 2 --high 1",
        "--low -1": "--low must be between 0 and --high, got --low -1 --high 2",
        "--high 1e999": "got --low 1 --high inf",
        "--high 1e308": "--high 1e+308 is too much",
        "--load free": "--load belongs to relaxation, mixed_knapsack, not to exact",
        "--method greedy --node-limit 9": "--node-limit belongs to exact, not to greedy",
        "--method vector_packing --seed 9": "--seed belongs to exact, not to vector_packing",
        "--top-up": "--top-up belongs to mixed_knapsack, not to exact",
        "--explain --by-cluster": "--explain does not go with --by-cluster",
    },
}

#: Capacities of clusters, in place of a table of them.
CAPACITIES = {
    ("many",): "--capacity must be given as numbers or as name=number, got 'many'",
    ("=4",): "name=number, got '=4'",
    ("a\nb=4",): "name=number, got 'a\\nb=4'",
    ("north=4", "north=5"): "--capacity names 'north' twice",
    ("2=4", "5"): "--capacity names '2' twice",
    ("north=12", "south=-1"): "--capacity 'south=-1' must not be negative, got -1.0",
    ("north=1e999",): "--capacity 'north=1e999' must be finite, got inf",
    ("0", "0"): "--capacity: the clusters must hold at least one VM somewhere, got [0, 0]",
}


@pytest.mark.parametrize("line", LINES)
def test_lines(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said = refused(run(*line.split(" ")) if line else run())
    assert LINES[line] in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", COMMANDS.values(), ids=list(COMMANDS))
def test_options(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = command.given(tmp_path)
    before = sorted(tmp_path.iterdir())
    both = OPTIONS[command.name] | {"--output out.parquet": "--output must end in .csv or .json"}
    said = {options: refused(run(*arguments, *options.split())) for options in both}
    assert {options: line for options, line in said.items() if both[options] not in line} == {}
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("given", CAPACITIES)
def test_capacities(given: tuple[str, ...], tmp_path: Path) -> None:
    assert CAPACITIES[given] in refused(run(*CLUSTER.given(tmp_path)[:2], "--capacity", *given))


# -------------------------------------------------------------------------------------------------- tables

_PACKED = gzip.compress(b"user,cpu\nann,1\nbob,2\n", mtime=0)

#: Damage to any table of any command.
ANY: dict[str, tuple[str | bytes, str]] = {
    "empty": ("", "is empty"),
    "blank": ("\n", "is empty"),
    "gzip of nothing": (gzip.compress(b""), "is empty"),
    "gzip cut short": (_PACKED[:-9], "gzip stream is damaged"),
    "gzip with a wrong sum": (_PACKED[:-8] + b"\0" * 8, "gzip stream is damaged"),
    "gzip with junk inside": (_PACKED[:10] + b"\xff" * 40, "gzip stream is damaged"),
    "semicolons": ("user;cpu\na;1\n", "columns are separated by commas"),
    "semicolons, decimal comma": ("user;cpu\na;1,5\n", "columns are separated by commas"),
    "tabs": ("user\tcpu\na\t1\n", "columns are separated by commas"),
    "column twice": ("{head},x,x\n", "line 1: two columns are named 'x'"),
    "column without a name": ("{head},,cpu\n", "line 1: '' is not the name"),
    "column with an escape": ("{head},\x1b[31m\n", "line 1: '\\x1b[31m' is not the name"),
    "header only": ("{head}\n", ", only a header"),
    "header and blank lines": ("{head}\n\n , \n", ", only a header"),
    "short row": ("{head},x\n\n{line}\n", "line 3: {width} columns where the header has {more}"),
    "long row": ("{head}\n{line}\n{line},1\n", "line 3: {more} columns where the header has {width}"),
    "open quote": ('{head}\n"{line}\n', "is not CSV"),
    "text after a quote": ('{head}\n"a"b,{line}\n', "line 2: is not CSV"),
    "huge field": ("{head}\n" + "a" * 200_000, "line 2: is not CSV (field larger"),
    "huge line": ("{head}\n" + "1," * 600_000, "line 2: the line is longer than"),
    "huge header": ("x" * 2_000_000, "line 1: the line is longer than"),
    "null bytes": ("{head}\n{line}\0\n", "line 2: holds a null byte"),
    "latin 1": ("{head}\n{line}\xe9\n".encode("latin1"), "line 2: is not UTF-8"),
    "utf 16": ("user,cpu\n".encode("utf-16"), "line 1: is not UTF-8"),
    "binary": (bytes(range(256)) * 8, "line 1"),
    "png": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "line 1: is not UTF-8"),
}

#: Tables of one command that say what they must not: by command and file.
TABLES: dict[tuple[str, str], dict[str, tuple[str, str]]] = {
    ("allocate", "users"): {
        "no user": ("user,cpu\n", "holds no user, only"),
        "no demands": ("user,weight\na,1\n", "no column of demands"),
        "words only": ("user,cpu\na,much\n", "no column of demands"),
        "weight with a capital": ("user,cpu,Weight\na,1,2\n", "column 'Weight' would be taken for a resource"),
        "bound with a blank": ("user,cpu,max tasks\na,1,2\n", "is it meant as 'max_tasks'?"),
        "users": ("Users,cpu\na,1\n", "is it meant as 'user'?"),
        "user twice": ("user,cpu\na,1\nb,1\n\na,2\n", "line 5, column 'user': 'a' is on line 2 already"),
        "user without a name": ("user,cpu\n ,1\n", "line 2, column 'user': '' is not a name"),
        "user with an escape": ("user,cpu\na\x1b[31m,1\n", "is not a name"),
        "endless name": (f"user,cpu\n{'a' * 300},1\n", "is not a name"),
        "word among numbers": ("user,cpu\na,1\nb,two\n", "line 3, column 'cpu': 'two' is not a number"),
        "unit": ("user,cpu\na,4 GB\nb,2 GB\n", "line 2, column 'cpu': '4 GB' is not a number"),
        "decimal comma": ('user,cpu\na,"1,5"\n', "'1,5' is not a number; write it with a decimal point"),
        "thousands": ("user,cpu\na,1.000.000\n", "'1.000.000' is not a number; write it with a decimal point"),
        "underscore": ("user,cpu\na,1_000\n", "'1_000' is not a number"),
        "hexadecimal": ("user,cpu\na,0x10\n", "'0x10' is not a number"),
        "other digits": ("user,cpu,gpu\na,1,1\nb,\u0661,1\n", "is not a number"),
        "nan": ("user,cpu\na,1\nb,NaN\n", "line 3, column 'cpu': the number is missing"),
        "gap": ("user,cpu,memory\na,1,\n", "line 2, column 'memory': the number is missing"),
        "infinite": ("user,cpu\na,inf\n", "'inf' is not a number"),
        "overflow": ("user,cpu\na,1e999\n", "line 2, column 'cpu': must be finite"),
        "negative": ("user,cpu,memory\na,1,1\nb,1,-2\n", "line 3, column 'memory': must not be negative, got -2.0"),
        "huge": ("user,cpu,memory\na,1,1\n\nb,1,1e99\n", "line 4, column 'memory': must be zero or between"),
        "all zero": ("user,cpu,memory\na,0,0\n", "line 2: the demands must have at least one positive entry"),
        "weight zero": ("user,cpu,weight\na,1,1\nb,1,0\n", "line 3, column 'weight': must be positive"),
        "weight missing": ("user,cpu,weight\na,1,\n", "line 2, column 'weight': the number is missing"),
        "weight in words": ("user,cpu,weight\na,1,heavy\n", "column 'weight': 'heavy' is not a number"),
        "weight negative": ("user,cpu,weight\na,1,-1\n", "column 'weight': must be positive"),
        "bound negative": ("user,cpu,max_tasks\na,1,-1\n", "column 'max_tasks': must not be negative"),
        "bound nan": ("user,cpu,max_tasks\na,1,nan\n", "column 'max_tasks': the number is missing"),
        "bound in words": ("user,cpu,max_tasks\na,1,many\n", "column 'max_tasks': 'many' is not a number"),
        "digits without end": (f"user,cpu\nann,{'1' * 100_000}x\n", "line 2, column 'cpu'"),
        "columns without end": (",".join(f"c{i}" for i in range(60_000)) + ",c0\n", "two columns are named 'c0'"),
    },
    ("phases", "phases"): {
        "no user": ("phase,user,cpu\n", "holds no user, only"),
        "no phase": ("user,cpu\na,1\n", "has no column 'phase', only 'user', 'cpu'"),
        "no column of users": ("phase,cpu\n1,1\n", "has no column 'user'"),
        "no demands": ("phase,user,released\n1,a,1\n", "no column of demands"),
        "phase in words": ("phase,user,cpu\none,a,1\n", "line 2, column 'phase': 'one' is not the whole number of a"),
        "phase with a fraction": ("phase,user,cpu\n1,a,1\n1.5,a,1\n", "line 3, column 'phase': '1.5'"),
        "phase negative": ("phase,user,cpu\n-1,a,1\n", "line 2, column 'phase': '-1'"),
        "phase missing": ("phase,user,cpu\n,a,1\n", "line 2, column 'phase': ''"),
        "phase in other digits": ("phase,user,cpu\n\u0661,a,1\n", "line 2, column 'phase'"),
        "phase endless": (f"phase,user,cpu\n{'9' * 30},a,1\n", "line 2, column 'phase'"),
        "user missing": ("phase,user,cpu\n1,,1\n", "line 2, column 'user': '' is not a name"),
        "user twice": ("phase,user,cpu\n1,a,1\n2,a,1\n\n1,a,2\n", "line 5, column 'user': 'a' has phase 1 on line 2 a"),
        "user twice, zero before": ("phase,user,cpu\n1,a,1\n01,a,2\n", "line 3, column 'user': 'a' has phase 1 on l"),
        "demand in words": ("phase,user,cpu\n1,a,1\n1,b,much\n", "line 3, column 'cpu': 'much' is not a number"),
        "demand missing": ("phase,user,cpu,gpu\n1,a,1,\n1,b,1,1\n", "line 2, column 'gpu': the number is missing"),
        "demand negative": ("phase,user,cpu,gpu\n2,b,1,1\n1,a,1,-1\n",
                            "line 3, column 'gpu': must not be negative, got -1.0"),
        "demand huge": ("phase,user,cpu,gpu\n1,a,1e99,1\n", "line 2, column 'cpu': must be zero or between"),
        "demand infinite": ("phase,user,cpu\n1,a,1e999\n", "line 2, column 'cpu': must be finite"),
        "released above 1": ("phase,user,cpu,released\n1,a,1,1\n2,c,1,1\n1,b,1,1.5\n",
                             "line 4, column 'released': must be between 0 and 1, got 1.5"),
        "released negative": ("phase,user,cpu,released\n1,a,1,-0.5\n", "line 2, column 'released': must be between"),
        "released missing": ("phase,user,cpu,released\n1,a,1,\n", "line 2, column 'released': the number is missing"),
        "released in words": ("phase,user,cpu,released\n1,a,1,all\n", "line 2, column 'released': 'all' is not a num"),
    },
    ("phases --rule karma", "phases"): {
        "bound negative": ("phase,user,cpu,max_tasks\n1,a,1,1\n2,b,1,-1\n",
                           "line 3, column 'max_tasks': must not be negative, got -1.0"),
        "bound in words": ("phase,user,cpu,max_tasks\n1,a,1,many\n", "line 2, column 'max_tasks': 'many' is not a"),
        "demand negative": ("phase,user,cpu,gpu\n1,a,1,-1\n", "line 2, column 'gpu': must not be negative"),
    },
    ("periods", "demands"): {
        "no user": ("period,user,tasks,cpu\n", "demands.csv: holds no user, only a header"),
        "no period": ("user,tasks,cpu\na,1,1\n", "has no column 'period', only 'user', 'tasks', 'cpu'"),
        "no tasks": ("period,user,cpu\n1,a,1\n", "has no column 'tasks'"),
        "no demands": ("period,user,tasks\n1,a,1\n", "no column of demands"),
        "period in words": ("period,user,tasks,cpu\nMay,a,1,1\n", "line 2, column 'period': 'May' is not the whole"),
        "user twice": ("period,user,tasks,cpu\n1,a,1,1\n01,a,1,1\n", "line 3, column 'user': 'a' has period 1 on li"),
        "half a task": ("period,user,tasks,cpu\n1,ann,1,1\n3,ann,1.5,1\n", "line 3, column 'tasks': must be whole"),
        "tasks negative": ("period,user,tasks,cpu\n1,ann,-1,1\n", "line 2, column 'tasks': must not be negative"),
        "tasks in words": ("period,user,tasks,cpu\n1,a,few,1\n", "line 2, column 'tasks': 'few' is not a number"),
        "demand negative": ("period,user,tasks,cpu,memory\n1,bob,1,1,1\n1,ann,1,1,-1\n",
                            "line 3, column 'memory': must not be neg"),
        "demand infinite": ("period,user,tasks,cpu\n1,a,1,inf\n", "line 2, column 'cpu': 'inf' is not a number"),
        "demand missing": ("period,user,tasks,cpu\n1,a,1,\n", "line 2, column 'cpu': the number is missing"),
        "demand of nothing": ("period,user,tasks,cpu\n1,ann,0,0\n1,bob,1,0\n", "line 3, column 'tasks': tasks are sub"),
        "resource that no machine has": ("period,user,tasks,cpu,fpga\n1,a,1,1,1\n", "machines.csv: has no column 'fp"),
        "periods that are seconds": ("period,user,tasks,cpu\n1,a,1,1\n900000000,a,1,1\n", "are too many to run"),
        "too many periods": ("period,user,tasks,cpu\n1,ann,1,1\n6000000,bob,1,1\n",
                             "6000000 periods (every one from 1 to"),
        "an output": ("period,user,tasks,cpu,unserved\n1,a,1,1,0\n", "would be taken for a resource"),
        "a column of machines": ("period,user,tasks,cpu,machine\n1,a,1,1,1\n", "column 'machine' would be taken for"),
        "how many machines": ("period,user,tasks,cpu,Count\n1,a,1,1,1\n", "is it meant as 'count'?"),
        "a part": ("period,user,tasks,cpu,part\n1,a,1,1,0.5\n", "column 'part' would be taken for a resource"),
        "tasks that overflow": ("period,user,tasks,cpu\n1,a,1,1\n1,b,1e400,1\n", "line 3, column 'tasks': must be fin"),
        "demand that overflows": ("period,user,tasks,cpu\n1,a,1,1e400\n", "line 2, column 'cpu': must be finite"),
        "column in capitals": ("period,user,tasks,Tasks,cpu\n1,a,1,1,1\n", "'Tasks' would be taken for a resource"),
    },
    ("periods --unserved waits", "demands"): {
        "no bound": ("period,user,tasks,cpu\n1,ann,,1\n1,bob,inf,1\n",
                     "demands.csv, line 2, column 'tasks': must be finite where unserved tasks wait"),
    },
    ("periods", "machines"): {
        "no machine": ("cpu,memory\n", "machines.csv: holds no machine, only a header"),
        "resource missing": ("user,cpu\nann,1\nbob,1\n", "machines.csv: has no column 'memory', only 'user', 'cpu'"),
        "capacity missing": ("user,cpu,memory\nann,1,\nbob,1,1\n", "machines.csv, line 2, column 'memory': the number"),
        "capacity that overflows": ("user,cpu,memory\nann,1,1e400\n", "line 2, column 'memory': must be finite"),
        "capacity negative": ("user,cpu,memory\nann,1,1\nbob,1,-1\n", "machines.csv, line 3, column 'memory': must no"),
        "negative, by the number": ("count,user,cpu,memory\n5,ann,1,1\n5,bob,1,-1\n", "line 3, column 'memory': must "),
        "none of a resource": ("user,cpu,memory\nann,1,0\nbob,1,0\n", "machines.csv, column 'memory': no machine has"),
        "nothing at all": ("user,cpu,memory\nann,1,1\nbob,0,0\n", "machines.csv, line 3"),
        "owner missing": ("user,cpu,memory\nann,1,1\n,1,1\n", "machines.csv, line 3, column 'user': '' is not a name"),
        "machine twice": ("machine,user,cpu,memory\nm,ann,1,1\n\nm,bob,1,1\n", "line 4, column 'machine': 'm' is on l"),
        "machine without name": ("machine,user,cpu,memory\n,ann,1,1\n", "line 2, column 'machine': '' is not a name"),
        "count zero": ("count,user,cpu,memory\n0,ann,1,1\n", "line 2, column 'count': '0' is not a number of machines"),
        "count of halves": ("count,user,cpu,memory\n0.5,ann,1,1\n", "line 2, column 'count': '0.5' is not a number"),
        "count huge": ("count,user,cpu,memory\n9,ann,1,1\n999999,bob,1,1\n", "line 3, column 'count': more than 10000"),
        "who brought nothing": ("user,cpu,memory\nann,1,1\n", "'bob' has tasks in"),
    },
    ("periods --method lexicographic", "machines"): {
        "many shapes": ("user,cpu,memory\nann,2,1\nbob,1,2\n", "--method lexicographic needs machines of one shape, w"),
    },
    ("periods", "contributions"): {
        "no part": ("user,part\n", "contributions.csv: holds no part, only a header"),
        "another column": ("user,share\nann,1\n", "contributions.csv: has no column 'part'"),
        "not all": ("user,part\nann,0.3\nbob,0.6\n", "the parts of every machine must sum to 1, got 0.9"),
        "not all of one": ("machine,user,part\nleft,ann,1\nright,bob,0.5\n",
                           "the parts of machine 'right' must sum to 1, got 0.5"),
        "nothing of one": ("machine,user,part\nleft,ann,1\n", "the parts of machine 'right' must sum to 1, got 0"),
        "no machine": ("machine,user,part\nmiddle,ann,1\n", "line 2, column 'machine': 'middle' is no machine of"),
        "out of range": ("user,part\nann,1.5\nbob,-0.5\n", "line 2, column 'part': must be between 0 and 1, got 1.5"),
        "in words": ("user,part\nann,half\n", "contributions.csv, line 2, column 'part': 'half' is not a number"),
        "twice": ("user,part\nann,0.5\nann,0.5\n", "line 3, column 'user': the part that 'ann' brought is there alrea"),
        "nothing of who has tasks": ("user,part\nann,0\nbob,1\n", "'ann' has tasks in"),
        "no name": ("user,part\n,1\n", "contributions.csv, line 2, column 'user': '' is not a name"),
    },
    ("place", "users"): {
        "no user": ("user,cpu,memory\n", "users.csv: holds no user, only a header"),
        "no demands": ("user,max_tasks\nann,1\n", "no column of demands"),
        "user twice": ("user,cpu\nann,1\nann,2\n", "line 3, column 'user': 'ann' is on line 2"),
        "demand negative": ("user,cpu\nann,1\nbob,-1\n", "users.csv, line 3, column 'cpu': must not be negative"),
        "demand of nothing": ("cpu,memory\n0,0\n", "users.csv, line 2: the demands must have at least one"),
        "demand in words": ("cpu,memory\n1,4 GB\n", "line 2, column 'memory': '4 GB' is not a number"),
        "bound negative": ("cpu,max_tasks\n1,-1\n", "line 2, column 'max_tasks': must not be negative"),
        "tasks too small": ("cpu\n1e-12\n", "large enough"),
        "no such resource": ("cpu,gpu\n1,1\n", "machines.csv: has no column 'gpu'"),
        "a count of users": ("cpu,count\n1,1\n", "column 'count' would be taken for a resource"),
    },
    ("place", "machines"): {
        "nobody has it": ("cpu,memory\n4,0\n", "machines.csv, column 'memory': no machine has any"),
        "no machine": ("cpu,memory\n", "machines.csv: holds no machine, only a header"),
        "capacity negative": ("cpu,memory\n4,4\n4,-4\n", "machines.csv, line 3, column 'memory': must not be neg"),
        "capacity missing": ("cpu,memory\n4,\n", "machines.csv, line 2, column 'memory': the number is missing"),
        "nothing at all": ("cpu,memory\n4,4\n0,0\n", "machines.csv, line 3: the machine must have at least one"),
        "count zero": ("count,cpu,memory\n0,4,4\n", "line 2, column 'count': '0' is not a number of machines"),
        "count negative": ("count,cpu,memory\n-2,4,4\n", "column 'count': '-2' is not a number of machines"),
        "count of halves": ("count,cpu,memory\n1.5,4,4\n", "column 'count': '1.5' is not a number of machines"),
        "too many": ("count,cpu,memory\n9999999,4,4\n2,4,4\n", "line 3, column 'count': more than 10000000"),
        "class twice": ("machine,cpu,memory\nm,4,4\nm,4,4\n", "line 3, column 'machine': 'm' is on line 2 already"),
    },
    ("cluster", "requests"): {
        "no user": ("user,max_vms,tolerance\n", "holds no user, only a header"),
        "no tolerance": ("user,max_vms\nann,1\n", "requests.csv: has no column 'tolerance'"),
        "user twice": ("user,max_vms,tolerance\na,1,0\na,1,0\n", "line 3, column 'user': 'a' is on line 2"),
        "wanted zero": ("max_vms,tolerance\n2,0\n0,0\n", "line 3, column 'max_vms': must be positive, got 0.0"),
        "wanted halves": ("max_vms,tolerance\n2.5,0\n",
                          "line 2, column 'max_vms': must be whole unless --fractions is given, got 2.5"),
        "wanted too many": ("max_vms,tolerance\n1e10,0\n", "line 2, column 'max_vms': must be at most 1e+09"),
        "wanted in words": ("max_vms,tolerance\n4 VMs,0\n", "column 'max_vms': '4 VMs' is not a number"),
        "tolerance missing": ("max_vms,tolerance\n4,\n", "line 2, column 'tolerance': the number is missing"),
        "tolerance in percent": ("max_vms,tolerance\n4,0\n4,50\n",
                                 "line 3, column 'tolerance': must be between 0 and 1, got 50.0"),
        "tolerance negative": ("max_vms,tolerance\n4,-0.1\n", "must be between 0 and 1, got -0.1"),
    },
    ("cluster", "clusters"): {
        "no cluster": ("cluster,capacity\n", "clusters.csv: holds no cluster, only a header"),
        "no capacity": ("cluster,vms\nnorth,4\n", "clusters.csv: has no column 'capacity'"),
        "cluster twice": ("cluster,capacity\nm,4\nm,4\n", "line 3, column 'cluster': 'm' is on line 2 already"),
        "cluster without a name": ("cluster,capacity\n,4\n", "line 2, column 'cluster': '' is not a name"),
        "capacity negative": ("cluster,capacity\nn,4\ns,-4\n",
                              "clusters.csv, line 3, column 'capacity': must not be negative, got -4.0"),
        "capacity too large": ("capacity\n2e9\n", "line 2, column 'capacity': must be at most 1e+09, got 2"),
        "capacity missing": ("cluster,capacity\nn,\n", "line 2, column 'capacity': the number is missing"),
        "nothing at all": ("capacity\n0.5\n0\n", "clusters.csv: the clusters must hold at least one VM"),
    },
    ("cluster --method spanning", "clusters"): {
        "a name that means more": ("cluster,capacity\nseveral,4\n", "no cluster can be named 'several'"),
    },
}
#: With a table of parts, machines are nobody's own.
SHARED = {"machines": "machine,cpu,memory\nleft,50,50\nright,50,50\n", "contributions": "user,part\nann,0.5\nbob,0.5\n"}


@pytest.mark.parametrize(("line", "file"), TABLES)
def test_tables(line: str, file: str, tmp_path: Path) -> None:
    name, *options = line.split()
    target, usual = tmp_path / "out.json", SHARED if file == "contributions" else {}
    for case, (content, part) in TABLES[line, file].items():
        given = [*COMMANDS[name].given(tmp_path, **{**usual, file: content}), *options, "--explain"]
        said = refused(run(*given, "--output", target))
        assert part in said, case
        assert len(said) < 600, case
        assert not target.exists()


@pytest.mark.parametrize("command", COMMANDS.values(), ids=list(COMMANDS))
def test_damage_to_any_table(command: Command, tmp_path: Path) -> None:
    usual = command.files | (SHARED if command is PERIODS else {})
    for file, text in usual.items():
        head, line = text.splitlines()[:2]
        width = head.count(",") + 1
        words = {"{head}": head, "{line}": line, "{width}": str(width), "{more}": str(width + 1)}
        for case, (content, part) in ANY.items():
            for mark, word in words.items():
                content = content.replace(*(x.encode() if isinstance(content, bytes) else x for x in (mark, word)))
                part = part.replace(mark, word)
            said = refused(run(*command.given(tmp_path, **{**usual, file: content}), *command.options))
            assert part in said, (file, case)
            assert f"{file}.csv" in said, (file, case)
            assert len(said) < 600, (file, case)


# ----------------------------------------------------------------------------------------------------- what is too much


@pytest.mark.parametrize(("command", "module", "limit", "least", "options", "said"), [
    (PERIODS, periods, "MOST_CELLS", 12, [], "3 periods (every one from 1 to 3) of 2 users on 2 machines are too many"),
    (PERIODS, periods, "_MOST_PLACES", 12, ["--placement", "{folder}/placed.csv"],
     "--placement: 3 periods times 2 users times 2 machines must not pass 11"),
    (PHASES, phases, "MOST_CELLS", 18, [], "3 phases of 3 users are too many"),
    (ALLOCATE, tables, "_MOST_CELLS", 6, [], "line 3: holds more than 5 cells"),
    (ALLOCATE, tables, "_MOST_LINES", 3, [], "more than 2 lines"),
])  # fmt: skip
def test_what_is_too_large_is_refused_before_it_is_made(
    command: Command, module: object, limit: str, least: int, options: list[str], said: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    arguments = [*command.given(tmp_path), *command.options, *(part.format(folder=tmp_path) for part in options)]
    monkeypatch.setattr(module, limit, least - 1)
    assert said in refused(run(*arguments))
    assert not (tmp_path / "placed.csv").exists()
    monkeypatch.setattr(module, limit, least)
    assert run(*arguments)[0] == 0
