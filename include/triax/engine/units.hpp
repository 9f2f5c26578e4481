// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// A model as a row of units: the elements of its list, a Repeat counting as its copies.

#pragma once

#include <array>
#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

#include <triax/nn/layer.hpp>
#include <triax/nn/repeat.hpp>

namespace triax {

/// The layer that an entry of a model's list stands for, and how many units it makes.
template <class Entry>
struct UnitOf {
  using layer_type = Entry;
  static constexpr int fixed_count = 1;
  static int count(const Entry&) { return 1; }
  static const Entry& layer(const Entry& entry) { return entry; }
};
template <class L>
struct UnitOf<Repeat<L>> {
  using layer_type = L;
  static constexpr int fixed_count = -1;  // known at run time only
  static int count(const Repeat<L>& entry) { return entry.count; }
  static const L& layer(const Repeat<L>& entry) { return entry.layer; }
};

/// The tuple of a model's entries.
template <class Net>
using entries_t = decltype(Net::layers);
template <class Net>
inline constexpr std::size_t entry_count = std::tuple_size_v<entries_t<Net>>;
template <class Net, std::size_t I>
using entry_unit = UnitOf<std::tuple_element_t<I, entries_t<Net>>>;

/// Where a unit stands in the model's list.
struct UnitPlace {
  int entry = 0;
  int copy = 0;
};

/// All units of the model, in order.
template <class Net>
std::vector<UnitPlace> unit_places(const Net& net) {
  std::vector<UnitPlace> places;
  int entry = 0;
  const auto append = [&]<class Entry>(const Entry& value) {
    for (int copy = 0; copy < UnitOf<Entry>::count(value); ++copy) places.push_back({entry, copy});
    ++entry;
  };
  std::apply([&](const auto&... entries) { (append(entries), ...); }, net.layers);
  return places;
}

/// Calls f with the layer of entry `entry`; f is instantiated for every entry.
template <class Net, class F>
decltype(auto) visit_entry(const Net& net, int entry, F&& f) {
  using Result = decltype(f(entry_unit<Net, 0>::layer(std::get<0>(net.layers)),
                            std::integral_constant<std::size_t, 0>{}));
  using Function = Result (*)(const Net&, F&);
  static constexpr auto table = []<std::size_t... I>(std::index_sequence<I...>) {
    return std::array<Function, sizeof...(I)>{+[](const Net& model, F& call) -> Result {
      return call(entry_unit<Net, I>::layer(std::get<I>(model.layers)),
                  std::integral_constant<std::size_t, I>{});
    }...};
  }(std::make_index_sequence<entry_count<Net>>{});
  return table[static_cast<std::size_t>(entry)](net, f);
}

/// The site of a unit: the root of its layers' random numbers.
constexpr std::uint64_t unit_site(UnitPlace place) {
  return ProbeCtx::child_site(ProbeCtx::child_site(0, place.entry), place.copy);
}
/// The site of the loss.
inline constexpr std::uint64_t loss_site = ProbeCtx::child_site(0, -2);

/// The caches of this rank's units, and the calls to their layers.
///
/// `first` and `last` bound the rank's units; each of the `slots` micro-batches in flight has caches of its
/// own.
template <class Net, class Context>
class UnitRunner {
 public:
  using tensor = typename Context::tensor;

  UnitRunner(const Net& net, int first, int last, int slots)
      : net_(&net), first_(first), places_(unit_places(net)) {
    const auto resize = [&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
      std::get<I>(caches_).resize(static_cast<std::size_t>(slots * (last - first)));
    };
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (resize(std::integral_constant<std::size_t, I>{}), ...);
    }(std::make_index_sequence<entry_count<Net>>{});
    loss_caches_.resize(static_cast<std::size_t>(slots));
    width_ = last - first;
  }

  UnitPlace place(int unit) const { return places_[static_cast<std::size_t>(unit)]; }

  /// Runs the forward of `unit`; the first of the model ignores `x`.
  tensor forward(int unit, Context& ctx, tensor x, int slot) {
    return visit(
        unit, [&]<class L, std::size_t I>(const L& layer, std::integral_constant<std::size_t, I>) -> tensor {
          auto& cache = std::get<I>(caches_)[index(unit, slot)];
          if constexpr (I == 0)
            return layer.forward(ctx, cache);
          else
            return layer.forward(ctx, x, cache);
        });
  }
  /// Runs the backward of `unit`; null after the model's first.
  tensor backward(int unit, Context& ctx, tensor dy, int slot) {
    return visit(
        unit, [&]<class L, std::size_t I>(const L& layer, std::integral_constant<std::size_t, I>) -> tensor {
          auto& cache = std::get<I>(caches_)[index(unit, slot)];
          if constexpr (I == 0) {
            layer.backward(ctx, dy, cache);
            return {};
          } else {
            return layer.backward(ctx, dy, cache);
          }
        });
  }

  typename Context::loss loss_forward(Context& ctx, tensor x, int slot) {
    return net_->loss.forward(ctx, x, loss_caches_[static_cast<std::size_t>(slot)]);
  }
  tensor loss_backward(Context& ctx, int slot) {
    return net_->loss.backward(ctx, loss_caches_[static_cast<std::size_t>(slot)]);
  }

 private:
  template <class Tuple>
  struct Caches;
  template <class... Entries>
  struct Caches<std::tuple<Entries...>> {
    using type = std::tuple<std::vector<cache_t<typename UnitOf<Entries>::layer_type, Context>>...>;
  };

  template <class F>
  tensor visit(int unit, F f) {
    return visit_entry(*net_, place(unit).entry, f);
  }
  std::size_t index(int unit, int slot) const {
    return static_cast<std::size_t>(slot * width_ + unit - first_);
  }

  const Net* net_;
  int first_;
  int width_ = 0;
  std::vector<UnitPlace> places_;
  typename Caches<entries_t<Net>>::type caches_;
  std::vector<cache_t<decltype(Net::loss), Context>> loss_caches_;
};

}  // namespace triax
