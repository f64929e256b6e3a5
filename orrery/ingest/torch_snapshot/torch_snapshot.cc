#include "orrery/ingest/torch_snapshot/torch_snapshot.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/byte_source.h"
#include "orrery/ingest/object_rows.h"
#include "orrery/ingest/torch_snapshot/annotations.h"
#include "orrery/ingest/torch_snapshot/pickle_reader.h"
#include "orrery/ingest/torch_snapshot/replay.h"
#include "orrery/ingest/torch_snapshot/snapshot.h"
#include "orrery/trace/finish.h"

namespace orrery::ingest::torch_snapshot {
namespace {

// The begin of every pickle since protocol 2.
bool Matches(const InputFile& file) {
  const std::string_view head = file.head();
  return head.size() > 2 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5;
}

void AppendMemory(const std::vector<DeviceMemory>& devices, trace::Trace& trace) {
  std::vector<trace::MemoryObjects::Row> objects;
  bool has_history = false;
  for (const DeviceMemory& memory : devices) {
    trace.devices.Append({.id = memory.device});
    ReplayHistory(memory, trace, objects);
    has_history = has_history || !memory.entries.empty();
  }
  AppendObjects(objects, trace.memory_objects);
  if (!has_history) {
    trace.problems.Note("snapshot without a history: only its final state is known");
  }
}

// The pickle is gone when this returns: it is the largest thing that reading holds.
Result<std::vector<DeviceMemory>> ReadDevices(const InputFile& file, trace::Trace& trace) {
  ORRERY_TRY(const std::unique_ptr<ByteSource> source, file.OpenContent());
  ORRERY_TRY(const Pickle pickle, ReadPickle(*source));
  if (!pickle.data.Find(pickle.root, "segments")) {
    return Fail(Error::Kind::kUnsupported,
                "this is a pickle of Python, but no memory snapshot of PyTorch (no \"segments\")");
  }
  AppendAnnotations(pickle, trace);
  return ReadSnapshot(pickle, trace);
}

Result<FileContent> ReadContent(const InputFile& file, const ReadOptions& options) {
  FileContent content;
  trace::Trace& trace = content.traces.emplace_back();
  trace.info.format = "PyTorch memory snapshot";
  trace.info.producer = "PyTorch";
  trace.info.time_origin = trace::TimeOrigin::kEpoch;
  trace.info.files = {file.path()};
  trace.tracks.Append({.name = trace.strings.Intern("allocator")});
  ORRERY_TRY(const std::vector<DeviceMemory> devices, ReadDevices(file, trace));
  AppendMemory(devices, trace);
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
      .name = "PyTorch memory snapshot", .matches = Matches, .read = Read};
  return kFormat;
}

}  // namespace orrery::ingest::torch_snapshot
