// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// A GPT on ranks over MPI against the same on threads: the same bits.

#include <functional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <triax/comm/mpi.hpp>
#include <triax/comm/traced.hpp>

#include "conformance/mpi/world.hpp"
#include "support/models/gpt_net.hpp"
#include "support/models/training.hpp"
#include "support/sanitizers.hpp"

using namespace triax;
using namespace triax::test;

namespace {

History train_on_mpi(const Run& run, MpiCommunicator& world) {
  return train_on(run, [&](const std::function<void(ModelRank&)>& f) {
    const auto model = make_gpt_of<FullPrecision>(Traced<MpiCommunicator>(world), run.model);
    f(*model);
  });
}

/// The run over MPI, on every rank, and on rank 0 the same on threads. Collective.
void compare_with_threads(const Run& run, MpiCommunicator& world) {
  CAPTURE(run.model.mesh.dp);
  CAPTURE(run.model.mesh.pp);
  CAPTURE(static_cast<int>(run.model.policies.stage));
  CAPTURE(run.model.policies.schedule.name);
  const History history = train_on_mpi(run, world);
  CHECK(history.discrepancies == std::vector<std::string>{});
  if (world.rank() == 0) {
    const History threads = train(run);
    CHECK(history.losses == threads.losses);
    CHECK(history.norms == threads.norms);
    CHECK(history.weights == threads.weights);
  }
  world.barrier().wait();
}

Run run_on(const Extents& mesh) {
  Run run;
  run.steps = sanitized ? 5 : 20;
  run.model.mesh = mesh;
  run.model.sizes.blocks = mesh.pp > 4 ? mesh.pp : 4;
  run.model.policies.micro_batches = 3;
  run.model.policies.clip = By::norm;
  run.model.policies.clip_limit = 0.7F;
  run.model.policies.gradients.bucket_bytes = 20000;
  run.model.policies.gradients.first_bucket_bytes = 4000;
  return run;
}

}  // namespace

TEST_CASE("every mesh of the job's ranks trains as threads do, with the same bits" * doctest::timeout(120)) {
  on_mpi_ranks([](MpiCommunicator& world) {
    if (world.size() > 8) return;
    for (int pp = 1; pp <= world.size(); pp *= 2) {
      Run run = run_on({.dp = world.size() / pp, .pp = pp});
      for (const Stage stage : {Stage::none, Stage::parameters}) {
        for (const AnySchedule& schedule : {AnySchedule(GPipe{}), AnySchedule(OneFOneB{})}) {
          run.model.policies.stage = stage;
          run.model.policies.schedule = schedule;
          compare_with_threads(run, world);
        }
      }
    }
  });
}

TEST_CASE("sixteen ranks over MPI train as sixteen threads do" * doctest::timeout(120)) {
  on_mpi_ranks([](MpiCommunicator& world) {
    if (world.size() != 16) return;
    Run run = run_on({.dp = 4, .pp = 4});
    run.model.policies.stage = Stage::parameters;
    compare_with_threads(run, world);
  });
}

TEST_CASE("dropout over MPI is that of threads" * doctest::timeout(120)) {
  on_mpi_ranks([](MpiCommunicator& world) {
    if (world.size() != 4) return;
    Run run = run_on({.dp = 2, .pp = 2});
    run.model.sizes.dropout = 0.1;
    run.model.policies.stage = Stage::gradients;
    run.ignored_tokens = true;
    compare_with_threads(run, world);
  });
}
