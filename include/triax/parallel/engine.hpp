// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// The training step, composed of the engine's parts in one canonical order.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <triax/comm/mesh.hpp>
#include <triax/engine/initialise.hpp>
#include <triax/engine/loss_scale.hpp>
#include <triax/engine/machine.hpp>
#include <triax/engine/parameter_access.hpp>
#include <triax/engine/step_kernels.hpp>
#include <triax/optim/clip.hpp>
#include <triax/parallel/hooks.hpp>
#include <triax/parallel/model_output.hpp>
#include <triax/parallel/plan.hpp>
#include <triax/parallel/settings.hpp>
#include <triax/parallel/step_result.hpp>

namespace triax {

/// The bytes that a rank's arenas were seen to use, and the arenas of activations one by one.
struct Measured {
  RankBytes bytes;
  ActivationBytes activations;
};

/// Trains a model under a strategy; see Parallel, which checks the composition before this is instantiated.
template <class Net, class S, class MeshType, class OptimizerType>
class Engine {
 public:
  using communicator = typename MeshType::communicator;
  using device_type = typename communicator::device;
  using compute = compute_t<S>;
  using BatchType = Batch<device_type>;
  using Output = ModelOutput<compute, device_type>;

  Engine(Net net, S strategy, MeshType& mesh, OptimizerType optimizer, std::uint64_t seed)
      : net_(std::move(net)),
        strategy_(std::move(strategy)),
        mesh_(mesh),
        optimizer_(std::move(optimizer)),
        seed_(seed),
        settings_(step_settings(strategy_)),
        sink_(*this) {}
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Plans and allocates for steps of up to `shape` on this rank, and initialises the parameters. Called by
  /// the first step for its own shape. Collective over the mesh; a second call throws ConfigError.
  void reserve(const BatchShape& shape) {
    if (machine_)
      throw ConfigError("this model has reserved memory already; reserve once, for the largest batch");
    const int stage = mesh_.coordinate(Axis::pp);
    Blueprint blueprint =
        draw_blueprint<compute, device_type>(net_, settings_, mesh_.extents(), stage, shape);
    agree_on_settings(settings_, shape, optimizer_.states(), mesh_.control());
    agree_on_parameters(blueprint.layout, mesh_.control(), gradients().replicas);
    seed_ = agree_on_seed(seed_, mesh_.control(), gradients().replicas);
    const Plan planned = plan(net_, strategy_, mesh_, optimizer_, shape);
    machine_ = std::make_unique<MachineType>(net_, device_, mesh_, std::move(blueprint), settings_,
                                             optimizer_.states(), planned.bytes, sink_, seed_);
    begin_scale();
    ParameterAccess(*machine_, mesh_).initialise(seed_);
  }

  /// One training step on this rank's part of the global batch: forward_backward, then update. Throws
  /// ShapeError for a batch larger than what is reserved.
  StepResult step(const BatchType& batch) {
    forward_backward(batch);
    return update();
  }

  /// Computes the gradient of the mean loss per token over the whole mesh, reduces it, and agrees on its
  /// norm, its finiteness and the loss. Replaces the gradient of an earlier call.
  StepResult forward_backward(const BatchType& given) {
    const BatchType batch = admit(given);
    MachineType& m = *machine_;
    const MicroBatchCut cut(batch.sequences(), settings_.micro_batches);
    if (batch.sequences() > m.blueprint.shape.sequences) throw_unfit(batch.shape());
    const TableRun& run = m.training_runs.of(cut.count());
    ++step_;
    updated_ = true;
    use_state(m.state, true);
    count_tokens_of(batch, m.state);
    together([&] {
      m.agreement.begin_step();
      m.reducer.begin_step();
      m.gatherer.begin(run.visits);
      Events events{*this};
      m.interpreter.run(run.table, batch, cut, events);
      m.reducer.drain();
      m.ties.add_gradients();
      m.agreement.agree(m.state, mesh_.coordinate(Axis::tp) == 0);
    });
    if (gradients().unused == Unused::error) m.agreement.check_unused(mesh_.control());
    updated_ = false;
    return result();
  }

