#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Triax authors
# SPDX-License-Identifier: Apache-2.0
"""Asserts the rules of the tree that no compiler knows.

    rules.py PROJECT_FOLDER

Prints `path:line: what is wrong` for each breach, and exits with status 1 if there is one.
"""

import os
import re
import sys
from pathlib import Path

# A folder of include/triax is a dependency boundary: its headers include their own floor and those below.
FLOOR = {
    "core": 1, "schedule": 1,
    "device": 2, "kernels": 2,
    "comm": 3,
    "nn": 4, "optim": 4,
    "engine": 5,
    "parallel": 6,
    "checkpoint": 7, "data": 7,
    "config": 8, "train": 8,
}  # fmt: skip
# A header of a component is named after it, or lies in a folder named after it. It alone includes the component's SDK,
# and no other header includes it.
COMPONENTS = ("mpi", "blas", "onednn", "boost_mpi", "gloo", "cuda", "nccl")
COSTLY = {"iostream", "regex", "filesystem", "ranges", "functional"}
LAST_FLOOR_WITHOUT_COSTLY = 6
MAXIMAL_LINES = 400
MAXIMAL_COLUMNS = 110  # clang-format leaves comments and long strings alone
TOP_LEVEL = {
    "CMakeLists.txt", "include", "tests", "benchmarks", "examples", "docs", ".clang-format", "README.md",
    "LICENSE", ".ci", ".gitignore", ".clang-tidy",
}  # fmt: skip
NOT_OURS = {".git", "build"}
SPDX = ("SPDX-FileCopyrightText: 2026 The Triax authors", "SPDX-License-Identifier: Apache-2.0")
NO_SPDX = {"LICENSE"}

LEFT_OPEN = re.compile(r"\b(?:TO[D]O|FIX[M]E|XX[X]|HA[C]K)\b")
MACHINE_PATH = re.compile(r"(?<![\w.$}/-])/(?:home|root|work|farm|tmp)/\w")
REGISTRY_HOST = re.compile(r"\b(?:deb|pypi|registry|files|proxy)\.\w+\.(?:org|net|io)\b")
INCLUDE = re.compile(r"^\s*#\s*include\s*([<\"])([^>\"]+)[>\"]")
MACRO = re.compile(r"^\s*#\s*define\s+(\w+)")
INTERNAL_LINKAGE = re.compile(r"^(?:static\b(?! *_assert)|namespace\s*\{)")

breaches = []


def report(path, line, problem):
    breaches.append(f"{path}:{line}: {problem}")


def component_of(header):
    """The component that a path below include/triax belongs to, or None."""
    path = Path(header)
    return next((part for part in (*path.parts[:-1], path.stem) if part in COMPONENTS), None)


def check_top_level(project):
    for entry in sorted(os.listdir(project)):
        if entry not in TOP_LEVEL | NOT_OURS:
            report(entry, 1, "does not belong on the top level")


def check_text(path, lines):
    """Rules for every file."""
    if path.name not in NO_SPDX:
        head = [line.strip("#/<!->* ") for line in lines[:4]]
        if not any(head[i : i + 2] == list(SPDX) for i in range(3)):
            report(path, 1, "must begin with the two SPDX lines")
    for number, line in enumerate(lines, 1):
        if path.suffix in {".hpp", ".cpp", ".cu"} and len(line) > MAXIMAL_COLUMNS:
            report(path, number, f"has more than {MAXIMAL_COLUMNS} columns")
        if LEFT_OPEN.search(line):
            report(path, number, "leaves something open")
        if MACHINE_PATH.search(line):
            report(path, number, "names a path of one machine")
        if REGISTRY_HOST.search(line):
            report(path, number, "names the host of a package registry")


def check_include(path, number, header, quote, included):
    """`header` is the path below include/triax, e.g. core/shape.hpp."""
    folder = header.split("/")[0]
    if quote != "<":
        report(path, number, "include with <> and the full path")
    if not included.startswith("triax/"):
        if included in COSTLY and FLOOR.get(folder, 9) <= LAST_FLOOR_WITHOUT_COSTLY:
            report(path, number, f"<{included}> is too costly here")
        if re.search(r"[./]", included) and not component_of(header):
            report(path, number, f"<{included}> belongs in the header of a component")
        return
    target = included.removeprefix("triax/")
    if component_of(target) and not component_of(header):
        report(path, number, f"<{included}> is the header of a component, which only programs include")
    if header == "triax.hpp":
        return
    if FLOOR.get(target.split("/")[0], 9) > FLOOR.get(folder, 0):
        report(path, number, f"<{included}> is on a higher floor than {folder}")


def check_header(path, header, lines):
    """Rules for the headers of the library."""
    if len(lines) > MAXIMAL_LINES:
        report(path, len(lines), f"has more than {MAXIMAL_LINES} lines")
    if "#pragma once" not in lines:
        report(path, 1, "lacks #pragma once")
    if header != "triax.hpp" and header.split("/")[0] not in FLOOR:
        report(path, 1, "lies in a folder that has no floor")
    for number, line in enumerate(lines, 1):
        if match := INCLUDE.match(line):
            check_include(path, number, header, match[1], match[2])
        if (match := MACRO.match(line)) and not match[1].startswith("TRIAX_"):
            report(path, number, f"macro {match[1]} does not begin with TRIAX_")
        if INTERNAL_LINKAGE.match(line):
            report(path, number, "gives every translation unit a copy of its own; use inline")


def check_umbrella(include, headers):
    """triax.hpp includes every header that needs only the standard library, directly or not."""
    reached = set()
    pending = ["triax.hpp"]
    while pending:
        header = pending.pop()
        if header in reached or not (include / header).exists():
            continue
        reached.add(header)
        text = (include / header).read_text(encoding="utf-8")
        pending += re.findall(r"^#include <triax/([^>]+)>", text, re.MULTILINE)
    for header in headers:
        if header not in reached and not component_of(header):
            report(f"include/triax/{header}", 1, "is not reached from triax.hpp")


def main():
    project = Path(sys.argv[1])
    os.chdir(project)
    check_top_level(".")
    headers = []
    for folder, folders, files in os.walk("."):
        folders[:] = sorted(set(folders) - NOT_OURS - {"__pycache__"})
        for name in sorted(files):
            path = Path(folder, name)
            try:
                lines = path.read_text(encoding="utf-8").splitlines()
            except UnicodeDecodeError:
                continue  # a picture
            check_text(path, lines)
            if path.suffix == ".hpp" and path.is_relative_to("include/triax"):
                header = path.relative_to("include/triax").as_posix()
                headers.append(header)
                check_header(path, header, lines)
    check_umbrella(Path("include/triax"), headers)

    print("\n".join(breaches) or "no breach of the rules")
    return bool(breaches)


sys.exit(main())
