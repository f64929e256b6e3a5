#include "orrery/compat/simai/rows.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <fmt/core.h>

namespace orrery::compat::simai {
namespace {

constexpr std::string_view kFirstLayer = "embedding_layer";
constexpr std::string_view kOptimizer = "optimizer";

}  // namespace

SimaiRows RowsOf(const SimaiWorkload& workload, trace::ProblemLog& problems) {
  SimaiRows rows;
  for (const SimaiLayer& layer : workload.layers) {
    if (std::string_view(layer.name).starts_with(kOptimizer)) {
      rows.last.push_back(&layer);
      continue;
    }
    if (layer.name == kFirstLayer) {
      rows.microbatches.emplace_back();
    }
    (rows.microbatches.empty() ? rows.around : rows.microbatches.back()).push_back(&layer);
  }
  if (rows.microbatches.empty()) {  // nothing marks a begin: all of it is one
    rows.microbatches.push_back(std::move(rows.around));
    rows.around.clear();
  }
  const auto announced = static_cast<std::size_t>(workload.accumulation);
  if (rows.microbatches.size() == 1) {
    rows.microbatches.resize(announced, std::vector(rows.microbatches[0]));
  }
  if (rows.microbatches.size() != announced) {
    problems.Note("micro-batches are written that ga does not announce",
                  static_cast<std::int64_t>(rows.microbatches.size()),
                  fmt::format("ga {}", announced));
  }
  return rows;
}

std::span<const SimaiLayer* const> ChunkOf(std::span<const SimaiLayer* const> rows, int chunk,
                                           int chunks) {
  const auto bound = [&](int index) {
    return rows.size() * static_cast<std::size_t>(index) / static_cast<std::size_t>(chunks);
  };
  return rows.subspan(bound(chunk), bound(chunk + 1) - bound(chunk));
}

}  // namespace orrery::compat::simai