  /// Clips the gradient of the last forward_backward and applies the optimizer, unless the gradient is not
  /// finite. Throws Error when there is no new gradient, and when the loss scale has stayed at its floor for
  /// too many skipped steps.
  StepResult update() {
    if (!machine_ || updated_) throw Error("update needs the gradient of a new forward_backward");
    MachineType& m = *machine_;
    updated_ = true;
    const auto clipping = strategy_.template get<axis::clipping, Clip<By::none>>();
    set_learning_rate(device_, optimizer_.learning_rate(), m.state);
    if (clipping.by == By::norm) clip_norm(device_, static_cast<double>(clipping.limit), m.state);
    each_updated_gradient([&](const PlacedParameter& parameter, Tensor<float, device_type> gradient) {
      if (clipping.by == By::value)
        clip_values(device_, gradient.data(), gradient.size(), static_cast<double>(clipping.limit), m.state);
      call_before_update(strategy_, parameter, gradient);
    });
    m.updater.update(optimizer_, m.state, m.agreement, precision().rounding, seed_);
    finish_step();
    return result();
  }

  /// The loss of a batch without training: the weighted sum over the whole mesh, the same on all ranks. Cuts
  /// the batch into micro-batches that fit the memory reserved for training.
  LossSum evaluate(const BatchType& given) {
    const BatchType batch = admit(given);
    MachineType& m = *machine_;
    use_state(m.evaluation_state, false);
    count_tokens_of(batch, m.evaluation_state);
    run_forward(batch, nullptr);
    device_.launch(
        detail::ComposeEvaluation{m.evaluation.data(), m.evaluation_state, mesh_.coordinate(Axis::tp) == 0},
        Cost{});
    mesh_.world().all_reduce(m.evaluation.span(), Sum{}, Order::rank{}).wait();
    return {m.evaluation[0], m.evaluation_state->tokens};
  }

  /// The stream that leaves the model for a batch, which needs no targets: on ranks of the last stage.
  /// Collective.
  Output forward(const BatchType& given) {
    const BatchType batch = admit(given);
    MachineType& m = *machine_;
    use_state(m.evaluation_state, false);
    if (!m.blueprint.bounds.ends_in_loss) {
      run_forward(batch, nullptr);
      return {};
    }
    Output output(device_, output_shape(batch));
    run_forward(batch, output.stream().data());
    return output;
  }

  /// Hands the output of `forward` from the last stage to all stages. Collective over pp; `batch` is the one
  /// that forward was given.
  Output gather_output(Output output, const BatchType& batch) {
    communicator& pipeline = mesh_.group(Axis::pp);
    if (!output) output = Output(device_, output_shape(batch));
    pipeline.broadcast(output.stream().span(), pipeline.size() - 1).wait();
    return output;
  }

  /// The paths of all parameters of the model, in model order: "<entry>.<copy>.<name>".
  std::vector<std::string> parameter_paths() const {
    std::vector<std::string> paths;
    for (const PlacedParameter& parameter : declare_parameters(net_, mesh_.extents()).parameters)
      paths.push_back(parameter.path);
    return paths;
  }
  /// The fp32 values of a parameter, global and row-major, on every rank. Collective over the mesh, like the
  /// following. Throws Error for a path that the model does not have, and before memory is reserved.
  std::vector<float> parameter(std::string_view path) { return access().values(path); }
  /// Sets a parameter (and what is tied to it) to rank 0's `values`, global and row-major.
  void set_parameter(std::string_view path, std::span<const float> values) { access().set(path, values); }
  /// The gradient of the last forward_backward, without the loss scale; `Clip<By::value>` and hooks change it
  /// in `update`, clipping by norm does not.
  std::vector<float> gradient(std::string_view path) { return access().gradient(path); }
  /// One of the optimizer's states of a parameter; empty for a parameter that is not trained.
  std::vector<float> optimizer_state(std::string_view path, int index) {
    return access().optimizer_state(path, index);
  }
  /// How many updates a parameter has had.
  std::int64_t step_count(std::string_view path) { return access().step_count(path); }

