#include "orrery/analyze/straggler/arrivals.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <tuple>
#include <vector>

#include "orrery/analyze/run_view.h"
#include "orrery/base/math/statistics.h"
#include "orrery/trace/trace_set.h"

namespace orrery::analyze {
namespace {

class ArrivalCounter {
 public:
  explicit ArrivalCounter(const RunView& run) : run_(run) {}

  void Add(std::size_t instance) {
    const auto& matched = run_.matched;
    Group& group = groups_[matched.instances.group[instance]];
    const std::uint32_t last = run_.waits.last_member[instance];
    const std::int64_t last_ns = run_.waits.last_arrival_ns[instance];
    std::uint32_t first = matched.instances.first_member[instance];
    std::int64_t second_last_ns = std::numeric_limits<std::int64_t>::min();
    std::vector<double> begins;
    std::int64_t waits_ns = 0;
    for (const std::uint32_t member : matched.MembersOf(instance)) {
      const std::int64_t begin_ns = matched.members.begin_ns[member];
      first = begin_ns < matched.members.begin_ns[first] ? member : first;
      second_last_ns = member == last ? second_last_ns : std::max(second_last_ns, begin_ns);
      // Relative, since doubles do not hold nanoseconds since 1970.
      begins.push_back(static_cast<double>(begin_ns - last_ns));
      RankArrivals& rank = Of(group, member);
      rank.wait_ns += run_.waits.wait_ns[member];
      rank.duration_ns += matched.members.end_ns[member] - begin_ns;
      waits_ns += run_.waits.wait_ns[member];
    }
    ++Of(group, first).times_first;
    RankArrivals& late = Of(group, last);
    ++late.times_last;
    late.blame_ns += waits_ns - run_.waits.wait_ns[last];
    late.gain_ns += last_ns - second_last_ns;
    ++group.num_collectives;
    group.lateness_ns += -Median(begins);
  }

  [[nodiscard]] std::vector<GroupArrivals> Finish() const {
    std::vector<GroupArrivals> result;
    for (const auto& [number, group] : groups_) {
      GroupArrivals& arrivals = result.emplace_back();
      arrivals.group = number;
      arrivals.num_collectives = group.num_collectives;
      arrivals.lateness_ns = group.lateness_ns;
      for (const auto& [rank, counts] : group.ranks) {
        arrivals.ranks.push_back(counts);
      }
    }
    return result;
  }

 private:
  struct Group {
    std::int64_t num_collectives = 0;
    double lateness_ns = 0;
    std::map<std::int32_t, RankArrivals> ranks;
  };

  RankArrivals& Of(Group& group, std::uint32_t member) {
    const std::uint32_t rank_index = run_.matched.members.rank_index[member];
    const std::int32_t rank = trace::RankOf(*run_.set, rank_index);
    RankArrivals& arrivals = group.ranks[rank];
    arrivals.rank = rank;
    arrivals.rank_index = rank_index;
    return arrivals;
  }

  const RunView& run_;
  std::map<std::uint32_t, Group> groups_;
};

}  // namespace

std::vector<GroupArrivals> CountArrivals(const RunView& run) {
  ArrivalCounter counter(run);
  for (std::size_t instance = 0; instance < run.matched.size(); ++instance) {
    if (run.Counts(instance) && run.matched.instances.num_members[instance] > 1) {
      counter.Add(instance);
    }
  }
  return counter.Finish();
}

std::vector<RankArrivals> ArrivalsByRank(const std::vector<GroupArrivals>& groups) {
  std::map<std::int32_t, RankArrivals> sums;
  for (const GroupArrivals& group : groups) {
    for (const RankArrivals& rank : group.ranks) {
      RankArrivals& sum = sums[rank.rank];
      sum.rank = rank.rank;
      sum.rank_index = rank.rank_index;
      sum.times_last += rank.times_last;
      sum.times_first += rank.times_first;
      sum.wait_ns += rank.wait_ns;
      sum.duration_ns += rank.duration_ns;
      sum.blame_ns += rank.blame_ns;
      sum.gain_ns += rank.gain_ns;
    }
  }
  std::vector<RankArrivals> ranks;
  for (const auto& [rank, sum] : sums) {
    ranks.push_back(sum);
  }
  std::ranges::sort(ranks, {}, [](const RankArrivals& rank) {
    return std::tuple(-rank.blame_ns, -rank.gain_ns, rank.rank);
  });
  return ranks;
}

}  // namespace orrery::analyze
