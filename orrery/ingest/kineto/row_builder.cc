#include "orrery/ingest/kineto/row_builder.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "orrery/base/columns.h"
#include "orrery/base/string_table.h"
#include "orrery/base/text/decimal.h"
#include "orrery/base/text/parse_number.h"
#include "orrery/ingest/json/json_text.h"
#include "orrery/ingest/kineto/event_tokens.h"
#include "orrery/trace/enums.h"

namespace orrery::ingest::kineto {
namespace {

using enum ArgKey;

// A thread or process that the file names by number, by a number as text, or as "stream 7".
std::optional<std::int64_t> NumberOfTrack(std::string_view token) {
  std::string_view text = Unquoted(token);
  if (text.starts_with("stream ")) {
    text.remove_prefix(7);
  }
  return ParseInteger(text);
}

}  // namespace

void RowBuilder::Add(EventTokens& event) {
  ++chunk_.num_events;
  if (event.args_are_not_an_object) {
    chunk_.rows.problems.Note("event whose args are not an object");
  }
  const std::string_view phase = Unquoted(event.phase);
  switch (phase.size() == 1 ? phase.front() : '\0') {
    case 'X':
      return AddSlice(event);
    case 's':
    case 't':
    case 'f':
      return AddFlowEnd(event);
    case 'i':
    case 'I':
    case 'R':
      return AddInstant(event);
    case 'C':
      return AddCounters(event);
    case 'M':
      return AddTrackName(event);
    default:
      if (event.phase.empty()) {
        chunk_.rows.problems.Note("entry without a phase in the list of events");
      } else {
        chunk_.rows.problems.Loss("event of a phase that Orrery does not read", 1,
                                  std::string("phase ") + std::string(phase));
      }
  }
}

void RowBuilder::AddSlice(EventTokens& event) {
  const auto times = TimesOf(event);
  if (!times) {
    return;
  }
  const std::string_view name = Unquoted(event.category);
  const Category category = FindCategory(name);
  if (category != Category::kOther) {
    chunk_.features.kineto_categories = true;
    chunk_.features.capital_categories |= IsCategoryOf2021(name);
  }
  switch (category) {
    case Category::kHostOp:
      return AddHostOp(event, *times);
    case Category::kHostAnnotation:
      return AddAnnotation(event, *times, trace::AnnotationKind::kHost);
    case Category::kDeviceAnnotation:
      return AddAnnotation(event, *times, trace::AnnotationKind::kDevice);
    case Category::kKernel:
    case Category::kCopy:
    case Category::kSet:
    case Category::kOtherDeviceWork:
      return AddActivity(event, *times, *ActivityKindOf(category));
    case Category::kRuntime:
      return AddCall(event, *times, trace::ApiKind::kRuntime);
    case Category::kDriver:
      return AddCall(event, *times, trace::ApiKind::kDriver);
    case Category::kOtherApi:
      return AddCall(event, *times, trace::ApiKind::kOther);
    case Category::kSync:
      return AddSync(event, *times, false);
    case Category::kEventRecord:
      return AddSync(event, *times, true);
    case Category::kPython:
      return AddPythonCall(event, *times);
    default:
      return AddOther(event, *times);
  }
}

void RowBuilder::AddHostOp(EventTokens& event, Times times) {
  constexpr std::uint64_t kUsed = ArgKeySet(
      {kExternalId, kRecordFunctionId, kEventIndex, kSequenceNumber, kForwardThread, kInputDims,
       kInputType, kInputStrides, kConcreteInputs, kCallStack, kModuleHierarchy});
  const bool is_collective = event.Has(kCollectiveName);
  chunk_.rows.host_ops.Append({
      .begin_ns = times.begin_ns,
      .duration_ns = times.duration_ns,
      .name = Text(event.name),
      .track = HostTrack(event),
      .external_id = Integer(event, kExternalId, -1),
      .record_function_id = Integer(event, kRecordFunctionId, 0),
      .event_index = Integer(event, kEventIndex, -1),
      .sequence = Integer(event, kSequenceNumber, -1),
      .forward_thread = Integer(event, kForwardThread, -1),
      .input_dims = Json(event.Arg(kInputDims)),
      .input_types = Json(event.Arg(kInputType)),
      .input_strides = Json(event.Arg(kInputStrides)),
      .concrete_inputs = Json(event.Arg(kConcreteInputs)),
      .call_stack = Text(event.Arg(kCallStack)),
      .module_hierarchy = Text(event.Arg(kModuleHierarchy)),
      .extra = Extra(event, is_collective ? kUsed | kCollectiveKeys : kUsed),
      .collective = is_collective ? AddCollective(event) : kNoRow,
  });
}

void RowBuilder::AddAnnotation(EventTokens& event, Times times, trace::AnnotationKind kind) {
  constexpr std::uint64_t kUsed = ArgKeySet({kExternalId, kRecordFunctionId});
  constexpr std::uint64_t kPlace = ArgKeySet({kDevice, kStream});
  const bool on_device = kind == trace::AnnotationKind::kDevice;
  chunk_.rows.annotations.Append({
      .begin_ns = times.begin_ns,
      .duration_ns = times.duration_ns,
      .name = Text(event.name),
      .track = on_device ? DeviceTrack(event) : HostTrack(event),
      .kind = kind,
      .external_id = Integer(event, kExternalId, -1),
      .record_function_id = Integer(event, kRecordFunctionId, 0),
      .extra = Extra(event, on_device ? kUsed | kPlace : kUsed),
  });
}

void RowBuilder::AddCall(EventTokens& event, Times times, trace::ApiKind api) {
  constexpr std::uint64_t kUsed = ArgKeySet({kExternalId, kCorrelation, kCallbackId});
  chunk_.rows.runtime_calls.Append({
      .begin_ns = times.begin_ns,
      .duration_ns = times.duration_ns,
      .name = Text(event.name),
      .track = HostTrack(event),
      .api = api,
      .correlation = Integer(event, kCorrelation, -1),
      .external_id = Integer(event, kExternalId, -1),
      .callback_id = Narrow(Integer(event, kCallbackId, -1)),
      .extra = Extra(event, kUsed),
  });
}

void RowBuilder::AddPythonCall(EventTokens& event, Times times) {
  constexpr std::uint64_t kUsed =
      ArgKeySet({kPythonId, kPythonParentId, kPythonModuleId, kEventIndex});
  chunk_.rows.python_calls.Append({
      .begin_ns = times.begin_ns,
      .duration_ns = times.duration_ns,
      .name = Text(event.name),
      .track = HostTrack(event),
      .python_id = Narrow(Integer(event, kPythonId, -1)),
      .python_parent_id = Narrow(Integer(event, kPythonParentId, -1)),
      .module_id = Narrow(Integer(event, kPythonModuleId, -1)),
      .event_index = Narrow(Integer(event, kEventIndex, -1)),
      .extra = Extra(event, kUsed),
  });
}

void RowBuilder::AddOther(EventTokens& event, Times times) {
  chunk_.rows.other_slices.Append({
      .begin_ns = times.begin_ns,
      .duration_ns = times.duration_ns,
      .name = Text(event.name),
      .category = Text(event.category),
      .track = HostTrack(event),
      .extra = Extra(event, 0),
  });
}

void RowBuilder::AddInstant(EventTokens& event) {
  const auto time_ns = TimeOf(event);
  if (!time_ns) {
    return;
  }
  // Files of 2021 have memory events without a category.
  if (FindCategory(Unquoted(event.category)) == Category::kMemory || event.name == "\"[memory]\"") {
    return AddMemoryEvent(event, *time_ns);
  }
  chunk_.rows.instants.Append({
      .begin_ns = *time_ns,
      .name = Text(event.name),
      .category = Text(event.category),
      .track = HostTrack(event),
      .extra = Extra(event, 0),
  });
}

namespace {

// PyTorch's c10::DeviceType. A GPU of AMD is CUDA to a program and HIP to the profiler.
trace::DeviceKind DeviceKindOf(std::int64_t type) {
  switch (type) {
    case 0:
      return trace::DeviceKind::kCpu;
    case 1:   // CUDA
    case 6:   // HIP
    case 12:  // XPU
    case 13:  // MPS
      return trace::DeviceKind::kGpu;
    default:
      return trace::DeviceKind::kOther;
  }
}

}  // namespace

void RowBuilder::AddMemoryEvent(EventTokens& event, std::int64_t time_ns) {
  constexpr std::uint64_t kUsed = ArgKeySet({kMemoryBytes, kAddress, kDeviceType, kDeviceId,
                                             kTotalAllocated, kTotalReserved, kEventIndex});
  chunk_.rows.memory_events.Append({
      .begin_ns = time_ns,
      .bytes = Integer(event, kMemoryBytes, 0),
      .address = UnsignedOf(event.Arg(kAddress)).value_or(0),
      .device_kind = DeviceKindOf(Integer(event, kDeviceType, 0)),
      .device = Narrow(Integer(event, kDeviceId, -1)),
      .total_allocated_bytes = Integer(event, kTotalAllocated, -1),
      .total_reserved_bytes = Integer(event, kTotalReserved, -1),
      .track = HostTrack(event),
      .name = Text(event.name),
      .extra = Extra(event, kUsed),
  });
}

void RowBuilder::AddCounters(EventTokens& event) {
  const auto time_ns = TimeOf(event);
  if (!time_ns) {
    return;
  }
  Extra(event, 0);
  const std::string base(TextOf(event.name, unescaped_));
  const RowId track = HostTrack(event);
  // The extras are `"key": value, …`; counters have plain numbers as values.
  std::string_view rest = event.extra;
  std::int64_t added = 0;
  while (!rest.empty()) {
    const std::size_t colon = rest.find("\": ");
    if (colon == std::string_view::npos) {
      break;
    }
    const std::string_view key = rest.substr(1, colon - 1);
    rest.remove_prefix(colon + 3);
    const std::size_t end = std::min(rest.find(", \""), rest.size());
    const auto value = ParseWhole<double>(Unquoted(rest.substr(0, end)));
    if (value && std::isfinite(*value)) {
      const std::string name = key.empty() ? base : base + " " + std::string(key);
      chunk_.rows.counters.Append({.begin_ns = *time_ns,
                                   .name = chunk_.rows.strings.Intern(name),
                                   .track = track,
                                   .value = *value});
      ++added;
    }
    rest.remove_prefix(std::min(end + 2, rest.size()));
  }
  if (added == 0) {
    chunk_.rows.problems.Loss("counter event without a number");
  }
}

void RowBuilder::AddFlowEnd(EventTokens& event) {
  const std::string_view category_text = Unquoted(event.category);
  const Category category = FindCategory(category_text);
  if (category == Category::kLaunchFlow) {
    chunk_.features.async_flows |= category_text != "ac2g";
    return;
  }
  const auto time_ns = TimeOf(event);
  if (!time_ns) {
    return;
  }
  chunk_.flow_ends.push_back({
      .time_ns = *time_ns,
      .id = IntegerOf(event.id).value_or(static_cast<std::int64_t>(Text(event.id))),
      .track = HostTrack(event),
      .category = Text(event.category),
      .name = Text(event.name),
      .is_start = Unquoted(event.phase) == "s",
  });
}

void RowBuilder::AddTrackName(EventTokens& event) {
  const std::string_view what = Unquoted(event.name);
  const bool is_thread = what == "thread_name";
  if ((is_thread || what == "process_name") && event.Has(kMetadataName)) {
    const auto process = NumberOfTrack(event.process);
    chunk_.track_names.push_back({.is_thread = is_thread,
                                  .process = process.value_or(-1),
                                  .thread = NumberOfTrack(event.thread).value_or(-1),
                                  .process_text = process ? StringId::kEmpty : Text(event.process),
                                  .name = Text(event.Arg(kMetadataName))});
  }
}

std::optional<std::int64_t> RowBuilder::TimeOf(const EventTokens& event) {
  const auto time_ns = ParseMicroseconds(Unquoted(event.time));
  if (!time_ns) {
    chunk_.rows.problems.Loss("event without a usable time stamp");
    return std::nullopt;
  }
  if (IsQuoted(event.time)) {
    chunk_.rows.problems.Note("time stamp written as a string");
  }
  chunk_.features.decimal_times |= event.time.find('.') != std::string_view::npos;
  return time_ns;
}

std::optional<RowBuilder::Times> RowBuilder::TimesOf(const EventTokens& event) {
  const auto begin_ns = TimeOf(event);
  if (!begin_ns) {
    return std::nullopt;
  }
  auto duration_ns = ParseMicroseconds(Unquoted(event.duration));
  if (!duration_ns) {
    chunk_.rows.problems.Note(event.duration.empty() ? "slice without a duration, taken as 0"
                                                     : "duration that is not a number, taken as 0");
    duration_ns = 0;
  } else if (*duration_ns < 0) {
    chunk_.rows.problems.Note("negative duration, taken as 0");
    duration_ns = 0;
  }
  return Times{*begin_ns, *duration_ns};
}

RowId RowBuilder::Track(trace::TrackKind kind, std::string_view process, std::string_view thread) {
  for (std::size_t i = tracks_.size(); i > 0; --i) {
    const KnownTrack& known = tracks_[i - 1];
    if (known.kind == kind && known.process == process && known.thread == thread) {
      return known.row;
    }
  }
  const auto process_number = NumberOfTrack(process);
  const auto thread_number = NumberOfTrack(thread);
  const bool on_device = kind == trace::TrackKind::kDevice;
  const RowId row = chunk_.rows.tracks.Append({
      .kind = kind,
      .process = process_number.value_or(-1),
      .thread = thread_number.value_or(-1),
      .device = on_device ? Narrow(process_number.value_or(-1)) : -1,
      .process_name = process_number ? StringId::kEmpty : Text(process),
      .name = thread_number ? StringId::kEmpty : Text(thread),
  });
  tracks_.push_back({.kind = kind, .process = process, .thread = thread, .row = row});
  return row;
}

std::int64_t RowBuilder::Integer(const EventTokens& event, ArgKey key, std::int64_t otherwise) {
  if (!event.Has(key)) {
    return otherwise;
  }
  const std::string_view token = event.Arg(key);
  if (const auto value = IntegerOf(token)) {
    return *value;
  }
  if (token != "null") {
    chunk_.rows.problems.Note("argument that should be a number and is not", 1,
                              std::string(ArgKeyName(key)));
  }
  return otherwise;
}

StringId RowBuilder::Text(std::string_view token) {
  return chunk_.rows.strings.Intern(TextOf(token, unescaped_));
}

StringId RowBuilder::Extra(EventTokens& event, std::uint64_t used) {
  std::uint64_t left = event.present & ~used;
  for (unsigned key = 0; left != 0; ++key, left >>= 1) {
    if ((left & 1U) != 0) {
      event.AddExtra('"' + std::string(ArgKeyName(static_cast<ArgKey>(key))) + '"',
                     event.args[key]);
    }
  }
  return event.extra.empty() ? StringId::kEmpty : Json(event.extra);
}

}  // namespace orrery::ingest::kineto
