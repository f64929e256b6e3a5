#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/document/json_value.h"
#include "orrery/base/error.h"
#include "orrery/base/file/byte_source.h"
#include "orrery/base/text/text.h"
#include "orrery/ingest/format.h"
#include "orrery/ingest/input_file.h"
#include "orrery/ingest/json/json_stream.h"
#include "orrery/ingest/rank_names.h"
#include "orrery/ingest/registry.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/finish.h"
#include "orrery/trace/problems.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::torch_memory_timeline {
namespace {

/// A change of the memory of a category of tensors.
struct Change {
  std::int64_t time_ns = 0;
  std::int64_t bytes = 0;
  std::string_view category;
};

enum class Form { kOther, kSums, kRaw };

// In the order of the profiler's numbers for them; the last is what it could not classify.
constexpr std::array<std::string_view, 8> kCategories{
    "parameter",  "optimizer state", "input",           "temporary",
    "activation", "gradient",        "autograd detail", "unknown"};

constexpr std::size_t kMaxBytes = std::size_t{2} << 30;

// Sums of sizes beyond this could overflow.
constexpr std::int64_t kLargestBytes = std::int64_t{1} << 50;
constexpr std::int64_t kLatestNs = std::int64_t{1} << 61;

// Times since 1970 tell their unit by their size: between 1973 and 5138 nanoseconds have 18 or 19
// digits, microseconds 15 or 16.
constexpr std::int64_t kLeastEpochNs = 100'000'000'000'000'000;
constexpr std::int64_t kLeastEpochUs = 100'000'000'000'000;

std::optional<std::int64_t> Nanoseconds(std::int64_t time, bool is_micro_unless_epoch) {
  const bool is_micro = time < kLeastEpochNs && (is_micro_unless_epoch || time >= kLeastEpochUs);
  const std::int64_t unit_ns = is_micro ? 1000 : 1;
  return time <= kLatestNs / unit_ns ? std::optional(time * unit_ns) : std::nullopt;
}

// [time, action, bytes, category]; time -1: before the recording. Actions add nothing: frees have
// negative bytes, and a new version of a tensor leaves one category and enters another.
std::optional<Change> RawChange(const std::optional<JsonElement>& entry) {
  const auto time = Integer(ElementAt(entry, 0));
  const auto bytes = Integer(ElementAt(entry, 2));
  const auto category = Integer(ElementAt(entry, 3));
  if (!time || !bytes || !category || *bytes < -kLargestBytes || *bytes > kLargestBytes) {
    return std::nullopt;
  }
  const auto time_ns = *time < 0 ? -1 : Nanoseconds(*time, false);
  if (!time_ns || *category < 0 || *category >= static_cast<std::int64_t>(kCategories.size())) {
    return std::nullopt;
  }
  return Change{.time_ns = *time_ns,
                .bytes = *bytes,
                .category = kCategories[static_cast<std::size_t>(*category)]};
}

Result<std::vector<Change>> ReadRaw(JsonStream& stream, trace::ProblemLog& problems) {
  std::vector<Change> changes;
  JsonText json;
  while (true) {
    ORRERY_TRY(const auto element, stream.NextElement());
    if (!element) {
      return changes;
    }
    if (const auto change = RawChange(json.Parse(*element))) {
      changes.push_back(*change);
    } else {
      problems.Loss("invalid entry", 1, fmt::format("byte {}", stream.value_offset()));
    }
  }
}

// Memory by category; a 0 for stacked charts may come first.
class Sums {
 public:
  explicit Sums(trace::ProblemLog& problems) : problems_(problems) {}

  void Add(std::optional<std::int64_t> time, const std::optional<JsonElement>& sizes) {
    const std::size_t num_sizes = ArraySize(sizes);
    const auto time_ns = time && *time >= 0 ? Nanoseconds(*time, true) : std::nullopt;
    if (!time_ns || num_sizes < kCategories.size() || num_sizes > kCategories.size() + 1) {
      problems_.Loss("point in time without the sizes of all categories");
      return;
    }
    for (std::size_t i = 0; i < kCategories.size(); ++i) {
      const auto bytes = Integer(ElementAt(sizes, num_sizes - kCategories.size() + i));
      if (!bytes || *bytes < -kLargestBytes || *bytes > kLargestBytes) {
        problems_.Loss("size that is not a number of bytes");
      } else if (*bytes != held_[i]) {
        changes_.push_back({.time_ns = *time_ns,
                            .bytes = *bytes - std::exchange(held_[i], *bytes),
                            .category = kCategories[i]});
      }
    }
  }

  std::vector<Change> Take() { return std::move(changes_); }

