#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Triax authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that a rank that throws ends its MPI job.

    check.py COMMAND...

Runs COMMAND once for each way in which the exception can leave the rank. The job must end soon, with a status that is
not 0, and say which rank failed, and why if that can be known.
"""

import subprocess
import sys

SECONDS = 60
WANTED = {
    "uncaught": "rank 1: the disk is full",
    "run": "rank 1: the disk is full",
    "caught_outside": "rank 1: an exception passes through mpi::Environment",
}

for way, wanted in WANTED.items():
    result = subprocess.run([*sys.argv[1:], way], capture_output=True, text=True, timeout=SECONDS)
    output = result.stdout + result.stderr
    if result.returncode == 0 or wanted not in output or "not reached" in output:
        sys.exit(f"{way}: status {result.returncode}, and '{wanted}' was wanted in:\n{output}")
    print(f"{way}: {wanted}")
