"""What the command line refuses, each with words of the one line that says why; any other table it computes."""

import gzip
from pathlib import Path

import pytest

from tests.commands import (
    CLUSTERS,
    EVERY,
    MACHINES,
    PERIODS,
    PHASES,
    POOL,
    Case,
    refused,
    run,
    run_laboratory,
)

# ------------------------------------------------------------------------------------------------- the words of a call

#: Whole calls, refused before any file is read or because there is none.
LINES = {
    "alocate": "did you mean allocate?",
    "allocate": "TABLE",
    "allocate u.csv --mechanism best": "invalid choice",
    "allocate u.csv --verif": "unrecognized",
    "allocate u.csv --capacity": "--capacity",
    "allocate u.csv --capacity cpu=9 --machines m.csv": "not allowed with",
    "allocate - --machines -": "only one file can be -",
    f"allocate {'x' * 5000}": "name",
    "allocate .": "Is a directory",
    "allocate none.csv": "none.csv: No such file",
    "allocate u.csv --output out.parquet": "--output must end in .csv or .json",
}

REQUESTS = Case({"requests": CLUSTERS.files["requests"]}, "virtual_cluster")
#: Options that do not go with good tables; for the pool, those on how much there is come in place of its own.
OPTIONS: list[tuple[Case, str, str]] = [
    *((POOL, line, said) for line, said in {
        "": "users.csv: how much is there of cpu, memory? Say --capacity cpu=NUMBER memory=NUMBER, or --machines FILE",
        "--capacity cpu=1": "how much is there of memory? Say --capacity memory=NUMBER",
        "--capacity cpu": "name=number", "--capacity cpu=nine": "name=number", "--capacity cpu=nan": "name=number",
        "--capacity cpu=inf": "name=number", "--capacity =1": "name=number",
        "--capacity disk=1": "none of the resources cpu, memory", "--capacity user=1": "none of the resources",
        "--capacity cpu=9,memory=18": "none of the resources", "--capacity cpu=9 memory=18Gi": "or such as 16Gi",
        "--capacity cpu=9 memory=18 cpu=8": "gives 'cpu' twice",
        "--capacity cpu=-9 memory=1": "--capacity cpu must be positive",
        "--capacity cpu=0 memory=1": "--capacity cpu must be positive, got 0.0",
        "--capacity cpu=1 memory=1e999": "--capacity memory must be finite",
        "--capacity cpu=1e99 memory=1": "--capacity cpu must be between",
        "--mechanism dmfa_srq --capacity cpu=1e99 memory=1": "--capacity cpu must be between",
        "--mechanism dmfa_srq": "how much is there of cpu, memory",
        "--mechanism drfh": "drfh needs a table without periods, and --machines; for what is given there are drf, ",
        "--mechanism karma": "karma needs a column of periods", "--mechanism virtual_cluster": "columns max_vms and",
    }.items()),
    *((POOL, f"--capacity cpu=9 memory=18 {line}", said) for line, said in {
        "--against drfh": "needs a table without periods, and --machines", "--against then": "invalid choice",
        "--against now": "users.csv: --against now needs a mechanism for one moment",
        "--set stuck=skip": "--set 'stuck=skip': drf has floor=counted|apart to set, each once",
        "--placement": "drf fills one pool; --machines and drfh or tv_drf would do",
        "--user-column team": "--user-column 'team' is none of the columns 'user', 'cpu', 'memory'",
        "--explain zoe": "users.csv (ann, bob)", "--explain ann:1": "--explain 'ann:1' is no user",
        "--mechanism drf_by_task --set stuck=wait": "--set stuck must be one of skip, stop, got 'wait'",
    }.items()),
    *((PHASES, f"--capacity cpu=9 memory=18 {line}", said) for line, said in {
        "--mechanism karma --set rho=0.5": "--set 'rho=0.5': karma has alpha, initial_credit to set, each once",
        "--set rho": "cbdrf has rho, step_up", "--set rho=1 --set rho=1": "each once",
        "--set rho=1.5": "--set rho must be between 0 and 1, got 1.5", "--set rho=x": "--set rho must hold numbers",
        "--set step_up=nan": "--set step_up must be", "--set step_down=1e99": "--set step_down must be between",
        "--set credit_cap=0.5": "--set credit_cap must be", "--set credit_cap=no": "credit_cap must be one number",
        "--set held=goes": "--set held must be one of returns, stays", "--set grant=": "--set grant must be one of",
        "--mechanism karma --set alpha=2": "--set alpha must be between 0 and 1",
        "--mechanism drf": "drf needs a table without periods",
        "--mechanism tv_drf": "tv_drf needs a column of periods (period, day, date, ...), and --machines",
        "--explain dan": "--explain 'dan' is no user of", "--explain ann:4": "nor USER:PHASE of one",
        "--explain :1": "--explain ':1'", "--mechanism cbdrf --placement": "fills one pool",
    }.items()),
    *((PERIODS, line, said) for line, said in {
        "--method lp": "--set method must be one of heuristic, lexicographic",
        "--set memory=1": "--set memory must be", "--mechanism drfh": "drfh needs a table without periods",
        "--placement --method lexicographic": "fills one pool",
    }.items()),
    *((MACHINES, line, said) for line, said in {
        "--mechanism gdrf --set match=best": "--set match must be one of",
        "--set match=any": "drfh has method=best_fit|first_fit|fluid to set, each once",
        "--mechanism gdrf --method fluid": "--set 'method=fluid': gdrf has seed, match=nearest|same|any",
        "--mechanism tv_drf": "tv_drf needs a column of periods",
        "--mechanism drf --placement": "--mechanism drfh would do",
        "--mechanism gdfr": "did you mean gdrf?", "--mechanism DRF-BY-TASK": "did you mean drf_by_task?",
    }.items()),
    *((REQUESTS, line, said) for line, said in {
        "": "how much is there of CLUSTER? Say --capacity CLUSTER=NUMBER",
        "--capacity many": "--capacity must be given as name=number, got 'many'",
        "--capacity 12": "name=number, got '12'",
        "--capacity north=12 south=-1": "--capacity south must not be negative, got -1.0",
        "--capacity north=1e999": "--capacity north must be finite, got inf",
        "--capacity a=0 b=0": "must hold at least one VM somewhere",
    }.items()),
    *((CLUSTERS, line, said) for line, said in {
        "--method knapsack": "--set method must be one of", "--set load=x": "--set load must be one of",
        f"--set seed={2**40}": "--set seed must be a whole number from 0",
        f"--set seed={'9' * 30}": "--set seed must be a whole number", "--set seed=-1": "--set seed must be",
        "--mechanism drf": "for what is given there are virtual",
        "--against virtual_cluster": "--method has others",
    }.items()),
]  # fmt: skip


