#include "orrery/network/flow_simulation.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <utility>
#include <vector>

#include "orrery/base/check.h"
#include "orrery/network/fair_filling.h"
#include "orrery/network/topology.h"

namespace orrery::network {
namespace {

constexpr double kPsPerSecond = 1e12;
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

// Rounds up, but noise of the last digits above a whole picosecond is none. Beyond a hundred days
// the clock ends.
std::int64_t LaterBy(std::int64_t time_ps, double span_ps) {
  constexpr double kLongest = 9e18;
  const double nearest = std::round(span_ps);
  const bool is_whole = std::abs(span_ps - nearest) <= std::max(span_ps * 1e-12, 1e-6);
  const double rounded = is_whole ? nearest : std::ceil(span_ps);
  if (!(rounded + static_cast<double>(time_ps) < kLongest)) {
    return kNever - 1;
  }
  return time_ps + static_cast<std::int64_t>(rounded);
}

// The timing of a flow; the table has the rest.
struct Transfer {
  double remaining_bytes = 0;
  std::int64_t start_ps = 0;
  std::int64_t updated_ps = 0;
  std::int64_t finish_ps = kNever;
  bool is_on_links = false;
  bool has_ended = false;
};

// A time and a row; an entry whose time is no longer that of its flow is skipped.
using QueueEntry = std::pair<std::int64_t, FlowRow>;

class TimeQueue {
 public:
  void Push(std::int64_t time_ps, FlowRow row) {
    heap_.emplace_back(time_ps, row);
    std::ranges::push_heap(heap_, std::greater<>());
  }

  // Replaces the content by `entries`. The first time often has many, which need no heap.
  void Reset(std::span<const QueueEntry> entries) {
    front_.clear();
    heap_.clear();
    const QueueEntry least = entries.empty() ? QueueEntry() : *std::ranges::min_element(entries);
    for (const QueueEntry& entry : std::views::reverse(entries)) {
      (entry.first == least.first ? front_ : heap_).push_back(entry);
    }
    std::ranges::make_heap(heap_, std::greater<>());
  }

  void Pop() {
    if (IsFrontNext()) {
      front_.pop_back();
      return;
    }
    std::ranges::pop_heap(heap_, std::greater<>());
    heap_.pop_back();
  }

  const QueueEntry& top() const { return IsFrontNext() ? front_.back() : heap_.front(); }

  bool empty() const { return front_.empty() && heap_.empty(); }

  std::size_t size() const { return front_.size() + heap_.size(); }

 private:
  bool IsFrontNext() const {
    return !front_.empty() && (heap_.empty() || front_.back().first <= heap_.front().first);
  }

  std::vector<QueueEntry> front_;  // of one time
  std::vector<QueueEntry> heap_;
};

std::vector<std::uint8_t> NetworkLinks(const Topology& topology) {
  std::vector<std::uint8_t> is_network;
  for (const Link& link : topology.links()) {
    is_network.push_back(link.kind == LinkKind::kNetwork ? 1 : 0);
  }
  return is_network;
}

}  // namespace

class FlowSimulation::State {
 public:
  State(std::vector<double> capacity, const FlowSimulationOptions& options,
        std::vector<std::uint8_t> loses_goodput)
      : options_(options),
        table_(static_cast<std::uint32_t>(capacity.size()), options.congestion != nullptr),
        filling_(table_, std::move(capacity), options.congestion, std::move(loses_goodput)) {}

  // `links` is a list of links or of their uses.
  template <typename Links>
  FlowId Add(const Links& links, const FlowSpec& spec) {
    ORRERY_CHECK(spec.start_ps >= now_ps_, "a flow starts now or later");
    ORRERY_CHECK(spec.weight > 0 && spec.multiplicity > 0 && spec.cap_bytes_per_second > 0,
                 "weight, multiplicity and cap of a flow are above zero");
    ForgetEnded();
    const FlowRow row = table_.Append(links, {.weight = spec.weight,
                                              .cap_bytes_per_second = spec.cap_bytes_per_second,
                                              .multiplicity = spec.multiplicity});
    transfers_.push_back({.remaining_bytes = spec.bytes, .start_ps = spec.start_ps});
    ++unfinished_;
    if (spec.start_ps == now_ps_) {
      Start(row);
    } else {
      starts_.Push(spec.start_ps, row);
    }
    return first_id_ + row;
  }

