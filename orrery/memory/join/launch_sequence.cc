#include "orrery/memory/join/launch_sequence.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>

#include "orrery/memory/kernel_name.h"

namespace orrery::memory {
namespace {

using trace::ActivityKind;
using trace::Trace;

// Numbers what can be the same work, in two traces together.
class Signatures {
 public:
  // The signatures of all activities.
  std::vector<std::uint64_t> Of(const Trace& trace) {
    std::vector<std::int64_t> number_of_name(trace.strings.size(), -1);
    std::vector<std::uint64_t> signatures;
    for (RowId row = 0; row < trace.activities.size(); ++row) {
      const trace::Activities& work = trace.activities;
      std::int64_t& name = number_of_name[static_cast<std::size_t>(work.name[row])];
      if (name < 0) {
        name = NumberOf(trace.Text(work.name[row]));
      }
      signatures.push_back(NumberOf(KeyOf(trace, row, name)));
    }
    return signatures;
  }

 private:
  using Key = std::array<std::int64_t, 8>;

  // Tools name copies and sets in their own ways.
  static Key KeyOf(const Trace& trace, RowId row, std::int64_t name) {
    const trace::Activities& work = trace.activities;
    const auto kind = static_cast<std::int64_t>(work.kind[row]);
    if (work.kind[row] == ActivityKind::kMemcpy || work.kind[row] == ActivityKind::kMemset) {
      return {kind, static_cast<std::int64_t>(work.copy_kind[row]), work.bytes[row]};
    }
    const RowId shape = work.shape[row];
    if (shape == kNoRow) {
      return {kind, name};
    }
    const trace::LaunchShapes& shapes = trace.launch_shapes;
    return {kind,
            name,
            shapes.grid_x[shape],
            shapes.grid_y[shape],
            shapes.grid_z[shape],
            shapes.block_x[shape],
            shapes.block_y[shape],
            shapes.block_z[shape]};
  }

  std::int64_t NumberOf(std::string_view full_name) {
    return names_.try_emplace(ShortKernelName(full_name), std::ssize(names_)).first->second;
  }

  std::uint64_t NumberOf(const Key& key) {
    return numbers_.try_emplace(key, numbers_.size()).first->second;
  }

  std::map<std::string, std::int64_t> names_;
  std::map<Key, std::uint64_t> numbers_;
};

// When the host asked for each activity: numbers of events where the recorder counted them, else
// the time of the call, else that of the work itself.
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

using Rows = std::vector<RowId>;

// The work of a device: all of it, and by stream in order of its first work.
struct DeviceWork {
  struct Stream {
    std::int64_t number = -1;
    Rows rows = {};
  };

  Rows all;
  std::vector<Stream> streams;

  Rows& RowsOf(std::int64_t stream) {
    const auto known = std::ranges::find(streams, stream, &Stream::number);
    return known == streams.end() ? streams.emplace_back(Stream{.number = stream}).rows
                                  : known->rows;
  }

  [[nodiscard]] std::vector<std::int64_t> SortedNumbers() const {
    std::vector<std::int64_t> numbers;
    for (const Stream& stream : streams) {
      numbers.push_back(stream.number);
    }
    std::ranges::sort(numbers);
    return numbers;
  }
};

std::map<std::int32_t, DeviceWork> WorkByDevice(const Trace& trace) {
  const std::vector<std::int64_t> orders = OrdersOf(trace);
  Rows rows(trace.activities.size());
  for (RowId row = 0; row < rows.size(); ++row) {
    rows[row] = row;
  }
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

class Pairing {
 public:
  Pairing(const Trace& first, const Trace& second)
      : of_first_(signatures_.Of(first)), of_second_(signatures_.Of(second)) {}

  void AddDevice(DeviceWork first, DeviceWork second) {
    if (first.streams.size() != second.streams.size()) {
      Add(std::move(first.all), std::move(second.all));
      return;
    }
    if (first.SortedNumbers() == second.SortedNumbers()) {
      std::ranges::sort(first.streams, {}, &DeviceWork::Stream::number);
      std::ranges::sort(second.streams, {}, &DeviceWork::Stream::number);
    }
    for (std::size_t i = 0; i < first.streams.size(); ++i) {
      Add(std::move(first.streams[i].rows), std::move(second.streams[i].rows));
    }
  }

  std::vector<SequencePair> Take() { return std::move(pairs_); }

 private:
  void Add(Rows first, Rows second) {
    pairs_.push_back(
        {SequenceOf(std::move(first), of_first_), SequenceOf(std::move(second), of_second_)});
  }

  static LaunchSequence SequenceOf(Rows rows, const std::vector<std::uint64_t>& signature_of_row) {
    LaunchSequence sequence{.rows = std::move(rows)};
    for (const RowId row : sequence.rows) {
      sequence.signatures.push_back(signature_of_row[row]);
    }
    return sequence;
  }

  Signatures signatures_;
  std::vector<std::uint64_t> of_first_;
  std::vector<std::uint64_t> of_second_;
  std::vector<SequencePair> pairs_;
};

}  // namespace

std::vector<SequencePair> PairSequences(const Trace& first, const Trace& second) {
  std::map<std::int32_t, DeviceWork> firsts = WorkByDevice(first);
  std::map<std::int32_t, DeviceWork> seconds = WorkByDevice(second);
  Pairing pairing(first, second);
  if (firsts.size() == 1 && seconds.size() == 1) {
    pairing.AddDevice(std::move(firsts.begin()->second), std::move(seconds.begin()->second));
    return pairing.Take();
  }
  for (auto& [device, work] : firsts) {
    if (const auto same = seconds.find(device); same != seconds.end()) {
      pairing.AddDevice(std::move(work), std::move(same->second));
    }
  }
  return pairing.Take();
}

}  // namespace orrery::memory
