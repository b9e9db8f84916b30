"""What a stranger does with an installed fairbook: load every module, and run every line of the README given.

Run by a Python that has the package and nothing of a checkout on its path. The last line printed says what was found.
"""

import importlib
import importlib.util
import json
import pkgutil
import re
import shlex
import sys
from pathlib import Path

import fairbook
from fairbook import cli

if __name__ == "__main__":
    del sys.path[0]  # this folder, which has one that is called book
    others = ("pytest", "yaml", "jupyter_core", "IPython", "book", "tests", "tools")
    said: dict[str, object] = {"home": fairbook.__file__}
    said["others"] = [name for name in others if importlib.util.find_spec(name)]
    for module in pkgutil.walk_packages(fairbook.__path__, "fairbook."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    readme = Path(sys.argv[1]).read_text(encoding="utf-8")
    blocks = re.findall(r"^```(python|bash)\n(.*?)^```", readme, flags=re.MULTILINE | re.DOTALL)
    python = [text for language, text in blocks if language == "python"]
    shell = "".join(text for language, text in blocks if language == "bash")
    for text in python:
        exec(text, {})
    commands = re.findall(r"^(?:\.venv/bin/)?fairbook (.+)$", shell, flags=re.MULTILINE)
    codes = [cli.main(shlex.split(line, comments=True)) for line in commands]
    print("\n" + json.dumps(said | {"codes": codes, "blocks": len(python), "commands": len(commands)}))
    sys.exit(any(codes))
