// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

#include <concepts>
#include <type_traits>
#include <vector>

#include <doctest/doctest.h>

#include <triax/core/tensor.hpp>
#include <triax/device/host.hpp>
#include <triax/device/meter.hpp>

namespace triax {
namespace {

template <class Tensor>
concept Indexable = requires(Tensor tensor) { tensor[0]; };

static_assert(Indexable<Tensor<float, Host>>);
static_assert(!Indexable<Tensor<float, Meter<Host>>>, "elements can be read on Host only");
static_assert(std::is_trivially_copyable_v<Tensor<float, Host>>);
static_assert(std::convertible_to<Tensor<float, Host>, Tensor<const float, Host>>);
static_assert(!std::convertible_to<Tensor<const float, Host>, Tensor<float, Host>>);
static_assert(!std::convertible_to<Tensor<float, Host>, Tensor<const double, Host>>);

TEST_CASE("a tensor views its elements in row-major order") {
  std::vector<int> data{0, 1, 2, 3, 4, 5};
  const Tensor<int, Host> tensor(data.data(), {3, 2});
  CHECK(tensor.size() == 6);
  CHECK(tensor.rows() == 3);
  CHECK(tensor.columns() == 2);
  CHECK(tensor.bytes() == 6 * sizeof(int));
  CHECK(tensor[3] == 3);
  tensor[3] = 30;
  CHECK(data[3] == 30);
  CHECK(tensor.span().size() == 6);
  CHECK(tensor.span().data() == data.data());
}

TEST_CASE("a null tensor holds nothing") {
  const Tensor<float, Host> null;
  CHECK_FALSE(null);
  CHECK(null.size() == 0);
  CHECK(null.bytes() == 0);
  CHECK(null.span().empty());
  const Tensor<float, Host> unbacked(nullptr, {2, 3});
  CHECK_FALSE(unbacked);
  CHECK(unbacked.bytes() == 0);
  CHECK(unbacked.span().empty());
}

TEST_CASE("reshaped keeps the elements and refuses another number of them") {
  std::vector<int> data{0, 1, 2, 3, 4, 5};
  const Tensor<int, Host> tensor(data.data(), {3, 2});
  CHECK(tensor.reshaped({6}).data() == data.data());
  CHECK(tensor.reshaped({1, 2, 3}).shape() == Shape{1, 2, 3});
  CHECK_THROWS_WITH_AS(tensor.reshaped({4, 2}), "cannot view a tensor of shape [3, 2] as [4, 2]", ShapeError);
}

TEST_CASE("a slice takes rows of the outermost dimension") {
  std::vector<int> data(24);
  const Tensor<int, Host> tensor(data.data(), {4, 3, 2});
  const auto slice = tensor.slice(1, 2);
  CHECK(slice.shape() == Shape{2, 3, 2});
  CHECK(slice.data() == data.data() + 6);
  CHECK(tensor.slice(4, 0).size() == 0);
  CHECK(Tensor<int, Host>(data.data(), {0, 3}).slice(0, 0).data() == data.data());
}

}  // namespace
}  // namespace triax
