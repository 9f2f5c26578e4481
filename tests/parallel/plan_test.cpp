// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// The plan against what was allocated and sent, and against formulas. equivalence_test.cpp compares every
// layout of the fp32 GPT; here are the other precisions, unusual models, single arenas, and mutants that must
// be found out.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/allocations.hpp"
#include "support/models/probe.hpp"
#include "support/models/training.hpp"
#include "support/sanitizers.hpp"

using namespace triax;
using namespace triax::test;

namespace {

constexpr Stage stages[] = {Stage::none, Stage::optimizer, Stage::gradients, Stage::parameters};
constexpr BatchShape text_shape{.sequences = 5, .tokens = 8};  // on each rank

using Lines = std::vector<std::string>;

/// Calls f(model) on each rank of the probe's mesh.
void on_probe(const ProbeOptions& options, const std::function<void(ModelRank&)>& f) {
  run_threads(options.mesh.product(), [&](ThreadCommunicator world) {
    const auto model = make_probe(ThreadWorldRank(std::move(world)), options);
    f(*model);
  });
}
void on_gpt(const GptOptions& options, const std::function<void(ModelRank&)>& f) {
  run_threads(options.mesh.product(), [&](ThreadCommunicator world) {
    const auto model = make_gpt(ThreadWorldRank(std::move(world)), options);
    f(*model);
  });
}

StepResult probe_step(ModelRank& model, int number, std::int64_t sequences) {
  const int ranks = model.extents().dp;
  return model.step(ValueBatch(number, sequences * ranks, 4, 6).part(model.coordinates().dp, ranks));
}

BatchShape probe_shape(std::int64_t sequences) { return {sequences, 4, 6, 6}; }

/// What every rank finds against its plan in the second step.
Lines discrepancies(const ProbeOptions& options, std::int64_t sequences) {
  Lines all;
  std::mutex mutex;
  on_probe(options, [&](ModelRank& model) {
    probe_step(model, 0, sequences);
    model.reset_traffic();
    probe_step(model, 1, sequences);
    const Lines mine = compare_with_plan(model, probe_shape(sequences));
    const std::lock_guard lock(mutex);
    all.insert(all.end(), mine.begin(), mine.end());
  });
  return all;
}

/// Two names that are tied over three units, one tie within a unit, one parameter on its own.
ProbeOptions tied_probe() {
  ProbeOptions options;
  options.units[1].ties = {"a", "b"};
  options.units[2].ties = {"b", "a"};
  options.units[4].ties = {"c", "c"};
  options.units[5].ties = {"a", ""};
  return options;
}

}  // namespace

TEST_CASE("16-bit training needs what was planned, in every sharding stage") {
  for (const Compute compute : {Compute::bf16, Compute::fp16}) {
    for (const Stage stage : stages) {
      Run run;
      run.steps = 2;
      run.sequences = 10;
      run.model.compute = compute;
      run.model.mesh = {.dp = 2, .pp = 2};
      run.model.policies.stage = stage;
      run.model.policies.micro_batches = 3;
      CAPTURE(static_cast<int>(compute));
      CAPTURE(static_cast<int>(stage));
      CHECK(train(run).discrepancies == Lines{});
    }
  }
}

TEST_CASE("ties, frozen units and uneven micro-batches need what was planned") {
  for (const Extents& mesh : {Extents{}, Extents{.dp = 2}, Extents{.pp = 3}, Extents{.dp = 2, .pp = 2},
                              Extents{.dp = 3, .pp = 2}}) {
    for (const Stage stage : stages) {
      for (const std::size_t bucket : {std::size_t{1}, std::size_t{1} << 20}) {
        ProbeOptions options = tied_probe();
        options.mesh = mesh;
        options.policies.stage = stage;
        options.policies.micro_batches = 3;
        options.policies.gradients.bucket_bytes = bucket;
        options.policies.gradients.first_bucket_bytes = bucket;
        CAPTURE(mesh.dp);
        CAPTURE(mesh.pp);
        CAPTURE(static_cast<int>(stage));
        CAPTURE(bucket);
        CHECK(discrepancies(options, 5) == Lines{});
      }
    }
  }
}

