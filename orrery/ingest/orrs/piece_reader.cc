#include "orrery/ingest/orrs/piece_reader.h"

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include <tsl/robin_map.h>
#include <tsl/robin_set.h>

#include "orrery/base/columns.h"
#include "orrery/base/error.h"
#include "orrery/base/file/byte_source.h"
#include "orrery/ingest/orrs/assemble.h"
#include "orrery/ingest/orrs/recording.h"
#include "orrery/ingest/orrs/replay.h"
#include "orrery/stream/chunk_file.h"
#include "orrery/stream/codes.h"  // IWYU pragma: keep (enumerators through an alias)
#include "orrery/stream/format.h"
#include "orrery/stream/reader.h"
#include "orrery/stream/schema.h"
#include "orrery/stream/visit.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::orrs {
namespace {

using stream::ChunkPlace;

// Maximum average number of reads per byte.
constexpr std::uint64_t kMaxReads = 3;

std::vector<std::size_t> ByFirst(std::span<const ChunkPlace> chunks) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    if (chunks[i].is_ordered) {
      order.push_back(i);
    }
  }
  std::ranges::sort(order, {}, [&](std::size_t i) { return std::tuple(chunks[i].first, i); });
  return order;
}

// Pieces begin where a chunk begins, so that it is not read for the piece before.
std::vector<stream::OrderRange> RangesOf(std::span<const ChunkPlace> chunks,
                                         std::span<const std::size_t> by_first,
                                         std::uint64_t piece_bytes) {
  std::vector<stream::OrderRange> ranges(1);
  std::uint64_t bytes = 0;
  for (const std::size_t i : by_first) {
    if (bytes >= piece_bytes && chunks[i].first > ranges.back().begin) {
      ranges.back().end = chunks[i].first;
      ranges.push_back({.begin = chunks[i].first});
      bytes = 0;
    }
    bytes += chunks[i].header.raw_bytes;
  }
  return ranges;
}

std::vector<Piece> PiecesOf(std::span<const ChunkPlace> chunks,
                            std::span<const std::size_t> by_first, std::uint64_t piece_bytes) {
  std::vector<Piece> pieces;
  std::vector<std::size_t> open;
  std::size_t next = 0;
  for (const stream::OrderRange& range : RangesOf(chunks, by_first, piece_bytes)) {
    std::erase_if(open, [&](std::size_t i) { return chunks[i].last < range.begin; });
    while (next < by_first.size() &&
           (chunks[by_first[next]].first < range.end || range.end == stream::OrderRange::kNoEnd)) {
      open.push_back(by_first[next++]);
    }
    pieces.push_back({.range = range, .chunks = open});
    std::ranges::sort(pieces.back().chunks);
  }
  return pieces;
}

std::uint64_t BytesRead(std::span<const ChunkPlace> chunks, std::span<const Piece> pieces) {
  std::uint64_t bytes = 0;
  for (const Piece& piece : pieces) {
    for (const std::size_t i : piece.chunks) {
      bytes += chunks[i].header.raw_bytes;
    }
  }
  return bytes;
}

namespace codes = stream::codes;
using stream::ChunkType;

// Frees that were requested and are not complete yet.
class OpenFrees {
 public:
  void Add(const stream::Free& free) {
    if (free.phase == codes::kFreeRequested) {
      std::uint64_t& last = request_of_object_[KeyOf(free)];
      last = std::max(last, free.sequence);
    } else {
      request_of_object_.erase(KeyOf(free));
    }
  }

  [[nodiscard]] tsl::robin_set<std::uint64_t> Requests() const {
    tsl::robin_set<std::uint64_t> requests;
    for (const auto& [key, request] : request_of_object_) {
      requests.insert(request);
    }
    return requests;
  }

 private:
  // Addresses of objects without a number; no number is as large as an address with this bit.
  static std::uint64_t KeyOf(const stream::Free& free) {
    return free.object != 0 ? free.object : free.address | std::uint64_t{1} << 63U;
  }

  tsl::robin_map<std::uint64_t, std::uint64_t> request_of_object_;
};

stream::ChunkPlace PlaceOfEvents(const stream::Chunk& chunk, OpenFrees& frees) {
  stream::ChunkPlace place{.header = chunk.header, .offset = chunk.offset};
  stream::ForEachRecord(chunk, [&]<typename Record>(const Record& record) {
    if constexpr (stream::Ordered<Record>) {
      place.Include(stream::OrderOf(record));
    }
    if constexpr (std::same_as<Record, stream::Free>) {
      frees.Add(record);
    }
  });
  return place;
}

// Names are read for each piece; a piece is some times larger, so that they do not count.
constexpr std::uint64_t kPieceByDefinitions = 4;

// Events take many times the room of their bytes, so pieces of events alone are smaller.
constexpr std::uint64_t kPieceBytes = 16 << 20;
constexpr std::uint64_t kPieceBytesOfEvents = 4 << 20;

std::uint64_t PieceBytes(const StreamIndex& index, const PiecesOptions& options) {
  std::uint64_t definitions = 0;
  for (const ChunkPlace& place : index.chunks) {
    definitions += place.is_ordered ? 0 : place.header.raw_bytes;
  }
  const std::uint64_t usual = options.with_touches ? kPieceBytes : kPieceBytesOfEvents;
  return std::max(options.piece_bytes.value_or(usual), kPieceByDefinitions * definitions);
}

