"""Sphinx extension: what a machine has checked, beside the prose that it stands for.

``{checked} cbdrf`` shows a file of ``proofs/``: its definitions once, then for each label what the book says, and each
of its theorems as Coq has it. ``{checked} outputs`` tables what the kernel has accepted of what the mechanisms give.
Each block of which all parts are checked, and each row of a ledger that rests on one, leads there. What was checked is
in ``proofs/checked.json``, which ``make proofs`` writes.
"""

import re
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref

from proofs import check
from tools.verdicts import Page


def said(label: str) -> str:
    """Give what the book says under a label, to be quoted on another page.

    Verdicts and citations stay where they are, names of formulas too.
    """
    body = "\n".join(line for line in check.prose(label).splitlines()[1:-1] if not line.startswith(":label:"))
    body = re.sub(r"(?m)^\$\$ *\(eq-[\w-]+\)$", "$$", re.sub(r"\s*\{cite:?\w*\}`[^`]*`", "", body))
    parts = ((part, re.sub(r"\s*\{verdict\}`[^`]*`", "", part)) for part in body.strip().split("\n\n"))
    quoted = [bare for part, bare in parts if bare == part or bare.endswith(".")]  # of a row of verdicts nothing stays
    return "\n>\n".join(re.sub("(?m)^", "> ", part) for part in quoted)


def accepted() -> str:
    """Give the table of outputs: in how many instances floors, lids and two resources bind."""
    outputs = check.record()["outputs"]
    head = "| mechanism | accepted | a floor binds | a lid | two resources |\n|---|--:|--:|--:|--:|\n"
    rows = ([name, outputs["instances"], *counts] for name, counts in outputs["bind"].items())
    return head + "".join(f"| {' | '.join(map(str, row))} |\n" for row in rows)


class Checked(Page):
    """A file of proofs: definitions, and what is proved of them."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return what the file says."""
        file = self.arguments[0]
        if file == "outputs":
            return self.parse(accepted())
        code = "```coq\n{}\n```\n".format
        text = "\n".join(map(code, check.definitions(file)))
        everything = check.record()["theorems"]
        theorems = [one for one in everything if one["file"] == file]
        for label in dict.fromkeys(label for one in theorems for label in one["labels"]):
            part = "" if label in check.record()["whole"] else ", in part"
            first = next(one["file"] for one in everything if label in one["labels"])
            target = f"({check.anchor(label)})=\n" if file == first else ""
            text += f"\n{target}**{{prf:ref}}`{label}`**{part}\n\n"
            text += f"{said(label)}\n\n" if file == first else ""
            for one in theorems:
                if label in one["labels"]:
                    text += f"{one['note']}\n\n" + code(one["statement"])
        return self.parse(text)


def beside(app: Any, doctree: nodes.document) -> None:
    """Put the way to the formal statement under each block of which all parts are checked."""
    for block in doctree.findall(nodes.Element):
        label = block.get("label", "")
        if label in check.record()["whole"] and "proof" in block.get("classes", []):
            words = nodes.inline("machine-checked", "machine-checked", classes=["std", "std-ref"])
            way = pending_xref(
                "", words, refdomain="std", reftype="ref", reftarget=check.anchor(label), refexplicit=True, refwarn=True
            )
            way["refdoc"] = app.env.docname
            block.append(nodes.paragraph("", "", way, classes=["machine-checked"]))


def setup(app: Any) -> dict[str, Any]:
    """Register with Sphinx."""
    app.add_directive("checked", Checked)
    app.connect("doctree-read", beside)
    return {"version": "1", "parallel_read_safe": False, "parallel_write_safe": False}
