// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// The one macro that marks functions which run on the host and on a device.

#pragma once

#ifdef __CUDACC__
/// Marks a function that is compiled for the host and, under nvcc, for the device.
#define TRIAX_HD __host__ __device__
#else
#define TRIAX_HD
#endif
