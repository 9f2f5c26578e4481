#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Triax authors
# SPDX-License-Identifier: Apache-2.0
"""Trains the same model on every layout and compares the losses of all steps.

    train_gpt_sweep.py TRAIN_GPT MPIRUN [OPTION ...]
"""

import itertools
import sys

from gpt_runs import SCHEDULES, STAGES, GptTest, main

# Four micro-batches on a rank even at dp=4.
SETTINGS = {"model_layers": 3, "train_batch": 16, "train_microbatches": 4, "strategy_accumulate": "local"}


class Sweep(GptTest):
    def sweep(self, layouts, ranks_are_processes=False, **settings):
        """Every layout (dp, pp, stage, schedule) against one rank; equal dp and pp must give the same bits."""
        settings = SETTINGS | settings
        one = self.train(**settings)
        first = {}
        for dp, pp, stage, schedule in layouts:
            layout = {"mesh_dp": dp, "mesh_pp": pp, "strategy_stage": stage, "strategy_schedule": schedule}
            with self.subTest(**layout):
                run = self.train(ranks=dp * pp if ranks_are_processes else 0, **settings, **layout)
                self.assert_close(run, one, layout)
                self.assert_same_bits(run, first.setdefault((dp, pp), run), layout)
        return first

    def test_threads(self):
        layouts = list(itertools.product((1, 2, 4), (1, 2, 4), STAGES, SCHEDULES))
        self.sweep(layouts)
        self.sweep(layouts, train_optimizer="sgd", train_lr=0.3)

    def test_accumulation_in_shards(self):
        one = self.train(**SETTINGS)
        for dp, pp, stage in itertools.product((2, 4), (1, 2, 4), ("gradients", "parameters")):
            layout = {"mesh_dp": dp, "mesh_pp": pp, "strategy_stage": stage, "strategy_accumulate": "sharded"}
            self.assert_close(self.train(**SETTINGS | layout), one, layout)

    def test_dropout(self):
        layouts = [(4, 1, "none", "1f1b"), (1, 4, "none", "1f1b"), (2, 2, "parameters", "gpipe")]
        self.sweep(layouts, model_dropout=0.1)

    def test_mpi_gives_the_bits_of_threads(self):
        layouts = [
            (dp, pp, stage, schedule)
            for dp, pp, stage, schedule in itertools.product((1, 2, 4), (1, 2, 4), ("none", "parameters"), SCHEDULES)
            if dp * pp <= 8
        ]
        layouts.append((4, 4, "parameters", "1f1b"))
        threads = self.sweep([(dp, pp, "none", "1f1b") for dp, pp in {layout[:2] for layout in layouts}])
        for mesh, run in self.sweep(layouts, ranks_are_processes=True).items():
            self.assert_same_bits(run, threads[mesh], mesh)

    def test_precisions(self):
        for precision, scale in (("bf16", 1), ("fp16", 2**20)):
            for dp, pp in ((1, 1), (4, 1), (2, 2)):
                first = None
                for stage in STAGES:
                    layout = {"mesh_dp": dp, "mesh_pp": pp, "strategy_stage": stage, "strategy_precision": precision}
                    run = self.train(**SETTINGS, **layout, train_loss_scale=scale)
                    first = first or run
                    self.assert_same_bits(run, first, layout)
                    self.assertEqual(run.loss_scale, first.loss_scale)


if __name__ == "__main__":
    sys.exit(main())
