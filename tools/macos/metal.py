"""Translates SPIR-V modules to Metal's language with SPIRV-Cross, as MoltenVK does, and looks at what Metal's compiler
would refuse: arrays whose lengths are known only when a pipeline is made. MoltenVK compiles a module anew for constants
that SPIRV-Cross writes as macros; others are Metal's function constants, which no length may follow from.

usage: metal.py FOLDER SHADERS: the headers that glslang wrote, and what of. Kernels in SHADERS' folders "software", for
CPUs alone, need not go to Metal. Names what is refused; exit status 1 then.
"""

import concurrent.futures
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile


def metal_of(header):
    words = [int(word, 16) for word in re.findall(r"0x[0-9a-fA-F]{8}", header.read_text())]
    with tempfile.NamedTemporaryFile(suffix=".spv") as module:
        module.write(struct.pack(f"<{len(words)}I", *words))
        module.flush()
        command = ["spirv-cross", "--msl", "--msl-version", "30000", module.name]
        return subprocess.run(command, capture_output=True, text=True)


def late_lengths(metal):
    """Those that follow from function constants, each with the constants between."""
    defined = dict(re.findall(r"^constant \w+ (\w+) = (.*);$", metal, re.M))
    late = set(re.findall(r"(\w+) \[\[function_constant", metal))

    def follows(text):
        for name in re.findall(r"[A-Za-z_]\w*", text):
            if name in late:
                return [name]
            if name in defined and (rest := follows(defined.pop(name))):
                return [name, *rest]
        return []

    lengths = set(re.findall(r"spvUnsafeArray<\w+, ([^>]+)>|\w\[([A-Za-z_]\w*)\];", metal))
    constants = dict(defined)
    for length in sorted("".join(found) for found in lengths):
        defined = dict(constants)
        if chain := follows(length):
            yield " <- ".join(chain)


def refusal(header):
    name = header.name.removesuffix("_spirv.h")
    result = metal_of(header)
    if result.returncode != 0:
        return f"{name}: {result.stderr.strip()}"
    chains = late_lengths(result.stdout)
    return "".join(f"{name}: the length of an array is a function constant: {chain}\n" for chain in chains)


def main():
    for_cpus = {shader.stem for shader in pathlib.Path(sys.argv[2]).glob("*/software/*.comp")}
    headers = [
        header
        for header in sorted(pathlib.Path(sys.argv[1]).glob("*_spirv.h"))
        if header.name.removesuffix("_spirv.h").rsplit("_", 1)[0] not in for_cpus
    ]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        refused = [line for line in pool.map(refusal, headers) if line]
    print(*refused, f"{len(headers)} modules, {len(refused)} refused", sep="\n")
    return 1 if refused or not headers else 0


sys.exit(main())