 private:
  trace::ProblemLog& problems_;
  std::array<std::int64_t, kCategories.size()> held_ = {};
  std::vector<Change> changes_;
};

Result<std::vector<Change>> ReadSums(JsonStream& stream, trace::ProblemLog& problems) {
  ORRERY_TRY(const auto times_text, stream.NextElement());
  JsonText times_json;
  const auto times = times_text ? times_json.Parse(*times_text) : std::nullopt;
  ORRERY_TRY(const auto sizes_text, stream.NextElement());
  JsonText sizes_json;
  const auto sizes = sizes_text ? sizes_json.Parse(*sizes_text) : std::nullopt;
  if (ArraySize(times) != ArraySize(sizes)) {
    problems.Loss("times without sizes, or sizes without times");
  }
  std::vector<std::optional<std::int64_t>> numbers;
  ForEachElement(times, [&](const JsonElement& time) { numbers.push_back(Integer(time)); });
  Sums sums(problems);
  std::size_t next = 0;
  ForEachElement(sizes, [&](const JsonElement& at_time) {
    if (next < numbers.size()) {
      sums.Add(numbers[next++], at_time);
    }
  });
  return sums.Take();
}

// Tells the forms apart from the first bytes.
Form FormOf(std::string_view head) {
  std::string_view text = Trimmed(head);
  if (!text.starts_with('[')) {
    return Form::kOther;
  }
  text = Trimmed(text.substr(1));
  const std::size_t end = text.find(']');
  if (!text.starts_with('[') ||
      text.substr(1, end - 1).find_first_not_of("-0123456789.eE, \n\r\t") != std::string::npos) {
    return Form::kOther;
  }
  if (end == std::string_view::npos) {
    return Form::kSums;
  }
  const auto numbers = text.substr(0, end);
  text = Trimmed(text.substr(end + 1));
  text = text.starts_with(',') ? Trimmed(text.substr(1)) : text;
  const bool has_list_of_lists = text.starts_with('[') && Trimmed(text.substr(1)).starts_with('[');
  if (has_list_of_lists) {
    return Form::kSums;
  }
  return std::ranges::count(numbers, ',') == 3 ? Form::kRaw : Form::kOther;
}

// Reads changes in the order of time. What was there before the recording comes at its first
// known time.
Result<std::vector<Change>> ReadChanges(Form form, ByteSource& source,
                                        trace::ProblemLog& problems) {
  JsonStream stream(source, {.max_value_bytes = kMaxBytes});
  ORRERY_TRY_STATUS(stream.EnterArray());
  ORRERY_TRY(std::vector<Change> changes,
             form == Form::kRaw ? ReadRaw(stream, problems) : ReadSums(stream, problems));
  std::int64_t first_ns = std::numeric_limits<std::int64_t>::max();
  for (const Change& change : changes) {
    first_ns = change.time_ns >= 0 ? std::min(first_ns, change.time_ns) : first_ns;
  }
  const bool has_times = first_ns != std::numeric_limits<std::int64_t>::max();
  for (Change& change : changes) {
    change.time_ns = change.time_ns >= 0 ? change.time_ns : has_times ? first_ns : 0;
  }
  std::ranges::stable_sort(changes, {}, &Change::time_ns);
  if (stream.end() == JsonEnd::kInsideValue || stream.end() == JsonEnd::kBetweenValues) {
    problems.Loss("file that ends early", 1, fmt::format("byte {}", stream.offset()));
  }
  return changes;
}

bool Matches(const InputFile& file) {
  return FormOf(file.head()) != Form::kOther;
}

Result<FileContent> Read(const InputFile& file, const ReadOptions& options) {
  ORRERY_TRY(const std::unique_ptr<ByteSource> source, file.OpenContent());
  const Form form = FormOf(file.head());
  FileContent content;
  trace::Trace& trace = content.traces.emplace_back();
  ORRERY_TRY(const std::vector<Change> changes, ReadChanges(form, *source, trace.problems));
  if (changes.empty()) {
    return Fail(Error::Kind::kInvalidInput, "a memory timeline without a change that can be used");
  }
  trace.info.format = "PyTorch memory timeline";
  trace.info.format_version = form == Form::kRaw ? "raw" : "sums";
  trace.info.producer = "PyTorch";
  trace.info.time_origin = trace::TimeOrigin::kEpoch;
  trace.info.files = {file.path()};
  trace.tracks.Append({.name = trace.strings.Intern("allocator")});
  // The device is not in the file; the file name may have it.
  const std::int32_t device = GpuInFileName(file.path()).value_or(-1);
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
  trace::FinishTrace(trace, {.step_marker = options.step_marker});
  return content;
}

}  // namespace

// Memory timelines of the PyTorch profiler (`export_memory_timeline`): changes of what each
// category of tensors holds, as memory events whose name is the category. Both forms are read:
// "[times, sizes]" (.json), and one entry a change (.raw.json).
constinit const Format kFormat{.name = "PyTorch memory timeline", .matches = Matches, .read = Read};

}  // namespace orrery::ingest::torch_memory_timeline