TEST_CASE("a step takes from each arena as often and as much as on a Meter") {
  for (const Extents& mesh : {Extents{}, Extents{.pp = 2}, Extents{.dp = 2, .pp = 4}}) {
    for (const int micro_batches : {1, 3}) {
      GptOptions options;
      options.mesh = mesh;
      options.policies.micro_batches = micro_batches;
      CAPTURE(mesh.pp);
      CAPTURE(micro_batches);
      on_gpt(options, [&](ModelRank& model) {
        const BatchShape shape{6, 8};
        const auto step = [&](int number) {
          model.step(TextBatch(number, 6 * mesh.dp, 8).part(model.coordinates().dp, mesh.dp));
        };
        step(0);
        const ActivationTakes before = model.takes();
        step(1);
        const ActivationTakes after = model.takes();
        const ActivationTakes planned = model.plan(shape).takes;
        const auto compare = [&](const Takes& from, const Takes& to, const Takes& one) {
          CHECK(to.count - from.count == static_cast<std::size_t>(micro_batches) * one.count);
          CHECK(to.bytes - from.bytes == static_cast<std::size_t>(micro_batches) * one.bytes);
        };
        compare(before.slot, after.slot, planned.slot);
        compare(before.flow[0], after.flow[0], planned.flow[0]);
        compare(before.flow[1], after.flow[1], planned.flow[1]);
        compare(before.scratch, after.scratch, planned.scratch);
        CHECK(planned.slot.count > 0);
        CHECK(planned.scratch.count > 0);
      });
    }
  }
}

TEST_CASE("reserve allocates the plan: the heap sees its bytes and little beside") {
  GptOptions options;
  options.sizes.width = 64;
  options.sizes.vocabulary = 256;
  options.policies.micro_batches = 2;
  on_gpt(options, [&](ModelRank& model) {
    const std::size_t planned = model.plan(text_shape).bytes.total();
    CHECK(model.allocated() == 0);
    const AllocationCount heap;
    model.reserve(text_shape);
    CHECK(model.allocated() == planned);
    if (sanitized) return;  // which may not see aligned allocations
    CHECK(heap.bytes() >= planned);
    CHECK(heap.bytes() < planned + planned / 5);  // names, tables and the plan itself
  });
}

// ---- Formulas ----

namespace {

/// The elements of all parameters of one rank, and what padding may add to each rank's share of them.
struct Elements {
  std::size_t all = 0;
  std::size_t padding = 0;
};

Elements count_elements(ModelRank& model, int chunks) {
  model.reserve(text_shape);
  Elements elements;
  const std::vector<std::string> paths = model.parameter_paths();
  for (const std::string& path : paths) elements.all += model.parameter(path).size();
  const std::size_t ranks = static_cast<std::size_t>(model.extents().dp);
  elements.padding =
      paths.size() * chunk_alignment + static_cast<std::size_t>(chunks) * ranks * chunk_alignment;
  return elements;
}

/// Whether `bytes` is `per_element` bytes for each of a share 1 / d of all elements, up to padding.
bool is_share(std::size_t bytes, std::size_t per_element, const Elements& elements, std::size_t d) {
  return bytes * d >= per_element * elements.all &&
         bytes * d <= per_element * (elements.all + elements.padding);
}

}  // namespace

