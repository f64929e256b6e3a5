#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/simulate/explain/memory_timeline.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job/job_file.h"
#include "orrery/workload/keys/key_values.h"

namespace orrery::search {

/// A key of a job that is free, and its values as job files spell them.
struct Dimension {
  std::string key;  // "plan.tp"
  std::vector<std::string> values;

  bool operator==(const Dimension&) const = default;
};

/// A key whose values are copied into jobs without their text being read again. Keys are in the
/// order in which dimensions are nested: what changes operators of layers first, then the pipeline,
/// then data parallelism.
struct FastKey {
  std::string_view key;
  void (*copy)(const workload::KeyValues& from, workload::Job& to);
  /// True if the values change nothing, given those of the keys before it.
  bool (*is_idle)(const workload::Job& job);
  bool changes_layers = true;
};

[[nodiscard]] const std::vector<FastKey>& FastKeys();

/// The place of a key in FastKeys; their number for another one.
[[nodiscard]] std::size_t FastKeyOf(std::string_view key);

/// The section `search` of a job file.
struct SearchSection {
  std::vector<Dimension> dimensions = {};
  bool has_usual = true;  // dimensions that are not named are the usual ones
  double memory_share = simulate::kSafeMemoryShare;
};

/// Reads it; of a file without one, the usual dimensions. `job` may lack what follows from its
/// plan.
[[nodiscard]] Result<SearchSection> ReadSearchSection(const workload::JobText& text,
                                                      const std::vector<std::string>& overrides,
                                                      const workload::Job& job);

/// The usual dimensions of a transformer, those of any other model that make sense.
[[nodiscard]] std::vector<Dimension> UsualDimensions(const workload::Job& job);

/// The values of "64..1024" (doubled), "64,96,128" or "512".
[[nodiscard]] Result<std::vector<std::string>> GpuCounts(const std::string& text);

}  // namespace orrery::search
