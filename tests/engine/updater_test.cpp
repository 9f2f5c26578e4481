// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Updates of owned slices, step counts, and stochastic rounding.

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <triax/comm/threads.hpp>
#include <triax/engine/agreement.hpp>
#include <triax/engine/updater.hpp>
#include <triax/optim/sgd.hpp>

#include "engine/chunks.hpp"

using namespace triax;
using namespace triax::test;

namespace {

std::vector<bf16> cast_stochastically(const std::vector<float>& from, std::int64_t first, std::uint64_t key,
                                      std::int64_t applied = 0) {
  std::vector<bf16> to(from.size());
  StepState state;
  state.applied = applied;
  const std::int32_t step_count = 1;
  detail::CastStochastically{to.data(),   from.data(), static_cast<std::int64_t>(from.size()), first, key,
                             &step_count, &state}();
  return to;
}

bool same_bits(const std::vector<bf16>& a, const std::vector<bf16>& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i].bits != b[i].bits) return false;
  return a.size() == b.size();
}

}  // namespace

TEST_CASE("stochastic rounding goes to the neighbours, and on average nowhere") {
  constexpr std::int64_t count = 100000;
  for (const float value : {1.001F, -3.14159F, 1e-20F, 0x1.01p-126F, 1e30F}) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const float low = std::bit_cast<float>(bits & 0xffff0000U);  // towards zero
    const float high = std::bit_cast<float>((bits & 0xffff0000U) + 0x10000U);
    double up = 0;
    for (const bf16 rounded : cast_stochastically(std::vector<float>(count, value), 0, 1)) {
      const auto result = static_cast<float>(rounded);
      REQUIRE((result == low || result == high));
      up += result == high ? 1.0 / count : 0;
    }
    const double distance = (static_cast<double>(value) - static_cast<double>(low)) /
                            (static_cast<double>(high) - static_cast<double>(low));
    CHECK(std::abs(up - distance) <= 4 * std::sqrt(distance * (1 - distance) / count));
  }
}

TEST_CASE("stochastic rounding keeps what bf16 can hold, and special values") {
  const std::vector<float> exact{0.0F, -0.0F, 1.0F, -2.5F, 0x1p-130F, INFINITY, -INFINITY};
  const std::vector<bf16> rounded = cast_stochastically(exact, 0, 1);
  for (std::size_t i = 0; i < exact.size(); ++i)
    CHECK(std::bit_cast<std::uint32_t>(static_cast<float>(rounded[i])) ==
          std::bit_cast<std::uint32_t>(exact[i]));
  CHECK(std::isnan(
      static_cast<float>(cast_stochastically({std::numeric_limits<float>::quiet_NaN()}, 0, 1)[0])));
}

TEST_CASE(
    "stochastic rounding depends on an element's place in its parameter, on the parameter and on the step") {
  const std::vector<float> values(64, 1.002F);
  const std::vector<bf16> whole = cast_stochastically(values, 0, 1);
  const std::vector<bf16> tail =
      cast_stochastically(std::vector<float>(values.begin() + 24, values.end()), 24, 1);
  CHECK(same_bits(tail, {whole.begin() + 24, whole.end()}));  // however a slice is cut
  CHECK(!same_bits(whole, cast_stochastically(values, 0, 2)));
  CHECK(!same_bits(whole, cast_stochastically(values, 0, 1, 5)));
}

TEST_CASE("each rank updates its slice, parameters with a gradient alone, and all hold the result") {
  run_threads(2, [](ThreadCommunicator world) {
    using Chunks = HandmadeChunks<ThreadCommunicator>;
    for (const ShardingFlags flags : {ShardingFlags{}, ShardingFlags{.state = true},
                                      ShardingFlags{.state = true, .gradients = true, .parameters = true}}) {
      Chunks made({{0, 0, 8, "", true, 7}, {1, 1, 4}, {2, 2, 4, "", false}}, world, flags);
      Host host;
      Arena<Host> arena = roomy_arena(host);
      Agreement<Host, Chunks::ChunkType, ThreadCommunicator> agreement(host, made.layout, made.chunks, world,
                                                                       arena);
      Updater<float, Host, Chunks::ChunkType, ThreadCommunicator> updater(host, made.layout, made.chunks,
                                                                          arena);
      for (auto& chunk : made.chunks) {
        if (chunk.shape->trained) chunk.master = chunk.updated_values();
        const ElementRange held = chunk.sharded.parameters ? chunk.slice() : ElementRange{0, chunk.size()};
        for (std::int64_t k = 0; k < held.size; ++k) chunk.values[k] = static_cast<float>(held.first + k);
        for (std::int64_t k = 0; chunk.shape->trained && k < chunk.updated().size; ++k)
          *chunk.reduced_gradient(chunk.updated().first + k) = 2;
      }
      StepState state;
      state.learning_rate = 0.25F;
      const auto step = [&](bool second_has_gradient, bool finite) {
        agreement.begin_step();
        *agreement.asked(0) = 1;
        *agreement.asked(1) = second_has_gradient ? 1 : 0;
        agreement.agree(&state, true);
        state.finite = finite ? 1 : 0;
        updater.update(Sgd{.lr = 0.25}, &state, agreement, Rounding::nearest, 1);
      };
      step(true, true);
      step(false, true);
      step(true, false);  // skipped
      CHECK(updater.step_count(0)[0] == 2);
      CHECK(std::abs(updater.step_count(1)[0]) == 1);
      CHECK(updater.step_count(2)[0] == 0);
      const float moved[] = {1.0F, 0.5F, 0.0F};
      for (std::size_t i = 0; i < made.chunks.size(); ++i) {
        const auto& chunk = made.chunks[i];
        const ElementRange held = chunk.sharded.parameters ? chunk.slice() : ElementRange{0, chunk.size()};
        for (std::int64_t k = 0; k < held.size; ++k) {
          const bool padding = held.first + k >= made.layout.parameters[i].local.size();
          CHECK(chunk.values[k] == static_cast<float>(held.first + k) - (padding ? 0 : moved[i]));
        }
      }
    }
  });
}
