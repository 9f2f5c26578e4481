// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// The host as a device.

#pragma once

#include <cstddef>
#include <cstring>
#include <new>

#include <triax/core/bytes.hpp>
#include <triax/device/device.hpp>

namespace triax {

/// The processor that runs the program, one thread per rank. Kernels run at once, in the calling thread.
///
/// Memory is handed out zeroed and touched, so that a step never meets a page for the first time.
class Host {
 public:
  using target = Host;
  static constexpr std::size_t alignment = 64;
  static constexpr bool directly_readable = true;

  Host() = default;
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;
  ~Host() { reserve_workspace(0); }

  /// `bytes` of zeroed memory on a 64-byte boundary. Throws std::bad_alloc.
  std::byte* allocate(std::size_t bytes) {
    auto* memory = static_cast<std::byte*>(::operator new(bytes, std::align_val_t{alignment}));
    std::memset(memory, 0, bytes);
    allocated_ += bytes;
    return memory;
  }
  void deallocate(std::byte* memory, std::size_t bytes) {
    ::operator delete(memory, std::align_val_t{alignment});
    allocated_ -= bytes;
  }
  /// The bytes that are allocated at present.
  std::size_t allocated() const { return allocated_; }

  template <class Kernel>
  void launch(const Kernel& kernel, Cost) {
    kernel();
  }

  /// Makes the workspace exactly `bytes` large.
  void reserve_workspace(std::size_t bytes) {
    if (bytes == workspace_bytes_) return;
    if (workspace_) deallocate(workspace_, workspace_bytes_);
    workspace_ = bytes ? allocate(bytes) : nullptr;
    workspace_bytes_ = bytes;
  }
  /// The workspace, at least `bytes` large; a program that never reserved pays for its growth here.
  std::byte* workspace(std::size_t bytes) {
    if (bytes > workspace_bytes_) reserve_workspace(bytes);
    return workspace_;
  }
  std::size_t workspace_bytes() const { return workspace_bytes_; }

 private:
  std::byte* workspace_ = nullptr;
  std::size_t workspace_bytes_ = 0;
  std::size_t allocated_ = 0;
};

static_assert(Device<Host>);

}  // namespace triax