  std::optional<std::int64_t> NextEventPs() {
    Settle();
    const std::int64_t next = std::min(NextStart(), NextEnd());
    return next == kNever ? std::nullopt : std::optional(next);
  }

  std::span<const FlowEnd> Advance() {
    ended_.clear();
    while (ended_.empty() && unfinished_ > 0) {
      Settle();
      const std::int64_t end_ps = NextEnd();
      now_ps_ = std::min(NextStart(), end_ps);
      if (end_ps == now_ps_) {
        TakeEnds();
      }
      for (; NextStart() == now_ps_; starts_.Pop()) {
        Start(starts_.top().second);
      }
    }
    return ended_;
  }

  double Rate(FlowId id) {
    Settle();
    if (id < first_id_ || transfers_[id - first_id_].has_ended) {
      return 0;
    }
    const TableFlow& flow = table_.flow(static_cast<FlowRow>(id - first_id_));
    return flow.level * flow.weight;
  }

  std::int64_t now_ps() const { return now_ps_; }

  FlowId num_flows() const { return first_id_ + transfers_.size(); }

  const FlowSimulationWork& work() const { return work_; }

 private:
  // Without active flows all rows can be reused, so that long runs do not grow.
  void ForgetEnded() {
    if (unfinished_ > 0 || transfers_.empty()) {
      return;
    }
    Settle();
    first_id_ = num_flows();
    table_.Clear();
    transfers_.clear();
    ends_.Reset({});
  }

  void Start(FlowRow row) {
    Transfer& transfer = transfers_[row];
    transfer.updated_ps = now_ps_;
    const TableFlow& flow = table_.flow(row);
    const bool is_instant =
        !(transfer.remaining_bytes > 0) || (flow.num_uses == 0 && std::isinf(flow.cap_level));
    if (is_instant) {
      instant_.push_back(row);
      return;
    }
    transfer.is_on_links = true;
    table_.PutOnLinks(row);
    filling_.FlowAdded(row);
  }

  // Updates rates for the flows that were added and removed.
  void Settle() {
    if (!filling_.is_stale()) {
      return;
    }
    const std::span<const FairFilling::Filled> filled = filling_.Refill();
    ++work_.updates;
    work_.filled_flows += filled.size();
    const bool order_all = filled.size() * 4 > table_.active().size() ||
                           ends_.size() > 4 * (table_.active().size() + 256);
    for (const FairFilling::Filled& flow : filled) {
      if (table_.flow(flow.flow).level != flow.old_level) {
        ChangeRate(flow.flow, flow.old_level, !order_all);
      }
    }
    if (order_all) {
      OrderEnds();
    }
  }

  void ChangeRate(FlowRow row, double old_level, bool push) {
    Transfer& transfer = transfers_[row];
    const TableFlow& flow = table_.flow(row);
    const auto span_ps = static_cast<double>(now_ps_ - transfer.updated_ps);
    transfer.remaining_bytes = std::max(
        transfer.remaining_bytes - old_level * flow.weight * (span_ps / kPsPerSecond), 0.0);
    transfer.updated_ps = now_ps_;
    transfer.finish_ps =
        LaterBy(now_ps_, transfer.remaining_bytes / (flow.level * flow.weight) * kPsPerSecond);
    if (push) {
      ends_.Push(transfer.finish_ps, row);
    }
  }

  void OrderEnds() {
    entries_.clear();
    for (const FlowRow row : table_.active()) {
      entries_.emplace_back(transfers_[row].finish_ps, row);
    }
    ends_.Reset(entries_);
  }

  std::int64_t NextStart() const { return starts_.empty() ? kNever : starts_.top().first; }

  std::int64_t NextEnd() {
    if (!instant_.empty()) {
      return now_ps_;
    }
    while (!ends_.empty()) {
      const auto [time_ps, row] = ends_.top();
      if (!transfers_[row].has_ended && transfers_[row].finish_ps == time_ps) {
        return time_ps;
      }
      ends_.Pop();
    }
    return kNever;
  }

