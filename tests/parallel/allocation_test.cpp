// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// After the first step, a step leaves the heap alone and no request behind.

#include <barrier>
#include <cstddef>
#include <vector>

#include <doctest/doctest.h>

#include <triax/comm/progress.hpp>
#include <triax/device/host_gemm.hpp>

#include "support/allocations.hpp"
#include "support/models/training.hpp"
#include "support/sanitizers.hpp"

using namespace triax;
using namespace triax::test;

namespace {

constexpr Stage stages[] = {Stage::none, Stage::optimizer, Stage::gradients, Stage::parameters};

/// Multiplies by the built-in product while it lives: libraries may allocate inside theirs, as oneDNN does to
/// pack.
class BuiltinProducts {
 public:
  BuiltinProducts() { gemm_table.single_precision = &detail::BuiltinGemm<float>::multiply; }
  ~BuiltinProducts() { gemm_table = before_; }
  BuiltinProducts(const BuiltinProducts&) = delete;
  BuiltinProducts& operator=(const BuiltinProducts&) = delete;

 private:
  const GemmTable before_ = gemm_table;
};

/// The heap allocations of all ranks in the steps that follow the first.
std::size_t allocations_of_steps(const GptOptions& options) {
  const BuiltinProducts products;
  const int ranks = options.mesh.product();
  std::size_t count = 0;
  std::barrier together(ranks);
  run_threads(ranks, [&](ThreadCommunicator world) {
    const bool counts = world.rank() == 0;
    const auto model = make_gpt(ThreadWorldRank(std::move(world)), options);
    std::vector<TextBatch> texts;
    for (int step = 0; step < (sanitized ? 3 : 6); ++step) texts.emplace_back(step, 8, 8);
    std::vector<Batch<Host>> batches;
    for (const TextBatch& text : texts)
      batches.push_back(text.part(model->coordinates().dp, options.mesh.dp));

    model->step(batches[0]);
    CHECK(Progress::of_this_thread().pending() == 0);
    together.arrive_and_wait();
    const AllocationCount heap;
    bool pending = false;
    for (std::size_t step = 1; step < batches.size(); ++step) {
      const StepResult result = model->step(batches[step]);
      pending = pending || Progress::of_this_thread().pending() != 0 || !(result.loss() > 0);
    }
    together.arrive_and_wait();
    if (counts) count = heap.count();
    CHECK(!pending);
  });
  return count;
}

}  // namespace

TEST_CASE("on one rank, steps after the first allocate nothing") {
  for (const Compute compute : {Compute::fp32, Compute::bf16, Compute::fp16}) {
    for (const int micro_batches : {1, 3}) {
      GptOptions options;
      options.compute = compute;
      options.policies.micro_batches = micro_batches;
      options.policies.clip = By::norm;
      options.sizes.dropout = 0.1;
      CAPTURE(static_cast<int>(compute));
      CHECK(allocations_of_steps(options) == 0);
    }
  }
}

TEST_CASE("on threads, steps after the first allocate nothing") {
  for (const Extents& mesh :
       {Extents{.dp = 2}, Extents{.dp = 4}, Extents{.pp = 2}, Extents{.pp = 4}, Extents{.dp = 2, .pp = 2}}) {
    for (const Stage stage : stages) {
      for (const AnySchedule& schedule : {AnySchedule(GPipe{}), AnySchedule(OneFOneB{})}) {
        GptOptions options;
        options.mesh = mesh;
        options.policies.stage = stage;
        options.policies.schedule = schedule;
        options.policies.micro_batches = 4;
        options.policies.gradients.bucket_bytes = 20000;
        options.policies.gradients.first_bucket_bytes = 4000;
        CAPTURE(mesh.dp);
        CAPTURE(mesh.pp);
        CAPTURE(static_cast<int>(stage));
        CHECK(allocations_of_steps(options) == 0);
      }
    }
  }
}
