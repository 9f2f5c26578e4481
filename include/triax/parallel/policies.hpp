// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// All policies.

#pragma once

#include <triax/parallel/policies/axis.hpp>
#include <triax/parallel/policies/clip.hpp>
#include <triax/parallel/policies/data_parallel.hpp>
#include <triax/parallel/policies/micro_batches.hpp>
#include <triax/parallel/policies/mixed_precision.hpp>
#include <triax/parallel/policies/model_axes.hpp>
#include <triax/parallel/policies/pipeline_stage.hpp>
#include <triax/parallel/policies/sharded.hpp>
