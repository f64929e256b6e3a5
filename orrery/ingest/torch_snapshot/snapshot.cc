#include "orrery/ingest/torch_snapshot/snapshot.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <tsl/robin_map.h>

#include "orrery/base/lookup.h"
#include "orrery/base/string_table.h"
#include "orrery/ingest/torch_snapshot/pickle_reader.h"
#include "orrery/ingest/torch_snapshot/pickle_value.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::torch_snapshot {
namespace {

constexpr std::size_t kMaxFrameBytes = 1 << 10;
constexpr std::size_t kMaxStackBytes = 64 << 10;
constexpr std::size_t kMaxTotalBytes = 1 << 30;

// Call stacks as text, a line "function file:line" for each frame, the innermost first, without the
// line where it is not known (below 0). Frames
// that Python shared are written once. Long texts are cut and all together are bounded, so that a
// small file cannot request much memory.
class Frames {
 public:
  Frames(const PickleData& data, StringTable& strings) : data_(data), strings_(strings) {}

  // The stack in `frames` of a dictionary; kEmpty if there is none.
  StringId StackOf(PickleValue item) {
    const PickleValue frames = data_.Find(item, "frames").value_or(PickleValue());
    return data_.List(frames).empty() ? StringId::kEmpty
                                      : FindOrAdd(text_of_stack_, frames.payload(),
                                                  [&] { return StackText(data_.List(frames)); });
  }

  std::int64_t num_left_out = 0;  // stacks that were skipped because there is too much text

 private:
  StringId StackText(std::span<const PickleValue> frames) {
    std::string text;
    if (total_bytes_ > kMaxTotalBytes) {
      ++num_left_out;
      return StringId::kEmpty;
    }
    for (std::size_t i = 0; i < frames.size() && text.size() <= kMaxStackBytes; ++i) {
      text += text.empty() ? "" : "\n";
      text += strings_.View(FrameText(frames[i]));
    }
    total_bytes_ += text.size();
    return strings_.Intern(text);
  }

  StringId FrameText(PickleValue frame) {
    if (frame.kind() != PickleValue::Kind::kDict) {
      return StringId::kEmpty;
    }
    return FindOrAdd(text_of_frame_, frame.payload(), [&] {
      const std::int64_t line = data_.IntegerAt(frame, "line", 0);
      return strings_.Intern(fmt::format("{} {}{}",
                                         data_.TextAt(frame, "name").substr(0, kMaxFrameBytes),
                                         data_.TextAt(frame, "filename").substr(0, kMaxFrameBytes),
                                         line < 0 ? "" : fmt::format(":{}", line)));
    });
  }

  const PickleData& data_;
  StringTable& strings_;
  tsl::robin_map<std::uint64_t, StringId> text_of_frame_;
  tsl::robin_map<std::uint64_t, StringId> text_of_stack_;
  std::size_t total_bytes_ = 0;
};

constexpr std::array<std::pair<std::string_view, Action>, 9> kActions{{
    {"alloc", Action::kAlloc},
    {"free_requested", Action::kFreeRequested},
    {"free_completed", Action::kFreeCompleted},
    {"segment_alloc", Action::kSegmentAlloc},
    {"segment_map", Action::kSegmentAlloc},
    {"segment_free", Action::kSegmentFree},
    {"segment_unmap", Action::kSegmentFree},
    {"oom", Action::kOutOfMemory},
    {"snapshot", Action::kSnapshot},
}};

// Far more devices than a machine has.
constexpr std::int64_t kMaxDevices = 4096;

// Beyond this, sums of sizes could overflow.
constexpr std::int64_t kLargest = std::int64_t{1} << 50;

bool IsSize(std::int64_t bytes) {
  return bytes >= 0 && bytes <= kLargest;
}

class SnapshotReader {
 public:
  SnapshotReader(const Pickle& pickle, trace::Trace& trace)
      : data_(pickle.data), trace_(trace), frames_(pickle.data, trace.strings) {}

  std::vector<DeviceMemory> Read(PickleValue root) {
    for (const PickleValue segment : data_.ListAt(root, "segments")) {
      AddSegment(segment);
    }
    std::int32_t device = 0;
    for (const PickleValue entries : data_.ListAt(root, "device_traces")) {
      AddHistory(device++, data_.List(entries));
    }
    trace_.problems.Loss("call stack skipped: too much text", frames_.num_left_out);
    std::vector<DeviceMemory> devices;
    for (auto& [number, memory] : memory_of_device_) {
      devices.push_back(std::move(memory));
    }
    return devices;
  }

 private:
  DeviceMemory& Device(std::int32_t device) {
    DeviceMemory& memory = memory_of_device_[device];
    memory.device = device;
    return memory;
  }

