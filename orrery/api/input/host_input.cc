#include "orrery/api/input/host_input.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "orrery/api/errors.h"
#include "orrery/api/input/run_input.h"
#include "orrery/base/document/csv.h"
#include "orrery/base/error.h"
#include "orrery/base/file/byte_source.h"
#include "orrery/base/text/nearest_word.h"
#include "orrery/base/text/table.h"
#include "orrery/ingest/run.h"
#include "orrery/trace/trace.h"
#include "orrery/workload/recorded/host/host_fit.h"
#include "orrery/workload/recorded/host/host_machine.h"
#include "orrery/workload/recorded/host/host_model.h"
#include "orrery/workload/recorded/host/host_pace.h"

namespace orrery::api {
namespace {

using workload::HostPace;

constexpr std::int64_t kMostBytes = 1 << 20;  // a measured host has one kilobyte

Result<NamedHost> HostOfCosts(const std::string& path) {
  ORRERY_TRY(const Table table, ReadCsvFile(path));
  auto model = workload::HostModelOf(table);
  if (!model) {
    return FailWithin(path, model);
  }
  return NamedHost{.choice = {.model = *std::move(model)}, .source = path};
}

Result<NamedHost> HostOfMeasurement(const std::string& path) {
  ORRERY_TRY(const std::unique_ptr<ByteSource> file, OpenFile(path));
  ORRERY_TRY(const std::string yaml, ReadAll(*file, kMostBytes));
  ORRERY_TRY(const HostPace pace, workload::PaceOfMeasuredHost(yaml, path));
  return NamedHost{
      .choice = {.pace = pace},
      .source = fmt::format("measured in {}: operators take {:.2f} times the reference's, Python "
                            "{:.2f}, launches {:.2f}",
                            path, pace.operators, pace.program, pace.launches)};
}

Result<NamedHost> HostOfRecordedRun(const std::string& path, RunInput reading,
                                    const Progress& progress) {
  reading.paths = {path};
  ORRERY_TRY(const ingest::Run run, ReadRun(reading, progress));
  const trace::Trace& recording = run.set.ranks.front();
  if (recording.host_ops.empty() || recording.runtime_calls.empty()) {
    return InvalidInput("--host {}: no recording with operators and runtime calls", path);
  }
  workload::HostFit fit;
  fit.Add(recording);
  const workload::RecordedPace found = workload::PaceOf(fit.Fit({}), workload::DefaultHost());
  if (found.operators == 0) {
    return InvalidInput("--host {}: too few known operators launch in it to tell its host's speed",
                        path);
  }
  return NamedHost{
      .choice = {.pace = HostPace{found.ratio, found.ratio, found.ratio}},
      .source = fmt::format("shared costs at the speed of {}, {:.2f} times the reference's by {} "
                            "operators",
                            path, found.ratio, found.operators)};
}

}  // namespace

Result<NamedHost> ReadHost(const std::string& host, const RunInput& reading,
                           const Progress& progress) {
  if (host.empty()) {
    return NamedHost{.choice = {}, .source = "shared costs"};
  }
  if (const workload::HostMachine* const known = workload::FindHost(host)) {
    return NamedHost{.choice = {.pace = known->pace},
                     .source = "shared costs at the speed of " + host};
  }
  const std::string_view name = host;
  if (name.ends_with(".csv")) {
    return HostOfCosts(host);
  }
  if (name.ends_with(".yaml") || name.ends_with(".yml")) {
    return HostOfMeasurement(host);
  }
  if (name.find_first_of("./") == std::string_view::npos) {
    return NotFound("--host {}: no such host{} (orrery list hosts)", host,
                    DidYouMean(host, NamesOf(workload::KnownHosts())));
  }
  return HostOfRecordedRun(host, reading, progress);
}

}  // namespace orrery::api
