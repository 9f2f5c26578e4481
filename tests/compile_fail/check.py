#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Triax authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that wrong programs get the one sentence that helps.

    check.py SOURCE COMPILER FLAGS...

SOURCE compiles without warnings as it is. For each n it names in a comment,

    // TRIAX_FAIL_1: the sentence, or a part of it that
    //   may go on in lines indented by three spaces

compiling with -DTRIAX_FAIL_1 must give exactly one error, which contains that sentence.
"""

import re
import subprocess
import sys


def wanted_sentences(source):
    """The wanted text by macro name, in the order of the file."""
    wanted = {}
    macro = None
    for line in open(source, encoding="utf-8"):
        if match := re.match(r"\s*// (TRIAX_FAIL_\d+): (.+)", line):
            macro = match[1]
            if macro in wanted:
                sys.exit(f"{source}: {macro} is described twice")
            wanted[macro] = match[2].strip()
        elif macro and (match := re.match(r"\s*//   (\S.*)", line)):
            wanted[macro] += " " + match[1].strip()
        else:
            macro = None
    return wanted


def errors_of(command):
    """The lines in which the compiler reports an error, and all that it wrote."""
    result = subprocess.run(command, capture_output=True, text=True)
    errors = [line for line in result.stderr.splitlines() if re.search(r"(?:^|: )(?:fatal )?error: ", line)]
    if result.returncode and not errors:
        errors = [f"the compiler stopped with status {result.returncode} and no error"]
    return errors, result.stderr


def main():
    source, *command = sys.argv[1:]
    command.append(source)
    failures = 0

    def report(name, problem, output):
        nonlocal failures
        failures += 1
        print(f"{source}: {name}: {problem}\n{output}")

    errors, output = errors_of([*command, "-Wall", "-Wextra", "-Wpedantic", "-Werror"])
    if errors:
        report("without a macro", "must compile without warnings", output)

    directives = [line for line in open(source, encoding="utf-8") if line.lstrip().startswith("#")]
    used = set(re.findall(r"\bTRIAX_FAIL_\d+\b", " ".join(directives)))
    wanted = wanted_sentences(source)
    if not wanted or used != set(wanted):
        report("comments", f"describe {sorted(wanted)}, the code uses {sorted(used)}", "")

    for macro, sentence in wanted.items():
        errors, output = errors_of([*command, f"-D{macro}"])
        if len(errors) != 1:
            report(macro, f"{len(errors)} errors instead of one", output)
        elif sentence not in errors[0]:
            report(macro, f"the error does not contain: {sentence}", output)
        else:
            print(f"{macro}: {errors[0]}")
    return failures > 0


sys.exit(main())
