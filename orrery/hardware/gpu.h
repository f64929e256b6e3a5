#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/units.h"

namespace orrery::hardware {

/// Words of alternative names, lower case: a name matches a list if it contains all its words.
using MatchWords = std::vector<std::vector<std::string>>;

/// Returns whether all words of one of the lists occur in `name`, in any case. A word stands
/// alone: "t4" is not found inside "gt400".
[[nodiscard]] bool IsCalled(std::string_view name, const MatchWords& match);

/// The peak performance of an accelerator according to its vendor (data/hardware/gpus.yaml).
struct Gpu {
  std::string name;
  std::string vendor;
  MatchWords match;
  std::string generation;  // "hopper", "cdna2": GPUs that run the same kernels
  int year = 0;            // of the first sale
  int multiprocessors = 0;
  double clock_hz = 0;     // highest boost clock of the multiprocessors
  Bytes last_level_cache;  // shared by all multiprocessors
  Bytes memory_size;
  double power_watts = 0;  // limit of the board
  Bandwidth memory;
  Bandwidth link;       // all links, one direction; zero when it has none
  Bandwidth host_link;  // to the host, one direction
  std::map<std::string, double, std::less<>> peak_flops;  // per second, dense, by precision
  std::string source;

  /// Returns the dense peak in FLOP/s at "bf16", "fp8", … ("bfloat16", "float16" too).
  [[nodiscard]] std::optional<double> PeakFlops(std::string_view precision) const;
};

[[nodiscard]] const std::vector<Gpu>& GpuCatalogue();

/// Finds a device by the name a profiler or a card gives it: "NVIDIA A100-SXM4-80GB",
/// "nvidia_h100". Nothing when no entry matches; the first when several do.
[[nodiscard]] const Gpu* FindGpu(std::string_view name);

}  // namespace orrery::hardware
