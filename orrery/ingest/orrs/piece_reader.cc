#include "orrery/ingest/orrs/piece_reader.h"

#include <algorithm>
#include <utility>

#include "orrery/base/byte_source.h"
#include "orrery/ingest/orrs/assemble.h"
#include "orrery/stream/codes.h"

namespace orrery::ingest::orrs {
namespace {

using stream::ChunkPlace;
using stream::ChunkType;

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

// A free that is asked for and never complete is one from then on.
void CompleteLastFrees(const tsl::robin_set<std::uint64_t>& last_frees, Recording& recording) {
  for (stream::Free& free : recording.All<stream::Free>()) {
    if (last_frees.contains(free.sequence)) {
      free.phase = stream::codes::kFreed;
    }
  }
}

void ReserveTouches(const Piece& piece, const StreamIndex& index, trace::Touches& touches) {
  std::size_t num_records = 0;
  for (const std::size_t i : piece.chunks) {
    const stream::ChunkHeader& header = index.chunks[i].header;
    num_records += header.type == ChunkType::kTouches ? header.num_records : 0;
  }
  ForEachColumn(touches, [&](const char*, auto& column) { column.reserve(num_records); });
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

Result<bool> PieceReader::Next(trace::Trace& into) {
  ORRERY_TRY(const std::unique_ptr<Recording> recording, ReadNext(into));
  if (recording == nullptr) {
    return false;
  }
  Complete(*recording);
  return true;
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
  CompleteLastFrees(index_.last_frees, *recording);
  ++next_;
  return recording;
}

void PieceReader::Complete(Recording& recording) {
  auto& begins = recording.All<stream::OperatorBegin>();
  begins.insert(begins.begin(), open_operators_.begin(), open_operators_.end());
  recording.maps.insert(recording.maps.begin(), maps_.begin(), maps_.end());
  Replay replay = ReplayEvents(recording, std::move(lives_));
  Assemble(recording, replay, options_.read);
  Carry(pieces_[completed_++], recording, replay);
}

Status PieceReader::AddChunks(const Piece& piece, Recording& recording) {
  ReserveTouches(piece, index_, recording.trace->touches);
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

// What the next piece begins with.
void PieceReader::Carry(const Piece& piece, Recording& recording, const Replay& replay) {
  lives_ = replay.lives.Survivors(piece.range.begin, piece.range.end);
  maps_ = std::move(recording.maps);
  open_operators_.clear();
  for (const stream::OperatorBegin& begin : recording.All<stream::OperatorBegin>()) {
    if (std::ranges::binary_search(replay.open_operators, begin.sequence)) {
      open_operators_.push_back(begin);
    }
  }
}

}  // namespace orrery::ingest::orrs
