#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "orrery/ingest/orrs/key_numbers.h"
#include "orrery/ingest/orrs/names.h"
#include "orrery/stream/record_order.h"
#include "orrery/stream/schema.h"
#include "orrery/stream/visit.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::orrs {

/// A tensor map without the lists that its record only names.
struct MapExtent {
  std::uint64_t id = 0;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
};

/// Everything that the chunks of a file say, before it is put together. Chunks come in any order,
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

  /// The track of a host thread, or of a stream; made when it is first asked for.
  RowId HostTrack(std::uint64_t thread);
  RowId DeviceTrack(std::uint64_t device, std::uint64_t context, std::uint64_t stream);

  trace::Trace* trace;
  Names names;
  KeyNumbers launches;
  KeyNumbers objects;
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
  std::tuple<std::vector<stream::ContextChange>, std::vector<stream::StreamChange>,
             std::vector<stream::Allocation>, std::vector<stream::Free>, std::vector<stream::Copy>,
             std::vector<stream::Set>, std::vector<stream::Launch>, std::vector<stream::LaunchEnd>,
             std::vector<stream::DeviceTime>, std::vector<stream::Synchronization>,
             std::vector<stream::OperatorBegin>, std::vector<stream::OperatorEnd>,
             std::vector<stream::RegionBegin>, std::vector<stream::RegionEnd>,
             std::vector<stream::Step>, std::vector<stream::ManagedMemory>,
             std::vector<stream::OutOfMemory>, std::vector<stream::GraphLaunch>,
             std::vector<stream::ApiCall>, std::vector<stream::Object>,
             std::vector<stream::LaunchMap>, std::vector<stream::LaunchArgument>,
             std::vector<stream::SourceLine>>
      lists_;
  std::int64_t process_ = 0;
  std::map<std::uint64_t, RowId> track_of_thread_;
  std::map<std::array<std::uint64_t, 3>, RowId> track_of_stream_;
};

}  // namespace orrery::ingest::orrs
