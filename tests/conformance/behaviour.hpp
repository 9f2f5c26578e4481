// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// How every communicator must behave: the order of reductions to the bit, progress, concurrency, splitting.

#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include <triax/comm/mesh.hpp>
#include <triax/comm/progress.hpp>

#include "conformance/suite.hpp"

namespace triax::test {

/// Numbers of all magnitudes and both signs, so that every order of addition gives other bits.
inline float wild(int rank, std::size_t i) {
  std::uint32_t h =
      static_cast<std::uint32_t>(i) * 2654435761U + static_cast<std::uint32_t>(rank) * 40503U + 12345U;
  h ^= h >> 15;
  h *= 2246822519U;
  h ^= h >> 13;
  const float mantissa = static_cast<float>(h & 0xffffU) / 65536.0F - 0.5F;
  return mantissa * static_cast<float>(1U << ((h >> 16) % 12));
}

/// ((r0 + r1) + r2) + ... in float, and rounded once.
template <class T>
T rank_order_sum(int ranks, std::size_t i) {
  reduction_t<T> sum = static_cast<reduction_t<T>>(T(wild(0, i)));
  for (int r = 1; r < ranks; ++r) sum += static_cast<reduction_t<T>>(T(wild(r, i)));
  return T(sum);
}

/// Reductions have the bits of the sum in the order of ranks, whatever the size and the operation.
template <class T, class Comm>
void adds_in_rank_order(Comm& comm) {
  const auto d = static_cast<std::size_t>(comm.size()), r = static_cast<std::size_t>(comm.rank());
  for (const std::size_t n : {std::size_t{1}, std::size_t{999}, std::size_t{40001}}) {
    std::vector<T> x(n), full(n * d), own(n);
    for (std::size_t i = 0; i < n; ++i) x[i] = T(wild(comm.rank(), i));
    for (std::size_t i = 0; i < n * d; ++i) full[i] = T(wild(comm.rank(), i));
    auto first = comm.all_reduce(std::span<T>(x));
    auto second = comm.reduce_scatter(std::span<const T>(full), std::span<T>(own));
    second.wait();
    first.wait();
    for (std::size_t i = 0; i < n; ++i) {
      const T wanted = rank_order_sum<T>(comm.size(), i),
              wanted_own = rank_order_sum<T>(comm.size(), r * n + i);
      expect(std::memcmp(&x[i], &wanted, sizeof(T)) == 0, "all_reduce adds in rank order");
      expect(std::memcmp(&own[i], &wanted_own, sizeof(T)) == 0, "reduce_scatter adds in rank order");
    }
  }
}

/// O-50. On four ranks 1e8, 1, -1e8, 1 add up to exactly 1 in the order of ranks, at any position of any
/// buffer.
template <class Comm>
void reduces_repeatably(Comm& comm) {
  expect(comm.size() == 4, "four ranks");
  const float own = std::array{1e8F, 1.0F, -1e8F, 1.0F}[static_cast<std::size_t>(comm.rank())];
  for (int repeat = 0; repeat < 20; ++repeat) {
    float single = own;
    comm.all_reduce(std::span<float>(&single, 1)).wait();
    expect(single == 1.0F, "a single element is 1");

    std::vector<float> many(1000);
    for (const std::size_t position : {std::size_t{0}, std::size_t{333}, std::size_t{999}})
      many[position] = own;
    comm.all_reduce(std::span<float>(many)).wait();
    for (std::size_t i = 0; i < many.size(); ++i) {
      expect(many[i] == (i == 0 || i == 333 || i == 999 ? 1.0F : 0.0F), "each position is 1");
    }

    float any = own;
    comm.all_reduce(std::span<float>(&any, 1), Sum{}, Order::backend{}).wait();
    expect(any == 0.0F || any == 1.0F || any == 2.0F, "the backend's order gives 0, 1 or 2");
    float lowest = any, highest = any;
    comm.all_reduce(std::span<float>(&lowest, 1), Min{}).wait();
    comm.all_reduce(std::span<float>(&highest, 1), Max{}).wait();
    expect(lowest == highest, "the backend's order gives all ranks the same");
  }
}

/// A NaN on any rank is the minimum and the maximum.
template <class Comm>
void propagates_nan(Comm& comm) {
  const float nan = std::bit_cast<float>(0x7fc00000U);
  for (int victim = 0; victim < comm.size(); ++victim) {
    float low = comm.rank() == victim ? nan : 1.0F, high = low;
    comm.all_reduce(std::span<float>(&low, 1), Min{}).wait();
    comm.all_reduce(std::span<float>(&high, 1), Max{}).wait();
    expect(low != low && high != high, "a NaN wins");
  }
}

/// O-30. Neighbours on a ring first send, then receive. Rank r sends the value r.
template <class Comm>
void exchanges_with_neighbours(Comm& comm, std::size_t elements, int rounds) {
  const int next = (comm.rank() + 1) % comm.size(), previous = (comm.rank() + comm.size() - 1) % comm.size();
  std::vector<float> out(elements, static_cast<float>(comm.rank())), in(elements);
  for (int round = 0; round < rounds; ++round) {
    in.front() = in.back() = -1;
    auto sent = comm.send(std::span<const float>(out), next);
    auto received = comm.recv(std::span<float>(in), previous);
    sent.wait();
    received.wait();
    const auto wanted = static_cast<float>(previous);
    expect(in.front() == wanted && in[elements / 2] == wanted && in.back() == wanted,
           "the neighbour's number");
  }
}

/// A rank posts buckets, then blocks in a receive that its peer sends only when the buckets are complete
/// there.
template <class Comm>
void waits_make_progress_on_everything(Comm& comm) {
  if (comm.size() < 2) return;
  constexpr std::size_t buckets = 20, elements = 30000;  // more than may be under way at the same time
  std::vector<std::vector<float>> data(buckets,
                                       std::vector<float>(elements, static_cast<float>(comm.rank() + 1)));
  std::vector<decltype(comm.all_reduce(std::span<float>()))> requests;
  for (auto& bucket : data) requests.push_back(comm.all_reduce(std::span<float>(bucket)));

  float token = 0;
  if (comm.rank() == 0) {
    comm.recv(std::span<float>(&token, 1), comm.size() - 1).wait();
    expect(token == 5, "the token");
  } else {
    for (auto& request : requests) request.wait();
    token = 5;
    if (comm.rank() == comm.size() - 1) comm.send(std::span<float>(&token, 1), 0).wait();
  }
  for (auto& request : requests) request.wait();
  const auto wanted = static_cast<float>(comm.size() * (comm.size() + 1) / 2);
  for (const auto& bucket : data)
    expect(bucket.front() == wanted && bucket.back() == wanted, "the buckets' sums");
  expect(Progress::of_this_thread().pending() == 0, "no request is pending");
}

/// Many operations under way, waited for in reverse, by `test`, or by destroying their requests.
template <class Comm>
void completes_in_any_order(Comm& comm) {
  using AnyRequest = decltype(comm.barrier());
  constexpr std::size_t count = 24;
  std::vector<std::vector<std::int32_t>> sums(count, std::vector<std::int32_t>(100));
  std::vector<std::int32_t> out(count), in(count);
  const int next = (comm.rank() + 1) % comm.size(), previous = (comm.rank() + comm.size() - 1) % comm.size();
  for (int way = 0; way < 3; ++way) {
    std::vector<AnyRequest> requests;
    for (std::size_t k = 0; k < count; ++k) {
      for (auto& x : sums[k]) x = static_cast<std::int32_t>(k) + comm.rank();
      out[k] = static_cast<std::int32_t>(1000 * k) + comm.rank();
      requests.push_back(comm.send(std::span<const std::int32_t>(&out[k], 1), next));
      requests.push_back(comm.all_reduce(std::span<std::int32_t>(sums[k])));
      requests.push_back(comm.barrier());
    }
    for (std::size_t k = 0; k < count; ++k)
      requests.push_back(comm.recv(std::span<std::int32_t>(&in[k], 1), previous));
    if (way == 0) {
      for (std::size_t k = requests.size(); k-- > 0;) requests[k].wait();
    } else if (way == 1) {
      for (auto& request : requests) {
        while (!request.test()) continue;
        expect(request.test(), "a completed request stays completed");
      }
    } else {
      AnyRequest moved = std::move(requests.front());
      requests.front() = std::move(moved);
      requests.clear();
    }
    for (std::size_t k = 0; k < count; ++k) {
      const int wanted = comm.size() * static_cast<int>(k) + comm.size() * (comm.size() - 1) / 2;
      expect(sums[k].front() == wanted && sums[k].back() == wanted, "the sums");
      expect(in[k] == static_cast<std::int32_t>(1000 * k) + previous, "messages in order");
    }
    expect(Progress::of_this_thread().pending() == 0, "no request is pending");
  }
}

/// Ranks with equal colors form a group, ordered by key, then by rank.
template <class Comm>
void splits(Comm& comm) {
  const int parity = comm.rank() % 2;
  Comm group = comm.split(parity, -comm.rank());  // the other way round
  expect(group.size() == (comm.size() + 1 - parity) / 2, "half of the ranks");
  expect(group.rank() == group.size() - 1 - comm.rank() / 2, "the order of keys");
  std::vector<std::int64_t> own{comm.rank()}, all(static_cast<std::size_t>(group.size()));
  group.all_gather(std::span<const std::int64_t>(own), std::span<std::int64_t>(all)).wait();
  for (int r = 0; r < group.size(); ++r) {
    expect(all[static_cast<std::size_t>(r)] == parity + 2 * (group.size() - 1 - r), "the group's ranks");
  }
  Comm same = comm.split(7, 0);
  expect(same.rank() == comm.rank() && same.size() == comm.size(), "equal keys keep the order");
  Comm again = group.split(0, group.rank());
  expect(again.rank() == group.rank(), "a group can be split");
}

/// Two families of groups that use all ranks, with operations begun in opposite orders on different ranks.
template <class Comm>
void runs_groups_concurrently(Comm& comm) {
  if (comm.size() % 2 != 0) return;
  Mesh mesh(comm, {.dp = automatic, .pp = 2});
  Comm& dp = mesh.group(Axis::dp);
  Comm& pp = mesh.group(Axis::pp);
  std::vector<float> gradient(5000), stream(3000), from(3000);
  for (int round = 0; round < 10; ++round) {
    gradient.assign(gradient.size(), static_cast<float>(comm.rank()));
    stream.assign(stream.size(), static_cast<float>(100 * round + pp.rank()));
    auto exchange = [&] {
      auto sent = pp.send(std::span<const float>(stream), 1 - pp.rank());
      auto received = pp.recv(std::span<float>(from), 1 - pp.rank());
      received.wait();
      sent.wait();
    };
    auto reduce = [&] { return dp.all_reduce(std::span<float>(gradient)); };
    if (pp.rank() == 0) {
      auto reduction = reduce();
      exchange();
      reduction.wait();
    } else {
      exchange();
      reduce().wait();
    }
    float sum = 0;
    for (int r = 0; r < dp.size(); ++r) sum += static_cast<float>(mesh.rank_of({.dp = r, .pp = pp.rank()}));
    expect(gradient.front() == sum && gradient.back() == sum, "the sum over dp");
    expect(from.front() == static_cast<float>(100 * round + 1 - pp.rank()), "the stream of the other stage");
  }
}

template <class Comm>
void behaves(Comm& comm) {
  adds_in_rank_order<float>(comm);
  adds_in_rank_order<bf16>(comm);
  adds_in_rank_order<fp16>(comm);
  propagates_nan(comm);
  waits_make_progress_on_everything(comm);
  completes_in_any_order(comm);
  splits(comm);
  runs_groups_concurrently(comm);
}

}  // namespace triax::test