  void AddSegment(PickleValue segment) {
    const std::int64_t device = data_.IntegerAt(segment, "device", 0);
    const std::int64_t bytes = data_.IntegerAt(segment, "total_size", -1);
    const std::int64_t address = data_.IntegerAt(segment, "address", -1);
    if (device < 0 || device >= kMaxDevices || !IsSize(bytes) || address < 0) {
      trace_.problems.Loss("segment without a usable device, address or size");
      return;
    }
    DeviceMemory& memory = Device(static_cast<std::int32_t>(device));
    memory.segments.push_back({.address = static_cast<std::uint64_t>(address),
                               .bytes = static_cast<std::uint64_t>(bytes),
                               .stream = data_.IntegerAt(segment, "stream", -1),
                               .call_stack = frames_.StackOf(segment)});
    AddBlocks(segment, memory);
  }

  // Old snapshots leave addresses out: blocks fill their segment without gaps.
  void AddBlocks(PickleValue segment, DeviceMemory& memory) {
    auto next = memory.segments.back().address;
    for (const PickleValue block : data_.ListAt(segment, "blocks")) {
      const std::int64_t bytes = data_.IntegerAt(block, "size", -1);
      const std::int64_t address =
          data_.IntegerAt(block, "address", static_cast<std::int64_t>(next));
      if (!IsSize(bytes) || address < 0) {
        trace_.problems.Loss("block without a usable address or size");
        continue;
      }
      next = static_cast<std::uint64_t>(address) + static_cast<std::uint64_t>(bytes);
      const std::string_view state = data_.TextAt(block, "state");
      if (state.starts_with("active")) {
        memory.blocks.push_back({.address = static_cast<std::uint64_t>(address),
                                 .bytes = static_cast<std::uint64_t>(bytes),
                                 .requested_bytes = data_.IntegerAt(block, "requested_size", -1),
                                 .is_free_requested = state != "active_allocated",
                                 .stream = memory.segments.back().stream,
                                 .call_stack = frames_.StackOf(block),
                                 .name = NameOf(block)});
      }
    }
  }

  void AddHistory(std::int32_t device, std::span<const PickleValue> entries) {
    if (entries.empty() || device >= kMaxDevices) {
      return;
    }
    DeviceMemory& memory = Device(device);
    std::int64_t last_ns = std::numeric_limits<std::int64_t>::min();
    for (const PickleValue item : entries) {
      if (auto entry = EntryOf(item)) {
        // The order of the list counts, also where clocks were set back.
        last_ns = std::max(last_ns, entry->time_ns);
        entry->time_ns = last_ns;
        memory.entries.push_back(*entry);
      }
    }
  }

  std::optional<Entry> EntryOf(PickleValue item) {
    const std::string_view name = data_.TextAt(item, "action");
    const auto action = LookUp(kActions, name);
    if (!action) {
      trace_.problems.Loss("history entry with an unknown action", 1, name);
      return std::nullopt;
    }
    const bool is_oom = action == Action::kOutOfMemory;
    const std::int64_t address = data_.IntegerAt(item, is_oom ? "device_free" : "addr", -1);
    const std::int64_t bytes = data_.IntegerAt(item, "size", -1);
    const std::int64_t time_us = data_.IntegerAt(item, "time_us", 0);
    const bool is_mark = is_oom || action == Action::kSnapshot;
    if (!is_mark && (!IsSize(bytes) || address < 0)) {
      trace_.problems.Loss("history entry without a usable address or size", 1, name);
      return std::nullopt;
    }
    if (data_.Find(item, "time_us") == std::nullopt) {
      trace_.problems.Note("history entry without a time");
    }
    return Entry{.action = *action,
                 .address = static_cast<std::uint64_t>(std::max<std::int64_t>(address, 0)),
                 .bytes = static_cast<std::uint64_t>(std::clamp<std::int64_t>(bytes, 0, kLargest)),
                 .time_ns = NanosecondsOf(time_us),
                 .stream = data_.IntegerAt(item, "stream", -1),
                 .call_stack = frames_.StackOf(item),
                 .name = NameOf(item)};
  }

  // Metadata that the program attached to an allocation.
  StringId NameOf(PickleValue item) {
    const std::string_view metadata = data_.TextAt(item, "user_metadata");
    return metadata.empty() ? StringId::kEmpty : trace_.strings.Intern(metadata);
  }

  const PickleData& data_;
  trace::Trace& trace_;
  Frames frames_;
  std::map<std::int32_t, DeviceMemory> memory_of_device_;
};

// Numbers the entries of all devices in order of time, each device's in its own order.
void NumberEntries(std::vector<DeviceMemory>& devices) {
  std::vector<Entry*> all;
  for (DeviceMemory& memory : devices) {
    for (Entry& entry : memory.entries) {
      all.push_back(&entry);
    }
  }
  std::ranges::stable_sort(all, {}, &Entry::time_ns);
  std::int64_t order = 0;
  for (Entry* const entry : all) {
    entry->order = order++;
  }
}

}  // namespace

std::vector<DeviceMemory> ReadSnapshot(const Pickle& pickle, trace::Trace& trace) {
  std::vector<DeviceMemory> devices = SnapshotReader(pickle, trace).Read(pickle.root);
  NumberEntries(devices);
  return devices;
}

}  // namespace orrery::ingest::torch_snapshot
