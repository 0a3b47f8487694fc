"""What the project's pages say of the command is there: its verbs' flags; and what they link to, headings among it.

usage: documents.py VKFORMER REPOSITORY. Tells what is not; exit status 1 then.
"""

import pathlib
import re
import subprocess
import sys

FLAG = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*(?![\w-])")
# Of mpirun, and of programs in tests/.
OTHERS = {"--bind-to", "--check", "--most"}


def help_of(*verbs):
    return subprocess.run([sys.argv[1], *verbs, "--help"], capture_output=True, text=True, check=True).stdout


def verbs_in(text):
    return re.findall(r"^  ([a-z]+)(?:,| {2,}|$)", text, re.M)


def flags_by_verb():
    flags = {}
    for verb in verbs_in(help_of()):
        text = help_of(verb)
        kinds = verbs_in(text) if verb == "data" else []
        flags[verb] = set(FLAG.findall(text)).union(*(FLAG.findall(help_of(verb, kind)) for kind in kinds))
    return flags


def wrong_flags(text, flags):
    for verb, rest in re.findall(r"(?:^|[`\s/])vkformer ([a-z]+)([^\n`|;>&]*)", re.sub(r"\\\n\s*", " ", text)):
        for flag in FLAG.findall(rest):
            if flag not in flags.get(verb, ()):
                yield f"vkformer {verb} has no {flag}"
    for flag in re.findall(f"`({FLAG.pattern})", text):
        if flag not in OTHERS and not any(flag in of_verb for of_verb in flags.values()):
            yield f"no verb has {flag}"


def anchor_of(heading):
    """As GitHub makes it."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.strip())
    return re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")


def without_code(page):
    return re.sub(r"```.*?```", "", page.read_text(), flags=re.S)


def wrong_links(page):
    for path, anchor in re.findall(r"\]\((?![a-z]+:)([^)\s#]*)#?([^)\s]*)\)", without_code(page)):
        target = page.parent / path if path else page
        if not target.exists():
            yield f"there is no {path}"
        elif anchor and anchor not in map(anchor_of, re.findall(r"^#+ (.*)$", without_code(target), re.M)):
            yield f"there is no heading {path}#{anchor}"


def main():
    repository = pathlib.Path(sys.argv[2])
    flags = flags_by_verb()
    pages = [page for pattern in ("*.md", "docs/*.md", "tests/*/*.md") for page in sorted(repository.glob(pattern))]
    wrong = [
        f"{page.relative_to(repository)}: {what}"
        for page in pages
        for what in [*wrong_flags(page.read_text(), flags), *wrong_links(page)]
    ]
    print(*wrong, f"{len(flags)} verbs, {len(pages)} pages", sep="\n", file=sys.stderr)
    return 1 if wrong or not flags or not pages else 0


sys.exit(main())
