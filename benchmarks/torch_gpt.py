#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Triax authors
# SPDX-License-Identifier: Apache-2.0
"""The training step of gpt_step.cpp in PyTorch: the same model, the same work, one line of figures.

    torch_gpt.py [--mode single|ddp|zero1] [--ranks N] [--layers 6 --heads 6 --width 384 --context 256] [--batch 4]
                 [--steps 10] [--export FOLDER] [--driven]

One thread per rank, Gloo between ranks. Needs PyTorch (Debian: python3-torch, run with /usr/bin/python3). Prints JSON:
seconds per step (median), tokens per second, GFLOP/s counted as 6 * N * tokens.

--export writes the initial weights and every rank's batch into a folder, from which gpt_step starts alike. --driven waits
for a line on standard input before each step, and prints its loss and seconds.
"""

import argparse
import json
import math
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as F
from torch import nn

VOCABULARY = 256


class Block(nn.Module):
    def __init__(self, width, heads, context):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.mask = ~torch.tril(torch.ones(context, context, dtype=torch.bool))  # no buffer: Gloo sends no bools

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (y.view(b, t, self.heads, -1).transpose(1, 2) for y in self.qkv(self.norm1(x)).split(c, 2))
        scores = (q @ k.transpose(-2, -1)) / math.sqrt(c // self.heads)
        scores = scores.masked_fill(self.mask[:t, :t], float("-inf"))
        x = x + self.proj((F.softmax(scores, -1) @ v).transpose(1, 2).reshape(b, t, c))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(self, a):
        super().__init__()
        self.token, self.position = nn.Embedding(VOCABULARY, a.width), nn.Embedding(a.context, a.width)
        self.blocks = nn.Sequential(*(Block(a.width, a.heads, a.context) for _ in range(a.layers)))
        self.norm = nn.LayerNorm(a.width)
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.normal_(p, 0, 0.02)

    def forward(self, ids, targets):
        x = self.blocks(self.token(ids) + self.position(torch.arange(ids.shape[1])))
        logits = self.norm(x) @ self.token.weight.T
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1))


def triax_parameters(model):
    """The parameters by the names that they have in gpt_step; the weights of linear layers are [in, out] there."""
    yield "0.0.token", model.token.weight
    yield "0.0.position", model.position.weight
    for i, block in enumerate(model.blocks):
        for residual, norm, linears in (
            (0, block.norm1, {"qkv": block.qkv, "out": block.proj}),
            (1, block.norm2, {"up": block.up, "down": block.down}),
        ):
            yield f"1.{i}.{residual}.0.scale", norm.weight
            yield f"1.{i}.{residual}.0.shift", norm.bias
            for name, linear in linears.items():
                yield f"1.{i}.{residual}.1.{name}", linear.weight.T
                yield f"1.{i}.{residual}.1.{name}_bias", linear.bias
    yield "2.0.scale", model.norm.weight
    yield "2.0.shift", model.norm.bias
    yield "3.0.token", model.token.weight


def batch_of(rank, a):
    generator = torch.Generator().manual_seed(1 + rank)
    shape = (a.batch, a.context)
    return tuple(torch.randint(0, VOCABULARY, shape, generator=generator) for _ in ("inputs", "targets"))


def export(folder, model, a):
    for name, values in triax_parameters(model):
        Path(folder, name).write_bytes(values.detach().contiguous().numpy().tobytes())
    for rank in range(a.ranks):
        for name, tokens in zip(("inputs", "targets"), batch_of(rank, a), strict=True):
            Path(folder, f"{name}.{rank}").write_bytes(tokens.int().numpy().tobytes())


def make_optimizer(model, a):
    """AdamW without decay of biases and norms, as in Triax."""
    parameters = list(model.parameters())
    groups = [{"params": [p for p in parameters if p.dim() > 1]},
              {"params": [p for p in parameters if p.dim() == 1], "weight_decay": 0.0}]  # fmt: skip
    options = {"lr": 1e-4, "betas": (0.9, 0.95), "weight_decay": 0.1}
    if a.mode == "zero1":
        from torch.distributed.optim import ZeroRedundancyOptimizer

        return ZeroRedundancyOptimizer(parameters, optimizer_class=torch.optim.AdamW, **options)
    return torch.optim.AdamW(groups, **options)


def run(rank, a, store):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    if a.ranks > 1:
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
        dist.init_process_group("gloo", init_method="file://" + store, rank=rank, world_size=a.ranks)
    model = Gpt(a)
    if rank == 0 and a.export:
        export(a.export, model, a)
    n = sum(p.numel() for p in model.parameters())
    net = model
    if a.ranks > 1:
        net = nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True, broadcast_buffers=False)
    optimizer = make_optimizer(model, a)
    ids, targets = batch_of(rank, a)
    seconds = []
    for step in range(a.steps + 1):
        if a.driven and rank == 0:
            sys.stdin.readline()
        if a.ranks > 1:
            dist.barrier()
        start, processor_start = time.perf_counter(), time.thread_time()
        loss = net(ids, targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=a.ranks == 1)
        elapsed, processor = time.perf_counter() - start, time.thread_time() - processor_start
        mean = loss.detach().clone()
        if a.ranks > 1:
            dist.all_reduce(mean)
        if step:
            seconds.append(elapsed)
        if a.driven and rank == 0:
            print(json.dumps({"loss": mean.item() / a.ranks, "seconds": elapsed, "processor_seconds": processor}),
                  flush=True)  # fmt: skip
    if rank == 0:
        median, tokens = statistics.median(seconds), a.batch * a.context * a.ranks
        print(json.dumps({"peer": "torch " + torch.__version__, "mode": a.mode, "ranks": a.ranks, "parameters": n,
                          "seconds_per_step": round(median, 4), "tokens_per_second": round(tokens / median, 1),
                          "gflops": round(6 * n * tokens / median * 1e-9, 1),
                          "loss": round(mean.item() / a.ranks, 4)}), flush=True)  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--mode", default="single", choices=["single", "ddp", "zero1"])
    for name, value in {"ranks": 1, "layers": 6, "heads": 6, "width": 384, "context": 256, "batch": 4, "steps": 10}.items():
        parser.add_argument("--" + name, type=int, default=value)
    parser.add_argument("--export", metavar="FOLDER")
    parser.add_argument("--driven", action="store_true")
    a = parser.parse_args()
    if a.mode != "single":
        a.ranks = max(a.ranks, 2)
    with tempfile.TemporaryDirectory() as folder:
        store = os.path.join(folder, "store")
        others = [mp.get_context("spawn").Process(target=run, args=(rank, a, store)) for rank in range(1, a.ranks)]
        for process in others:
            process.start()
        run(0, a, store)
        for process in others:
            process.join()


if __name__ == "__main__":
    main()
