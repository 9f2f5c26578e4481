// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// All of Triax that needs only the standard library. The headers of components, such as comm/mpi.hpp and
// device/onednn.hpp, are included beside it, and their targets linked.

#pragma once

#include <triax/comm/communicator.hpp>
#include <triax/comm/mesh.hpp>
#include <triax/comm/self.hpp>
#include <triax/comm/threads.hpp>
#include <triax/comm/traced.hpp>
#include <triax/core/error.hpp>
#include <triax/core/float16.hpp>
#include <triax/core/random.hpp>
#include <triax/core/shape.hpp>
#include <triax/core/step_state.hpp>
#include <triax/core/tensor.hpp>
#include <triax/device/arena.hpp>
#include <triax/device/gemm.hpp>
#include <triax/device/host.hpp>
#include <triax/device/meter.hpp>
#include <triax/nn/activation.hpp>
#include <triax/nn/attention.hpp>
#include <triax/nn/batch.hpp>
#include <triax/nn/block.hpp>
#include <triax/nn/check_gradients.hpp>
#include <triax/nn/context.hpp>
#include <triax/nn/cross_entropy.hpp>
#include <triax/nn/dropout.hpp>
#include <triax/nn/embedding.hpp>
#include <triax/nn/frozen.hpp>
#include <triax/nn/input_values.hpp>
#include <triax/nn/layer.hpp>
#include <triax/nn/layer_norm.hpp>
#include <triax/nn/linear.hpp>
#include <triax/nn/mean_squared_error.hpp>
#include <triax/nn/mlp.hpp>
#include <triax/nn/parameter.hpp>
#include <triax/nn/repeat.hpp>
#include <triax/nn/residual.hpp>
#include <triax/nn/vocabulary_head.hpp>
#include <triax/optim/adamw.hpp>
#include <triax/optim/clip.hpp>
#include <triax/optim/learning_rate.hpp>
#include <triax/optim/one_of.hpp>
#include <triax/optim/sgd.hpp>
#include <triax/parallel/parallel.hpp>
#include <triax/parallel/plan.hpp>
#include <triax/parallel/policies.hpp>
#include <triax/parallel/strategy.hpp>
#include <triax/schedule/gpipe.hpp>
#include <triax/schedule/one_f_one_b.hpp>
#include <triax/schedule/verify.hpp>
