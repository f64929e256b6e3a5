#include "orrery/memory/join/launch_match.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "orrery/base/columns.h"
#include "orrery/base/string_table.h"
#include "orrery/base/text/common_subsequence.h"
#include "orrery/memory/names.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"

namespace orrery::memory {
namespace {

using trace::ActivityKind;
using trace::Trace;
using Rows = std::vector<RowId>;
using Values = std::span<const std::uint64_t>;

// A search for more edits would cost much memory, and runs that differ so much are not the same.
constexpr std::size_t kMaxEdits = 4096;
// The distance that the longer rest is searched beyond the length of the shorter one.
constexpr std::size_t kSlack = 1024;

// Numbers activities that can be the same work, in two traces together: kernels with equal name
// without template arguments, grid and block; memcpys and memsets with equal kind and size.
class Signatures {
 public:
  // The signatures of all activities.
  std::vector<std::uint64_t> Of(const Trace& trace) {
    std::vector<std::int64_t> number_of_name(trace.strings.size(), -1);
    std::vector<std::uint64_t> signatures;
    for (RowId row = 0; row < trace.activities.size(); ++row) {
      const StringId name = trace.activities.name[row];
      std::int64_t& number = number_of_name[static_cast<std::size_t>(name)];
      if (number < 0) {
        number =
            names_.try_emplace(ShortKernelName(trace.Text(name)), std::ssize(names_)).first->second;
      }
      const Key key = KeyOf(trace, row, number);
      signatures.push_back(numbers_.try_emplace(key, numbers_.size()).first->second);
    }
    return signatures;
  }

 private:
  using Key = std::array<std::int64_t, 8>;

  // Tools name memcpys and memsets differently.
  static Key KeyOf(const Trace& trace, RowId row, std::int64_t name) {
    const trace::Activities& work = trace.activities;
    const auto kind = static_cast<std::int64_t>(work.kind[row]);
    if (work.kind[row] == ActivityKind::kMemcpy || work.kind[row] == ActivityKind::kMemset) {
      return {kind, static_cast<std::int64_t>(work.copy_kind[row]), work.bytes[row]};
    }
    if (work.shape[row] == kNoRow) {
      return {kind, name};
    }
    const trace::LaunchShapes::Row shape = trace.launch_shapes.At(work.shape[row]);
    return {kind,         name,          shape.grid_x,  shape.grid_y,
            shape.grid_z, shape.block_x, shape.block_y, shape.block_z};
  }

  std::map<std::string, std::int64_t> names_;
  std::map<Key, std::uint64_t> numbers_;
};

// The launch order of each activity: numbers of events where the recorder counted them, else the
// time of the call, else that of the work itself.
std::vector<std::int64_t> OrdersOf(const Trace& trace) {
  std::vector<std::int64_t> orders = trace.activities.begin_ns;
  for (RowId row = 0; row < trace.activities.size(); ++row) {
    if (const RowId call = trace.activities.launch[row]; call != kNoRow) {
      orders[row] = trace.runtime_calls.begin_ns[call];
    }
  }
  for (RowId row = 0; row < trace.observations.size(); ++row) {
    if (const RowId activity = trace.observations.activity[row]; activity != kNoRow) {
      orders[activity] = trace.observations.order[row];
    }
  }
  return orders;
}

struct Stream {
  std::int64_t number = -1;
  Rows rows = {};
};

// The work of a device: all of it, and by stream in order of its first work.
struct DeviceWork {
  Rows all;
  std::vector<Stream> streams;

  Rows& RowsOf(std::int64_t stream) {
    const auto known = std::ranges::find(streams, stream, &Stream::number);
    return known == streams.end() ? streams.emplace_back(Stream{.number = stream}).rows
                                  : known->rows;
  }
};

std::map<std::int32_t, DeviceWork> WorkByDevice(const Trace& trace) {
  const std::vector<std::int64_t> orders = OrdersOf(trace);
  Rows rows(trace.activities.size());
  std::iota(rows.begin(), rows.end(), RowId{0});
  std::ranges::stable_sort(rows, {}, [&](RowId row) { return orders[row]; });
  std::map<std::int32_t, DeviceWork> devices;
  for (const RowId row : rows) {
    const RowId track = trace.activities.track[row];
    DeviceWork& device = devices[track == kNoRow ? -1 : trace.tracks.device[track]];
    device.all.push_back(row);
    device.RowsOf(track == kNoRow ? -1 : trace.tracks.thread[track]).push_back(row);
  }
  return devices;
}

class Matcher {
 public:
  Matcher(const Trace& first, const Trace& second)
      : of_first_(signatures_.Of(first)),
        of_second_(signatures_.Of(second)),
        match_{.partners = Rows(first.activities.size(), kNoRow),
               .num_only_second = static_cast<std::int64_t>(second.activities.size())} {}