  /// The bytes in use on this rank, as its arenas saw them.
  Measured measured() const {
    const MachineType& m = machine();
    Measured result{m.storage.measured(), m.arenas.measured(device_.workspace_bytes())};
    result.bytes.activations = result.activations.total(m.blueprint.slots());
    return result;
  }
  /// The arenas of this rank's activations, with the number and sum of their takes.
  const ActivationArenas<device_type>& activation_arenas() const { return machine().arenas; }

  const OptimizerType& optimizer() const { return optimizer_; }
  device_type& device() { return device_; }
  MeshType& mesh() { return mesh_; }
  S& strategy() { return strategy_; }

 private:
  using SumOrder = typename decltype(S{}.template get<axis::gradients, DataParallel<>>())::order;
  using MachineType = Machine<Net, compute, device_type, MeshType, SumOrder>;
  static constexpr bool scales_loss =
      std::is_same_v<typename decltype(S{}.template get<axis::precision, FullPrecision>())::scaling,
                     LossScaling>;

  /// Tells the parts and the hooks about units while they run.
  struct Events {
    Engine& engine;
    bool last = false;

    void set_last(bool value) { last = value; }
    void before_forward(int unit) {
      engine.machine_->gatherer.acquire();
      call_before_unit(engine.strategy_, unit, Phase::forward);
    }
    void after_forward(int unit, const Shape&) { call_after_unit(engine.strategy_, unit, Phase::forward); }
    void before_backward(int unit) {
      engine.machine_->gatherer.acquire();
      engine.machine_->reducer.begin_unit(unit);
      call_before_unit(engine.strategy_, unit, Phase::backward);
    }
    void after_backward(int unit) {
      call_after_unit(engine.strategy_, unit, Phase::backward);
      if (last) engine.announce_gradients(unit);
      engine.machine_->reducer.end_unit(unit, last);
    }
  };

  /// Adds up the losses that layers add, in the order of micro-batches.
  struct Sink final : LossSink<device_type> {
    Engine& engine;

    explicit Sink(Engine& owner) : engine(owner) {}
    void add(std::string_view name, Tensor<LossSum, device_type> loss, float) override {
      const std::vector<std::string>& names = engine.machine_->blueprint.added_losses;
      for (std::size_t i = 0; i < names.size(); ++i)
        if (names[i] == name)
          engine.device_.launch(detail::AddLoss{&engine.machine_->pass.frame().state->added[i], loss.data()},
                                Cost{1, 0});
    }
  };

  auto gradients() const { return strategy_.template get<axis::gradients, DataParallel<>>(); }
  auto precision() const { return strategy_.template get<axis::precision, FullPrecision>(); }
  MachineType& machine() const {
    if (!machine_) throw Error("this model holds no memory yet; call reserve, or step once");
    return *machine_;
  }
  ParameterAccess<MachineType, MeshType> access() const { return {machine(), mesh_}; }
  StepResult result() const { return {*machine_->state, step_, machine_->blueprint.added_losses}; }

  void begin_scale() {
    if constexpr (scales_loss) begin_loss_scale(device_, precision().loss_scale, machine_->state);
  }
  void finish_step() {
    device_.launch(detail::CountStep{machine_->state}, Cost{});
    if constexpr (scales_loss) {
      const LossScale loss_scale = precision().loss_scale;
      update_loss_scale(device_, loss_scale, machine_->state);
      if constexpr (device_type::directly_readable) check_loss_scale(loss_scale, *machine_->state);
    }
  }

  /// Checks a batch against what is reserved (reserving for it if nothing is), and numbers its first
  /// sequence.
  BatchType admit(const BatchType& batch) {
    if (torn_)
      throw Error("an earlier step of this model failed on rank " + std::to_string(mesh_.world().rank()) +
                  ", and the other ranks may have gone on without it; construct the model anew");
    if (!machine_) reserve(batch.shape());
    const BatchShape& most = machine_->blueprint.shape;
    if (batch.sequences() < 1 || batch.tokens() < 1 || batch.tokens() > most.tokens ||
        batch.shape().input_features != most.input_features)
      throw_unfit(batch.shape());
    const std::int64_t first = batch.first_sample();
    return first >= 0 ? batch : batch.starting_at(data_rank(mesh_) * batch.sequences());
  }
  [[noreturn]] void throw_unfit(const BatchShape& shape) const {
    throw ShapeError("a batch of " + to_string(shape) + " does not fit the memory reserved for " +
                     to_string(machine_->blueprint.shape) +
                     "; call reserve({sequences, tokens}) for the largest batch before the first step");
  }