// Keeps the memory of the tables: pieces are alike, and giving it back and asking for it again
// would take a quarter of the time.
void Clear(trace::Trace& trace) {
  trace::ForEachTable(trace, [](const char*, auto& table) {
    ForEachColumn(table, [](const char*, auto& column) { column.clear(); });
  });
  trace.info = {};
  trace.problems = {};
  trace.strings = StringTable();
}

}  // namespace

std::vector<Piece> PlanPieces(std::span<const ChunkPlace> chunks, std::uint64_t piece_bytes) {
  const std::vector<std::size_t> by_first = ByFirst(chunks);
  std::uint64_t total = 0;
  for (const std::size_t i : by_first) {
    total += chunks[i].header.raw_bytes;
  }
  std::uint64_t bytes = std::max<std::uint64_t>(piece_bytes, 1);
  std::vector<Piece> pieces = PiecesOf(chunks, by_first, bytes);
  while (pieces.size() > 1 && BytesRead(chunks, pieces) > kMaxReads * total) {
    bytes *= 2;
    pieces = PiecesOf(chunks, by_first, bytes);
  }
  return pieces;
}

Result<StreamIndex> IndexStream(ByteSource& source, bool with_touches) {
  ORRERY_TRY(stream::StreamReader reader, stream::StreamReader::Open(source));
  StreamIndex index;
  index.minor_version = reader.minor_version();
  OpenFrees frees;
  while (true) {
    ORRERY_TRY(const stream::Chunk* const chunk, reader.Next());
    if (chunk == nullptr) {
      break;
    }
    const ChunkType type = chunk->header.type;
    if (with_touches || (type != ChunkType::kTouches && type != ChunkType::kAccesses)) {
      index.chunks.push_back(type == ChunkType::kEvents ? PlaceOfEvents(*chunk, frees)
                                                        : stream::PlaceOf(*chunk));
    }
  }
  index.losses = reader.losses();
  index.damage = source.damage();
  index.last_frees = frees.Requests();
  return index;
}

PieceReader::PieceReader(std::string path, PiecesOptions options, StreamIndex index,
                         stream::ChunkFile file)
    : path_(std::move(path)),
      options_(std::move(options)),
      index_(std::move(index)),
      file_(std::move(file)),
      pieces_(PlanPieces(index_.chunks, PieceBytes(index_, options_))) {}

Result<PieceReader> PieceReader::Open(const std::string& path, const PiecesOptions& options) {
  ORRERY_TRY(const std::unique_ptr<ByteSource> source, OpenFile(path));
  auto index = IndexStream(*source, options.with_touches);
  if (!index) {
    return FailWithin(path, index);
  }
  ORRERY_TRY(stream::ChunkFile file, stream::ChunkFile::Open(path));
  return PieceReader(path, options, *std::move(index), std::move(file));
}

Result<std::unique_ptr<Recording>> PieceReader::ReadNext(trace::Trace& into) {
  if (next_ == pieces_.size()) {
    return nullptr;
  }
  Clear(into);
  DescribeFile(path_, index_.minor_version, into.info);
  if (next_ == 0) {
    NoteLosses(index_.losses, index_.damage, into.problems);
  }
  auto recording = std::make_unique<Recording>(into);
  if (auto status = AddChunks(pieces_[next_], *recording); !status) {
    return FailWithin(path_, status);
  }
  // A free that is requested and never complete is one from then on.
  for (stream::Free& free : recording->All<stream::Free>()) {
    free.phase = index_.last_frees.contains(free.sequence) ? codes::kFreed : free.phase;
  }
  ++next_;
  return recording;
}

void PieceReader::Complete(Recording& recording) {
  auto& begins = recording.All<stream::OperatorBegin>();
  begins.insert(begins.begin(), open_operators_.begin(), open_operators_.end());
  recording.maps.insert(recording.maps.begin(), maps_.begin(), maps_.end());
  Replay replay = ReplayEvents(recording, std::move(memory_));
  Assemble(recording, replay, options_.read);
  Carry(pieces_[completed_++], recording, replay);
}

Status PieceReader::AddChunks(const Piece& piece, Recording& recording) {
  std::size_t num_touches = 0;
  for (const std::size_t i : piece.chunks) {
    const stream::ChunkHeader& header = index_.chunks[i].header;
    num_touches += header.type == ChunkType::kTouches ? header.num_records : 0;
  }
  ForEachColumn(recording.trace->touches,
                [&](const char*, auto& column) { column.reserve(num_touches); });
  for (const ChunkPlace& place : index_.chunks) {
    const bool is_once = place.header.type == ChunkType::kCalibration;
    if (!place.is_ordered && (next_ == 0 || !is_once)) {
      ORRERY_TRY(const stream::Chunk chunk, file_.Read(place));
      recording.Add(chunk, piece.range);
    }
  }
  for (const std::size_t i : piece.chunks) {
    ORRERY_TRY(const stream::Chunk chunk, file_.Read(index_.chunks[i]));
    recording.Add(chunk, piece.range);
  }
  return {};
}

// Keeps the state that the next piece begins with.
void PieceReader::Carry(const Piece& piece, Recording& recording, const Replay& replay) {
  memory_ = replay.memory.Survivors(piece.range.begin, piece.range.end);
  maps_ = std::move(recording.maps);
  open_operators_.clear();
  for (const stream::OperatorBegin& begin : recording.All<stream::OperatorBegin>()) {
    if (std::ranges::binary_search(replay.open_operators, begin.sequence)) {
      open_operators_.push_back(begin);
    }
  }
}

}  // namespace orrery::ingest::orrs
