#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Triax authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that wrong programs get the one sentence that helps.

    check.py [--each] SOURCE COMPILER FLAGS...

SOURCE compiles without warnings as it is. For each n it names in a comment,

    // TRIAX_FAIL_1: the sentence, or a part of it that
    //   may go on in lines indented by three spaces
    // TRIAX_FAIL_2 note: a part of the notes that follow the error

compiling with -DTRIAX_FAIL_1 must give exactly one error, which contains that sentence. All macros are tried at once,
where each must give its error; one by one only if that fails, to say what is wrong, or with --each.
"""

import os
import re
import subprocess
import sys
import tempfile


def wanted_sentences(source):
    """The wanted text, and whether it is in a note, by macro name in the order of the file."""
    wanted = {}
    macro = None
    for line in open(source, encoding="utf-8"):
        if match := re.match(r"\s*// (TRIAX_FAIL_\d+)( note)?: (.+)", line):
            macro = match[1]
            if macro in wanted:
                sys.exit(f"{source}: {macro} is described twice")
            wanted[macro] = (match[3].strip(), bool(match[2]))
        elif macro and (match := re.match(r"\s*//   (\S.*)", line)):
            wanted[macro] = (wanted[macro][0] + " " + match[1].strip(), wanted[macro][1])
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


def precompile(source, command, folder):
    """Options that spare each compilation to parse the headers that the source includes."""
    header = os.path.join(folder, "included.hpp")
    with open(header, "w", encoding="utf-8") as file:
        file.writelines(line for line in open(source, encoding="utf-8") if line.startswith("#include"))
    compiler = [word for word in command if word != "-fsyntax-only"]
    subprocess.run([*compiler, "-x", "c++-header", header, "-o", header + ".gch"], check=True)
    return ["-include", header]


def unmatched(wanted, errors, output):
    """The macros without an error of their own, and the errors that no macro wants."""
    left = list(errors)
    missing = []
    for macro, (sentence, in_note) in wanted.items():
        match = next((error for error in left if in_note or sentence in error), None)
        if match and sentence in output:
            left.remove(match)
        else:
            missing.append(macro)
    return missing, left


def main():
    each = sys.argv[1] == "--each"
    source, *command = sys.argv[1 + each :]
    failures = 0

    def report(name, problem, output):
        nonlocal failures
        failures += 1
        print(f"{source}: {name}: {problem}\n{output}")

    errors, output = errors_of([*command, source, "-Wall", "-Wextra", "-Wpedantic", "-Werror"])
    if errors:
        report("without a macro", "must compile without warnings", output)

    directives = [line for line in open(source, encoding="utf-8") if line.lstrip().startswith("#")]
    used = set(re.findall(r"\bTRIAX_FAIL_\d+\b", " ".join(directives)))
    wanted = wanted_sentences(source)
    if not wanted or used != set(wanted):
        report("comments", f"describe {sorted(wanted)}, the code uses {sorted(used)}", "")

    # Sentences first: a macro whose text is in a note takes any error that is left.
    wanted = dict(sorted(wanted.items(), key=lambda item: item[1][1]))
    if not each:
        errors, output = errors_of([*command, source, *(f"-D{macro}" for macro in wanted)])
        each = unmatched(wanted, errors, output) != ([], [])
        print(f"{len(wanted)} wrong programs at once: {len(errors)} errors")
    if not each:
        return failures > 0

    with tempfile.TemporaryDirectory() as folder:
        command += precompile(source, command, folder)
        for macro, sentence in wanted.items():
            errors, output = errors_of([*command, source, f"-D{macro}"])
            if len(errors) != 1:
                report(macro, f"{len(errors)} errors instead of one", output)
            elif unmatched({macro: sentence}, errors, output) != ([], []):
                report(macro, f"the error does not contain: {sentence[0]}", output)
            else:
                print(f"{macro}: {errors[0]}")
    return failures > 0


sys.exit(main())