  void use_state(StepState* state, bool training) {
    machine_->pass.frame().state = state;
    machine_->pass.frame().training = training;
  }
  void count_tokens_of(const BatchType& batch, StepState* state) {
    machine_->count.agree(batch.sequences(), batch.tokens(), state, [&](double* sum) {
      const Tensor<double, device_type> total(sum, {1});
      if constexpr (requires(Ctx<compute, device_type, communicator>& ctx) { net_.loss.count(ctx, total); }) {
        auto frame = machine_->pass.frame();
        frame.batch = &batch;
        Ctx<compute, device_type, communicator> ctx(frame, nullptr, Phase::forward, loss_site);
        net_.loss.count(ctx, total);
      } else {
        count_tokens(device_, Shape{batch.sequences(), batch.tokens()}, batch.weights(), {}, -1, total);
      }
    });
  }

  void run_forward(const BatchType& batch, compute* output) {
    MachineType& m = *machine_;
    const std::int64_t most = m.blueprint.micro_batch.sequences;
    const MicroBatchCut cut(batch.sequences(), (batch.sequences() + most - 1) / most);
    const TableRun& run = m.evaluation_runs.of(cut.count());
    together([&] {
      m.gatherer.begin(run.visits);
      Events events{*this};
      m.interpreter.run(run.table, batch, cut, events, output);
    });
  }
  /// Runs what the ranks can only do together. If it throws on a rank, in a layer perhaps, the others may be
  /// anywhere in it: the model refuses to go on.
  template <class F>
  void together(F f) {
    torn_ = mesh_.world().size() > 1;
    try {
      f();
    } catch (...) {
      // The others may wait for this rank. An operation that an exception ends tells them, even if the caller
      // catches it.
      float nothing = 0;
      std::optional<request_t<communicator>> ended;
      try {
        ended.emplace(mesh_.control().all_reduce(std::span(&nothing, 1)));
      } catch (const Error&) {  // they know
      }
      throw;
    }
    torn_ = false;
  }
  Shape output_shape(const BatchType& batch) const {
    return machine_->blueprint.units.back().stream.with(0, batch.sequences()).with(1, batch.tokens());
  }

  void announce_gradients(int unit) {
    const ModelLayout& layout = machine_->blueprint.layout;
    for (int i = layout.first_parameter[static_cast<std::size_t>(unit)];
         i < layout.first_parameter[static_cast<std::size_t>(unit) + 1]; ++i)
      if (layout.parameters[static_cast<std::size_t>(i)].trained())
        call_gradient_ready(strategy_, layout.parameters[static_cast<std::size_t>(i)]);
  }
  /// Calls f for the updated elements of every trained parameter of this rank.
  template <class F>
  void each_updated_gradient(F f) {
    for (const auto& chunk : machine_->chunks) {
      if (!chunk.shape->trained) continue;
      for (const auto& bound : chunk.bound) {
        const ElementRange range = intersect({bound.offset, bound.binding->shape.size()}, chunk.updated());
        if (range.size > 0)
          f(machine_->blueprint.layout.parameters[static_cast<std::size_t>(bound.parameter)],
            Tensor<float, device_type>(chunk.reduced_gradient(range.first), {range.size}));
      }
    }
  }

  device_type device_;
  Net net_;
  S strategy_;
  MeshType& mesh_;
  OptimizerType optimizer_;
  std::uint64_t seed_;
  StepSettings settings_;
  Sink sink_;
  std::unique_ptr<MachineType> machine_;
  std::uint64_t step_ = 0;
  bool updated_ = true;
  bool torn_ = false;  ///< a step ended in the middle
};

}  // namespace triax
