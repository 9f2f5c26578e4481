// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// What every communicator must do: each operation, for all element types and many sizes, against values that
// each rank computes for itself. Run by all ranks together; the first wrong value throws.

#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include <triax/comm/communicator.hpp>

namespace triax::test {

/// An expectation that one rank found broken. Thrown, not checked, so that it ends the other ranks too.
inline void expect(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error("expected: " + what);
}

/// A buffer between two guards, which must stay as they are. It starts at an odd element, so that a vector of
/// 16-bit elements is not aligned.
template <class T>
class GuardedBuffer {
 public:
  explicit GuardedBuffer(std::size_t n) : data_(n + 2, guard()) {}
  ~GuardedBuffer() noexcept(false) {
    if (std::uncaught_exceptions() > 0) return;
    if (data_.front() != guard() || data_.back() != guard())
      throw std::runtime_error("a guard was overwritten");
  }
  std::span<T> span() { return std::span<T>(data_).subspan(1, data_.size() - 2); }

 private:
  static T guard() { return static_cast<T>(99.0F); }
  std::vector<T> data_;
};

/// The number that rank `rank` has at element `i`: small, so that sums over 8 ranks are exact in every type.
inline int number(int rank, std::size_t i) {
  return static_cast<int>((i * 7 + static_cast<std::size_t>(rank) * 3) % 11);
}

template <class T>
T element(int number) {
  return static_cast<T>(static_cast<float>(number));
}

/// Gives `x` the numbers of rank `rank`.
template <class T>
void fill(std::span<T> x, int rank) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = element<T>(number(rank, i));
}

template <class T>
void expect_equal(T found, int wanted, const char* operation, int rank, std::size_t i) {
  if (found == element<T>(wanted)) return;
  throw std::runtime_error(std::string(operation) + " of " + element_name<T>() + " on rank " +
                           std::to_string(rank) + ": element " + std::to_string(i) + " is " +
                           std::to_string(static_cast<float>(found)) + " instead of " +
                           std::to_string(wanted));
}

template <class Op>
int combined(int ranks, std::size_t i) {
  int result = number(0, i);
  for (int r = 1; r < ranks; ++r) result = Op{}(result, number(r, i));
  return result;
}

// ---- One operation, one type, one size ----

template <class T, class Op, class Ordering, class Comm>
void all_reduce_case(Comm& comm, std::size_t n) {
  GuardedBuffer<T> buffer(n);
  const std::span<T> x = buffer.span();
  fill(x, comm.rank());
  comm.all_reduce(x, Op{}, Ordering{}).wait();
  for (std::size_t i = 0; i < n; ++i)
    expect_equal(x[i], combined<Op>(comm.size(), i), "all_reduce", comm.rank(), i);
}

template <class T, class Op, class Comm>
void reduce_scatter_case(Comm& comm, std::size_t n, bool in_place) {
  const auto d = static_cast<std::size_t>(comm.size()), r = static_cast<std::size_t>(comm.rank());
  GuardedBuffer<T> full(n * d), apart(n);
  fill(full.span(), comm.rank());
  const std::span<T> own = in_place ? full.span().subspan(r * n, n) : apart.span();
  comm.reduce_scatter(full.span(), own, Op{}).wait();
  for (std::size_t i = 0; i < n; ++i) {
    expect_equal(own[i], combined<Op>(comm.size(), r * n + i), "reduce_scatter", comm.rank(), i);
  }
}

template <class T, class Comm>
void all_gather_case(Comm& comm, std::size_t n, bool in_place) {
  const auto d = static_cast<std::size_t>(comm.size()), r = static_cast<std::size_t>(comm.rank());
  GuardedBuffer<T> full(n * d), apart(n);
  const std::span<T> own = in_place ? full.span().subspan(r * n, n) : apart.span();
  fill(own, comm.rank());
  comm.all_gather(own, full.span()).wait();
  for (int q = 0; q < comm.size(); ++q) {
    for (std::size_t i = 0; i < n; ++i) {
      expect_equal(full.span()[static_cast<std::size_t>(q) * n + i], number(q, i), "all_gather", comm.rank(),
                   i);
    }
  }
}