// Rajbhandari et al., "ZeRO", section 5, for our fp32 accumulators. Of N parameters over d ranks, in a
// compute type of c bytes, tied ones counted at each holder, with K fp32 states of the optimizer (2 for
// AdamW) and M = 1 master for 16-bit types, 0 for fp32, a rank holds, beside activations and buffers,
//
//   stage        parameters   gradients   masters and states
//   none         c N          4 N         4 (K + M) N
//   optimizer    c N          4 N         4 (K + M) N / d
//   gradients    c N          4 N / d     4 (K + M) N / d
//   parameters   c N / d      4 N / d     4 (K + M) N / d
//
// where gradients of the last two stages stay 4 N with Accumulate::local. No term depends on the
// micro-batches.
TEST_CASE("bytes fall with dp as the ZeRO formulas say, whatever the micro-batches") {
  for (const Compute compute : {Compute::fp32, Compute::bf16}) {
    for (const int dp : {1, 2, 4}) {
      if (sanitized && dp == 4) continue;
      for (const Stage stage : stages) {
        for (const int micro_batches : {1, 3}) {
          for (const Accumulate accumulate : {Accumulate::by_stage, Accumulate::local}) {
            GptOptions options;
            options.compute = compute;
            options.mesh = {.dp = dp};
            options.policies.stage = stage;
            options.policies.micro_batches = micro_batches;
            options.policies.accumulate = accumulate;
            CAPTURE(static_cast<int>(compute));
            CAPTURE(dp);
            CAPTURE(static_cast<int>(stage));
            on_gpt(options, [&](ModelRank& model) {
              const Elements elements = count_elements(model, 8);
              const RankBytes bytes = model.measured().bytes;
              const std::size_t c = compute == Compute::fp32 ? 4 : 2;
              const std::size_t masters = compute == Compute::fp32 ? 0 : 1;
              const auto share = [&](bool sharded) { return static_cast<std::size_t>(sharded ? dp : 1); };
              const bool gradients = stage >= Stage::gradients && accumulate != Accumulate::local;
              CHECK(is_share(bytes.parameters, c, elements, share(stage == Stage::parameters)));
              CHECK(is_share(bytes.gradients, 4, elements, share(gradients)));
              CHECK(is_share(bytes.optimizer, 4 * (2 + masters), elements, share(stage >= Stage::optimizer)));
            });
          }
        }
      }
    }
  }
}

namespace {

/// The padded elements of each unit's parameters, one chunk a unit, over `ranks`.
std::vector<std::uint64_t> unit_elements(ModelRank& model, std::uint64_t ranks) {
  const auto pad = [](std::uint64_t size, std::uint64_t to) { return (size + to - 1) / to * to; };
  std::map<std::string, std::uint64_t> sizes;  // by "<entry>.<copy>"
  for (const std::string& path : model.parameter_paths())
    sizes[path.substr(0, path.find('.', path.find('.') + 1))] += pad(model.parameter(path).size(), 32);
  std::vector<std::uint64_t> units;
  for (const auto& [unit, size] : sizes) units.push_back(pad(size, 32 * ranks));
  return units;
}

}  // namespace

// Volume of a step over dp = 2 for P padded elements of 4 bytes and m micro-batches, by the definitions of
// Traced: a whole reduction is 2 (d-1)/d P, each half of it (d-1)/d P. ZeRO-2 sends the half that sums m
// times; ZeRO-3 also gathers parameters for each forward and backward, save those of two units that are still
// there when it turns round.
TEST_CASE("traffic over dp follows the formulas of the sharding stages") {
  for (const std::uint64_t m : {1U, 3U}) {
    for (const Stage stage : stages) {
      GptOptions options;
      options.mesh = {.dp = 2};
      options.policies.stage = stage;
      options.policies.micro_batches = static_cast<int>(m);
      options.policies.gradients.bucket_bytes = 1;  // a bucket a unit, as ZeRO-3 has anyway
      options.policies.gradients.first_bucket_bytes = 1;
      options.sizes.tied = false;
      CAPTURE(m);
      CAPTURE(static_cast<int>(stage));
      on_gpt(options, [&](ModelRank& model) {
        model.reserve({6, 8});
        const std::vector<std::uint64_t> units = unit_elements(model, 2);
        REQUIRE(units.size() == 7);
        const auto half = [&](std::size_t from, std::size_t to) {  // of all elements of these units, in bytes
          std::uint64_t sum = 0;
          for (std::size_t i = from; i < to; ++i) sum += units[i];
          return sum / 2 * 4;
        };
        std::uint64_t expected = 2 * half(0, 7);
        if (stage == Stage::gradients) expected = m * half(0, 7) + half(0, 7);
        if (stage == Stage::parameters)
          expected = m * half(0, 7)                       // sums
                     + half(0, 7) + (m - 1) * half(2, 7)  // forward; backward has left units 0 and 1
                     + m * half(0, 5);                    // backward; forward has left units 5 and 6
        CHECK(model.plan({6, 8}).traffic_of("dp").bytes == expected);
      });
    }
  }
}