@pytest.mark.parametrize("line", LINES)
def test_lines(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said = refused((run_laboratory if line.startswith("claims") else run)(*line.split(" ")))
    assert LINES[line] in said
    assert list(tmp_path.iterdir()) == []


def test_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for case, line, said in OPTIONS:
        arguments = case.given(tmp_path)[: 2 * len(case.files)]
        before = sorted(tmp_path.iterdir())
        assert said in refused(run(*arguments, *line.split())), line
        assert sorted(tmp_path.iterdir()) == before


# ------------------------------------------------------------------------------------------------------------- tables

_PACKED = gzip.compress(b"user,cpu\nann,1\n", mtime=0)

#: Damage to any table at all: what it is put in place of, of which {head}, {line} and {width} are, and what is said.
ANY: dict[str, tuple[str | bytes, str]] = {
    "empty": ("", "is empty"),
    "blank": ("\n", "is empty"),
    "gzip of nothing": (gzip.compress(b""), "is empty"),
    "gzip cut short": (_PACKED[:-9], "Cannot be unpacked"),
    "gzip with junk inside": (_PACKED[:10] + b"\xff" * 40, "Cannot be unpacked"),
    "semicolons": ("user;cpu\na;1\n", "columns are separated by commas"),
    "tabs": ("user\tcpu\na\t1\n", "columns are separated by commas"),
    # texts that schedulers print for people, and logs of jobs (the last: cs.huji.ac.il/labs/parallel/workload/swf.html)
    "squeue": (
        "   JOBID PARTITION  NAME  USER ST  TIME  NODES NODELIST(REASON)\n 1 gpu x ann R 1:00 1 n[1,3]\n",
        "`squeue --json`",
    ),
    "sinfo": ("PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST\nall* up 1:00 2 idle n[1-2]\n", "`sinfo --json`"),
    "sacct": (
        "JobID           JobName  Partition    Account\n------------ ---------- ---- ----\n",
        "past jobs (sacct)",
    ),
    "sacct -P": ("JobID|User|ReqTRES\n1|ann|cpu=1,mem=1G\n", "past jobs (sacct)"),
    "scontrol": ("NodeName=n1 Arch=x86_64 CPUAlloc=0\n", "`sinfo --json`"),
    "kubectl": ("NAMESPACE   NAME   READY   STATUS\nweb  p 1/1 Running\n", "-A -o json`"),
    "kubectl get nodes": ("NAME   STATUS   ROLES    AGE\nn1     Ready    <none>   1d\n", "-A -o json`"),
    "YAML": ("apiVersion: v1\nkind: List\nitems:\n- kind: Pod\n", "YAML, or a description; give what `-o json`"),
    "YAML of Slurm": ("---\njobs:\n- account: a\n", "`--json` (Slurm)"),
    "blanks": ("team   cpu   memory\nann  1  2\n", "set in columns by blanks"),
    "SWF": ("; Version: 2.2\n; Computer: SP2\n1 0 1 9 4 -1 -1 4 9 -1 1 1 1 -1 1 -1 -1 -1\n", "a log of jobs (SWF)"),
    "SWF without a head": ("  1 0 1 9 4 -1 -1 4 9 -1 1 1 1 -1 1 -1 -1 -1\n", "a log of jobs (SWF)"),
    "an index of pandas": (",{head}\n0,{line}\n", "the first column has no name: an index of pandas"),
    "column twice": ("{head},x,x\n{line},1,1\n", "line 1: 'x' is not the name of one column"),
    "column without a name": ("{head},,more\n{line},1,1\n", "line 1: a column must be a name"),
    "column with an escape": (
        "{head},\x1b[31m\n{line},1\n",
        "line 1: a column must be a name of at most 200 printable characters, got '\\x1b[31m'",
    ),
    "header only": ("{head}\n", "or only a header"),
    "header and blank lines": ("{head}\n\n , \n", "or only a header"),
    "short row": ("{head},x\n\n{line}\n", "line 3: {width} columns where the header has {more}"),
    "long row": ("{head}\n{line}\n{line},1\n", "line 3: {more} columns where the header has {width}"),
    "open quote": ('{head}\n"{line}\n', "is not CSV"),
    "text after a quote": ('{head}\n"a"b,{line}\n', "is not CSV"),
    "huge field": ("{head}\n" + "a" * 200_000, "is not CSV in UTF-8 (field larger"),
    "null bytes": ("{head}\n{line}\0\n", "line 2"),
    "latin 1": ("{head}\n{line}\xe9\n".encode("latin1"), "is not CSV in UTF-8"),
    "binary": (bytes(range(256)) * 8, "is not CSV in UTF-8"),
}

#: Bad tables: what is given, the file that is bad, its content, and what is said of it.
BAD: list[tuple[Case, str, str, str]] = [
    *((POOL, "users", *one) for one in (
        ("user,weight\na,1\n", "no column of demands"),
        ("user,cpu\na,much\n", "no column of demands"),
        ("ann,1,1\nbob,3,1\n", "users.csv, line 1 looks like data: a header is missing"),
        ("user,cpu,Count\na,1,3\n", "no resource can be called 'Count', which has another meaning"),
        ("user,cpu,memory,id\na,1,2,7\n", "how much is there of id?"),
        ("user,cpu,memory\na,1,1\nb,1,1\n\na,2,1\n", "line 5, column 'user': 'a' stands in "),
        ("user,cpu\n ,1\n", "line 2, column 'user': must be a name of at most 200"),
        ("user,cpu\na\x1b[31m,1\n", "must be a name"),
        (f"user,cpu\n{'a' * 300},1\n", "must be a name"),
        ("user,cpu,memory\na,1,4 GB\n",
         "line 2, column 'memory': '4 GB' is not a number; cells are plain, such as 1.5, all of a column in one unit"),
        ("user,cpu,memory\na,1,4gb\n", "all of a column in one unit, or as 500m and 4Gi"),  # as PBS writes it
        ('user,cpu,memory\na,1,"1,5"\n', "'1,5' is not a number; cells are plain"),
        ('user,cpu,memory\na,1,"1,5"\n', "write 1.5 for 1,5 (a decimal comma)"),
        ('user,cpu,memory\na,1,"1,024"\n', "and 1024 for 1,024 (a separator of thousands)"),
        ("user,cpu,memory\na,1,1\nb,2,1\nTotal,3,2\n", "users.csv, line 4: 'Total' is the sum of the others; leave"),
        ("user,cpu,memory\na,1,512Mi\nb,1,1\n", "line 3, column 'memory': '1' has no unit, and others in the column"),
        ("user,cpu,memory\na,1,1\na,1,2\n", "where a line is a job, sum up first: a line for each user with the mean"),
        ("user,cpu,memory\na,1_000,1\n", "'1_000' is not a number"),
        ("user,cpu,memory\na,0x10,1\n", "'0x10' is not a number"),
        ("user,cpu,memory\na,1,1\nb,\u0661,1\n", "is not a number"),
        ("user,cpu,memory\na,1,1\nb,NaN,1\n", "line 3, column 'cpu': the number is missing"),
        ("user,cpu,memory\na,1,\nb,1,1\n", "line 2, column 'memory': the number is missing"),
        ("user,cpu,memory\na,inf,1\n", "'inf' is not a number"),
        ("user,cpu,memory\na,1e999,1\n", "line 2, column 'cpu': '1e999' is not a number"),
        ("user,cpu,memory\na,1,1\nb,1,-2\n", "line 3, column 'memory': must not be negative, got -2.0"),
        ("user,cpu,memory\na,1,1\n\nb,1,1e99\n", "line 4, column 'memory': must be zero or between"),
        ("user,cpu,memory\na,0,0\n", "line 2: the demands must have at least one positive entry"),
        ("user,cpu,memory,weight\na,1,1,1\nb,1,1,0\n", "line 3, column 'weight': must be positive"),
        ("user,cpu,memory,weight\na,1,1,\n", "line 2, column 'weight': the number is missing"),
        ("user,cpu,memory,weight\na,1,1,-1\n", "column 'weight': must be positive"),
        ("user,cpu,memory,max_tasks\na,1,1,-1\n", "column 'max_tasks': must not be negative"),
        ("user,cpu,memory,min_tasks\na,1,1,-1\n", "column 'min_tasks': must not be negative"),
        ("user,cpu,memory,min_tasks\na,1,1,1\nb,1,3,6\n", "min_tasks must fit the pool, which has 18 of memory"),
        ("user,cpu,memory,Tasks\na,1,1,nan\n", "column 'Tasks': the number is missing"),
        (f"user,cpu,memory\nann,{'1' * 100_000}x,1\n", "line 2, column 'cpu'"),
    )),
    *((PHASES, "phases", *one) for one in (
        ("phase,cpu,memory\n1,1,1\n", "has a column 'phase' and none with names of users; --user-column names it"),
        ("phase,user,released\n1,a,1\n", "no column of demands"),
        ("phase,user,cpu,memory\n,a,1,1\n", "line 2, column 'phase': must be a name of at most 200"),
        ("phase,user,cpu,memory\n1,,1,1\n", "line 2, column 'user': must be a name of at most 200"),
        ("phase,user,cpu\n1,a,1\n2,a,1\n\n1,a,2\n", "line 5, column 'user': 'a' stands in "),
        ("phase,user,cpu,memory\n1,a,1,1\n1,b,1,1 GB\n", "line 3, column 'memory': '1 GB' is not a number"),
        ("phase,user,cpu,memory\n2,b,1,1\n1,a,1,-1\n", "line 3, column 'memory': must not be negative, got -1.0"),
        ("phase,user,cpu,memory\n1,a,1e99,1\n", "line 2, column 'cpu': must be zero or between"),
        ("phase,user,cpu,memory,released\n1,a,1,1,1\n2,c,1,1,1\n1,b,1,1,1.5\n",
         "line 4, column 'released': must be between 0 and 1, got 1.5"),
        ("phase,user,cpu,memory,released\n1,a,1,1,\n", "line 2, column 'released': the number is missing"),
        ("phase,user,cpu,memory,max_tasks\n1,a,1,1,1\n2,b,1,1,-1\n", "line 3, column 'max_tasks': must not be"),
    )),
    *((PERIODS, "demands", *one) for one in (
        ("period,user,tasks,cpu\n1,ann,1,1\n3,ann,1.5,1\n1,bob,1,1\n", "line 3, column 'tasks': must be whole"),
        ("period,user,Tasks,cpu\n1,ann,-1,1\n1,bob,1,1\n", "line 2, column 'Tasks': must not be negative"),
        ("period,user,tasks,cpu,memory\n1,bob,1,1,1\n1,ann,1,1,-1\n", "line 3, column 'memory': must not be negative"),
        ("period,user,tasks,cpu\n1,ann,0,0\n1,bob,1,0\n", "line 3, column 'tasks': must be 0 where"),
        ("period,user,tasks,cpu,fpga\n1,a,1,1,1\n", "machines.csv: has no column 'fpga'"),
        ("period,user,tasks,cpu\n1,ann,1,1\n", "machines.csv: 'bob' fits no user of"),
    )),
    *((PERIODS, "machines", *one) for one in (
        ("user,cpu\nann,1\nbob,1\n", "machines.csv: has no column 'memory', only 'user', 'cpu'"),
        ("user,cpu,memory\nann,1,\nbob,1,1\n", "machines.csv, line 2, column 'memory': the number"),
        ("user,cpu,memory\nann,1,1\nbob,1,-1\n", "machines.csv, machine '2', column 'memory': must not"),
        ("user,cpu,memory\nann,1,0\nbob,1,0\n", "machines must have some of memory"),
        ("user,cpu,memory\nann,1,1\nbob,0,0\n", "machines.csv, machine '2': must have"),
        ("machine,user,cpu,memory\nm,ann,1,1\n\nm,bob,1,1\n", "line 4, column 'machine': 'm' stands in "),
        ("user,cpu,memory\nann,1,1\n", "machines.csv: what 'bob' brought must be positive somewhere"),
        ("cpu,memory,ann,Bob\n1,1,0.5,0.5\n", "machines.csv: 'Bob' fits no user of"),
        ("cpu,memory,ann,bob\n1,1,0.5,0.4\n", "machines.csv: the parts must sum to 1 over the users"),
        ("cpu,memory,ann,bob\n1,1,1.5,-0.5\n", "machines.csv: what 'bob' brought must not be negative, got -0.5"),
    )),
    *((MACHINES, "users", *one) for one in (
        ("user,cpu\nann,1\nbob,-1\n", "users.csv, line 3, column 'cpu': must not be negative"),
        ("cpu,memory\n0,0\n", "users.csv, line 2: the demands must have at least one"),
        ("cpu,max_tasks\n1,-1\n", "line 2, column 'max_tasks': must not be negative"),
        ("cpu\n1e-12\n", "large enough"),
        ("cpu,gpu\n1,1\n", "machines.csv: has no column 'gpu'"),
    )),
    *((MACHINES, "machines", *one) for one in (
        ("cpu,memory\n4,0\n", "none holds 'memory'"),
        ("cpu,memory\n4,4\n4,-4\n", "machines.csv, machine '2', column 'memory': must not be neg"),
        ("cpu,memory\n4,4\n0,0\n", "machines.csv, machine '2': must have at least one"),
        ("count,cpu,memory\n0,4,4\n", "line 2, column 'count': '0' is not a number of machines"),
        ("count,cpu,memory\n-2,4,4\n", "column 'count': '-2' is not a number of machines"),
        ("count,cpu,memory\n1.5,4,4\n", "column 'count': '1.5' is not a number of machines"),
        ("count,cpu,memory\n9999999,4,4\n2,4,4\n", "column 'count': more than 10000000"),
        ("machine,cpu,memory\nm,4,4\nm,4,4\n", "line 3, column 'machine': 'm' stands in "),
    )),
    *((CLUSTERS, "requests", *one) for one in (
        ("user,max_vms\nann,1\n", "requests.csv: has no column of demands (numbers), only 'user', 'max_vms'"),
        ("user,max_vms,tolerance\na,1,0\na,1,0\n", "line 3, column 'user': 'a' stands in "),
        ("max_vms,tolerance\n2,0\n0,0\n", "line 3, column 'max_vms': must be positive, got 0.0"),
        ("max_vms,tolerance\n2.5,0\n", "line 2, column 'max_vms': must be whole unless --set whole=false is given"),
        ("max_vms,tolerance\n1e10,0\n", "line 2, column 'max_vms': must be at most 1e+09"),
        ("max_vms,tolerance\n4 VMs,0\n", "column 'max_vms': '4 VMs' is not a number"),
        ("max_vms,tolerance\n4,0\n4,50\n", "line 3, column 'tolerance': must be between 0 and 1, got 50.0"),
    )),
    *((CLUSTERS, "clusters", *one) for one in (
        ("cluster,vms\nnorth,4\n", "clusters.csv: has no column 'capacity'"),
        ("cluster,capacity\n,4\n", "line 2, column 'cluster': must be a name of at most 200"),
        ("cluster,capacity\nn,4\ns,-4\n", "clusters.csv, capacity of s must not be negative, got -4.0"),
        ("capacity\n2e9\n", "clusters.csv, capacity of 1 must be at most 1e+09, got 2"),
        ("capacity\n0.5\n0\n", "must hold at least one VM"),
    )),
]  # fmt: skip


@pytest.mark.parametrize(("case", "file", "content", "said"), BAD)
def test_bad_tables(case: Case, file: str, content: str, said: str, tmp_path: Path) -> None:
    given = case.given(tmp_path, **{file: content})
    options = ["--mechanism", "karma"] if "max_tasks" in content and case is PHASES else []
    target = tmp_path / "out.json"
    line = refused(run(*given, *options, "--explain", "--output", target))
    assert said in line
    assert len(line) < 600
    assert not target.exists()


def test_what_does_not_go_together_in_good_tables(tmp_path: Path) -> None:
    demands = "period,user,cpu,memory\n1,ann,1,1\n1,bob,1,1\n"
    said = refused(run(*PERIODS.given(tmp_path, demands=demands), "--set", "unserved=waits"))
    assert "must be finite where unserved tasks wait" in said
    shapes = "user,cpu,memory\nann,2,1\nbob,1,2\n"
    assert "one shape" in refused(run(*PERIODS.given(tmp_path, machines=shapes), "--method", "lexicographic"))


@EVERY
def test_damage_to_any_table(case: Case, tmp_path: Path) -> None:
    usual = case.files
    for file, text in usual.items():
        head, line = text.splitlines()[:2]
        width = head.count(",") + 1
        words = {"{head}": head, "{line}": line, "{width}": str(width), "{more}": str(width + 1)}
        for name, (content, part) in ANY.items():
            for mark, word in words.items():
                content = content.replace(*(x.encode() if isinstance(content, bytes) else x for x in (mark, word)))
                part = part.replace(mark, word)
            said = refused(run(*case.given(tmp_path, **{**usual, file: content})))
            assert part in said, (file, name)
            assert f"{file}.csv" in said, (file, name)
            assert len(said) < 600, (file, name)


# ------------------------------------------------------------------------------------------------ any table at all
