// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// A program that defines malloc and its relatives replaces glibc's everywhere, in operator new and in shared
// libraries too. Sanitizers replace them already; there their hook is used.

#include "support/allocations.hpp"

#include <atomic>
#include <cerrno>

#include "support/sanitizers.hpp"

namespace {

// Constant-initialised: the first allocations come before any constructor has run.
constinit std::atomic<std::size_t> count{0};
constinit std::atomic<std::size_t> bytes{0};

void note(std::size_t size) noexcept {
  count.fetch_add(1, std::memory_order_relaxed);
  bytes.fetch_add(size, std::memory_order_relaxed);
}

}  // namespace

triax::test::Allocations triax::test::allocations() noexcept {
  return {count.load(std::memory_order_relaxed), bytes.load(std::memory_order_relaxed)};
}

#ifdef TRIAX_TEST_SANITIZED

extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*)(const volatile void*, std::size_t),
                                                         void (*)(const volatile void*));

[[maybe_unused]] static const int installed = __sanitizer_install_malloc_and_free_hooks(
    [](const volatile void*, std::size_t size) { note(size); }, [](const volatile void*) {});

#else

extern "C" {

void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t size) {
  note(size);
  return __libc_malloc(size);
}

void* calloc(std::size_t n, std::size_t size) {
  note(n * size);
  return __libc_calloc(n, size);
}

void* realloc(void* memory, std::size_t size) {
  note(size);
  return __libc_realloc(memory, size);
}

void* memalign(std::size_t alignment, std::size_t size) {
  note(size);
  return __libc_memalign(alignment, size);
}

void* aligned_alloc(std::size_t alignment, std::size_t size) { return memalign(alignment, size); }

int posix_memalign(void** memory, std::size_t alignment, std::size_t size) {
  *memory = memalign(alignment, size);
  return *memory ? 0 : ENOMEM;
}

}  // extern "C"

#endif
