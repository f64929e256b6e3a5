#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "orrery/api/call.h"
#include "orrery/api/export.h"
#include "orrery/api/input/run_input.h"
#include "orrery/base/error.h"

namespace orrery::trace {
enum class AlignClocks : std::uint8_t;
struct AlignedRun;
}  // namespace orrery::trace

namespace orrery::api {

/// The words for alignment of clocks.
[[nodiscard]] ORRERY_API const std::map<std::string, trace::AlignClocks>& AlignChoices();

[[nodiscard]] Result<trace::AlignClocks> AlignNamed(const std::string& word);

/// A run that was read, with aligned clocks. It is never changed: copies share it. Requests take it
/// in place of paths that are read; the paths are its name then.
struct SharedRun {
  std::shared_ptr<const ingest::Run> run = {};
  std::shared_ptr<const trace::AlignedRun> aligned = {};
  trace::AlignClocks align = {};  // as it was asked for
};

/// Returns the shared run where there is one; else reads the run.
[[nodiscard]] Result<std::shared_ptr<const ingest::Run>> ReadOnce(const RunInput& input,
                                                                  const SharedRun& shared,
                                                                  const Progress& progress);

/// The same with aligned clocks. Fails where the shared run was aligned by another choice.
[[nodiscard]] Result<SharedRun> ReadAndAlign(const RunInput& input, const SharedRun& shared,
                                             trace::AlignClocks align, const Progress& progress);

}  // namespace orrery::api
