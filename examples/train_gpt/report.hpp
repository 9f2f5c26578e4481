// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// What a run tells: lines on standard output, and the files in its folder. Only rank 0 has a Report.

#pragma once

#include <chrono>
#include <cstdint>
#include <fstream>
#include <string>

#include "json.hpp"
#include "options.hpp"

namespace train_gpt {

/// A step as metrics.jsonl records it.
struct StepRecord {
  std::int64_t step = 0;  ///< from 1
  double loss = 0;        ///< the mean of a token
  double grad_norm = 0;
  float lr = 0;
  float loss_scale = 1;
  bool applied = true;
  double tokens = 0;
  double seconds = 0;
};

/// What training and validation came to.
struct Outcome {
  StepRecord last;
  std::int64_t skipped_steps = 0;
  double tokens = 0;   ///< trained on
  double seconds = 0;  ///< in training steps
  double validation_loss = 0;
  double validation_bytes = 0;

  double bits_per_byte() const;
};

class Report {
 public:
  /// Begins the files in the folder `out`, which is made if need be. Throws Refusal if that fails.
  explicit Report(const Options& options);
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;
  /// Leaves a line that was going to be overwritten.
  ~Report();

  /// Writes the step to metrics.jsonl and shows it: in one line that is overwritten on a terminal, else now
  /// and then.
  void step(const StepRecord& record);
  /// Shows a validation.
  void validation(const Outcome& outcome);
  /// Shows what the model wrote.
  void sample(const std::string& text);
  /// Writes summary.json. Throws Error if the files could not be written.
  void summary(const JsonObject& summary);

 private:
  using Clock = std::chrono::steady_clock;

  void print_line(const std::string& line, bool passing);

  const Options& options_;
  std::ofstream metrics_;
  std::string summary_path_;
  bool terminal_;
  bool on_passing_line_ = false;  // a line that the next one overwrites
  double tokens_ = 0, seconds_ = 0;
  Clock::time_point start_ = Clock::now();
};

}  // namespace train_gpt
