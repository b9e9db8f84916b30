"""What the readers and digests of all traces promise alike, on small files of each."""

import gzip
import hashlib
import importlib
import json
import math
import os
import re
import tempfile
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import Mock

import numpy as np
import pytest

from fairbook import cli
from fairbook.errors import InvalidInput, TraceError
from fairbook.sweeps import encode
from fairbook.traces import alibaba2017, alibaba_gpu2023, google2011, paths
from fairbook.traces.raw import files
from fairbook.traces.raw.google2011 import MissingPartsWarning
from tests.trace_files import raw_folder, write

HASH = "70s3v5qRyCO/1PCdI6fVXnrW8FU/w+5CKRSa72xgcIo="
POD = "openb-pod-{k},{cpu},5600,1,470,T4|P100,LS,Running,-5,9,6"
BIG = "9" * 19


class Kit(NamedTuple):
    """A trace: tables, good lines of the main one and of the other, a header that it may have, ways to read it."""

    name: str
    main: str
    lines: tuple[str, ...]
    second: str
    others: tuple[str, ...]
    header: str
    whole: bool
    rounding: dict[str, int]
    bad: tuple[tuple[str, str], ...]
    """Bad lines of the main table, and what is said of them."""
    bad_others: tuple[tuple[str, str], ...]

    @property
    def raw(self) -> Any:
        return importlib.import_module(f"fairbook.traces.raw.{self.name}")

    def load(self, folder: Path | None = None) -> Any:
        return importlib.import_module(f"fairbook.traces.{self.name}").load_digest(folder)

    def digest(self, source: Any, out: Path, **options: Any) -> Any:
        return self.raw.digest(source, out, **({"progress": False} if self.name == "google2011" else {}), **options)

    def read(self, source: Any) -> None:
        """Digest files, a main table alone with a good second one."""
        with tempfile.TemporaryDirectory() as folder:
            others = write(Path(folder), "".join(f"{x}\n" for x in self.others), f"{self.second}.csv")
            alone = isinstance(source, Path) and source.is_file()
            self.digest([source, others] if alone else source, Path(folder, "out"))

    def lay(self, folder: Path, lines: Any = None, suffix: str = ".csv", others: Any = None) -> Path:
        """Write a folder of the trace."""
        write(folder, "".join(f"{x}\n" for x in (self.lines if lines is None else lines)), self.main + suffix)
        write(folder, "".join(f"{x}\n" for x in others or self.others), self.second + suffix)
        return folder


def event(
    k: int, *, time: Any = None, task: Any = 0, event: Any = 0, user: str = HASH, cpu: str = "0.5", memory: str = "0.25"
) -> str:
    return f"{k if time is None else time},,{k // 2 + 7},{task},,{event},{user},2,9,{cpu},{memory},4e-04,0"


def group(
    k: int,
    *,
    created: Any = 5,
    task: Any = None,
    n: Any = 3,
    status: str = "Failed",
    cpu: Any = 50,
    memory: str = "0.25",
) -> str:
    return f"{created},9,{k // 2},{k if task is None else task},{n},{status},{cpu},{memory}"


