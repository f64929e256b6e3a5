#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <ranges>
#include <set>
#include <utility>
#include <vector>

#include "orrery/memory/uvm/residency.h"
#include "orrery/memory/uvm/simulation.h"
#include "orrery/memory/uvm/workload.h"

namespace orrery::memory::uvm {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

/// Splits pages where a touch, a root or data begin or end: the pages of a piece are always moved
/// together.
class Pieces {
 public:
  struct Span {
    std::size_t first = 0;
    std::size_t end = 0;
  };

  explicit Pieces(const Workload& workload) {
    std::ranges::for_each(workload.roots, [&](const Root& root) { Split(root.pages); });
    std::ranges::for_each(workload.touches, [&](const Touch& touch) { Split(touch.pages); });
    std::ranges::for_each(workload.filled, [&](const PageRange& range) { Split(range); });
    std::ranges::sort(bounds_);
    bounds_.erase(std::unique(bounds_.begin(), bounds_.end()), bounds_.end());
  }

  [[nodiscard]] std::size_t size() const { return bounds_.empty() ? 0 : bounds_.size() - 1; }

  [[nodiscard]] Span Of(const PageRange& range) const {
    return {IndexOf(range.first), IndexOf(range.end())};
  }

  [[nodiscard]] std::int64_t NumPages(std::size_t piece) const {
    return bounds_[piece + 1] - bounds_[piece];
  }

 private:
  void Split(const PageRange& range) {
    bounds_.push_back(range.first);
    bounds_.push_back(range.end());
  }

  [[nodiscard]] std::size_t IndexOf(std::int64_t page) const {
    return static_cast<std::size_t>(std::ranges::lower_bound(bounds_, page) - bounds_.begin());
  }

  std::vector<std::int64_t> bounds_;
};

class Oracle {
 public:
  Oracle(const Workload& workload, std::int64_t capacity_bytes, int iterations)
      : workload_(workload),
        iterations_(iterations),
        free_pages_(capacity_bytes / workload.page_bytes),
        pieces_(workload),
        releases_(workload),
        resident_(pieces_.size(), 0),
        next_use_(pieces_.size(), kNever),
        has_data_(pieces_.size(), 0) {
    for (const Touch& touch : workload.touches) {
      span_of_touch_.push_back(pieces_.Of(touch.pages));
    }
    for (const PageRange& range : workload.filled) {
      const Pieces::Span span = pieces_.Of(range);
      std::fill(has_data_.begin() + static_cast<std::ptrdiff_t>(span.first),
                has_data_.begin() + static_cast<std::ptrdiff_t>(span.end), std::uint8_t{1});
    }
  }

  Movement Simulate() {
    LookBack();
    for (int iteration = 0; iteration < iterations_; ++iteration) {
      for (std::size_t work = 0; work <= workload_.works.size(); ++work) {
        for (const std::size_t root : releases_.Before(work)) {
          Release(root);
        }
        if (work < workload_.works.size()) {
          ForEachPiece(workload_.works[work], [&](std::size_t piece) { Use(piece); });
        }
      }
    }
    return moved_;
  }

 private:
  template <typename Visit>
  void ForEachPiece(const Work& work, Visit&& visit) const {
    for (std::size_t touch = 0; touch < work.num_touches; ++touch) {
      const Pieces::Span span = span_of_touch_[work.first_touch + touch];
      for (std::size_t piece = span.first; piece < span.end; ++piece) {
        visit(piece);
      }
    }
  }

  // Finds for each use when its piece is used next, from the last to the first. Uses are numbered
  // down from kNever, as the number of all is known only at the end.
  void LookBack() {
    std::vector<std::int64_t> last_seen(pieces_.size(), kNever);
    std::int64_t number = kNever;
    std::vector<std::size_t> of_work;
    for (int iteration = 0; iteration < iterations_; ++iteration) {
      for (std::size_t work = workload_.works.size() + 1; work-- > 0;) {
        if (work < workload_.works.size()) {
          of_work.clear();
          ForEachPiece(workload_.works[work], [&](std::size_t piece) { of_work.push_back(piece); });
          for (const std::size_t piece : std::views::reverse(of_work)) {
            next_of_use_.push_back(std::exchange(last_seen[piece], --number));
          }
        }
        for (const std::size_t root : releases_.Before(work)) {
          const Pieces::Span span = pieces_.Of(workload_.roots[root].pages);
          std::fill(last_seen.begin() + static_cast<std::ptrdiff_t>(span.first),
                    last_seen.begin() + static_cast<std::ptrdiff_t>(span.end), kNever);
        }
      }
    }
  }

  void Use(std::size_t piece) {
    const std::int64_t next = next_of_use_.back();
    next_of_use_.pop_back();
    const std::int64_t missing = pieces_.NumPages(piece) - resident_[piece];
    moved_.pages_in += missing;
    moved_.pages_copied += has_data_[piece] != 0 ? missing : 0;
    has_data_[piece] = 1;
    Forget(piece);
    next_use_[piece] = next;
    MakeRoom(missing, next);
    const std::int64_t kept = std::min(missing, free_pages_);
    Leave(missing - kept);
    free_pages_ -= kept;
    resident_[piece] += kept;
    Remember(piece);
  }

  // Takes pages away that are needed later than `next`, the last first.
  void MakeRoom(std::int64_t wanted, std::int64_t next) {
    while (free_pages_ < wanted && !by_next_use_.empty()) {
      const auto [use, piece] = *by_next_use_.rbegin();
      if (use <= next) {
        return;
      }
      const std::int64_t taken = std::min(wanted - free_pages_, resident_[piece]);
      Leave(taken);
      free_pages_ += taken;
      resident_[piece] -= taken;
      if (resident_[piece] == 0) {
        by_next_use_.erase({use, piece});
      }
    }
  }

  void Leave(std::int64_t pages) {
    moved_.pages_out += pages;
    moved_.evictions += pages;
  }

  void Release(std::size_t root) {
    const Pieces::Span span = pieces_.Of(workload_.roots[root].pages);
    for (std::size_t piece = span.first; piece < span.end; ++piece) {
      Forget(piece);
      free_pages_ += std::exchange(resident_[piece], 0);
      has_data_[piece] = 0;
    }
  }

  void Remember(std::size_t piece) {
    if (resident_[piece] > 0) {
      by_next_use_.emplace(next_use_[piece], piece);
    }
  }

  void Forget(std::size_t piece) {
    if (resident_[piece] > 0) {
      by_next_use_.erase({next_use_[piece], piece});
    }
  }

  const Workload& workload_;
  int iterations_;
  std::int64_t free_pages_;
  Pieces pieces_;
  Releases releases_;
  std::vector<Pieces::Span> span_of_touch_;
  std::vector<std::int64_t> resident_;                          // [piece]: pages
  std::vector<std::int64_t> next_use_;                          // [piece]
  std::vector<std::uint8_t> has_data_;                          // [piece]
  std::vector<std::int64_t> next_of_use_;                       // [use], the last first
  std::set<std::pair<std::int64_t, std::size_t>> by_next_use_;  // of what is resident
  Movement moved_;
};

}  // namespace

Movement OracleMovement(const Workload& workload, std::int64_t capacity_bytes, int iterations) {
  return Oracle(workload, capacity_bytes, iterations).Simulate();
}

}  // namespace orrery::memory::uvm