TEST_CASE("the plan shows costs: a bubble, model FLOPs, an even cut") {
  GptOptions options;
  options.policies.micro_batches = 4;
  Plan one;
  on_gpt(options, [&](ModelRank& model) { one = model.plan({4, 8}); });
  CHECK(one.bubble == 0);
  CHECK(one.stage_bounds == std::vector<int>{0, 7});
  // 6 FLOPs for each matrix element and token, and the attention's two products of 2 T w, three times.
  const double tokens = 32, width = 16, blocks = 4;
  const double matrices = blocks * 12 * width * width + 32 * width;
  CHECK(one.model_flops >= 6 * matrices * tokens);
  CHECK(one.model_flops <= (6 * matrices + blocks * 14 * 8 * width) * tokens);
  CHECK(one.executed_flops > one.model_flops);

  options.mesh = {.pp = 4};
  double model_flops = 0;
  std::mutex mutex;
  on_gpt(options, [&](ModelRank& model) {
    const Plan plan = model.plan({4, 8});
    CHECK(plan.bubble == doctest::Approx(3.0 / 7));  // of 1F1B: (p - 1) / (m + p - 1)
    CHECK(plan.stage_bounds.size() == 5);
    const std::lock_guard lock(mutex);
    model_flops += plan.model_flops;
  });
  CHECK(model_flops == doctest::Approx(one.model_flops));
}

// ---- Mutants ----

TEST_CASE("a layer that saves one number more than planned is found out") {
  ProbeOptions options;
  options.units[2].misdeed = Misdeed::saves_more;
  CHECK_THROWS_WITH_AS(on_probe(options, [](ModelRank& model) { probe_step(model, 0, 2); }),
                       doctest::Contains("the arena 'slot' of "), Error);
}

TEST_CASE("a layer that takes one number more below the peak is found out") {
  for (const Misdeed misdeed : {Misdeed::none, Misdeed::takes_more}) {
    ProbeOptions options;
    options.units[2].misdeed = misdeed;
    on_probe(options, [&](ModelRank& model) {
      probe_step(model, 0, 2);
      CHECK(compare_with_plan(model, probe_shape(2)) == Lines{});  // no peak shows it
      const ActivationTakes planned = model.plan(probe_shape(2)).takes;
      CHECK((model.takes() == planned) == (misdeed == Misdeed::none));
      CHECK(model.takes().scratch.count - planned.scratch.count == (misdeed == Misdeed::none ? 0 : 1));
    });
  }
}

TEST_CASE("an element more on the device is found out") {
  // As an engine would that took a buffer the plan does not know.
  ProbeOptions options;
  on_probe(options, [](ModelRank& model) {
    probe_step(model, 0, 2);
    const auto more = model.allocate_more();
    const Lines lines = compare_with_plan(model, probe_shape(2));
    REQUIRE(lines.size() == 1);
    CHECK(lines[0].substr(0, 20) == "bytes of the device:");
  });
}

TEST_CASE("a message more is found out") {
  struct Sender final : HookTarget {
    ModelRank* model = nullptr;

    void before_update(const PlacedParameter& parameter, Tensor<float, Host>) override {
      if (model && parameter.path == "2.0.first") model->send_more();
    }
  };
  for (const bool sends : {false, true}) {
    std::vector<Sender> senders(2);
    std::vector<Lines> lines(2);
    run_threads(2, [&](ThreadCommunicator world) {
      const auto rank = static_cast<std::size_t>(world.rank());
      ProbeOptions options;
      options.mesh = {.dp = 2};
      options.hook = &senders[rank];
      const auto model = make_probe(ThreadWorldRank(std::move(world)), options);
      probe_step(*model, 0, 2);
      model->reset_traffic();
      if (sends) senders[rank].model = model.get();
      probe_step(*model, 1, 2);
      lines[rank] = compare_with_plan(*model, probe_shape(2));
    });
    for (const Lines& found : lines) CHECK(found.empty() == !sends);
    if (sends) CHECK(lines[0][0] == "messages of all_reduce over dp: planned 1, measured 2");
  }
}
