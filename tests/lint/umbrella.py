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
    command += [f"-I{include}", "-x", "c++"]
    umbrella = f"{include}/triax/triax.hpp"

    preprocessed = subprocess.run([*command, "-E", umbrella], check=True, capture_output=True, text=True).stdout
    ours = total = 0
    in_our_file = False
    for line in preprocessed.splitlines():
        if marker := re.match(r'# \d+ "([^"]*)"', line):
            in_our_file = marker[1].startswith(include)
        elif line.strip():
            total += 1
            ours += in_our_file

    begin = time.monotonic()
    subprocess.run([*command, "-fsyntax-only", "-Wno-pragma-once-outside-header", umbrella], check=True)
    seconds = time.monotonic() - begin
    print(f"triax.hpp: {ours} lines of {total} after preprocessing (at most {LIMIT}); {seconds:.2f} s to compile")
    return ours > LIMIT


sys.exit(main())
