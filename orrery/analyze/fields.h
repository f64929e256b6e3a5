#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "orrery/analyze/run_view.h"
#include "orrery/hardware/gpu.h"
#include "orrery/trace/trace_set.h"

namespace orrery::analyze {

// Values of the workload card by their key ("batch_size", "num_params", "tp"), in whichever section
// they are. A run without a card has none.

/// Returns a positive number; zero and below count as absent.
[[nodiscard]] std::optional<double> CardNumber(const trace::TraceSet& set, std::string_view field);
[[nodiscard]] std::optional<std::int64_t> CardInteger(const trace::TraceSet& set,
                                                      std::string_view field);
[[nodiscard]] std::optional<std::string_view> CardText(const trace::TraceSet& set,
                                                       std::string_view field);

/// Returns why a value cannot be used, in words that follow "n/a: ".
[[nodiscard]] std::string WhyNoCardValue(const trace::TraceSet& set, std::string_view field);

/// Returns the size of a parallel dimension ("tp", "pp", "dp" = dp_replicate · dp_shard, …) or 1.
[[nodiscard]] std::int64_t CardParallelSize(const trace::TraceSet& set, std::string_view dimension);

/// Returns the link bandwidth per device in bytes per second, inside a node or across nodes.
[[nodiscard]] std::optional<double> CardLinkBytesPerSecond(const trace::TraceSet& set,
                                                           bool inside_node);

/// Returns the accelerator named by the card, else by the profiler, from the hardware catalogue;
/// nullptr when the catalogue does not have it.
[[nodiscard]] const hardware::Gpu* ChipOf(const RunView& run);

// Arguments without a column of their own are in `extra`, as the fields of a JSON object without
// braces.

/// Returns the text of a field: strings without their quotes, all else as written.
[[nodiscard]] std::optional<std::string_view> JsonField(std::string_view fields,
                                                        std::string_view key);

/// Returns a number, also one that is written as a string.
[[nodiscard]] std::optional<double> JsonNumber(std::string_view fields, std::string_view key);

}  // namespace orrery::analyze
