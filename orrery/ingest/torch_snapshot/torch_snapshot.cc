#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/error.h"
#include "orrery/base/file/byte_source.h"
#include "orrery/ingest/format.h"
#include "orrery/ingest/input_file.h"
#include "orrery/ingest/object_rows.h"
#include "orrery/ingest/registry.h"
#include "orrery/ingest/torch_snapshot/pickle_reader.h"
#include "orrery/ingest/torch_snapshot/pickle_value.h"
#include "orrery/ingest/torch_snapshot/snapshot.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/finish.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::torch_snapshot {
namespace {

class Pairing {
 public:
  Pairing(const PickleData& data, trace::Trace& trace) : data_(data), trace_(trace) {}

  void Add(PickleValue mark) {
    const std::int64_t time_us = data_.IntegerAt(mark, "time_us", -1);
    const std::string_view stage = data_.TextAt(mark, "stage");
    const std::string_view name = data_.TextAt(mark, "name");
    if (time_us < 0 || (stage != "START" && stage != "END")) {
      trace_.problems.Loss("annotation without a usable time or stage", 1, name);
      return;
    }
    auto& begins = open[{data_.IntegerAt(mark, "device", -1), std::string(name)}];
    if (stage == "START") {
      begins.push_back(NanosecondsOf(time_us));
      return;
    }
    if (begins.empty()) {
      trace_.problems.Loss("annotation that ends without a begin", 1, name);
      return;
    }
    trace_.annotations.Append(
        {.begin_ns = begins.back(),
         .duration_ns = std::max<std::int64_t>(NanosecondsOf(time_us) - begins.back(), 0),
         .name = trace_.strings.Intern(name),
         .track = 0});
    begins.pop_back();
  }

  std::map<std::pair<std::int64_t, std::string>, std::vector<std::int64_t>> open;

 private:
  const PickleData& data_;
  trace::Trace& trace_;
};

std::string SettingText(const PickleData& data, PickleValue value) {
  const auto integer = data.Integer(value);
  return value.kind() == PickleValue::Kind::kBool ? (value.payload() != 0 ? "true" : "false")
         : integer                                ? std::to_string(*integer)
                                                  : std::string(data.Text(value).value_or(""));
}

// Appends what a snapshot says beside its memory: `external_annotations` (marks of begins and
// ends, paired by device and name) and `allocator_settings`.
void AppendAnnotations(const Pickle& pickle, trace::Trace& trace) {
  Pairing pairing(pickle.data, trace);
  for (const PickleValue mark : pickle.data.ListAt(pickle.root, "external_annotations")) {
    pairing.Add(mark);
  }
  for (const auto& [key, begins] : pairing.open) {
    trace.problems.Loss("annotation without an end", std::ssize(begins), key.second);
  }
  const auto settings = pickle.data.Find(pickle.root, "allocator_settings");
  for (const auto& [key, value] : pickle.data.Pairs(settings.value_or(PickleValue()))) {
    const std::string text = SettingText(pickle.data, value);
    const auto name = pickle.data.Text(key);
    if (name && !text.empty()) {
      trace.metadata.Append({.key = trace.strings.Intern(fmt::format("allocator {}", *name)),
                             .value = trace.strings.Intern(text)});
    }
  }
}

// The begin of every pickle since protocol 2.
bool Matches(const InputFile& file) {
  const std::string_view head = file.head();
  return head.size() > 2 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5;
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

Result<FileContent> Read(const InputFile& file, const ReadOptions& options) {
  FileContent content;
  trace::Trace& trace = content.traces.emplace_back();
  trace.info.format = "PyTorch memory snapshot";
  trace.info.producer = "PyTorch";
  trace.info.time_origin = trace::TimeOrigin::kEpoch;
  trace.info.files = {file.path()};
  trace.tracks.Append({.name = trace.strings.Intern("allocator")});
  ORRERY_TRY(const std::vector<DeviceMemory> devices, ReadDevices(file, trace));
  std::vector<trace::MemoryObjects::Row> objects;
  bool has_history = false;
  for (const DeviceMemory& memory : devices) {
    trace.devices.Append({.id = memory.device});
    ReplayHistory(memory, trace, objects);
    has_history = has_history || !memory.entries.empty();
  }
  AppendObjects(objects, trace.memory_objects);
  trace.problems.Note("snapshot without a history: only its final state is known",
                      has_history ? 0 : 1);
  trace::FinishTrace(trace, {.step_marker = options.step_marker});
  return content;
}

}  // namespace

// Memory snapshots of PyTorch (`torch.cuda.memory._dump_snapshot`), pickles that are read as data
// and never run. Segments and tensors become memory objects, the history of the allocator becomes
// memory events; what the history lost at its begin is reconstructed backwards from its end.
constinit const Format kFormat{.name = "PyTorch memory snapshot", .matches = Matches, .read = Read};

}  // namespace orrery::ingest::torch_snapshot