KITS = (
    Kit(
        "google2011",
        "task_events",
        tuple(event(k, cpu=f"0.{k + 1}", task=k % 2) for k in range(8)),
        "machine_events",
        ("0,5,0,P,0.5,0.25", "0,6,0,Q,1,1", "9,5,1,P,0.5,0.25"),
        "",
        False,
        {},
        (
            (event(1, time="x"), r"column 1 \(time\) is not a time"),
            (event(1, time=-1), r"column 1 \(time\)"),
            (event(1, time="1.5"), r"column 1 \(time\)"),
            (event(1, time=2**63), r"column 1 \(time\)"),
            (event(1, time=""), r"column 1 \(time\) is empty but mandatory"),
            (event(1, task="7 "), r"column 4 \(task_index\)"),
            (event(1, task=BIG), r"column 4 \(task_index\)"),
            (event(1, task="1e3"), r"column 4 \(task_index\)"),
            (event(1, event=9), r"column 6 \(event_type\) is not one of 0, 1, 2, 3, 4, 5, 6, 7, 8"),
            (event(1, user="a b"), r"column 7 \(user\) is not a plain text"),
            (event(1, user='"a"'), r"column 7 \(user\)"),
            (event(1, user="\x00"), r"column 7 \(user\)"),
            (event(1, user="u" * 65), r"column 7 \(user\)"),
            *(
                (event(1, cpu=bad), r"column 10 \(cpu_request\) is not a non-negative number")
                for bad in ("nan", "inf", "1e999", "-0.5", "+1", "0.5.5", ".", "e5", "5e", "1_0", "9" * 81, "0x1")
            ),
            (event(1, memory="x"), r"column 11 \(memory_request\)"),
            (event(1).replace("4e-04", "-0"), r"column 12 \(disk_request\)"),
            (event(1) + "\rx", r"column 13 \(different_machines\)"),
            ("time,missing,job,task,machine,event,user,class,priority,cpu,memory,disk,d", r"column 1 \(time\)"),
        ),
        (
            ("x,5,0,P,0.5,0.25", r"column 1 \(time\)"),
            ("0,,0,P,0.5,0.25", r"column 2 \(machine_id\) is empty"),
            ("0,5,3,P,0.5,0.25", r"column 3 \(event_type\) is not one of 0, 1, 2"),
            ("0,5,0,P,half,0.25", r"column 5 \(cpu\)"),
        ),
    ),
    Kit(
        "alibaba2017",
        "batch_task",
        tuple(group(k, n=1001 * k + 1, memory=f"0.01234{k}") for k in range(8)),
        "server_event",
        ("0,1,add,,64,0.69,1", "0,2,add,,64,1,1", "9,2,softerror,disk_full,0,0,0"),
        "task_create_time, task_end_time, job_id, task_id,number_of_instances, status, number_of_cpus_requested_per_"
        "instance_in_the_task,normalized_memory_requested_per_instance_in_the_task",
        True,
        {"memory_digits": 3, "instance_digits": 3},
        (
            (group(9, created="+5"), r"column 1 \(create_timestamp\) is not an integer"),
            (group(9, created="5.0"), r"column 1 \(create_timestamp\)"),
            (group(9, created=BIG), r"column 1 \(create_timestamp\)"),
            (group(9, task="1_0"), r"column 4 \(task_id\)"),
            (group(9, task=-1), r"column 4 \(task_id\)"),
            (group(9, n=0), r"column 5 \(instance_num\) is not a positive integer"),
            (group(9, n=""), r"column 5 \(instance_num\) is empty"),
            (group(9, status="failed"), r"column 6 \(status\) is not one of Ready, Waiting"),
            (group(9, cpu="0.5"), r"column 7 \(plan_cpu\) is not a non-negative integer"),
            (group(9, memory="nan"), r"column 8 \(plan_mem\)"),
            (group(9, memory="0.1\r\r"), r"column 8 \(plan_mem\)"),
            (group(0), r"job_id 0, task_id 0 is there already \(.*batch_task\.csv(\.gz)?, line 1\)"),
        ),
        (
            ("0,1,remove,,64,0.5,1", r"column 3 \(event_type\) is not one of add, softerror, harderror"),
            ("0,1,add,a b,64,0.5,1", r"column 4 \(event_detail\)"),
            ("0,1,add,,64.5,0.5,1", r"column 5 \(cpu\)"),
            ("0,1,add,,64,inf,1", r"column 6 \(memory\)"),
        ),
    ),
    Kit(
        "alibaba_gpu2023",
        "openb_pod_list_default",
        tuple(POD.format(k=k, cpu=3152 + 500 * (k % 3)) for k in range(8)),
        "openb_node_list_all_node",
        ("a,96000,393216,8,G2", "b,32000,65536,0,", "c,96000,393216,8,G2"),
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time",
        True,
        {"digits": 3},
        (
            (POD.format(k='"', cpu=1), r"column 1 \(name\) is not a plain name"),
            (POD.format(k=9, cpu=""), r"column 2 \(cpu_milli\) is empty"),
            (POD.format(k=9, cpu="1e3"), r"column 2 \(cpu_milli\)"),
            (POD.format(k=9, cpu=BIG), r"column 2 \(cpu_milli\)"),
            *(
                (
                    POD.format(k=9, cpu=1).replace(",1,470,", f",{gpus},{milli},"),
                    rf"column 5 \(gpu_milli\) must be 0 without a GPU, .* more: {milli} with {gpus}",
                )
                for gpus, milli in ((0, 470), (1, 0), (1, 1001), (2, 500))
            ),
            (POD.format(k=9, cpu=1).replace("P100", ""), r"column 6 \(gpu_spec\) is not plain words separated by \|"),
            (POD.format(k=9, cpu=1).replace("LS", "ls"), r"column 7 \(qos\) is not one of LS, BE"),
            (POD.format(k=9, cpu=1).replace(",-5,", ",,"), r"column 9 \(creation_time\) is empty"),
            (POD.format(k=9, cpu=1) + "x", r"column 11 \(scheduled_time\)"),
            (POD.format(k=0, cpu=1), r"name openb-pod-0 is there already \(.*default\.csv(\.gz)?, line 1\)"),
        ),
        (
            ("x,0,1,1,", r"column 2 \(cpu_milli\) is not a positive integer"),
            ("x,1,1,-1,", r"column 4 \(gpu\)"),
            ("x,1,1,1,V 100", r"column 5 \(model\) is not a plain word"),
            ("a,1,1,1,", r"sn a is there already \(.*all_node\.csv(\.gz)?, line 1\)"),
        ),
    ),
)
each = pytest.mark.parametrize("kit", KITS, ids=[kit.name for kit in KITS])


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


