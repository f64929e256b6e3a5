#include "orrery/ingest/torch_memory_timeline/torch_memory_timeline.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "orrery/base/byte_source.h"
#include "orrery/ingest/rank_names.h"
#include "orrery/ingest/torch_memory_timeline/changes.h"
#include "orrery/trace/finish.h"

namespace orrery::ingest::torch_memory_timeline {
namespace {

// Which device it is of, the file does not say; its name may.
void AppendEvents(std::vector<Change> changes, std::int32_t device, trace::Trace& trace) {
  std::stable_sort(changes.begin(), changes.end(),
                   [](const Change& a, const Change& b) { return a.time_ns < b.time_ns; });
  trace.tracks.Append({.name = trace.strings.Intern("allocator")});
  std::int64_t total = 0;
  for (const Change& change : changes) {
    total += change.bytes;
    trace.memory_events.Append({.begin_ns = change.time_ns,
                                .bytes = change.bytes,
                                .device_kind = trace::DeviceKind::kGpu,
                                .device = device,
                                .total_allocated_bytes = total,
                                .track = 0,
                                .name = trace.strings.Intern(change.category)});
  }
}

bool Matches(const InputFile& file) {
  return FormOf(file.head()) != Form::kOther;
}

Result<FileContent> ReadContent(const InputFile& file, const ReadOptions& options) {
  ORRERY_TRY(const std::unique_ptr<ByteSource> source, file.OpenContent());
  const Form form = FormOf(file.head());
  FileContent content;
  trace::Trace& trace = content.traces.emplace_back();
  ORRERY_TRY(std::vector<Change> changes, ReadChanges(form, *source, trace.problems));
  if (changes.empty()) {
    return Fail(Error::Kind::kInvalidInput, "a memory timeline without a change that can be used");
  }
  trace.info.format = "PyTorch memory timeline";
  trace.info.format_version = form == Form::kRaw ? "raw" : "sums";
  trace.info.producer = "PyTorch";
  trace.info.time_origin = trace::TimeOrigin::kEpoch;
  trace.info.files = {file.path()};
  AppendEvents(std::move(changes), GpuInFileName(file.path()).value_or(-1), trace);
  trace::FinishTrace(trace, {.step_marker = options.step_marker});
  return content;
}

Result<FileContent> Read(const InputFile& file, const ReadOptions& options) {
  auto content = ReadContent(file, options);
  if (!content) {
    return FailWithin(file.path(), content);
  }
  return content;
}

}  // namespace

const Format& GetFormat() {
  static constexpr Format kFormat{
      .name = "PyTorch memory timeline", .matches = Matches, .read = Read};
  return kFormat;
}

}  // namespace orrery::ingest::torch_memory_timeline
