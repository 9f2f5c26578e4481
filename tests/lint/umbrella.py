#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Triax authors
# SPDX-License-Identifier: Apache-2.0
"""Asserts what including triax.hpp costs: at most 15 000 non-blank preprocessed lines beside the standard headers.

    umbrella.py INCLUDE_FOLDER COMPILER FLAGS...

The time is printed, not asserted.
"""

import re
import subprocess
import sys
import time

LIMIT = 15_000


def main():
    include, *command = sys.argv[1:]
    command += [f"-I{include}", "-x", "c++", "-"]

    def compile_umbrella(option):
        program = "#include <triax/triax.hpp>\n"
        return subprocess.run([*command, option], input=program, check=True, stdout=subprocess.PIPE, text=True).stdout

    ours = total = 0
    in_our_file = False
    for line in compile_umbrella("-E").splitlines():
        if marker := re.match(r'# \d+ "([^"]*)"', line):
            in_our_file = marker[1].startswith(include)
        elif line.strip():
            total += 1
            ours += in_our_file

    begin = time.monotonic()
    compile_umbrella("-fsyntax-only")
    seconds = time.monotonic() - begin
    print(f"triax.hpp: {ours} lines of {total} after preprocessing (at most {LIMIT}); {seconds:.2f} s to compile")
    return ours > LIMIT


sys.exit(main())