# ---------------------------------------------------------------------------------------------------------- reading


@each
def test_same_bytes_whatever_the_order_the_parts_and_the_dress(kit: Kit, tmp_path: Path, monkeypatch: Any) -> None:
    kit.digest(kit.lay(tmp_path / "a"), tmp_path / "out")
    names = {f"{kit.name}{end}" for end in (".json", "_requests.csv", "_machines.csv")}
    assert set(contents(tmp_path / "out")) == names | ({"alibaba2017_jobs.csv"} if kit.name == "alibaba2017" else set())
    tables = {name: data for name, data in contents(tmp_path / "out").items() if name.endswith(".csv")}
    dressed = [*([kit.header] if kit.header else []), *kit.lines[::-1]]
    kit.lay(tmp_path / "b", dressed, ".csv.gz")
    kit.lay(tmp_path / "c", [f"{line}\r" for line in dressed])
    parts = [
        write(tmp_path / "d", "".join(f"{x}\n" for x in kit.lines[k::3]), f"{kit.main}_part-0000{k}-of-00003.csv")
        for k in (2, 0, 1)
    ]
    parts.insert(1, write(tmp_path / "d", "".join(f"{x}\n" for x in kit.others), f"{kit.second}.csv"))
    write(tmp_path / "d", "not,a,part\n", "schema.csv")
    for k, source in enumerate((tmp_path / "b", tmp_path / "c", tmp_path / "d", parts, tuple(map(str, parts[::-1])))):
        if k == 2:
            monkeypatch.setattr(files, "_BLOCK_BYTES", 11)  # lines over many blocks
        report = kit.digest(source, tmp_path / "again")
        assert {name: contents(tmp_path / "again")[name] for name in tables} == tables
        assert report.outputs == {name: hashlib.sha256(data).hexdigest() for name, data in tables.items()}
        if kit.whole or k < 2:  # the record of the Google trace says which parts were read
            kit.raw.verify_digest(source, tmp_path / "out")
    assert [entry["part"] for entry in next(iter(report.provenance["inputs"].values()))] == [0, 1, 2]
    assert json.loads((tmp_path / "again" / f"{kit.name}.json").read_text()) == report.provenance


WIDTHS = tuple((bad, f"expected .* columns, found {n}") for bad, n in (("", 1), ("1,2", 2), ("," * 20, 21)))
CASES = [
    (kit, table, bad, said)
    for kit in KITS
    for table, lines in (("main", kit.bad), ("second", kit.bad_others))
    for bad, said in lines + WIDTHS
]


