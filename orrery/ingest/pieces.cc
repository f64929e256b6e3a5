#include "orrery/ingest/pieces.h"

#include <array>
#include <future>
#include <memory>
#include <utility>

#include "orrery/ingest/input_file.h"
#include "orrery/ingest/orrs/piece_reader.h"
#include "orrery/stream/reader.h"

namespace orrery::ingest {
namespace {

// Two traces take turns: one is assembled and looked at while records are read into the other.
class StreamPieces : public Pieces {
 public:
  StreamPieces(orrs::PieceReader reader, bool may_prepare)
      : reader_(std::move(reader)), may_prepare_(may_prepare) {}

  [[nodiscard]] std::size_t size() const override { return reader_.num_pieces(); }

  [[nodiscard]] Result<const trace::Trace*> Next() override {
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

  [[nodiscard]] bool is_partial() const override { return is_partial_; }

 private:
  orrs::PieceReader reader_;
  bool may_prepare_;
  bool is_partial_ = false;
  std::size_t turn_ = 0;
  std::array<trace::Trace, 2> traces_;
  // The last member: its destructor waits for the thread that uses the others.
  std::future<Result<std::unique_ptr<orrs::Recording>>> prepared_;
};

}  // namespace

bool HasPieces(const std::string& path) {
  const auto file = InputFile::Open(path);
  return file && file->is_plain_file() && stream::IsStream(file->head());
}

Result<std::unique_ptr<Pieces>> OpenPieces(const std::string& path, const PiecesOptions& options) {
  ORRERY_TRY(orrs::PieceReader reader, orrs::PieceReader::Open(path, options));
  return std::make_unique<StreamPieces>(std::move(reader), options.read.threads != 1);
}

}  // namespace orrery::ingest
