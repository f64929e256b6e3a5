#include "orrery/ingest/orrs/assemble.h"

#include <fmt/core.h>

#include "orrery/ingest/orrs/device_rows.h"
#include "orrery/ingest/orrs/host_rows.h"
#include "orrery/ingest/orrs/numbers.h"
#include "orrery/ingest/orrs/touches.h"
#include "orrery/trace/finish.h"

namespace orrery::ingest::orrs {

void DescribeFile(const std::string& path, std::uint16_t minor_version, trace::TraceInfo& info) {
  info.format = "Orrery event stream";
  info.format_version = fmt::format("{}.{}", stream::kMajorVersion, minor_version);
  info.files = {path};
}

void NoteLosses(const stream::StreamLosses& losses, const std::string& damage,
                trace::ProblemLog& problems) {
  const std::string place = fmt::format("byte {}", losses.first_damage);
  if (losses.is_torn) {
    problems.Loss("recording cut off inside its last chunk", 1, place);
  }
  problems.Loss("record in a chunk that is damaged", Signed(losses.num_lost_records), place);
  problems.Loss("byte outside of intact chunks", Signed(losses.num_skipped_bytes), place);
  problems.Loss("chunk of a type that a newer Orrery writes, skipped",
                Signed(losses.num_unknown_chunks),
                fmt::format("type {}", losses.first_unknown_type));
  if (!damage.empty()) {
    problems.Loss("file that ends early", 1, damage);
  }
}

void Assemble(Recording& recording, Replay& replay, const ReadOptions& options) {
  trace::Trace& trace = *recording.trace;
  AppendHostRows(recording);
  const DeviceRows device_rows = AppendDeviceRows(recording);
  trace::FinishTrace(trace, {.step_marker = options.step_marker});
  LinkMemory(recording, replay, device_rows);
  trace.problems.Loss("name that is used and not in the stream", recording.names.num_missing());
}

}  // namespace orrery::ingest::orrs
