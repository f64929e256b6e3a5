#include "orrery/api/view/tiles/activity.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/analyze/breakdown/communication_parts.h"
#include "orrery/analyze/run_view.h"
#include "orrery/base/collective_kind.h"
#include "orrery/base/columns.h"
#include "orrery/simulate/engine/engine.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/simulate/explain/breakdown.h"
#include "orrery/trace/kernel_class.h"
#include "orrery/trace/speedup.h"
#include "orrery/trace/trace.h"

namespace orrery::api::view {
namespace {

constexpr std::int64_t kPicosecondsPerNanosecond = 1000;

/// Something that runs on a device for a while.
struct Piece {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  Activity what = Activity::kIdle;
  std::int64_t launched_ns = 0;  // when the host had handed it over; 0: not known
};

// Of what runs together the lowest counts.
int PriorityOf(Activity activity) {
  switch (activity) {
    case Activity::kGemm:
    case Activity::kAttention:
    case Activity::kCompute:
    case Activity::kOptimizer:
      return 0;
    case Activity::kCommunication:
      return 1;
    case Activity::kWait:
    case Activity::kBubble:
      return 2;
    default:
      return 3;
  }
}

// Messages whose dimension nothing tells are taken for those of a pipeline.
bool IsOfPipeline(CollectiveKind kind, analyze::Dimension dimension) {
  const bool is_message = kind == CollectiveKind::kSend || kind == CollectiveKind::kRecv ||
                          kind == CollectiveKind::kSendRecv;
  return dimension == analyze::Dimension::kPipeline ||
         (is_message && dimension == analyze::Dimension::kUnknown);
}

/// The pieces of a rank in order of begin.
class PieceList {
 public:
  PieceList(const analyze::RunView& run, std::uint32_t rank_index)
      : run_(run),
        rank_index_(rank_index),
        trace_(run.set->ranks[rank_index]),
        dimensions_(analyze::CollectiveDimensions(run, rank_index)) {
    pieces_.reserve(trace_.activities.size());
    for (RowId row = 0; row < trace_.activities.size(); ++row) {
      Add(row);
    }
    // Pieces that follow a wait are later than its place.
    if (!std::ranges::is_sorted(pieces_, {}, &Piece::begin_ns)) {
      std::ranges::stable_sort(pieces_, {}, &Piece::begin_ns);
    }
  }

  [[nodiscard]] const std::vector<Piece>& pieces() const { return pieces_; }

  [[nodiscard]] bool is_in_pipeline() const { return is_in_pipeline_; }

 private:
  void Add(RowId row) {
    const trace::Activities& activities = trace_.activities;
    const RowId launch = activities.launch[row];
    Piece piece{.begin_ns = activities.begin_ns[row],
                .end_ns = activities.begin_ns[row] + activities.duration_ns[row],
                .what = ActivityOf(run_.classes[rank_index_][row]),
                .launched_ns = launch == kNoRow ? 0 : trace_.runtime_calls.begin_ns[launch]};
    const RowId collective = activities.collective[row];
    if (piece.what == Activity::kCommunication && collective != kNoRow) {
      const bool is_pipeline =
          IsOfPipeline(trace_.collectives.kind[collective], dimensions_[collective].dimension);
      is_in_pipeline_ = is_in_pipeline_ || is_pipeline;
      const std::int64_t wait_ns = run_.waits.WaitOfRow(run_.matched, rank_index_, collective);
      const std::int64_t bubble_ns =
          is_pipeline ? wait_ns : run_.waits.DrainOfRow(rank_index_, collective);
      const std::int64_t transfer_ns = std::min(piece.begin_ns + wait_ns, piece.end_ns);
      const std::int64_t drained_ns = std::min(piece.begin_ns + bubble_ns, transfer_ns);
      Push({piece.begin_ns, drained_ns, Activity::kBubble, piece.launched_ns});
      Push({drained_ns, transfer_ns, Activity::kWait, piece.launched_ns});
      piece.begin_ns = transfer_ns;
    }
    Push(piece);
  }

  void Push(const Piece& piece) {
    if (piece.begin_ns < piece.end_ns) {
      pieces_.push_back(piece);
    }
  }

  const analyze::RunView& run_;
  std::uint32_t rank_index_;
  const trace::Trace& trace_;
  std::vector<analyze::DimensionOf> dimensions_;
  std::vector<Piece> pieces_;
  bool is_in_pipeline_ = false;
};

/// Follows the pieces along time with those that run at an instant, which are few.
class Sweep {
 public:
  explicit Sweep(const PieceList& list)
      : pieces_(list.pieces()),
        pause_(list.is_in_pipeline() ? Activity::kBubble : Activity::kIdle) {}

  ActivityLine Run() && {
    std::size_t next = 0;
    while (next < pieces_.size() || !running_.empty()) {
      const std::int64_t end_ns = FirstEnd();
      if (next < pieces_.size() && pieces_[next].begin_ns < end_ns) {
        Begin(pieces_[next++]);
      } else {
        End(end_ns, next);
      }
    }
    return std::move(line_);
  }

