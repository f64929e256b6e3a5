#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace orrery::ingest::param_comms {

/// What the lines around the results say of the run. A later line replaces an earlier one.
struct RunFacts {
  std::optional<std::int64_t> num_ranks;
  std::string collective;  // as PARAM names it
  std::string data_type;   // as PyTorch names it
  std::string nccl_version;
  std::map<std::int64_t, std::string> host_of_rank;

  /// Takes what a line says; most say nothing.
  void ReadLine(std::string_view line);

  /// Tells whether a line is a rank's greeting: the first one after results opens another run.
  [[nodiscard]] static bool IsGreeting(std::string_view line);
};

}  // namespace orrery::ingest::param_comms