  // Returns true if a flow that ends next is merged with those that end now.
  bool EndsNow(std::int64_t end_ps) {
    if (end_ps == kNever || end_ps == now_ps_) {
      return end_ps == now_ps_;
    }
    const Transfer& transfer = transfers_[ends_.top().second];
    return static_cast<double>(end_ps - now_ps_) <=
           options_.merge_ends_within * static_cast<double>(now_ps_ - transfer.start_ps);
  }

  void TakeEnds() {
    for (const FlowRow row : instant_) {
      End(row);
    }
    instant_.clear();
    while (EndsNow(NextEnd())) {
      End(ends_.top().second);
      ends_.Pop();
    }
    if (!std::ranges::is_sorted(ended_, {}, &FlowEnd::flow)) {
      std::ranges::sort(ended_, {}, &FlowEnd::flow);
    }
    if (unfinished_ == starts_.size()) {
      table_.TakeAllOffLinks();
      filling_.AllFlowsRemoved();
      return;
    }
    for (const FlowEnd& end : ended_) {
      const auto row = static_cast<FlowRow>(end.flow - first_id_);
      if (transfers_[row].is_on_links) {
        table_.TakeOffLinks(row);
        filling_.FlowRemoved(row);
      }
    }
  }

  void End(FlowRow row) {
    transfers_[row].has_ended = true;
    --unfinished_;
    ended_.push_back({.flow = first_id_ + row, .time_ps = now_ps_});
  }

  FlowSimulationOptions options_;
  FlowTable table_;
  FairFilling filling_;
  std::vector<Transfer> transfers_;
  std::vector<FlowRow> instant_;  // started and ended now
  TimeQueue starts_;
  TimeQueue ends_;
  std::vector<QueueEntry> entries_;
  std::vector<FlowEnd> ended_;
  std::int64_t now_ps_ = 0;
  std::size_t unfinished_ = 0;
  FlowId first_id_ = 0;
  FlowSimulationWork work_;
};

FlowSimulation::FlowSimulation(const Topology& topology, FlowSimulationOptions options)
    : state_(std::make_unique<State>(
          topology.Capacities(), options,
          options.congestion == nullptr ? std::vector<std::uint8_t>() : NetworkLinks(topology))) {}

FlowSimulation::FlowSimulation(std::span<const double> capacity_of_link)
    : state_(std::make_unique<State>(
          std::vector<double>(capacity_of_link.begin(), capacity_of_link.end()),
          FlowSimulationOptions{}, std::vector<std::uint8_t>())) {}

FlowSimulation::FlowSimulation(FlowSimulation&&) noexcept = default;
FlowSimulation& FlowSimulation::operator=(FlowSimulation&&) noexcept = default;
FlowSimulation::~FlowSimulation() = default;

FlowId FlowSimulation::Add(std::span<const LinkUse> uses, const FlowSpec& spec) {
  return state_->Add(uses, spec);
}

FlowId FlowSimulation::Add(std::span<const LinkId> path, const FlowSpec& spec) {
  return state_->Add(path, spec);
}

std::int64_t FlowSimulation::now_ps() const {
  return state_->now_ps();
}

std::optional<std::int64_t> FlowSimulation::NextEventPs() {
  return state_->NextEventPs();
}

std::span<const FlowEnd> FlowSimulation::Advance() {
  return state_->Advance();
}

std::vector<std::int64_t> FlowSimulation::Run() {
  std::vector<std::int64_t> end_ps(state_->num_flows());
  while (true) {
    const std::span<const FlowEnd> ended = state_->Advance();
    if (ended.empty()) {
      return end_ps;
    }
    for (const FlowEnd& end : ended) {
      end_ps[end.flow] = end.time_ps;
    }
  }
}

double FlowSimulation::rate(FlowId flow) {
  return state_->Rate(flow);
}

const FlowSimulationWork& FlowSimulation::work() const {
  return state_->work();
}

}  // namespace orrery::network
