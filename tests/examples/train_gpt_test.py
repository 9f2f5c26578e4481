#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Triax authors
# SPDX-License-Identifier: Apache-2.0
"""Drives train_gpt as a user does.

    train_gpt_test.py TRAIN_GPT MPIRUN [OPTION ...]
"""

import json
import math
import os
import pty
import subprocess
import sys

from gpt_runs import ENVIRONMENT, PROGRAM, SCHEDULES, SMALL, STAGES, GptTest, main


class Layouts(GptTest):
    """The same training on every layout."""

    def test_threads(self):
        one = self.train()
        self.assertLess(one.loss[-1], one.loss[0] - 1)
        for dp, pp in ((2, 1), (1, 2), (2, 2), (1, 4)):
            first = None
            for stage in STAGES if dp > 1 else ("none",):
                for schedule in SCHEDULES if pp > 1 else ("1f1b",):
                    settings = {"mesh_dp": dp, "mesh_pp": pp, "strategy_stage": stage, "strategy_schedule": schedule,
                                "strategy_accumulate": "local"}  # fmt: skip
                    run = self.train(**settings)
                    first = first or run
                    self.assert_same_bits(run, first, settings)
                    self.assertEqual(run.summary["world"], dp * pp)
                    self.assertEqual(run.summary["mesh"], {"dp": dp, "pp": pp})
            self.assert_close(first, one, f"dp={dp} pp={pp}")

    def test_accumulation_in_shards_agrees(self):
        one = self.train()
        for stage in ("gradients", "parameters"):
            self.assert_close(self.train(mesh_dp=2, mesh_pp=2, strategy_stage=stage), one, stage)

    def test_mpi_gives_the_bits_of_threads(self):
        for stage in ("none", "parameters"):
            layout = {"mesh_dp": 2, "mesh_pp": 2, "strategy_stage": stage}
            self.assert_same_bits(self.train(ranks=4, **layout), self.train(**layout), stage)
        self.assert_same_bits(self.train(ranks=2, mesh_dp="auto"), self.train(mesh_dp=2))

    def test_two_runs_give_the_same_bits(self):
        layout = {"mesh_dp": 2, "mesh_pp": 2, "model_dropout": 0.1, "strategy_bucket_bytes": 1}
        self.assert_same_bits(self.train(**layout), self.train(**layout))

    def test_dropout_does_not_see_the_layout(self):
        one = self.train(model_dropout=0.1)
        self.assertNotEqual(one.loss, self.train().loss)
        for layout in ({"mesh_dp": 2}, {"mesh_pp": 2}, {"train_microbatches": 4}):
            self.assert_close(self.train(model_dropout=0.1, **layout), one, layout)

    def test_uneven_microbatches_and_sgd(self):
        settings = {"train_optimizer": "sgd", "train_lr": 0.3, "train_batch": 10, "train_decay": "cosine"}
        one = self.train(train_microbatches=1, **settings)
        for layout in ({"train_microbatches": 3}, {"train_microbatches": 4, "mesh_dp": 2, "mesh_pp": 3}):
            self.assert_close(self.train(**settings, **layout), one, layout)


class Precision(GptTest):
    def test_bf16(self):
        fp32 = self.train()
        bf16 = self.train(strategy_precision="bf16", mesh_dp=2, mesh_pp=2, strategy_stage="parameters")
        self.assertLess(abs(bf16.loss[-1] / fp32.loss[-1] - 1), 0.03)
        self.assertEqual(bf16.loss_scale, [1] * 20)

    def test_fp16_skips_then_trains(self):
        settings = {"strategy_precision": "fp16", "train_loss_scale": 2**30, "train_steps": 40}
        run = self.train(**settings, mesh_dp=2, mesh_pp=2, strategy_stage="gradients")
        skipped = run.applied.count(False)
        self.assertEqual(run.applied, [False] * skipped + [True] * (40 - skipped))
        self.assertGreater(skipped, 0)
        self.assertEqual(run.loss_scale[-1], 2 ** (30 - skipped))
        self.assertIsNone(run.grad_norm[0])
        self.assertLess(run.loss[-1], run.loss[0] - 1)