@pytest.mark.parametrize(("kit", "table", "bad", "said"), CASES, ids=[f"{case[0].name}-{case[2]!r}" for case in CASES])
def test_a_bad_line_is_named(tmp_path: Path, kit: Kit, table: str, bad: str, said: str) -> None:
    name, good = (kit.main, kit.lines) if table == "main" else (kit.second, kit.others)
    for suffix in (".csv", ".csv.gz"):
        lines = [*good[:2], bad, *good[2:]]
        folder = kit.lay(tmp_path / suffix, *((lines, suffix) if table == "main" else (None, suffix, lines)))
        with pytest.raises(TraceError, match=rf"{name}{suffix}, line 3: {said}"):
            kit.digest(folder, tmp_path / "out")
    if kit.header and table == "main":  # a header counts as a line; another header is a bad line
        with pytest.raises(TraceError, match=rf"{name}\.csv, line 4: {said.replace('line 1', 'line 2')}"):
            kit.read(kit.lay(tmp_path / "x", [kit.header, *lines]))
        with pytest.raises(TraceError, match=rf"{name}\.csv, line 1: column"):
            kit.read(kit.lay(tmp_path / "x", [kit.header.replace("t", "T"), *lines]))
    assert not (tmp_path / "out").exists()


@each
def test_a_line_of_a_later_block_and_part_is_named(kit: Kit, tmp_path: Path, monkeypatch: Any) -> None:
    for k, lines in enumerate((kit.lines[:3], [*kit.lines[3:], "x"])):
        write(tmp_path, "".join(f"{x}\n" for x in lines), f"{kit.main}_part-0000{k}-of-00002.csv")
    write(tmp_path, "".join(f"{x}\n" for x in kit.others), f"{kit.second}.csv")
    for size in (1 << 23, 100):
        monkeypatch.setattr(files, "_BLOCK_BYTES", size)
        with pytest.raises(TraceError, match=r"part-00001-of-00002\.csv, line 6: expected"):
            kit.read(tmp_path)
    if kit.whole:
        double = "".join(f"{x}\n" for x in (kit.lines[3], kit.lines[1]))
        write(tmp_path, double, f"{kit.main}_part-00001-of-00002.csv")
        with pytest.raises(TraceError, match=r"00001-of-00002.csv, line 2: .* already \(.*00000-of.*, line 2\)"):
            kit.read(tmp_path)


@each
def test_a_file_cut_short_or_damaged_is_refused(kit: Kit, tmp_path: Path, monkeypatch: Any) -> None:
    text = "".join(f"{line}\n" for line in kit.lines[:3]).encode()
    path = write(tmp_path, text, f"{kit.main}.csv")
    for size in range(len(text)):
        path.write_bytes(text[:size])
        if not text[:size].endswith(b"\n"):  # else nothing in the file can tell
            with pytest.raises(TraceError, match=rf"csv, line {text[:size].count(10) + 1}: "):
                kit.read(path)
    packed, other = gzip.compress(text, mtime=0), gzip.compress(f"{kit.lines[3]}\n".encode())
    path = tmp_path / f"{kit.main}.csv.gz"
    for damaged in (
        *(packed[:size] for size in range(len(packed))),
        packed + b"junk",
        packed + other[:9],
        packed[:-6] + b"??" + packed[-4:],
        gzip.compress(b""),
    ):
        path.write_bytes(damaged)
        with pytest.raises(TraceError, match=r"\.csv\.gz, line \d+( or later)?: "):
            kit.read(path)
    for whole in (packed, packed + other, packed + other + bytes(512)):
        path.write_bytes(whole)
        kit.read(path)
    monkeypatch.setattr(files, "_LONGEST_LINE", 300)
    path = write(tmp_path, text + b"7" * 400, f"{kit.main}.csv")
    with pytest.raises(TraceError, match="line 4: the line is longer than"):
        kit.read(path)


# ------------------------------------------------------------------------------------------------- finding the files