  void MatchDevices(const DeviceWork& first, const DeviceWork& second) {
    if (first.streams.size() != second.streams.size()) {
      MatchRows(first.all, second.all);
      return;
    }
    std::vector<Stream> firsts = first.streams;
    std::vector<Stream> seconds = second.streams;
    std::ranges::sort(firsts, {}, &Stream::number);
    std::ranges::sort(seconds, {}, &Stream::number);
    if (!std::ranges::equal(firsts, seconds, {}, &Stream::number, &Stream::number)) {
      firsts = first.streams;
      seconds = second.streams;
    }
    for (std::size_t i = 0; i < firsts.size(); ++i) {
      MatchRows(firsts[i].rows, seconds[i].rows);
    }
  }

  LaunchMatch Take() { return std::move(match_); }

 private:
  static std::vector<std::uint64_t> Select(const Rows& rows,
                                           const std::vector<std::uint64_t>& signatures) {
    std::vector<std::uint64_t> selected;
    for (const RowId row : rows) {
      selected.push_back(signatures[row]);
    }
    return selected;
  }

  void MatchRows(const Rows& first, const Rows& second) {
    const SequenceAlignment aligned =
        AlignSequences(Select(first, of_first_), Select(second, of_second_));
    for (const IndexPair& same : aligned.pairs) {
      match_.partners[first[same.first]] = second[same.second];
    }
    match_.num_only_second -= std::ssize(aligned.pairs);
    match_.is_cut = match_.is_cut || aligned.is_cut;
  }

  Signatures signatures_;
  std::vector<std::uint64_t> of_first_;
  std::vector<std::uint64_t> of_second_;
  LaunchMatch match_;
};

}  // namespace

SequenceAlignment AlignSequences(Values first, Values second) {
  SequenceAlignment result;
  const auto add = [&](std::size_t at_first, std::size_t at_second) {
    result.pairs.push_back(
        {static_cast<std::uint32_t>(at_first), static_cast<std::uint32_t>(at_second)});
  };
  const auto prefix =
      static_cast<std::size_t>(std::ranges::mismatch(first, second).in1 - first.begin());
  for (std::size_t i = 0; i < prefix; ++i) {
    add(i, i);
  }
  // The rest of each, not much longer than that of the other.
  const std::size_t longest = std::min(first.size(), second.size()) - prefix + kSlack;
  Values first_rest = first.subspan(prefix, std::min(first.size() - prefix, longest));
  Values second_rest = second.subspan(prefix, std::min(second.size() - prefix, longest));
  const bool is_whole =
      prefix + first_rest.size() == first.size() && prefix + second_rest.size() == second.size();
  const auto ends = std::mismatch(first_rest.rbegin(), first_rest.rend(), second_rest.rbegin(),
                                  second_rest.rend());
  const auto common_end = static_cast<std::size_t>(ends.first - first_rest.rbegin());
  const std::size_t suffix = is_whole ? common_end : 0;
  first_rest = first_rest.first(first_rest.size() - suffix);
  second_rest = second_rest.first(second_rest.size() - suffix);
  if (!first_rest.empty() && !second_rest.empty()) {
    const auto common = LongestCommonSubsequence(first_rest, second_rest, kMaxEdits);
    result.is_cut = !common.has_value();
    for (const IndexPair& pair : common.value_or(std::vector<IndexPair>())) {
      add(prefix + pair.first, prefix + pair.second);
    }
  }
  for (std::size_t i = 0; i < suffix; ++i) {
    add(prefix + first_rest.size() + i, prefix + second_rest.size() + i);
  }
  return result;
}

LaunchMatch MatchLaunches(const Trace& first, const Trace& second) {
  const std::map<std::int32_t, DeviceWork> firsts = WorkByDevice(first);
  const std::map<std::int32_t, DeviceWork> seconds = WorkByDevice(second);
  Matcher matcher(first, second);
  for (const auto& [device, work] : firsts) {
    const bool is_single = firsts.size() == 1 && seconds.size() == 1;
    const auto same = is_single ? seconds.begin() : seconds.find(device);
    if (same != seconds.end()) {
      matcher.MatchDevices(work, same->second);
    }
  }
  return matcher.Take();
}

}  // namespace orrery::memory