class Data(GptTest):
    def test_validation_scores_every_byte_once(self):
        one = self.train(eval_batches=0)
        self.assertEqual(one.summary["validation_bytes"], self.text_bytes // 10)
        self.assertAlmostEqual(one.summary["bits_per_byte"] * math.log(2), one.summary["validation_loss"], 6)
        for layout in ({"mesh_dp": 8, "train_microbatches": 1}, {"mesh_dp": 2, "mesh_pp": 2}):
            run = self.train(eval_batches=0, **layout)
            self.assertEqual(run.summary["validation_bytes"], one.summary["validation_bytes"])
            self.assert_close(run, one, layout)

    def test_first_batches_of_a_validation(self):
        run = self.train(eval_batches=2, eval_every=10)
        self.assertEqual(run.summary["validation_bytes"], 2 * SMALL["train.batch"] * SMALL["model.context"])
        self.assertEqual(run.printed.count("validation loss"), 2)

    def test_sample_is_the_same_text(self):
        def written(**layout):
            printed = self.train(sample_bytes=50, train_steps=30, **layout).printed
            return printed[printed.index("training text ends:\n") :]

        one = written()
        self.assertEqual(written(mesh_dp=2, mesh_pp=2, strategy_stage="parameters"), one)
        self.assertEqual(written(ranks=2, mesh_pp=2), one)

    def test_learning_rate(self):
        run = self.train(train_lr=0.01, train_warmup=4, train_decay="linear", train_lr_min=0.0025)
        self.assertEqual(run.lr[:6], [0.0025, 0.005, 0.0075, 0.01, 0.01, 0.0095])
        self.assertEqual(run.lr[-1], 0.0025)
        run = self.train(train_lr=0.01, train_decay="cosine", train_steps=21)
        self.assertEqual((run.lr[0], run.lr[10], run.lr[-1]), (0.01, 0.0055, 0.001))


class CommandLine(GptTest):
    REFUSED = (  # arguments, and what the sentence must say
        ("train.step=3", "'train.step'", "'train.steps'"),
        ("model.widht=3", "'model.widht'", "'model.width'"),
        ("lr=0.1", "'lr'", "'train.lr'"),
        ("train.steps", "no key=value"),
        ("train.steps=1.5", "train.steps=1.5"),
        ("train.steps=1e3", "train.steps=1e3"),
        ("train.steps=0", "train.steps=0"),
        ("train.steps=-1", "train.steps=-1"),
        ("train.lr=fast", "train.lr=fast"),
        ("train.lr=nan", "train.lr=nan"),
        ("train.lr=1e-4x", "train.lr=1e-4x"),
        ("train.lr=-1", "train.lr=-1"),
        ("model.dropout=1", "model.dropout=1"),
        ("strategy.stage=zero2", "none|optimizer|gradients|parameters"),
        ("strategy.precision=", "fp32|bf16|fp16"),
        ("comm=carrier_pigeon", "threads|mpi"),
        ("model.heads=3", "model.heads=3", "model.width=16"),
        ("mesh.dp=3", "train.batch=8", "mesh.dp=3"),
        ("mesh.pp=6", "mesh.pp=6", "5 stages"),
        ("mesh.dp=0", "mesh.dp=0"),
        ("mesh.dp=auto", "comm=mpi"),
        ("train.microbatches=9", "train.microbatches=9", "8"),
        ("mesh.dp=2 train.microbatches=5", "train.microbatches=5", "4"),
        ("strategy.accumulate=sharded", "strategy.accumulate=sharded", "strategy.stage"),
        ("strategy.stage=optimizer strategy.accumulate=sharded", "strategy.accumulate=sharded"),
        ("train.lr_min=1", "train.lr_min"),
        ("data.path=absent", "data.path=absent"),
        ("data.path=.", "data.path=."),
        ("data.path=short", "data.path=short", "8 bytes"),
        ("out=text", "out=text"),
    )

    def assert_refused(self, finished, parts, arguments):
        self.assertEqual(finished.returncode, 2, arguments)
        self.assertEqual(finished.stdout, "", arguments)
        sentences = [line for line in finished.stderr.splitlines() if line.startswith("train_gpt: ")]
        self.assertEqual(len(sentences), 1, finished.stderr)
        for part in parts:
            self.assertIn(part, sentences[0])
        self.assertEqual(sorted(os.listdir(self.folder)), ["short", "text"], arguments)

    def setUp(self):
        super().setUp()
        (self.folder / "short").write_text("8 bytes.")
        self.small = [f"{key}={value}" for key, value in (SMALL | {"data.path": "text"}).items()]

    def test_refusals_o57_o58(self):
        for arguments, *parts in self.REFUSED:
            finished = self.start([*self.small, *arguments.split(" ")])
            self.assert_refused(finished, parts, arguments)
            self.assertEqual(finished.stderr.count("\n"), 1)
        self.assert_refused(self.start(["train.steps=1"]), ["data.path is missing"], "no data.path")

    def test_refusals_on_mpi_o61_o64(self):
        for ranks, arguments, *parts in (
            (2, "mesh.dp=2 mesh.pp=2", "2x1x2=4", "2 ranks"),
            (2, "mesh.dp=2 train.step=1", "'train.steps'"),
            (2, "mesh.dp=2 data.path=absent", "data.path=absent"),
            (2, "mesh.dp=2 out=text", "out=text"),
        ):
            finished = self.start([*self.small, "comm=mpi", *arguments.split(" ")], ranks)
            self.assert_refused(finished, parts, arguments)

    def test_floats_in_scientific_form_o58(self):
        for text, value in (("1e-4", 1e-4), ("5E-5", 5e-5), ("1.e-3", 1e-3), (".5", 0.5), ("1e+2", 100)):
            run = self.train(train_lr=text, train_steps=1)
            self.assertAlmostEqual(run.lr[0] / value, 1, 6)

    def test_last_value_counts(self):
        finished = self.start([*self.small, "train.steps=3", "train.steps=2"])
        self.assertIn("step 2/2 ", finished.stdout)

    def test_plan(self):
        layout = {"mesh_dp": 2, "mesh_pp": 2, "strategy_stage": "parameters"}
        planned = self.train(**layout).summary["plan"]
        before = sorted(os.listdir(self.folder))
        arguments = [*self.small, *(f"{key.replace('_', '.', 1)}={value}" for key, value in layout.items())]
        for comm in ("threads", "mpi"):  # the plan of a mesh needs none of its ranks
            finished = self.start([*arguments, "plan=true", f"comm={comm}", "out=planned"])
            self.assertEqual(finished.returncode, 0, finished.stderr)
            plan = json.loads(finished.stdout)
            self.assertEqual({name: plan[name] for name in planned}, planned)
        self.assertEqual(sorted(os.listdir(self.folder)), before)

    def test_only_rank_0_prints_o64(self):
        lines = [line for line in self.train(ranks=4, mesh_dp=2, mesh_pp=2).printed.splitlines() if "loss" in line]
        self.assertEqual(len(lines), 21)  # a line for every step of a short run, and the validation
        self.assertRegex(lines[0], r"^step 1/20  loss \d\.\d{8}  \d+ tokens/s  \d+:\d\d left$")

    def test_progress_on_a_terminal(self):
        reader, terminal = pty.openpty()
        arguments = [PROGRAM, *self.small, "train.steps=30"]
        status = subprocess.run(arguments, cwd=self.folder, env=ENVIRONMENT, stdout=terminal, timeout=120, check=False)
        os.close(terminal)
        shown = b""
        while not shown.endswith(b" of 128\r\n"):
            shown += os.read(reader, 65536)
        os.close(reader)
        self.assertEqual(status.returncode, 0)
        self.assertEqual(shown.count(b"\r\x1b[Kstep "), 29)
        self.assertEqual(shown.count(b"\n"), 2)  # after the last step and the validation

    def test_help_names_every_key(self):
        finished = self.start(["--help"])
        self.assertEqual(finished.returncode, 0)
        for key in SMALL:
            self.assertIn(f"  {key}=", finished.stdout)


if __name__ == "__main__":
    sys.exit(main())
