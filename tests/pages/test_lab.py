"""A page in JupyterLab: text and notebook are one, whichever is edited."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from urllib.error import URLError
from urllib.request import Request, urlopen

import pytest
from ipykernel.kernelspec import get_kernel_dict
from jupyter_server.services.contents.largefilemanager import LargeFileManager
from jupytext.sync_contentsmanager import build_sync_jupytext_contents_manager_class

from tests.conftest import ROOT
from tools import execute
from tools.book_tables import plain

PAGE = "book/one_level"


@pytest.fixture
def server(tmp_path: Path) -> object:
    """Return what reads and writes files for JupyterLab, on a copy of one page."""
    (tmp_path / "book").mkdir()
    for name in ("jupytext.toml", f"{PAGE}.md", f"{PAGE}.ipynb"):
        shutil.copy(ROOT / name, tmp_path / name)
    os.utime(tmp_path / f"{PAGE}.md", (0, 0))  # as after `make execute`, or a checkout that wrote the notebook last
    hook = re.search(r"pre_save_hook=(\S+)", (ROOT / "Makefile").read_text("utf8"))[1]
    return build_sync_jupytext_contents_manager_class(LargeFileManager)(root_dir=str(tmp_path), pre_save_hook=hook)


def test_what_is_not_changed_stays_as_it_is(server: object, tmp_path: Path) -> None:
    files = [tmp_path / f"{PAGE}.md", tmp_path / f"{PAGE}.ipynb"]
    before = [path.read_bytes() for path in files]
    model = server.get(f"{PAGE}.ipynb")
    assert model["content"]["metadata"]["kernelspec"]["display_name"] == get_kernel_dict()["display_name"]
    model["content"]["metadata"]["language_info"]["version"] = "3.99"
    model["content"]["cells"][1]["metadata"]["execution"] = {"iopub.status.idle": "now"}
    server.save({key: model[key] for key in ("type", "format", "content")}, f"{PAGE}.ipynb")
    assert [path.read_bytes() for path in files] == before


def test_the_command_that_a_person_types_saves_both(tmp_path: Path) -> None:
    """`make lab` itself, once: which folder it serves decides whether the pairing is found."""
    folder = tmp_path / "checkout"
    (folder / "book").mkdir(parents=True)
    shutil.copytree(ROOT / "tools", folder / "tools", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("jupytext.toml", f"{PAGE}.md", f"{PAGE}.ipynb"):
        shutil.copy(ROOT / name, folder / name)
    quiet = "LAB_ARGS=--no-browser --allow-root --ip=127.0.0.1 --port=0 --IdentityProvider.token=word"
    recipe = subprocess.run(["make", "-n", "lab", "PAGE=", quiet], cwd=ROOT, capture_output=True, text=True, check=True)
    line = next(line for line in recipe.stdout.splitlines() if "-m jupyterlab" in line)
    command = [sys.executable, *shlex.split(line.replace(str(ROOT), str(folder)))[1:]]
    environment = os.environ | {"JUPYTER_RUNTIME_DIR": str(tmp_path / "runtime"), "HOME": str(tmp_path)}
    with (tmp_path / "log").open("w") as log, subprocess.Popen(command, cwd=folder, env=environment, stderr=log) as lab:
        try:

            def ask(path: str, **more: object) -> str:
                told = next((tmp_path / "runtime").glob("jpserver-*.json"))
                url = json.loads(told.read_text("utf8"))["url"]
                request = Request(url + path, headers={"Authorization": "token word"}, **more)  # type: ignore[arg-type]
                with urlopen(request, timeout=60) as answer:
                    return str(answer.geturl()) if path == "" else answer.read().decode()

            for _ in range(600):  # the address is written down before anybody answers there
                assert lab.poll() is None, (tmp_path / "log").read_text("utf8")
                with suppress(StopIteration, ValueError, URLError):
                    ask("")
                    break
                time.sleep(0.1)
            assert ask("").endswith("/lab/tree/book")
            model = json.loads(ask(f"api/contents/{PAGE}.ipynb"))
            next(cell for cell in model["content"]["cells"] if cell["cell_type"] == "code")["source"] += "\n# changed"
            sent = json.dumps({key: model[key] for key in ("type", "format", "content")}).encode()
            ask(f"api/contents/{PAGE}.ipynb", data=sent, method="PUT")
        finally:
            lab.terminate()
    for ending in (".md", ".ipynb"):
        assert "# changed" in (folder / f"{PAGE}{ending}").read_text("utf8"), ending


def test_what_is_changed_in_the_text_is_changed_in_the_notebook(server: object, tmp_path: Path) -> None:
    text, twin = tmp_path / f"{PAGE}.md", tmp_path / f"{PAGE}.ipynb"
    text.write_text(text.read_text("utf8") + "\nOne more sentence.\n", encoding="utf8")
    os.utime(text, (twin.stat().st_mtime + 60,) * 2)
    cells = server.get(f"{PAGE}.ipynb")["content"]["cells"]
    assert cells[-1]["source"].endswith("One more sentence.")
    assert any(cell.get("outputs") for cell in cells), "what did not change keeps its outputs"
    new = execute.with_new_text(text.read_text("utf8"), twin.read_text("utf8"))
    assert new is not None
    assert list(execute.unsound_cells(new)) == []
    assert execute.twin_difference(text.read_text("utf8"), new) is None
    assert execute.with_new_text(text.read_text("utf8").replace("import", "import os,"), twin.read_text("utf8")) is None


def test_a_downloaded_notebook_needs_no_myst() -> None:
    for page in execute.pages():
        cells = execute.unexecuted(page.read_text("utf8")).cells
        told = "\n".join(plain(cell.source) for cell in cells if cell.cell_type == "markdown")
        assert re.findall(r"\{[\w:-]+\}`.*|^[:`]{3,}\{.*|^:::.*|^\([\w-]+\)=$", told, flags=re.MULTILINE) == [], page
