#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "orrery/ingest/nccl_tests/run.h"

namespace orrery::ingest::nccl_tests {

/// Returns whether nccl-tests has a program for this collective.
[[nodiscard]] bool IsKnownTest(std::string_view test);

struct Inferred {
  std::string test;                       // empty: several would fit
  std::optional<std::int64_t> num_ranks;  // nothing: several would fit
};

/// Finds out which collective a run measured, and on how many ranks, from what its rows must
/// satisfy: busbw / algbw is 2(n-1)/n for all-reduce, (n-1)/n for all-gather, reduce-scatter,
/// all-to-all, gather and scatter, and 1 for the others; only some reduce; only some have a root.
/// What the run knows already is believed.
[[nodiscard]] Inferred InferRun(const Run& run);

}  // namespace orrery::ingest::nccl_tests
