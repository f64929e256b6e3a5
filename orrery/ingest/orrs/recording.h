#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include <tsl/robin_map.h>

#include "orrery/base/string_table.h"
#include "orrery/stream/chunk_file.h"
#include "orrery/stream/schema.h"
#include "orrery/stream/visit.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::orrs {

/// Numbers keys of the stream (events, objects) from 0 in order of first appearance, so that a
/// column of rows can hold them until it is known which rows they are.
class DenseIds {
 public:
  std::uint32_t NumberOf(std::uint64_t key) {
    if (keys_.empty() || key != last_key_) {
      last_key_ = key;
      last_ = numbers_.try_emplace(key, static_cast<std::uint32_t>(keys_.size())).first->second;
      if (last_ == keys_.size()) {
        keys_.push_back(key);
      }
    }
    return last_;
  }

  /// The keys, by number.
  [[nodiscard]] const std::vector<std::uint64_t>& keys() const { return keys_; }

 private:
  // Records of one launch come together: most look-ups are for the key before.
  std::uint64_t last_key_ = 0;
  std::uint32_t last_ = 0;
  std::vector<std::uint64_t> keys_;
  tsl::robin_map<std::uint64_t, std::uint32_t> numbers_;
};

/// The strings, stacks and functions that records name by number. What a lost chunk defined is
/// shown by its number.
class Names {
 public:
  explicit Names(StringTable& strings) : strings_(&strings) {}

  void Add(const stream::String& string) {
    text_of_string_[string.id] = strings_->Intern(string.text);
  }

  void Add(const stream::Stack& stack) {
    frames_of_stack_[stack.id].assign(stack.frames.begin(), stack.frames.end());
  }

  void Add(const stream::Function& function) { name_of_function_[function.id] = function.name; }

  /// Texts of the trace; kEmpty for number 0. Call them when all chunks are read.
  StringId Text(std::uint64_t id);
  StringId Stack(std::uint64_t id);
  StringId Function(std::uint64_t id);

  [[nodiscard]] std::int64_t num_missing() const { return num_missing_; }

 private:
  StringTable* strings_;
  tsl::robin_map<std::uint64_t, StringId> text_of_string_;
  tsl::robin_map<std::uint64_t, std::vector<std::uint64_t>> frames_of_stack_;
  tsl::robin_map<std::uint64_t, StringId> text_of_stack_;
  tsl::robin_map<std::uint64_t, std::uint64_t> name_of_function_;
  std::int64_t num_missing_ = 0;
};

/// A tensor map without the lists that its record only names.
struct MapExtent {
  std::uint64_t id = 0;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
};

/// The records of a file before they are assembled. Chunks come in any order,
/// so events wait in lists and large tables hold numbers of keys instead of rows: `activity`
/// columns those of `launches`, `object` columns those of `objects`.
class Recording {
 public:
  explicit Recording(trace::Trace& into) : trace(&into), names(into.strings) {}

  /// Takes in the records of one chunk; of those that belong to events, only these.
  void Add(const stream::Chunk& chunk, const stream::OrderRange& range = {});

  /// All records of one kind that wait in a list, in order of arrival.
  template <typename Record>
  std::vector<Record>& All() {
    return std::get<std::vector<Record>>(lists_);
  }

  /// The track of a host thread, or of a stream; made when it is first requested.
  RowId HostTrack(std::uint64_t thread);
  RowId DeviceTrack(std::uint64_t device, std::uint64_t context, std::uint64_t stream);

  trace::Trace* trace;
  Names names;
  DenseIds launches;
  DenseIds objects;
  std::vector<MapExtent> maps;
  bool has_end = false;

 private:
  void Take(const stream::Process& process);
  void Take(const stream::Device& device);
  void Take(const stream::ClockPair& pair);
  void Take(const stream::Setting& setting);
  void Take(const stream::Module& module);
  void Take(const stream::Touch& touch);
  void Take(const stream::PageTouch& pages);
  void Take(const stream::TensorMap& map);
  void Take(const stream::WarpAccess& access);
  void Take(const stream::CoverageCount& count);
  void Take(const stream::Overhead& overhead);

  // Events keep no text and no list, so copies of them stay valid.
  template <typename... Records>
  using Lists = std::tuple<std::vector<Records>...>;

  Lists<stream::ContextChange, stream::StreamChange, stream::Allocation, stream::Free, stream::Copy,
        stream::Set, stream::Launch, stream::LaunchEnd, stream::DeviceTime, stream::Synchronization,
        stream::OperatorBegin, stream::OperatorEnd, stream::RegionBegin, stream::RegionEnd,
        stream::Step, stream::ManagedMemory, stream::OutOfMemory, stream::GraphLaunch,
        stream::ApiCall, stream::Object, stream::LaunchMap, stream::LaunchArgument,
        stream::SourceLine>
      lists_;
  std::int64_t process_ = 0;
  std::map<std::uint64_t, RowId> track_of_thread_;
  std::map<std::array<std::uint64_t, 3>, RowId> track_of_stream_;
};

}  // namespace orrery::ingest::orrs
