#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Triax authors
# SPDX-License-Identifier: Apache-2.0
"""Runs gpt_step beside PyTorch, a step of each in turn, and prints how much faster ours is.

    compare_torch.py GPT_STEP [GPT_STEP ...] [--ranks 1,2] [--steps 9] [--torch-python /usr/bin/python3]

Each GPT_STEP is that program built with another library for matrix products. All start from the weights and batches that
torch_gpt.py exports; the comparison fails unless the losses of the first five steps agree to 1e-3. A ratio is the median
of PyTorch's seconds over ours in neighbouring steps, with its quartiles: what else the machine does hits both alike.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

COMPARED_STEPS = 5
TOLERANCE = 1e-3


def openblas_core():
    """An OpenBLAS that is older than the processor takes it for a far simpler one, and PyTorch with it."""
    flags = Path("/proc/cpuinfo").read_text().split() if sys.platform == "linux" else []
    return "SkylakeX" if "avx512f" in flags else "Haswell" if "avx2" in flags else ""


class Runner:
    """A program that trains one step for each line that it is given."""

    def __init__(self, command):
        environment = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "OPENBLAS_CORETYPE": openblas_core()}
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
                                        env=environment | os.environ)  # fmt: skip
        self.losses, self.seconds, self.processor_seconds = [], [], []

    def step(self):
        print(file=self.process.stdin, flush=True)
        result = self.read()
        self.losses.append(result["loss"])
        self.seconds.append(result["seconds"])
        self.processor_seconds.append(result["processor_seconds"])

    def finish(self):
        """Its own summary."""
        summary = self.read()
        self.process.wait()
        return summary

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{self.process.args[0]} ended early")
        return json.loads(line)


def ratio(theirs, ours):
    """Quartiles over the steps but the first."""
    return statistics.quantiles((a / b for a, b in zip(theirs[1:], ours[1:], strict=True)), n=4)


def compare(programs, ranks, a, folder):
    """Prints a line for each program; says whether all losses agree."""
    torch_program = Path(__file__).with_name("torch_gpt.py")
    mode = "ddp" if ranks > 1 else "single"
    peer = Runner([a.torch_python, torch_program, "--driven", f"--export={folder}", f"--mode={mode}", f"--ranks={ranks}",
                   f"--steps={a.steps}"])  # fmt: skip
    peer.step()  # it has exported by now
    ours = [Runner([p, "driven=true", f"folder={folder}", f"ranks={ranks}", f"steps={a.steps}"]) for p in programs]
    for runner in ours:
        runner.step()
    for _ in range(a.steps):
        for runner in (peer, *ours):
            runner.step()
    peer_summary = peer.finish()

    agree = True
    for runner in ours:
        summary = runner.finish()
        pairs = list(zip(peer.losses[:COMPARED_STEPS], runner.losses, strict=False))
        worst = max(abs(ours - theirs) / theirs for theirs, ours in pairs)
        agree = agree and worst <= TOLERANCE
        low, middle, high = ratio(peer.seconds, runner.seconds)
        _, processor, _ = ratio(peer.processor_seconds, runner.processor_seconds)
        print(f"{ranks} rank{'s' if ranks > 1 else ' '}  {summary['gemm']:24} {summary['seconds_per_step']:6.3f} s, "
              f"{100 * summary['gemm_share']:.0f} % GEMM, {summary['tokens_per_second']:6.0f} tokens/s; "
              f"{peer_summary['peer']} {mode} {statistics.median(peer.seconds[1:]):6.3f} s; "
              f"ratio {middle:.2f} [{low:.2f}, {high:.2f}], in processor time of rank 0 {processor:.2f}; "
              f"losses differ by {worst:.1e}")  # fmt: skip
    return agree


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("programs", nargs="+", metavar="GPT_STEP")
    parser.add_argument("--ranks", default="1,2")
    parser.add_argument("--steps", type=int, default=9)
    parser.add_argument("--torch-python", default="/usr/bin/python3")
    a = parser.parse_args()
    agree = True
    for ranks in map(int, a.ranks.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            agree = compare(a.programs, ranks, a, folder) and agree
    if not agree:
        sys.exit(f"the losses of the first {COMPARED_STEPS} steps differ by more than {TOLERANCE:g}: not the same work")


if __name__ == "__main__":
    main()
