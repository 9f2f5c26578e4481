// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

#include "support/models/gpt.hpp"

namespace triax::test {

template <class Precision, class World>
std::unique_ptr<ModelRank> make_gpt_of(World world, const GptOptions& options);  // gpt_<precision>.cpp

std::unique_ptr<ModelRank> make_gpt(ThreadWorldRank world, const GptOptions& options) {
  switch (options.compute) {
    case Compute::bf16:
      return make_gpt_of<MixedPrecision<bf16>>(std::move(world), options);
    case Compute::fp16:
      return make_gpt_of<MixedPrecision<fp16>>(std::move(world), options);
    case Compute::fp32:
      break;
  }
  return make_gpt_of<FullPrecision>(std::move(world), options);
}

}  // namespace triax::test
