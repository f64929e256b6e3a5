#pragma once

#include <cstdint>
#include <utility>

#include <gtest/gtest.h>

#include "orrery/workload/generate/generate.h"
#include "orrery/workload/generate/jobs_test.h"
#include "orrery/workload/generate/program_counts_test.h"
#include "orrery/workload/model/models_test.h"

// Small models whose messages and bytes tests count by hand.

namespace orrery::workload {

/// h 1024, two layers, 16 heads, 51,200 words, not tied: X = b·s·h·2 = 2 MiB for one sequence.
inline constexpr std::int64_t kHidden = 1024;
inline constexpr std::int64_t kLayers = 2;
inline constexpr std::int64_t kVocabulary = 51'200;
inline constexpr std::int64_t kX = 1024 * kHidden * 2;

inline Transformer SmallGpt() {
  Transformer model =
      Gpt({.hidden = kHidden, .layers = kLayers, .heads = 16, .vocabulary = kVocabulary});
  model.is_tied = false;
  return model;
}

inline Job SmallJob(const Plan& plan, std::int64_t microbatches = 1) {
  return JobOf({.model = {"small", SmallGpt()}, .plan = plan, .microbatches = microbatches});
}

/// Parameters of SmallGpt: 12h² + 13h a layer, words, positions, head, and the last norm.
inline constexpr std::int64_t kBlock = 12 * kHidden * kHidden + 13 * kHidden;
inline constexpr std::int64_t kEmbedding = kVocabulary * kHidden + 1024 * kHidden;
inline constexpr std::int64_t kHead = kVocabulary * kHidden + 2 * kHidden;
inline constexpr std::int64_t kParameters = kLayers * kBlock + kEmbedding + kHead;

inline Transformer SmallMoe() {
  Transformer model = SmallGpt();
  model.blocks[0].block.mlp =
      Experts{.count = 8, .per_token = 2, .expert = {.width = 4096}, .shared = {}};
  return model;
}

inline GeneratedJob Generated(const Job& job) {
  Result<GeneratedJob> generated = Generate(job, EqualCosts());
  EXPECT_TRUE(generated.has_value()) << (generated ? "" : generated.error().message());
  return std::move(*generated);
}

inline Program FirstProgram(const Job& job) {
  return std::move(Generated(job).ensemble.programs.front());
}

inline CommunicationCount Times(std::int64_t messages, std::int64_t bytes) {
  return {messages, messages * bytes};
}

}  // namespace orrery::workload
