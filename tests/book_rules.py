"""The rules that a page of the book keeps, each a function from the page to the list of its breaches."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import nbformat

from tools import execute
from tools.measure_pages import words

#: The heads that a page of a paper has, in this order; others may stand between them.
HEADS = {
    "story": ("The question", "The rule", "By hand", "What is true of it", "What to use, and when"),
    "theory": ("Model", "Exercises", "References"),
    "evidence": ("Figures and tables", "What the paper leaves open", "What differs"),
}
#: The most words of prose on a page; of a theory page outside folds.
WORDS = {"story": 2500, "theory": 4000, "evidence": 3000}
CHAPTER_HEADS = (
    "At a glance",
    "Overview and prerequisites",
    "Setup",
    "Model",
    "Mechanism",
    "Properties",
    "Figures",
    "What differs from the paper",
    "Claims of this chapter",
    "On your own",
    "Summary",
    "References",
)
MOST_LINES, MOST_LINES_ON_AVERAGE, MOST_LINES_OF_A_DEF = 15, 7, 5
STATEMENTS = ("theorem", "lemma", "proposition", "corollary")
PREFIXES = ("eq", "fig", "tab", "thm", "lem", "prop", "cor", "def", "alg", "rem", "exm", "ex", "sec", "asm", "conj")
CAPTION_WORDS = 6


@dataclass
class Block:
    """One directive of a page, with the directives inside it."""

    name: str
    title: str
    line: int
    fence: str
    body: list[str] = field(default_factory=list)
    inner: list["Block"] = field(default_factory=list)

    @property
    def options(self) -> dict[str, str]:
        """The ``:key: value`` lines at the head of the body."""
        found = {}
        for line in self.body:
            matched = re.match(r":([\w-]+):\s*(.*)$", line.strip())
            if not matched:
                break
            found[matched[1]] = matched[2]
        return found

    def walk(self) -> Iterator["Block"]:
        """Yield this block and all within."""
        yield self
        for block in self.inner:
            yield from block.walk()


def directives(text: str) -> tuple[list[Block], list[str]]:
    """Parse the fences of a page; return its outermost directives and what is wrong with their nesting."""
    outermost: list[Block] = []
    opened: list[Block] = []
    problems: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        if opened and re.fullmatch(r":{3,}|`{3,}|~{3,}", stripped):
            # a fence closes the innermost block of its kind that it is long enough for
            kinds = [b for b in opened if stripped[0] == b.fence[0] and len(stripped) >= len(b.fence)]
            if kinds:
                if kinds[-1] is not opened[-1]:
                    problems.append(f"line {number} closes the block of line {kinds[-1].line} around an open one")
                del opened[next(i for i, b in enumerate(opened) if b is kinds[-1]) :]
                continue
        matched = re.match(r"(:{3,}|`{3,}|~{3,})\s*(?:\{([\w:.-]+)\}\s*(.*)|([\w-]*))$", stripped)
        literal = opened and opened[-1].fence[0] in "`~" and not opened[-1].name
        literal = literal or (opened and opened[-1].name in ("code-cell", "code-block", "code", "math"))
        if matched and not literal:
            block = Block(matched[2] or "", (matched[3] or "").strip(), number, matched[1])
            around = [b for b in opened if b.fence[0] == block.fence[0] and len(b.fence) <= len(block.fence)]
            if around:
                problems.append(
                    f"line {number}: {{{block.name}}} inside {{{around[-1].name}}} of line {around[-1].line} "
                    "needs fewer fence characters than that has"
                )
            (opened[-1].inner if opened else outermost).append(block)
            for enclosing in opened:
                enclosing.body.append(line)
            opened.append(block)
            continue
        for block in opened:
            block.body.append(line)
    problems += [f"line {block.line}: {{{block.name}}} is never closed" for block in opened]
    return outermost, problems


def all_directives(text: str) -> list[Block]:
    """Return every directive of a page, nested ones too."""
    return [block for outer in directives(text)[0] for block in outer.walk()]


def without_fences(text: str) -> str:
    """Return a page without front matter and code, where heads and labels are looked for."""
    text = re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.DOTALL)
    return re.sub(
        r"^(`{3,})(?!\{(?:prf|exercise|solution|dropdown)).*?^\1`*$", "", text, flags=re.DOTALL | re.MULTILINE
    )


def code_cells(text: str) -> list[tuple[str, nbformat.NotebookNode]]:
    """Return the code cells of a page, each with the second-level head that it stands under."""
    head, found = "", []
    for cell in execute.unexecuted(text).cells:
        if cell.cell_type == "code":
            found.append((head, cell))
        else:
            for title in re.findall(r"^## (.+)$", without_fences(cell.source), flags=re.MULTILINE):
                head = title.strip()
    return found


def tree(source: str) -> ast.Module:
    """Parse a cell, magics left out."""
    return ast.parse("\n".join(line for line in source.splitlines() if not line.lstrip().startswith(("%", "!"))))


def nesting(text: str) -> list[str]:
    """Fences nest: an outer one has more characters than what it holds, and each is closed."""
    return directives(text)[1]


def thin_cells(text: str) -> list[str]:
    """Check that cells are short, and that what can be wrong lives in the library."""
    found, lengths = [], []
    for _, cell in code_cells(text):
        lines = [line for line in cell.source.splitlines() if line.strip()]
        lengths.append(len(lines))
        start = lines[0] if lines else "(empty)"
        if not lines:
            found.append("a code cell is empty")
        if len(lines) > MOST_LINES:
            found.append(f"{len(lines)} lines in the cell {start!r}, at most {MOST_LINES}")
        for node in ast.walk(tree(cell.source)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                if length > MOST_LINES_OF_A_DEF:
                    found.append(f"{length} lines in the definition of {node.name}, at most {MOST_LINES_OF_A_DEF}")
    if lengths and sum(lengths) / len(lengths) > MOST_LINES_ON_AVERAGE:
        found.append(f"{sum(lengths) / len(lengths):.1f} lines a cell, at most {MOST_LINES_ON_AVERAGE} on average")
    return found


def one_import_cell(text: str) -> list[str]:
    """Check that the first cell of a page imports, and no other."""
    importing = [
        number
        for number, (_, cell) in enumerate(code_cells(text), start=1)
        if any(isinstance(node, ast.Import | ast.ImportFrom) for node in ast.walk(tree(cell.source)))
    ]
    right = importing == [1] or not code_cells(text)
    return [] if right else [f"the cells {importing} import; the first should, alone"]


def compared_cells(text: str) -> list[str]:
    """Check that no cell escapes the comparison of its outputs."""
    found = []
    for _, cell in code_cells(text):
        tags = [
            t
            for t in cell.metadata.get("tags", [])
            if t.startswith("nbval") or t in ("raises-exception", "skip-execution")
        ]
        if tags or re.search(r"#\s*NBVAL|#\s*PYTEST_VALIDATE", cell.source):
            found.append(f"the cell {cell.source[:50]!r} is kept from being compared: {tags or 'a comment'}")
    return found


def drawn_figures(stored: str) -> list[str]:
    """Check that every figure that a cell draws has name, caption and alt text without digits that go stale."""
    found = []
    for cell in nbformat.reads(stored, as_version=4).cells:
        if cell.cell_type != "code":
            continue
        told = cell.metadata.get("mystnb", {})
        figure, alt = told.get("figure", {}), str(told.get("image", {}).get("alt", "")).strip()
        pictures = [o for o in cell.outputs if any(mime.startswith("image/") for mime in o.get("data", {}))]
        if not pictures and not figure:
            continue
        where = figure.get("name") or cell.source[:50]
        if len(pictures) != 1:
            found.append(f"{where}: {len(pictures)} pictures in one cell; one should be")
        if not str(figure.get("name", "")).startswith("fig-"):
            found.append(f"{where}: a name that starts with fig- is needed")
        if len(str(figure.get("caption", "")).split()) < CAPTION_WORDS:
            found.append(f"{where}: a caption that says what is shown is needed")
        found += [f"{where}: {fault}" for fault in alt_text_faults(alt)]
    return found


def alt_text_faults(alt: str) -> list[str]:
    """Say what is wrong with an alt text: too short to state a finding, or with a number that could go stale."""
    found = []
    if len(alt.split()) < CAPTION_WORDS:
        found.append(f"an alt text that states the finding is needed, not {alt!r}")
    if re.search(r"\d", alt):
        found.append(f"the alt text has digits, which go stale: {alt!r}")
    return found


def placed_pictures(text: str) -> list[str]:
    """Check that pictures that no cell draws have an alt text as well."""
    found = []
    for alt in re.findall(r"!\[([^\]]*)\]\(", without_fences(text)):
        found += alt_text_faults(alt)
    for block in all_directives(text):
        if block.name in ("figure", "image"):
            found += [f"line {block.line}: {fault}" for fault in alt_text_faults(block.options.get("alt", ""))]
    return found


def labels(text: str) -> list[str]:
    """Return every label that a page defines."""
    prose = without_fences(text)
    found = re.findall(r"^\(([\w:.-]+)\)=\s*$", prose, flags=re.MULTILINE)
    found += re.findall(r"^\$\$[ \t]*\(([\w:.-]+)\)\s*$", prose, flags=re.MULTILINE)
    for block in all_directives(text):
        if block.name != "code-cell":
            found += [block.options[key] for key in ("label", "name") if block.options.get(key)]
    for _, cell in code_cells(text) if execute.is_notebook_text(text) else []:
        name = cell.metadata.get("mystnb", {}).get("figure", {}).get("name")
        found += [str(name)] if name else []
    return found


def unique_labels(texts: dict[str, str]) -> list[str]:
    """Check that no label is defined twice in the whole book."""
    counted = Counter(label for text in texts.values() for label in labels(text))
    return [f"the label {label} is defined {count} times" for label, count in counted.items() if count > 1]


def chapter_labels(text: str, key: str) -> list[str]:
    """Check that a chapter's labels are <kind>-<key>-<rest> (of sections: <key>-<rest>), so that none meet."""
    pattern = re.compile(rf"(?:{'|'.join(PREFIXES)})-{re.escape(key)}-[a-z0-9_-]+|{re.escape(key)}(?:-[a-z0-9_-]+)?")
    return [
        f"the label {label} is not of the form kind-{key}-rest"
        for label in labels(text)
        if not pattern.fullmatch(label)
    ]


