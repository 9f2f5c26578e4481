// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// A rank's engine, assembled: the memory that a plan asked for and the parts that work on it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include <triax/comm/mesh.hpp>
#include <triax/engine/agreement.hpp>
#include <triax/engine/blueprint.hpp>
#include <triax/engine/data_rank.hpp>
#include <triax/engine/gatherer.hpp>
#include <triax/engine/interpreter.hpp>
#include <triax/engine/reducer.hpp>
#include <triax/engine/storage.hpp>
#include <triax/engine/table_runs.hpp>
#include <triax/engine/ties.hpp>
#include <triax/engine/token_count.hpp>
#include <triax/engine/updater.hpp>

namespace triax {

/// Everything that lives as long as a model is reserved for a shape. Members are in the order in which memory
/// is taken.
template <class Net, ComputeType T, class Device, class MeshType, class SumOrder>
struct Machine {
  using Communicator = typename MeshType::communicator;
  using ChunkType = Chunk<T, Communicator>;
  using Pass = StagePass<Net, T, Device, Communicator>;

  /// Allocates exactly `planned`, and connects the parts. Collective over the mesh.
  Machine(const Net& net, Device& device, MeshType& mesh, Blueprint drawn, const StepSettings& settings,
          int optimizer_states, const RankBytes& planned, LossSink<Device>& losses, std::uint64_t seed)
      : blueprint(std::move(drawn)),
        training_runs(settings.schedule, mesh.extents().pp, mesh.coordinate(Axis::pp), blueprint.bounds),
        evaluation_runs(forward_only(settings.schedule), mesh.extents().pp, mesh.coordinate(Axis::pp),
                        blueprint.bounds),
        arenas(prepare(device, blueprint), blueprint.stage.activations, blueprint.slots()),
        storage(device, planned),
        bindings(empty_bindings(blueprint)),
        state(make_state(storage.buffers())),
        evaluation_state(make_state(storage.buffers())),
        count(device, mesh.world(), counts_data(mesh), storage.buffers()),
        evaluation(storage.buffers().template take<double>({1 + max_added_losses})),
        chunks(place(mesh, settings.sharding, optimizer_states)),
        agreement(device, blueprint.layout, chunks, mesh.world(), storage.buffers()),
        updater(device, blueprint.layout, chunks, storage.buffers()),
        reducer(device, chunks, storage.buffers(), reduction_buffers(), largest_reduction()),
        gatherer(chunks, storage.buffers(), largest_gather()),
        pass(net, blueprint.bounds, arenas, bindings,
             {.device = device,
              .tp = mesh.group(Axis::tp),
              .cp = mesh.group(Axis::cp),
              .ep = mesh.group(Axis::ep),
              .scratch = arenas.scratch,
              .state = state,
              .losses = &losses,
              .seed = seed}),
        interpreter(pass, device, mesh.group(Axis::pp), storage.buffers()),
        ties(device, blueprint.layout, chunks, mesh.group(Axis::pp), mesh.coordinate(Axis::pp),
             storage.buffers()) {
    for (const ChunkType& chunk : chunks)
      for (const auto& bound : chunk.bound) bound.binding->asked = agreement.asked(bound.parameter);
  }

  Blueprint blueprint;
  TableRuns training_runs;
  TableRuns evaluation_runs;
  ActivationArenas<Device> arenas;
  Storage<T, Device, Communicator> storage;
  std::vector<std::vector<Binding<T>>> bindings;
  StepState* state;
  StepState* evaluation_state;
  TokenCount<Device, Communicator> count;
  Tensor<double, Device> evaluation;
  std::vector<ChunkType>& chunks;
  Agreement<Device, ChunkType, Communicator> agreement;
  Updater<T, Device, ChunkType, Communicator> updater;
  Reducer<SumOrder, Device, ChunkType, Communicator> reducer;
  Gatherer<Device, ChunkType, Communicator> gatherer;
  Pass pass;
  Interpreter<Net, T, Device, Communicator> interpreter;
  Ties<Device, ChunkType, Communicator> ties;

 private:
  static Device& prepare(Device& device, const Blueprint& blueprint) {
    device.reserve_workspace(blueprint.stage.activations.workspace);
    return device;
  }
  static std::vector<std::vector<Binding<T>>> empty_bindings(const Blueprint& blueprint) {
    std::vector<std::vector<Binding<T>>> all;
    for (int unit = blueprint.bounds.first_unit; unit < blueprint.bounds.last_unit; ++unit) {
      const auto index = static_cast<std::size_t>(unit);
      all.emplace_back(static_cast<std::size_t>(blueprint.layout.first_parameter[index + 1] -
                                                blueprint.layout.first_parameter[index]));
    }
    return all;
  }
  static StepState* make_state(Arena<Device>& arena) {
    return new (arena.template take<StepState>({1}).data()) StepState{};
  }
  std::vector<ChunkType>& place(MeshType& mesh, ShardingFlags flags, int optimizer_states) {
    storage.place(blueprint.layout, mesh.coordinate(Axis::pp), mesh, flags, optimizer_states, bindings);
    return storage.chunks();
  }
  std::int64_t largest_reduction() const {
    std::int64_t largest = 0;
    for (const ChunkType& chunk : chunks)
      if (chunk.sharded.gradients && chunk.size() > largest) largest = chunk.size();
    return largest;
  }
  /// Two, so that one is filled while the other travels, or as many as units fill at the same time.
  int reduction_buffers() const {
    int most = 0;
    for (int unit = blueprint.bounds.first_unit; unit < blueprint.bounds.last_unit; ++unit) {
      int filled = 0;
      for (const ChunkType& chunk : chunks)
        filled += chunk.sharded.gradients && chunk.shape->first_unit <= unit && unit <= chunk.shape->last_unit
                      ? 1
                      : 0;
      most = filled > most ? filled : most;
    }
    return most == 1 ? 2 : most;
  }
  std::int64_t largest_gather() const {
    std::int64_t largest = 0;
    for (const ChunkType& first : chunks) {
      std::int64_t elements = 0;
      for (const ChunkType& chunk : chunks)
        if (chunk.sharded.parameters && chunk.shape->first_unit == first.shape->first_unit)
          elements += chunk.size();
      largest = elements > largest ? elements : largest;
    }
    return largest;
  }
};

}  // namespace triax
