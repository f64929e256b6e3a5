#include "orrery/ingest/pieces.h"

#include <future>
#include <memory>
#include <string>
#include <utility>

#include "orrery/base/concurrency/parallel.h"
#include "orrery/base/error.h"
#include "orrery/ingest/input_file.h"
#include "orrery/ingest/orrs/recording.h"
#include "orrery/stream/reader.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest {
Result<const trace::Trace*> Pieces::Next() {
  trace::Trace& piece = traces_[turn_];
  turn_ = 1 - turn_;
  ORRERY_TRY(const std::unique_ptr<orrs::Recording> recording,
             prepared_.valid() ? prepared_.get() : reader_.ReadNext(piece));
  if (recording == nullptr) {
    return nullptr;
  }
  if (may_prepare_) {
    prepared_ = std::async(std::launch::async,
                           [this, next = &traces_[turn_]] { return reader_.ReadNext(*next); });
  }
  reader_.Complete(*recording);
  is_partial_ = is_partial_ || piece.problems.has_loss();
  return &piece;
}

bool HasPieces(const std::string& path) {
  const auto file = InputFile::Open(path);
  return file && file->is_plain_file() && stream::IsStream(file->head());
}

Result<std::unique_ptr<Pieces>> OpenPieces(const std::string& path, const PiecesOptions& options) {
  ORRERY_TRY(orrs::PieceReader reader, orrs::PieceReader::Open(path, options));
  return std::make_unique<Pieces>(std::move(reader), NumThreads(options.read.threads) > 1);
}

}  // namespace orrery::ingest
