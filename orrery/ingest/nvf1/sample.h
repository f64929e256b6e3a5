#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "orrery/base/error.h"
#include "orrery/trace/problems.h"

namespace orrery::ingest::nvf1 {

inline constexpr std::string_view kMagic = "NVF1";
inline constexpr std::size_t kHeaderBytes = 12;

/// How the records of a file are laid out.
struct Layout {
  std::size_t field_bytes = 0;  // of NVML's nvmlFieldValue_t

  [[nodiscard]] std::size_t record_bytes() const { return sizeof(std::uint64_t) + field_bytes; }
};

/// Reads the header; fails when records of this layout cannot hold a sample.
[[nodiscard]] Result<Layout> ReadHeader(std::string_view header, trace::ProblemLog& problems);

enum class Direction { kTransmitted, kReceived };

/// One counter at one time.
struct Sample {
  std::uint64_t host_time_ns = 0;
  std::int64_t time_us = 0;
  Direction direction = Direction::kTransmitted;
  bool is_raw = false;
  std::optional<std::uint32_t> link;  // nothing: the sum over all
  std::uint32_t return_code = 0;      // of NVML; 0: the value holds
  std::uint64_t kib = 0;
};

/// Reads one record; nothing if it is of a field that is no NVLink counter.
[[nodiscard]] std::optional<Sample> ReadSample(std::string_view record);

}  // namespace orrery::ingest::nvf1