@each
def test_missing_parts(kit: Kit, tmp_path: Path) -> None:
    for k in (0, 2):
        write(tmp_path, f"{kit.lines[k]}\n", f"{kit.main}_part-0000{k}-of-00005.csv")
    write(tmp_path, "".join(f"{x}\n" for x in kit.others), f"{kit.second}.csv")
    if kit.whole:  # published as one file
        with pytest.raises(TraceError, match=rf"3 part\(s\) of {kit.main} missing: 1, 3, 4"):
            kit.digest(tmp_path, tmp_path / "out")
        return
    with pytest.warns(MissingPartsWarning, match=r"1 part\(s\) of task_events missing: 1$") as caught:
        report = kit.raw.digest(tmp_path, tmp_path / "out", False)
    assert caught[0].filename == __file__
    assert "1 part(s) of task_events missing: 1\n" in str(report)
    held = kit.load(tmp_path / "out").provenance
    assert (held["parts"], held["missing_parts"], held["parts_total"]) == ([0, 2], [1], 5)


@each
def test_sources_that_are_none(kit: Kit, tmp_path: Path) -> None:
    folder = kit.lay(tmp_path / "in")
    main = folder / f"{kit.main}.csv"
    write(tmp_path / "empty", "", "schema.csv")
    write(tmp_path / "twice", f"{kit.lines[0]}\n", f"{kit.main}_part-00000-of-00002.csv")
    write(tmp_path / "twice", f"{kit.lines[0]}\n", f"{kit.main}_part-00000-of-00002.csv.gz")
    write(tmp_path / "odd", "x\n", f"{kit.main}_part-00000-of-00002.csv")
    write(tmp_path / "odd", "x\n", f"{kit.main}_part-00001-of-00007.csv")
    beyond = write(tmp_path / "beyond", "x\n", f"{kit.main}_part-00002-of-00002.csv")
    for source, said in (
        (tmp_path / "nowhere", "no such file or folder"),
        ([tmp_path / "nowhere.csv"], "no such file"),
        (tmp_path / "empty", f"no {kit.main} file"),
        ([main, main], "the same part"),
        (tmp_path / "twice", "the same part"),
        (tmp_path / "odd", "disagree on the number of parts"),
        (beyond, "part 2 of 2 cannot exist"),
        (write(tmp_path / "in", "x\n", "events.txt"), r"must end in \.csv"),
    ):
        with pytest.raises(TraceError, match=said):
            kit.read(source)
    for wrong in ([], 7, [7], {"a": 1}, None):
        with pytest.raises(InvalidInput, match=r"^source "):
            kit.digest(wrong, tmp_path / "out")
    with pytest.raises(InvalidInput, match=r"^output_folder "):
        kit.digest(folder, 7)  # type: ignore[arg-type]
    with pytest.raises(TraceError, match="is not a folder"):
        kit.digest(folder, main)
    nothing = {
        "google2011": [event(1, cpu=""), event(1, event=1), event(2, memory="")],
        "alibaba2017": [group(1, cpu=""), group(2, memory="")],
        "alibaba_gpu2023": [POD.format(k=1, cpu=0).replace(",5600,1,470,", ",0,0,0,")],
    }[kit.name]
    with pytest.raises(TraceError, match=f"{kit.main}.*(no SUBMIT event carries|no row carries|no pod asks for any)"):
        kit.digest(kit.lay(folder, nothing), tmp_path / "out")
    (folder / f"{kit.second}.csv").unlink()
    if kit.name == "alibaba_gpu2023":
        for source in (folder, main, [main]):
            with pytest.raises(TraceError, match="no openb_node_list_all_node file"):
                kit.digest(source, tmp_path / "out")
    assert not (tmp_path / "out").exists()


# ------------------------------------------------------------------------------------- writing, loading and verifying


@each
def test_a_folder_where_nothing_can_be_written_or_of_another_digest(kit: Kit, tmp_path: Path, monkeypatch: Any) -> None:
    folder, out = kit.lay(tmp_path / "in"), tmp_path / "out"
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", Mock(side_effect=OSError(28, "No space left")))
        with pytest.raises(TraceError, match="No space left"):
            kit.digest(folder, out)
    write(out, "x\n", f"{kit.name}_other.csv")
    with pytest.raises(TraceError, match=f"{kit.name}_other.csv: is of another digest"):
        kit.digest(folder, out)


