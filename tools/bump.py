"""Write a new version wherever one stands: ``python tools/bump.py VERSION [DATE]``, the date being that of the release.

The places are :data:`PLACES`; tests/project/test_project_files.py checks that they agree and that there is no other.
From CITATION.cff, which is edited, follow codemeta.json and .zenodo.json; without a VERSION they alone are written
again. By hand, since cffconvert needs older releases than the lock has, and drops what is in doubt of a paper.
"""

import datetime
import json
import re
import sys
from pathlib import Path
from typing import Any

import yaml
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[1]

#: File, what stands there (the version being the only group), and what takes its place.
PLACES = {
    "fairbook/__init__.py": (
        r'^__version__ = "([^"]+)"\n__released__ = "[^"]+"$',
        '__version__ = "{version}"\n__released__ = "{state}"',
    ),
    "CITATION.cff": (r"^version: (\S+)$(?:\ndate-released: \S+$)?", "version: {version}{released}"),
    "CHANGELOG.md": (r"^## \[([^\]]+)\] - \S+$", "## [{version}] - {state}"),
}

#: Of all that an archive holds, as in pyproject.toml. A list in CITATION.cff would mean OR, and Zenodo takes one, so
#: both name the code's and say the rest in words.
LICENCE = "BSD-3-Clause AND CC-BY-4.0"


def versions(root: Path) -> dict[str, str]:
    """Return the version that each file states."""
    return {
        name: re.findall(pattern, (root / name).read_text(encoding="utf-8"), flags=re.MULTILINE)[0]
        for name, (pattern, _) in PLACES.items()
    }


def as_article(paper: dict[str, Any]) -> dict[str, Any]:
    """Say of a paper what is known and what is in doubt, in the words of CodeMeta or, where it has none, schema.org."""
    told: dict[str, Any] = {
        "@type": "schema:ScholarlyArticle",
        "name": paper["title"],
        "author": [
            {"@type": "Person", "familyName": person["family-names"], "givenName": person["given-names"]}
            for person in paper["authors"]
        ],
        "datePublished": str(paper["year"]),
        "isPartOf": {"@type": "schema:Periodical", "name": paper["journal"]},
        "schema:volumeNumber": str(paper.get("volume", "")),
        "schema:issueNumber": paper.get("issue"),
        "schema:pagination": f"{paper['start']}-{paper['end']}" if "start" in paper else None,
        "description": doubts(paper),
        "@id": f"https://doi.org/{paper['doi']}" if "doi" in paper else None,
    }
    return {name: value for name, value in told.items() if value}


def doubts(paper: dict[str, Any]) -> str:
    """Return the notes on a paper without its key: what of its entry is unverified, or ours."""
    return re.sub(r"^Key \w+\. ?", "", paper["notes"])


def as_reference(paper: dict[str, Any]) -> str:
    """Write a paper as one line, with what is in doubt."""
    names = "; ".join(f"{person['family-names']}, {person['given-names']}" for person in paper["authors"])
    place = f"{paper['journal']} {paper.get('volume', '')}".strip()
    place += f"({paper['issue']})" if "issue" in paper else ""
    place += f", {paper['start']}-{paper['end']}" if "start" in paper else ""
    doi = f" https://doi.org/{paper['doi']}." if "doi" in paper else ""
    doubt = f" [{doubts(paper)}]" if doubts(paper) else ""
    return f"{names} ({paper['year']}). {paper['title']}. {place}.{doi}{doubt}"


def descriptions(citation: str) -> dict[str, str]:
    """Return, by file name, what CITATION.cff says in the words of CodeMeta 3.0 and of a deposit on Zenodo."""
    cff = yaml.safe_load(citation)
    names = [author["name"] for author in cff["authors"]]
    said: dict[str, Any] = {"version": str(cff["version"]), "keywords": cff["keywords"]}
    codemeta = said | {
        "@context": "https://w3id.org/codemeta/3.0",
        "@type": "SoftwareSourceCode",
        "name": cff["title"],
        "description": cff["abstract"],
        "author": [{"@type": "Organization", "name": name} for name in names],
        "license": [f"https://spdx.org/licenses/{name}" for name in LICENCE.split(" AND ")],
        "programmingLanguage": "Python",
        "citation": [as_article(paper) for paper in cff["references"]],
    }
    zenodo = said | {
        "upload_type": "software",
        "title": cff["title"],
        "description": cff["abstract"],
        "creators": [{"name": name} for name in names],
        "license": cff["license"].lower(),
        "notes": cff["message"],
        "references": [as_reference(paper) for paper in cff["references"]],
        "related_identifiers": [
            {"identifier": paper["doi"], "relation": "references", "resource_type": "publication-article"}
            for paper in cff["references"]
            if "doi" in paper
        ],
    }
    if "date-released" in cff:
        codemeta["datePublished"] = zenodo["publication_date"] = str(cff["date-released"])
    found = {"codemeta.json": codemeta, ".zenodo.json": zenodo}
    return {name: json.dumps(one, indent=2, ensure_ascii=False) + "\n" for name, one in found.items()}


def bump(root: Path, version: str, date: str | None = None) -> None:
    """Write a version, and the date of its release if it is released, into every file; or change nothing.

    Parameters
    ----------
    root : Path
        Folder of the project.
    version : str
        In its canonical form, and not below the present one. The present one may be given to set its date.
    date : str, optional
        As YYYY-MM-DD. Without it the version counts as unreleased.

    Raises
    ------
    ValueError
        If the files disagree, or version or date are not of that form.
    """
    (present,) = set(versions(root).values())
    if str(Version(version)) != version or Version(version) < Version(present):
        raise ValueError(f"the version must be canonical and not below {present}, not {version!r}")
    if date is not None:
        datetime.date.fromisoformat(date)
    released = f"\ndate-released: {date}" if date else ""
    texts = {}
    for name, (pattern, form) in PLACES.items():
        new = form.format(version=version, released=released, state=date or "unreleased")
        text = (root / name).read_text(encoding="utf-8")
        # Entries of a version that was released stay under it; those of one that was not belong to the new one.
        if name == "CHANGELOG.md" and version != present and f"## [{present}] - unreleased\n" not in text:
            new += "\n\n\\g<0>"
        texts[name] = re.sub(pattern, new, text, count=1, flags=re.MULTILINE)
    texts |= descriptions(texts["CITATION.cff"])
    for name, text in texts.items():
        (root / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        bump(ROOT, *sys.argv[1:])
    for name, text in descriptions((ROOT / "CITATION.cff").read_text("utf8")).items():
        (ROOT / name).write_text(text, encoding="utf8")