template <class T, class Comm>
void broadcast_case(Comm& comm, std::size_t n) {
  for (int root = 0; root < comm.size(); ++root) {
    GuardedBuffer<T> buffer(n);
    fill(buffer.span(), comm.rank());
    comm.broadcast(buffer.span(), root).wait();
    for (std::size_t i = 0; i < n; ++i) {
      expect_equal(buffer.span()[i], number(root, i), "broadcast", comm.rank(), i);
    }
  }
}

template <class T, class Comm>
void all_to_all_case(Comm& comm, std::size_t n) {
  const auto d = static_cast<std::size_t>(comm.size());
  GuardedBuffer<T> in(n * d), out(n * d);
  fill(in.span(), comm.rank());
  comm.all_to_all(in.span(), out.span()).wait();
  for (int q = 0; q < comm.size(); ++q) {
    for (std::size_t i = 0; i < n; ++i) {
      expect_equal(out.span()[static_cast<std::size_t>(q) * n + i],
                   number(q, static_cast<std::size_t>(comm.rank()) * n + i), "all_to_all", comm.rank(), i);
    }
  }
}

/// Every rank first posts its send to the next rank, then its receive; a group of one sends to itself.
template <class T, class Comm>
void send_recv_case(Comm& comm, std::size_t n) {
  const int next = (comm.rank() + 1) % comm.size(), previous = (comm.rank() + comm.size() - 1) % comm.size();
  GuardedBuffer<T> out(n), in(n);
  fill(out.span(), comm.rank());
  auto sent = comm.send(std::span<const T>(out.span()), next);
  auto received = comm.recv(in.span(), previous);
  received.wait();
  sent.wait();
  for (std::size_t i = 0; i < n; ++i) expect_equal(in.span()[i], number(previous, i), "recv", comm.rank(), i);
}

// ---- All sizes ----

/// 0, 1, 7, around a multiple of the number of ranks, 1000, and one that takes several portions of work.
inline std::vector<std::size_t> sizes(int ranks) {
  const std::size_t multiple = 3 * static_cast<std::size_t>(ranks);
  return {0, 1, 7, multiple - 1, multiple, multiple + 1, 1000, 40001};
}

template <class T, class Comm>
void reductions_conform(Comm& comm) {
  for (const std::size_t n : sizes(comm.size())) {
    all_reduce_case<T, Sum, Order::rank>(comm, n);
    all_reduce_case<T, Min, Order::rank>(comm, n);
    all_reduce_case<T, Max, Order::rank>(comm, n);
    if constexpr (std::is_arithmetic_v<T>) all_reduce_case<T, Sum, Order::backend>(comm, n);
    for (const bool in_place : {false, true}) reduce_scatter_case<T, Sum>(comm, n, in_place);
    reduce_scatter_case<T, Max>(comm, n, false);
  }
}

template <class T, class Comm>
void movements_conform(Comm& comm) {
  for (const std::size_t n : sizes(comm.size())) {
    for (const bool in_place : {false, true}) all_gather_case<T>(comm, n, in_place);
    if (n <= 1000) broadcast_case<T>(comm, n);
    all_to_all_case<T>(comm, n);
    send_recv_case<T>(comm, n);
  }
  broadcast_case<T>(comm, 40001);
  comm.barrier().wait();
}

/// `f.template operator()<T>()` for every element type.
template <class F>
void for_every_type(F&& f) {
  f.template operator()<float>();
  f.template operator()<double>();
  f.template operator()<bf16>();
  f.template operator()<fp16>();
  f.template operator()<std::int32_t>();
  f.template operator()<std::int64_t>();
  f.template operator()<std::uint8_t>();
}

template <class Comm>
void conforms(Comm& comm) {
  for_every_type([&]<class T>() {
    reductions_conform<T>(comm);
    movements_conform<T>(comm);
  });
}

}  // namespace triax::test
