#!/usr/bin/env python3
"""Compares the ids that the tokenizers library gives every line of a text with those of `vkformer encode`.

  compare_tokens.py FOLDER TEXT --vkformer build/vkformer     runs `vkformer encode FOLDER < TEXT`
  compare_tokens.py FOLDER TEXT --ids IDS                     reads what it printed elsewhere

FOLDER holds a tokenizer.json. Exit status 1 if a line differs.
"""

import argparse
import pathlib
import subprocess
import sys

import tokenizers


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("text", type=pathlib.Path)
    parser.add_argument("--vkformer")
    parser.add_argument("--ids", type=pathlib.Path)
    arguments = parser.parse_args()
    if (arguments.vkformer is None) == (arguments.ids is None):
        parser.error("give --vkformer or --ids")
    if arguments.ids:
        printed = arguments.ids.read_text()
    else:
        with arguments.text.open("rb") as text:
            printed = subprocess.run([arguments.vkformer, "encode", arguments.folder], stdin=text, check=True,
                                     capture_output=True, text=True).stdout
    lines = arguments.text.read_text(newline="\n").removesuffix("\n").split("\n")
    found = printed.removesuffix("\n").split("\n")
    if len(lines) != len(found):
        sys.exit(f"{len(lines)} lines, but ids of {len(found)}")
    tokenizer = tokenizers.Tokenizer.from_file(str(arguments.folder / "tokenizer.json"))
    different = 0
    for line, text, ids in zip(range(1, len(lines) + 1), lines, found):
        want = tokenizer.encode(text.removesuffix("\r")).ids
        if want != [int(word) for word in ids.split()]:
            different += 1
            print(f"{arguments.text}:{line}: {text!r}: {ids}, tokenizers gives {want}")
    print(f"{len(lines)} lines, {different} with other ids")
    sys.exit(different > 0)


if __name__ == "__main__":
    main()
