#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "orrery/analyze/dimension.h"
#include "orrery/analyze/run_view.h"
#include "orrery/base/interval_set.h"

namespace orrery::analyze {

/// One communication kernel of a device, split into waiting and transfer.
struct CommunicationPart {
  Interval time;               // clipped to the selected steps
  std::int64_t useful_ns = 0;  // when waiting ended; the begin when it is not known
  Dimension dimension = Dimension::kUnknown;
  std::uint32_t group = kNoGroup;  // MatchedCollectives::groups
  bool is_matched = false;

  static constexpr std::uint32_t kNoGroup = 0xFFFFFFFF;
};

/// Returns the communication kernels of a device in order of begin.
[[nodiscard]] std::vector<CommunicationPart> CommunicationParts(const RunView& run,
                                                                const DeviceView& device);

/// How communication that no compute hides divides among parallel dimensions.
struct Exposure {
  std::int64_t busy_ns = 0;       // union of the dimension's kernels
  std::int64_t hidden_ns = 0;     // of that, under compute
  std::int64_t exclusive_ns = 0;  // exposed while no other dimension communicates
  double shared_ns = 0;           // exposed time, divided evenly among those who communicate
  double shared_wait_ns = 0;      // the same of the waiting parts
  double shared_transfer_ns = 0;
};

/// Splits the exposed communication of a device among `num_keys` keys (dimensions or groups);
/// `key_of` a part is below it. The shared times sum to the exposed time exactly.
[[nodiscard]] std::vector<Exposure> SplitExposure(const IntervalSet& compute,
                                                  const std::vector<CommunicationPart>& parts,
                                                  const std::vector<std::size_t>& key_of_part,
                                                  std::size_t num_keys);

}  // namespace orrery::analyze
