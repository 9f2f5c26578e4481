// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// The sentences that refuse a composition. A sentence that is known both to the compiler and at run time must
// be a literal, since static_assert takes nothing else: hence macros.

#pragma once

#define TRIAX_SAY_NO_STRATEGY \
  "triax: the second argument of Parallel is no Strategy; write Strategy<...> around the policies"
#define TRIAX_SAY_NO_MESH \
  "triax: the third argument of Parallel is no Mesh; arrange the world by Mesh mesh(world, {.dp = ...})"
#define TRIAX_SAY_NO_POLICY                                                                    \
  "triax: an argument of Strategy is no policy; a policy is a type such as DataParallel<> or " \
  "MixedPrecision<bf16> that names its axis"
#define TRIAX_SAY_TWICE "triax: two policies of the Strategy answer the same question; keep one of them"
#define TRIAX_SAY_NO_MODEL \
  "triax: a model needs a member `layers`, a std::tuple of layers, and a member `loss`"
#define TRIAX_SAY_NO_INPUT_LAYER                                                                           \
  "triax: the first entry of the model's layers is no InputLayer; begin with Embedding, InputValues or a " \
  "layer whose forward takes no stream"
#define TRIAX_SAY_NO_LAYER                                                                                  \
  "triax: an entry of the model's layers is no Layer; static_assert(triax::Layer<YourLayer>) says what it " \
  "lacks"
#define TRIAX_SAY_NO_LOSS \
  "triax: the model's loss is no LossLayer; static_assert(triax::LossLayer<YourLoss>) says what it lacks"
#define TRIAX_SAY_NO_OPTIMIZER \
  "triax: the optimizer is no Optimizer; static_assert(triax::Optimizer<YourOptimizer>) says what it lacks"
#define TRIAX_SAY_SHARDED_ALONE                                                                        \
  "triax: Sharded needs DataParallel<> in the Strategy: it shares out what data-parallel ranks would " \
  "otherwise copy"
#define TRIAX_SAY_NOT_ELEMENTWISE                                                                  \
  "triax: Sharded needs an optimizer that updates element by element, and this one does not; use " \
  "Stage::none or another optimizer"
#define TRIAX_SAY_NO_COMPUTE \
  "triax: a model computes in float, bf16 or fp16; MixedPrecision takes no other type"
#define TRIAX_SAY_NO_SCALER                                                                             \
  "triax: MixedPrecision<fp16, NoScaling> would lose small gradients; use MixedPrecision<fp16>, which " \
  "scales the loss"
#define TRIAX_SAY_ACCUMULATE                                                                          \
  "triax: Accumulate::sharded needs Stage::gradients or Stage::parameters, which own a slice of the " \
  "gradient"
#define TRIAX_SAY_NO_DATA_PARALLEL \
  "triax: dp is larger than 1, but the Strategy does not say how gradients are summed; add DataParallel<>"
#define TRIAX_SAY_NO_SCHEDULE                                                                              \
  "triax: pp is larger than 1, but the Strategy does not say in which order micro-batches are worked on; " \
  "add PipelineStage<OneFOneB>"
#define TRIAX_SAY_NO_SCHEDULE_TYPE                                                                          \
  "triax: the argument of PipelineStage is no Schedule; static_assert(triax::Schedule<YourSchedule>) says " \
  "what it lacks"
#define TRIAX_SAY_NO_SUCH_SCHEDULE                                                                        \
  "triax: this version runs schedules with one virtual stage on each rank, in rank order, and undivided " \
  "backward passes"
#define TRIAX_SAY_MICRO_BATCHES "triax: MicroBatches needs a positive number"
#define TRIAX_SAY_FEW_UNITS "triax: the model has fewer units than pp has stages; lower pp or add layers"
#define TRIAX_SAY_BAD_SCHEDULE                                                                            \
  "triax: the schedule does not verify for this pp and these micro-batches: it deadlocks, loses work or " \
  "breaks an order; make_table says where"
#define TRIAX_SAY_NO_TENSOR_PARALLEL \
  "triax: tp is larger than 1, but the Strategy does not say how layers are cut; add TensorParallel<>"
#define TRIAX_SAY_NO_CONTEXT_PARALLEL \
  "triax: cp is larger than 1, but the Strategy does not say how sequences are cut; add ContextParallel<>"
#define TRIAX_SAY_NO_EXPERT_PARALLEL \
  "triax: ep is larger than 1, but the Strategy does not say how tokens reach experts; add ExpertParallel<>"
#define TRIAX_SAY_NO_TENSOR_LAYER \
  "triax: tp is larger than 1, but this version has no tensor-parallel layer yet; use tp = 1"
#define TRIAX_SAY_NO_CONTEXT_LAYER \
  "triax: cp is larger than 1, but this version has no context-parallel layer yet; use cp = 1"
#define TRIAX_SAY_NO_EXPERT_LAYER \
  "triax: ep is larger than 1, but this version has no expert-parallel layer yet; use ep = 1"
#define TRIAX_SAY_NO_STORE "triax: this version keeps all activations; use Store::keep"
#define TRIAX_SAY_NO_REDUCTION                                           \
  "triax: training needs a communicator with all_reduce and broadcast; " \
  "static_assert(triax::GradientCommunicator<YourCommunicator>) says what it lacks"
#define TRIAX_SAY_NO_SHARDING                                                 \
  "triax: training needs a communicator with reduce_scatter and all_gather; " \
  "static_assert(triax::ShardingCommunicator<YourCommunicator>) says what it lacks"
#define TRIAX_SAY_NO_PIPELINE                                 \
  "triax: training needs a communicator with send and recv; " \
  "static_assert(triax::PipelineCommunicator<YourCommunicator>) says what it lacks"