def forge(folder: Path, kit: Kit, change: Any) -> None:
    """Change the record of a digest, or a table of it with its checksum."""
    path = folder / f"{kit.name}.json"
    record = json.loads(path.read_text())
    if isinstance(change, tuple):
        name, data = change
        (folder / name).write_bytes(data)
        record["outputs"][name]["sha256"] = hashlib.sha256(data).hexdigest()
    else:
        change(record)
    path.write_text(json.dumps(record))


@each
def test_damaged_digests(kit: Kit, tmp_path: Path) -> None:
    out = tmp_path / "out"
    kit.digest(kit.lay(tmp_path / "in"), out)
    whole = contents(out)
    for name in whole.keys() - {f"{kit.name}.json"}:
        (out / name).write_bytes(whole[name].replace(b"1", b"2", 1))
        with pytest.raises(TraceError, match=f"{name}: its SHA-256 is not the recorded"):
            kit.load(out)
        odd = {"alibaba2017_jobs.csv": (b"5,0*2+x", b"5,99999", b"5,0", b"x,0", b"5")}.get(name, (b"x", b"1,x,1,1,1"))
        for data in (b"a,b\n1,2\n", b"", b"\xff\n", *(whole[name] + line + b"\n" for line in odd)):
            forge(out, kit, (name, data))
            with pytest.raises(TraceError, match="is not a digest of this trace"):
                kit.load(out)
        forge(out, kit, (name, whole[name]))
        (out / name).unlink()
        with pytest.raises(TraceError, match=f"{name}: cannot be read"):
            kit.load(out)
        (out / name).write_bytes(whole[name])
        assert len(kit.load(out)) > 0
    for text in ("", "{}", "[1]", '{"outputs": 3}', '{"outputs": {"../x": {"sha256": "0"}}}', "[" * 100_000):
        (out / f"{kit.name}.json").write_text(text)
        with pytest.raises(TraceError, match="is not the provenance"):
            kit.load(out)
    (out / f"{kit.name}.json").write_text('{"outputs": {}}')
    with pytest.raises(TraceError, match="is not a digest"):
        kit.load(out)
    with pytest.raises(TraceError, match="cannot be read"):
        kit.load(tmp_path / "nowhere")
    with pytest.raises(InvalidInput, match=r"^folder "):
        kit.load(7)  # type: ignore[arg-type]


@each
def test_verifying_tells_what_differs(kit: Kit, tmp_path: Path) -> None:
    out, folder = tmp_path / "out", kit.lay(tmp_path / "in")
    kit.digest(folder, out, **kit.rounding)
    report = kit.raw.verify_digest(folder, out)
    assert report.provenance == kit.load(out).provenance
    assert report.folder is None
    name = f"{kit.name}_requests.csv"
    rows = (out / name).read_bytes().split(b"\n")
    forge(out, kit, (name, b"\n".join([*rows[:2], rows[2].replace(b"0", b"00", 1), *rows[3:]])))
    if kit.name != "alibaba2017":  # there the tables are also held against each other
        with pytest.raises(TraceError, match=r"requests\.csv, line 3: differs from the digest computed now$"):
            kit.raw.verify_digest(folder, out)
    forge(out, kit, (name, b"\n".join(rows)))
    forge(out, kit, lambda record: record["counts"].popitem())
    with pytest.raises(TraceError, match="counts of the committed digest differ"):
        kit.raw.verify_digest(folder, out)
    kit.digest(folder, out)
    kit.lay(folder, kit.lines[1:])
    with pytest.raises(TraceError, match=rf"line \d: differs .* \(not the file it was made of: {kit.main}\.csv\)"):
        kit.raw.verify_digest(folder, out)
    kit.lay(folder)
    (folder / f"{kit.second}.csv").unlink()
    with pytest.raises(TraceError, match=f"what it was made of is missing|no {kit.second} file"):
        kit.raw.verify_digest(folder, out)
    if kit.name == "google2011":
        forge(out, kit, lambda record: record["inputs"]["task_events"].append({"part": 3}))
        with pytest.raises(TraceError, match=r"part\(s\) of the committed digest missing: 3"):
            kit.raw.verify_digest(folder, out)
        forge(out, kit, lambda record: record.update(inputs=[]))
        with pytest.raises(TraceError, match="is not the provenance of a digest of this trace"):
            kit.raw.verify_digest(folder, out)


