#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace orrery::ingest {

/// Finds the rank in a file's name: "rank3_trace.json", "rank-3.x.json", "kineto_trace_3.json",
/// "worker3_…", "nsys_3.sqlite", "megatron_kineto_3.json.gz". Nothing if there is none.
[[nodiscard]] std::optional<std::int32_t> RankInFileName(std::string_view path);

/// Returns true if a word says that the number is a rank: "rank3_trace.json", not
/// "conv_08.xplane.pb".
[[nodiscard]] bool NamesRankByWord(std::string_view path);

/// Finds the GPU in a file's name: the number after "gpu" or "device", else what would be the
/// rank, since a file that holds one GPU is of one rank.
[[nodiscard]] std::optional<std::int32_t> GpuInFileName(std::string_view path);

}  // namespace orrery::ingest