def house_order(text: str, kind: str) -> list[str]:
    """Check that a page of a paper has the heads of its kind in their order, no empty section and one title."""
    prose = without_fences(text)
    heads = [title.strip() for title in re.findall(r"^## (.+)$", prose, flags=re.MULTILINE)]
    wanted = list(HEADS.get(kind, CHAPTER_HEADS))
    kept = [head for head in heads if head in wanted]
    found = [] if kept == wanted else [f"the heads are {heads}, among them in this order {wanted}"]
    sections = re.split(r"^## .+$", re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.DOTALL), flags=re.MULTILINE)[1:]
    found += [f"the section {head!r} is empty" for head, body in zip(heads, sections) if not body.strip()]
    if len(re.findall(r"^# .+$", prose, flags=re.MULTILINE)) != 1:
        found.append("a page has one title")
    return found


def short_enough(text: str, kind: str) -> list[str]:
    """Check that a page of a paper can be read at one sitting."""
    count = words(text, folded=kind != "theory")
    most = WORDS.get(kind)
    return [f"{count} words of prose, at most {most}"] if most and count > most else []


def proofs(text: str) -> list[str]:
    """Check that each theorem and lemma has a label and, in a dropdown that names it, its proof in full."""
    blocks = all_directives(text)
    proved = {
        label: inner
        for block in blocks
        if block.name == "dropdown"
        for label in re.findall(r"\{prf:ref\}`(?:[^`<]*<)?([\w:.-]+)>?`", block.title)
        for inner in block.inner
        if inner.name == "prf:proof"
    }
    found = []
    for block in blocks:
        if block.name.removeprefix("prf:") not in STATEMENTS or not block.name.startswith("prf:"):
            continue
        label = block.options.get("label", "")
        if not label:
            found.append(f"line {block.line}: a {block.name} without a label")
        elif label not in proved:
            found.append(f"{label}: no dropdown 'Proof of {{prf:ref}}`{label}`' with a prf:proof in it")
        elif len(" ".join(proved[label].body).split()) < 10:
            found.append(f"{label}: the proof is a stub")
    return found


def solved_exercises(text: str) -> list[str]:
    """Check that each exercise has a label and a folded solution."""
    blocks = all_directives(text)
    solved = {b.title for b in blocks if b.name == "solution" and "dropdown" in b.options.get("class", "")}
    found = []
    for block in blocks:
        if block.name == "exercise" and block.options.get("label") not in solved:
            found.append(
                f"line {block.line}: the exercise {block.options.get('label')} has no solution with :class: dropdown"
            )
    return found
