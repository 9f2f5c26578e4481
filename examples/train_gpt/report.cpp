// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

#include "report.hpp"

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include <unistd.h>

#include <triax/core/error.hpp>

#include "refusal.hpp"

namespace train_gpt {

namespace {

constexpr int plain_lines = 50;  // about so many steps are shown where there is no terminal

std::string minutes_and_seconds(double seconds) {
  const auto whole = static_cast<long long>(seconds + 0.5);
  char text[32];
  std::snprintf(text, sizeof text, "%lld:%02lld", whole / 60, whole % 60);
  return text;
}
std::string with_digits(double number, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, number);
  return text;
}

}  // namespace

double Outcome::bits_per_byte() const { return validation_loss / std::log(2.0); }

Report::Report(const Options& options) : options_(options), terminal_(isatty(STDOUT_FILENO) != 0) {
  namespace fs = std::filesystem;
  const fs::path folder = options.out;
  summary_path_ = (folder / "summary.json").string();
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error) fs::remove(summary_path_, error);  // of an earlier run
  if (!error) metrics_.open(folder / "metrics.jsonl");
  if (error || !metrics_) throw Refusal("out=" + options.out + ": metrics.jsonl cannot be written there");
}

Report::~Report() {
  if (on_passing_line_) std::puts("");
}

void Report::step(const StepRecord& record) {
  const double tokens_per_second = record.tokens / record.seconds;
  metrics_ << JsonObject()
                  .add("step", record.step)
                  .add("loss", record.loss)
                  .add("grad_norm", record.grad_norm)
                  .add("lr", record.lr)
                  .add("loss_scale", record.loss_scale)
                  .add("applied", record.applied)
                  .add("tokens_per_second", tokens_per_second)
                  .add("seconds", record.seconds)
                  .line()
           << std::endl;

  tokens_ += record.tokens;
  seconds_ += record.seconds;
  const std::int64_t steps = options_.train.steps;
  const std::int64_t stride = (steps + plain_lines - 1) / plain_lines;
  const bool shown = record.step == 1 || record.step == steps || record.step % stride == 0;
  if (!terminal_ && !shown) return;
  const double elapsed = std::chrono::duration<double>(Clock::now() - start_).count();
  const double left = elapsed / static_cast<double>(record.step) * static_cast<double>(steps - record.step);
  print_line("step " + std::to_string(record.step) + "/" + std::to_string(steps) + "  loss " +
                 nine_digits(record.loss) + "  " + with_digits(tokens_ / seconds_, 0) + " tokens/s  " +
                 minutes_and_seconds(left) + " left" +
                 (record.applied ? "" : "  (skipped: a gradient overflowed)"),
             record.step < steps);
}

void Report::validation(const Outcome& outcome) {
  print_line("step " + std::to_string(outcome.last.step) + "  validation loss " +
                 nine_digits(outcome.validation_loss) + "  " + with_digits(outcome.bits_per_byte(), 4) +
                 " bits per byte of " + with_digits(outcome.validation_bytes, 0),
             false);
}

void Report::sample(const std::string& text) {
  print_line("the model goes on where its training text ends:", false);
  print_line(text, false);
}

void Report::summary(const JsonObject& summary) {
  std::ofstream file(summary_path_);
  file << summary.lines() << std::endl;
  if (!file || !metrics_)
    throw triax::Error("the files in out=" + options_.out + " could not be written; is the disk full?");
}

void Report::print_line(const std::string& line, bool passing) {
  const bool overwrites = on_passing_line_;
  on_passing_line_ = terminal_ && passing;
  std::printf("%s%s%s", overwrites ? "\r\033[K" : "", line.c_str(), on_passing_line_ ? "" : "\n");
  std::fflush(stdout);
}

}  // namespace train_gpt
