"""Sphinx extension: what a machine has checked, beside the prose that it stands for.

``{checked} cbdrf`` shows a file of ``proofs/``: its definitions once, then each labelled theorem as Coq has it, with a
link to the block of the book. Each block of which all parts are checked, and each row of a ledger that rests on one,
leads there. What was checked is in ``proofs/checked.json``, which ``make proofs`` writes.
"""

from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref

from proofs import check
from tools.verdicts import Page


class Checked(Page):
    """A file of proofs: definitions, and what is proved of them."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return what the file says."""
        file = self.arguments[0]
        code = "```coq\n{}\n```\n".format
        text = "\n".join(map(code, check.definitions(file)))
        everything = check.record()["theorems"]
        theorems = [one for one in everything if one["file"] == file]
        for label in dict.fromkeys(label for one in theorems for label in one["labels"]):
            part = "" if label in check.record()["whole"] else ", in part"
            first = next(one["file"] for one in everything if label in one["labels"])
            target = f"({check.anchor(label)})=\n" if file == first else ""
            text += f"\n{target}**{{prf:ref}}`{label}`**{part}\n\n"
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