 private:
  [[nodiscard]] std::int64_t FirstEnd() const {
    std::int64_t first_ns = INT64_MAX;
    for (const Piece& piece : running_) {
      first_ns = std::min(first_ns, piece.end_ns);
    }
    return first_ns;
  }

  void Begin(const Piece& piece) {
    running_.push_back(piece);
    Show(piece.begin_ns);
  }

  void End(std::int64_t at_ns, std::size_t next) {
    std::erase_if(running_, [&](const Piece& piece) { return piece.end_ns <= at_ns; });
    line_.end_ns = std::max(line_.end_ns, at_ns);
    if (!running_.empty()) {
      Show(at_ns);
    } else if (next < pieces_.size() && pieces_[next].begin_ns > at_ns) {
      Pause(at_ns, pieces_[next]);
    }
  }

  void Pause(std::int64_t at_ns, const Piece& next) {
    const std::int64_t launched_ns = std::clamp(next.launched_ns, at_ns, next.begin_ns);
    if (launched_ns > at_ns) {
      line_.Append(at_ns, Activity::kHost);
    }
    if (launched_ns < next.begin_ns) {
      line_.Append(launched_ns, pause_);
    }
  }

  void Show(std::int64_t at_ns) {
    const auto first = std::ranges::min_element(
        running_, {}, [](const Piece& piece) { return PriorityOf(piece.what); });
    line_.Append(at_ns, first->what);
  }

  const std::vector<Piece>& pieces_;
  Activity pause_;
  std::vector<Piece> running_;
  ActivityLine line_;
};

// As recorded kernels of experts and convolutions.
bool IsGemm(std::string_view category) {
  return category == "products" || category == "experts" || category == "convolutions";
}

}  // namespace

Activity ActivityOf(trace::KernelClass kernel_class) {
  if (kernel_class == trace::KernelClass::kCommunication) {
    return Activity::kCommunication;
  }
  if (kernel_class == trace::KernelClass::kMemory) {
    return Activity::kMemory;
  }
  switch (trace::PartOf(kernel_class)) {
    case trace::Part::kGemm:
      return Activity::kGemm;
    case trace::Part::kAttention:
      return Activity::kAttention;
    case trace::Part::kOptimizer:
      return Activity::kOptimizer;
    default:
      return Activity::kCompute;
  }
}

Activity ActivityOf(const simulate::TimeSlice& slice) {
  switch (slice.kind) {
    case simulate::TimeKind::kCompute:
      return IsGemm(slice.what)          ? Activity::kGemm
             : slice.what == "attention" ? Activity::kAttention
                                         : Activity::kCompute;
    case simulate::TimeKind::kOptimizer:
      return Activity::kOptimizer;
    case simulate::TimeKind::kTransfer:
      return Activity::kCommunication;
    case simulate::TimeKind::kBubble:
      return Activity::kBubble;
    case simulate::TimeKind::kWait:
      return Activity::kWait;
    case simulate::TimeKind::kMemory:
      return Activity::kMemory;
    case simulate::TimeKind::kHost:
      return Activity::kHost;
    case simulate::TimeKind::kIdle:
      break;
  }
  return Activity::kIdle;
}

void ActivityLine::Append(std::int64_t at_ns, Activity activity) {
  if (!begin_ns.empty() && begin_ns.back() == at_ns) {
    what.back() = activity;
  } else if (what.empty() || what.back() != activity) {
    begin_ns.push_back(at_ns);
    what.push_back(activity);
  }
  if (what.size() > 1 && what[what.size() - 2] == what.back()) {
    begin_ns.pop_back();
    what.pop_back();
  }
}

void AddTimes(const ActivityLine& line, std::int64_t begin_ns, std::int64_t end_ns,
              std::array<std::int64_t, kNumActivities>& sums_ns) {
  const auto after = std::ranges::upper_bound(line.begin_ns, begin_ns);
  auto segment = static_cast<std::size_t>(after - line.begin_ns.begin());
  for (segment -= segment > 0 ? 1 : 0; segment < line.size(); ++segment) {
    if (line.begin_ns[segment] >= end_ns) {
      return;
    }
    const std::int64_t from_ns = std::max(line.begin_ns[segment], begin_ns);
    const std::int64_t to_ns = std::min(line.EndOf(segment), end_ns);
    if (from_ns < to_ns) {
      sums_ns[static_cast<std::size_t>(line.what[segment])] += to_ns - from_ns;
    }
  }
}

ActivityLine RecordedActivity(const analyze::RunView& run, std::uint32_t rank_index) {
  const PieceList list(run, rank_index);
  return Sweep(list).Run();
}

ActivityLine SimulatedActivity(const simulate::RankClasses& rank_classes,
                               const simulate::Timeline& timeline,
                               simulate::RankClassId rank_class) {
  ActivityLine line;
  for (const simulate::TimeSlice& slice : simulate::SlicesOf(rank_classes, timeline, rank_class)) {
    line.Append(slice.begin_ps / kPicosecondsPerNanosecond, ActivityOf(slice));
    line.end_ns = slice.end_ps / kPicosecondsPerNanosecond;
  }
  return line;
}

}  // namespace orrery::api::view
