# SPDX-FileCopyrightText: 2026 The Triax authors
# SPDX-License-Identifier: Apache-2.0
"""Runs train_gpt on a small text and checks what every run must do. For the tests beside this file:

    NAME.py TRAIN_GPT MPIRUN [OPTION ...]
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM, *MPIRUN = sys.argv[1:]
SMALL = {
    "model.layers": 2, "model.heads": 2, "model.width": 16, "model.context": 8,
    "train.steps": 20, "train.batch": 8, "train.microbatches": 2, "train.lr": 0.01, "eval.batches": 2,
}  # fmt: skip
STAGES = ("none", "optimizer", "gradients", "parameters")
SCHEDULES = ("gpipe", "1f1b")
METRICS = ["step", "loss", "grad_norm", "lr", "loss_scale", "applied", "tokens_per_second", "seconds"]
SUMMARY = {
    "steps", "loss", "validation_loss", "bits_per_byte", "validation_bytes", "tokens", "tokens_per_second", "world",
    "mesh", "skipped_steps", "loss_scale", "bytes_per_rank", "traffic_per_step", "plan",
}  # fmt: skip
TAKEN = {
    "bytes_per_rank": {"parameters", "gradients", "optimizer", "buffers", "activations"},
    "traffic_per_step": {"dp", "pp", "mesh"},
}
ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def write_text(path, size):
    """Words of a small vocabulary in a random order that is the same in every run."""
    numbers = random.Random(1)
    words = [w + " " for w in "in the beginning was a word and it went from rank to rank until all had it .\n".split(" ")]
    text = "".join(numbers.choice(words) for _ in range(size))
    Path(path).write_bytes(text.encode()[:size])


class Run:
    """A finished run: its metrics by name, its summary and what it printed."""

    def __init__(self, folder, printed):
        self.printed = printed
        self.lines = [json.loads(line) for line in Path(folder, "metrics.jsonl").read_text().splitlines()]
        self.summary = json.loads(Path(folder, "summary.json").read_text())

    def __getattr__(self, name):
        return [line[name] for line in self.lines]


class GptTest(unittest.TestCase):
    """Runs train_gpt in a folder of its own, which holds the text `text` of `text_bytes` bytes."""

    text_bytes = 5003  # 500 are held out: no multiple of the context

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        write_text(self.folder / "text", self.text_bytes)
        self.runs = 0

    def start(self, arguments, ranks=0):
        """Starts the program in the folder, on MPI if `ranks` are given."""
        launcher = [*MPIRUN, "-n", str(ranks)] if ranks else []
        return subprocess.run([*launcher, PROGRAM, *arguments], cwd=self.folder, env=ENVIRONMENT, timeout=120,
                              capture_output=True, text=True, errors="replace", check=False)  # fmt: skip

    def train(self, ranks=0, **settings):
        """A run with SMALL and `settings`, whose keys have an underscore for the first dot."""
        self.runs += 1
        out = self.folder / f"out{self.runs}"
        settings = SMALL | {key.replace("_", ".", 1): value for key, value in settings.items()}
        settings |= {"data.path": "text", "out": out} | ({"comm": "mpi"} if ranks else {})
        finished = self.start([f"{key}={value}" for key, value in settings.items()], ranks)
        self.assertEqual(finished.returncode, 0, f"{settings}: {finished.stderr}")
        run = Run(out, finished.stdout)
        self.check(run, settings)
        return run

    def check(self, run, settings):
        """What holds for every run."""
        self.assertEqual(run.step, list(range(1, settings["train.steps"] + 1)))
        for line in run.lines:
            self.assertEqual(list(line), METRICS)
        summary = run.summary
        self.assertEqual(set(summary), SUMMARY)
        for taken in (summary, summary["plan"]):
            for name, parts in TAKEN.items():
                self.assertEqual(set(taken[name]), parts)
        for name in TAKEN:
            self.assertEqual(summary[name], summary["plan"][name], f"measured and planned under {settings}")
        self.assertEqual(summary["loss"], run.loss[-1])
        self.assertEqual(summary["tokens"],
                         settings["train.steps"] * settings["train.batch"] * settings["model.context"])  # fmt: skip
        self.assertEqual(summary["skipped_steps"], run.applied.count(False))

    def assert_close(self, run, reference, settings=""):
        for step, (a, b) in enumerate(zip(run.loss, reference.loss, strict=True), 1):
            self.assertLessEqual(abs(a - b), 1e-5 * abs(b), f"loss of step {step} {settings}")
        a, b = run.summary["validation_loss"], reference.summary["validation_loss"]
        self.assertLessEqual(abs(a - b), 1e-5 * abs(b), f"validation loss {settings}")

    def assert_same_bits(self, run, reference, settings=""):
        """As far as 9 digits tell."""
        for name in ("loss", "grad_norm"):
            self.assertEqual(getattr(run, name), getattr(reference, name), f"{name} {settings}")
        self.assertEqual(run.summary["validation_loss"], reference.summary["validation_loss"], settings)


def main():
    sys.argv[1:] = []  # unittest reads its own
    unittest.main(module="__main__")