@each
def test_the_commands(kit: Kit, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, trace = kit.lay(tmp_path / "in"), ["--trace", kit.name]
    for name, option in (("rounded", []), ("exact", ["--exact"])):
        out = str(tmp_path / name)
        code = cli.main(["traces", "digest", str(folder), *trace, "--output", out, *option])
        printed = capsys.readouterr().out
        if option and not kit.rounding:
            assert code == 2
            continue
        assert code == 0
        assert printed.endswith(f"written to {out}\n")
        assert ("significant digits" in printed) == bool(kit.rounding and not option)
        kit.digest(folder, tmp_path / "again", **({} if option else kit.rounding))
        assert contents(tmp_path / name) == contents(tmp_path / "again")
        assert cli.main(["traces", "verify", str(folder), *trace, "--digest", out]) == 0
        assert capsys.readouterr().out.endswith(f"equal to the digest in {out}\n")
        assert cli.main(["traces", "show", *trace, "--digest", out]) == 0
        said = dict.fromkeys(kit.rounding, "None" if option else "3")
        shown = capsys.readouterr().out
        assert all(re.search(rf"^{digits} +{text}$", shown, re.M) for digits, text in said.items())
        assert re.search("^machines.* machines +[23]$", shown, re.M)
    assert cli.main(["traces", "show", *trace]) == 0
    shown, facts = capsys.readouterr().out, kit.load().provenance
    assert all(entry["sha256"] in shown for entry in facts["outputs"].values())
    assert f"{facts['licence']}\n" in shown


# -------------------------------------------------------------------------------------------- the digests that ship


#: What is known of each trace from elsewhere: its README, its paper, or a count of the raw files.
KNOWN: dict[str, dict[str, int]] = {
    "google2011": {"submit_events": 936_182, "distinct_tasks": 614_019},
    "alibaba2017": {
        "rows": 80_553,
        "jobs_in_trace": 12_951,
        "rows_without_request": 9_017,
        "instances": 11_059_704,
        "instances_stored": 11_057_692,
        "jobs": 12_014,
        "groups": 80_553 - 9_017,
        "groups_zero_cpu": 0,
        "groups_zero_memory": 0,
        "rows_with_half_a_request": 0,
    },
    "alibaba_gpu2023": {
        "rows": 8_152,
        "pods": 8_152,
        "pods_without_gpu": 1_088,
        "pods_sharing_a_gpu": 3_078,
        "pods_with_one_gpu": 3_911,
        "pods_with_more_gpus": 75,
        "pods_zero_memory": 1,
        "pods_never_scheduled": 897,
        "pods_pending": 897,
    },
}


@each
def test_the_readme_of_the_data_agrees_with_the_record(kit: Kit) -> None:
    text = paths.data_path("README.md").read_text(encoding="utf-8")
    held = kit.load().provenance
    assert {name: held["counts"][name] for name in KNOWN[kit.name]} == KNOWN[kit.name]
    checksum = held["outputs"][f"{kit.name}_requests.csv"]["sha256"]
    section = next(part for part in text.split("\n## ") if checksum in part)
    assert all(output["sha256"] in section for output in held["outputs"].values())
    told = {
        "google2011": "events submit_events distinct_tasks tasks jobs users rows tasks_zero_cpu tasks_changing_request",
        "alibaba2017": "rows jobs_in_trace instances_in_trace rows_without_request instances_without_request "
        "jobs_without_request jobs groups instances instances_stored rows_waiting distinct_shapes",
        "alibaba_gpu2023": "rows pods_without_gpu pods_sharing_a_gpu pods_with_one_gpu pods_with_more_gpus "
        "pods_never_scheduled distinct_requests",
    }[kit.name]
    for name in told.split():
        assert re.search(rf"(?<!\d)(?<!\d ){held['counts'][name]:,}(?!\d)".replace(",", " "), section), name
    assert held["licence"].replace("BY-", "BY ").removeprefix("for ") in section
    assert all(held[name] for name in ("trace", "attribution", "changes", "units", "inputs"))


def google(rng: Any, n: Any = 5, **options: Any) -> Any:
    return google2011.load_digest().sample(n, rng, **options)


#: Ways to draw users; each takes a generator first and has the digest that ships if none is passed.
DRAWS: dict[str, Any] = {
    "google2011": google,
    "alibaba2017 sampled": lambda rng, n=20, **how: tuple(alibaba2017.load_digest().sample(rng, n, **how)),
    "alibaba2017 dealt": lambda rng, n=20, period=600, **how: tuple(
        alibaba2017.load_digest().deal(rng, n, period, **how)
    ),
    "alibaba_gpu2023": lambda rng, n=20, **how: alibaba_gpu2023.sample_users(rng, n, **how),
    "alibaba_gpu2023 machines": lambda rng, m=20, **how: alibaba_gpu2023.sample_machines(rng, m, **how),
}
NO_COUNT: list[dict[str, Any]] = [{"n": 0}, {"n": -3}, {"n": 2.0}, {"n": True}]
NO_JOBS: list[dict[str, Any]] = [
    *NO_COUNT,
    {"n": 12_015},
    {"memory_unit": 0},
    {"memory_unit": math.nan},
    {"memory_unit": "GB"},
]
#: Options of a draw that are refused, each by its first name.
REFUSED: dict[str, list[dict[str, Any]]] = {
    "google2011": [*NO_COUNT, {"unit": "Task"}, {"zeros": True}, {"scale": "cluster"}],
    "alibaba2017 sampled": [
        *NO_JOBS,
        {"n": 5, "min_groups": 157},
        {"min_groups": 0},
        {"periods": 0},
        {"periods": 2**27},
        {"after": "stop"},
    ],
    "alibaba2017 dealt": [
        *NO_JOBS,
        {"period": 0},
        {"period": 0.5},
        {"period": math.inf},
        {"period": math.nan},
        {"period": None},
        {"period": 1, "n": 12_000},
        {"merge": "max"},
    ],
    "alibaba_gpu2023": [*NO_COUNT, {"unit": "job"}, {"zeros": "some"}, {"pods": "digest"}],
    "alibaba_gpu2023 machines": [{"m": 0}, {"m": 2.0}, {"m": True}, {"pods": "digest"}],
}


@pytest.mark.parametrize("name", DRAWS)
def test_draws_repeat_and_refuse(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (google2011, alibaba2017, alibaba_gpu2023):
        monkeypatch.setattr(module, "load_digest", cache(module.load_digest))
    a, b, c = (encode(DRAWS[name](np.random.default_rng(seed))) for seed in (3, 3, 4))
    assert a == b != c
    for options in REFUSED[name]:
        with pytest.raises(InvalidInput, match=f"^{next(iter(options))} "):
            DRAWS[name](np.random.default_rng(1), **options)
    with pytest.raises(InvalidInput, match=r"^rng "):
        DRAWS[name](7)


@pytest.mark.traces
@each
def test_the_shipped_digest_is_that_of_the_raw_files(kit: Kit) -> None:
    report = kit.raw.verify_digest(raw_folder(kit.name))
    held = kit.load().provenance
    made = {"command", "fairbook"}
    assert {k: v for k, v in report.provenance.items() if k not in made} == {
        k: v for k, v in held.items() if k not in made
    }
    for name in held["outputs"]:
        assert report.files[name] == paths.data_path(name).read_bytes()


def test_data_path_in_a_wheel_and_in_a_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "site" / "fairbook"
    for folder in (package / "_data", package.parent / "data"):
        write(folder, "", "x.csv")
    monkeypatch.setattr(paths, "_PACKAGE", package)
    assert paths.data_path("x.csv") == package / "_data" / "x.csv"
    (package / "_data" / "x.csv").unlink()
    assert paths.data_path("x.csv") == package.parent / "data" / "x.csv"
    with pytest.raises(TraceError, match=r"y\.csv is missing from this installation"):
        paths.data_path("y.csv")
