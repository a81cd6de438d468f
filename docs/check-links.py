#!/usr/bin/env python3
"""Fails if a link of the documentation leads nowhere: to a file that is not there, or a heading that a page lacks.

mdbook reports neither. Links to other sites are not followed.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = [*sorted((ROOT / "docs/src").rglob("*.md")), *sorted(ROOT.glob("*.md")), *sorted((ROOT / "bench").rglob("README.md"))]


def prose(page):
    """The text of a page without blocks and spans of code."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.S | re.M)
    return re.sub(r"`[^`\n]*`", "", text)


def anchors(page):
    """The ids that mdbook and GitHub give to a page's headings."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.S | re.M)
    ids = set()
    for heading in re.findall(r"^#+ +(.*)$", text, flags=re.M):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        ids.add("".join("-" if c.isspace() else c for c in heading if c.isalnum() or c in "_-" or c.isspace()))
    return ids


bad = []
for page in PAGES:
    for link in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        file, _, anchor = link.partition("#")
        if "://" in file:
            continue
        target = page.parent / file if file else page
        if not target.exists():
            bad.append(f"{page.relative_to(ROOT)}: {link}: no such file")
        elif anchor and target.suffix == ".md" and anchor not in anchors(target):
            bad.append(f"{page.relative_to(ROOT)}: {link}: no such heading")
sys.exit("broken links:\n" + "\n".join(bad) if bad else 0)
