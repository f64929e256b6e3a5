#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/analyze/breakdown/data_loading.h"
#include "orrery/analyze/breakdown/exposed_copies.h"
#include "orrery/base/math/statistics.h"
#include "orrery/draw/format.h"
#include "orrery/report/document.h"
#include "orrery/report/run_report.h"
#include "orrery/trace/enums.h"

namespace orrery::report {
namespace {

constexpr double kWorthSaying = 0.01;     // of the time
constexpr double kUnequalCompute = 0.05;  // above the median
constexpr std::size_t kMaxNameWidth = 100;
constexpr double kMostlyCompute = 0.8;  // of the time

double ShareOf(const RankTime& rank, Part part) {
  const std::int64_t total_ns = TotalNs(rank);
  return total_ns == 0 ? 0
                       : static_cast<double>(rank.part_ns[static_cast<std::size_t>(part)]) /
                             static_cast<double>(total_ns);
}

// "From 1.2 % on rank 3 to 9.8 % on rank 5."
std::string RangeOver(const std::vector<RankTime>& ranks, Part part) {
  if (ranks.size() < 2) {
    return {};
  }
  const auto share = [part](const RankTime& rank) { return ShareOf(rank, part); };
  const auto least = std::ranges::min_element(ranks, {}, share);
  const auto most = std::ranges::max_element(ranks, {}, share);
  const std::string low = fmt::format("{:.1f} %", 100 * share(*least));
  const std::string high = fmt::format("{:.1f} %", 100 * share(*most));
  return low == high
             ? "The same on all ranks."
             : fmt::format("From {} on {} to {} on {}.", low, least->label, high, most->label);
}

std::string Capitalised(std::string text) {
  text[0] = text[0] >= 'a' && text[0] <= 'z' ? static_cast<char>(text[0] - 'a' + 'A') : text[0];
  return text;
}

std::string SavedText(const Straggler& rank) {
  if (!rank.saved_alone_ns) {
    return fmt::format("fixing it alone could save up to {}", draw::FormatDuration({rank.gain_ns}));
  }
  return *rank.saved_alone_ns == 0 ? "fixing it alone saves nothing in a replay of the step"
                                   : fmt::format("fixing it alone saves {} of the step in a replay",
                                                 draw::FormatDuration({*rank.saved_alone_ns}));
}

std::string OneCulprit(const Straggler& rank, std::int64_t all_blame_ns,
                       std::int64_t num_collectives) {
  const std::string cause = rank.cause.empty() ? "" : fmt::format(" ({})", rank.cause);
  const std::string saved = SavedText(rank);
  return fmt::format(
      "{} causes {:.0f} % of it: last at {} of {} collectives{}; {}.", Capitalised(rank.rank),
      100 * static_cast<double>(rank.blame_ns) / static_cast<double>(all_blame_ns),
      draw::FormatCount(rank.times_last), draw::FormatCount(num_collectives), cause, saved);
}

// The ranks that make the others wait: the worst rank, and the second if it is about as bad.
std::string BlameText(const RunReport& report) {
  std::int64_t blame_ns = 0;
  std::int64_t num_collectives = 0;
  for (const Straggler& rank : report.stragglers) {
    blame_ns += rank.blame_ns;
    num_collectives += rank.times_last;
  }
  if (blame_ns == 0) {
    return {};
  }
  std::string text = OneCulprit(report.stragglers[0], blame_ns, num_collectives);
  if (report.stragglers.size() > 1 &&
      2 * report.stragglers[1].blame_ns > report.stragglers[0].blame_ns) {
    text += " " + OneCulprit(report.stragglers[1], blame_ns, num_collectives);
    if (report.stragglers[1].saved_together_ns) {
      text += fmt::format(" Fixing both saves {}.",
                          draw::FormatDuration({*report.stragglers[1].saved_together_ns}));
    }
  }
  return text;
}

struct KindTime {
  std::int64_t transfer_ns = 0;
  std::int64_t count = 0;
  std::vector<double> rates;
  std::vector<double> shares;   // of the link that each uses, where that is known
  std::set<const Roof*> roofs;  // that they are shares of
};

std::string RateText(const KindTime& kind) {
  if (kind.rates.empty()) {
    return {};
  }
  std::string text =
      fmt::format(", median bus bandwidth {}", draw::FormatBandwidth({Median(kind.rates)}));
  if (!kind.shares.empty()) {
    text += fmt::format(
        ", {:.0f} % of the {}", 100 * Median(kind.shares),
        kind.roofs.size() == 1 ? (*kind.roofs.begin())->label : "link that each uses (card)");
  }
  return text;
}

std::string TransferText(const RunReport& report) {
  std::map<std::string_view, KindTime> by_kind;
  std::int64_t total_ns = 0;
  for (const CollectivePoint& point : report.collectives) {
    KindTime& kind = by_kind[point.kind];
    kind.transfer_ns += point.transfer_ns;
    total_ns += point.transfer_ns;
    ++kind.count;
    if (point.bus_bytes_per_second > 0) {
      kind.rates.push_back(point.bus_bytes_per_second);
      if (const Roof* const roof = RoofOf(point, report.roofs)) {
        kind.shares.push_back(point.bus_bytes_per_second / roof->bytes_per_second);
        kind.roofs.insert(roof);
      }
    }
  }
  if (total_ns == 0) {
    return {};
  }
  const auto most = std::ranges::max_element(
      by_kind, {}, [](const auto& entry) { return entry.second.transfer_ns; });
  const double share =
      100 * static_cast<double>(most->second.transfer_ns) / static_cast<double>(total_ns);
  const std::string how_much = by_kind.size() == 1 ? "All of it" : fmt::format("{:.0f} %", share);
  return fmt::format("{} is {}: {} call{}{}.", how_much, most->first,
                     draw::FormatCount(most->second.count), most->second.count == 1 ? "" : "s",
                     RateText(most->second));
}

// Adds what a replay gains, where it is worth saying: what is recommended has been tried.
std::string WithGain(std::string text, const RunReport& report, std::string_view what,
                     double ReplayedGains::* member) {
  const double gain = report.gains ? (*report.gains).*member : 0;
  if (gain < kWorthSaying) {
    return text;
  }
  return fmt::format("{}{}With {} twice as fast the step would be {:.1f} % shorter in a replay.",
                     text, text.empty() ? "" : " ", what, 100 * gain);
}

void AddPart(const RunReport& report, Part part, std::string_view sentence, std::string more,
             std::vector<Document::Finding>& findings) {
  const double share = MeanShares(report)[static_cast<std::size_t>(part)];
  if (share >= kWorthSaying) {
    findings.push_back({.text = fmt::format(fmt::runtime(sentence), 100 * share),
                        .more = std::move(more),
                        .share = share});
  }
}

std::string_view CopyText(trace::CopyKind kind) {
  switch (kind) {
    case trace::CopyKind::kHostToDevice:
      return "copies from host memory";
    case trace::CopyKind::kDeviceToHost:
      return "copies to host memory";
    case trace::CopyKind::kDeviceToDevice:
      return "copies within GPU memory";
    case trace::CopyKind::kPeerToPeer:
      return "copies between GPUs";
    default:
      return "";
  }
}

/// The copies that devices wait for, if these are nearly all of the time of exposed copies.
struct CopyCause {
  std::string_view text;
  std::size_t num_kinds = 0;  // of RunReport::copies, from the first
};

std::optional<CopyCause> CauseOf(const std::vector<analyze::ExposedCopies>& copies,
                                 std::int64_t exposed_ns) {
  constexpr double kNearlyAll = 0.9;
  const auto is_of_host = [](const analyze::ExposedCopies& one) {
    return one.kind == trace::CopyKind::kHostToDevice || one.kind == trace::CopyKind::kDeviceToHost;
  };
  const auto least_ns = static_cast<std::int64_t>(kNearlyAll * static_cast<double>(exposed_ns));
  if (copies.empty() || exposed_ns == 0) {
    return std::nullopt;
  }
  if (copies[0].exposed_ns >= least_ns && !CopyText(copies[0].kind).empty()) {
    return CopyCause{CopyText(copies[0].kind), 1};
  }
  if (copies.size() > 1 && is_of_host(copies[0]) && is_of_host(copies[1]) &&
      copies[0].exposed_ns + copies[1].exposed_ns >= least_ns) {
    return CopyCause{"copies from and to host memory", 2};
  }
  return std::nullopt;
}

// "Copies from host memory move 26.8 GB/s."
std::string CopyRate(const analyze::ExposedCopies& copies) {
  std::string text(CopyText(copies.kind));
  return copies.sized_ns == 0
             ? ""
             : fmt::format("{} move {}.", Capitalised(std::move(text)),
                           draw::FormatBandwidth({1e9 * static_cast<double>(copies.bytes) /
                                                  static_cast<double>(copies.sized_ns)}));
}

// Copies and memsets that nothing hides.
void AddCopies(const RunReport& report, std::vector<Document::Finding>& findings) {
  std::string sentence = "Memcpy and memset take {:.1f} % of the time, overlapped by nothing.";
  std::string more = RangeOver(report.rank_times, Part::kMemory);
  std::int64_t exposed_ns = 0;
  for (const RankTime& rank : report.rank_times) {
    exposed_ns += rank.part_ns[static_cast<std::size_t>(Part::kMemory)];
  }
  if (const auto cause = CauseOf(report.copies, exposed_ns)) {
    sentence = fmt::format("Devices wait for {} for {{:.1f}} % of the time.", cause->text);
    for (std::size_t i = cause->num_kinds; i-- > 0;) {
      const std::string rate = CopyRate(report.copies[i]);
      more = fmt::format("{}{}{}", rate, rate.empty() || more.empty() ? "" : " ", more);
    }
  }
  AddPart(report, Part::kMemory, sentence, more, findings);
}

// The rank whose compute takes longest, where that is much longer than the median.
void AddImbalance(const RunReport& report, std::vector<Document::Finding>& findings) {
  std::vector<double> compute;
  double total = 0;
  for (const RankTime& rank : report.rank_times) {
    compute.push_back(static_cast<double>(rank.part_ns[0]));
    total = std::max(total, static_cast<double>(TotalNs(rank)));
  }
  const double median = Median(compute);
  const auto slowest = std::ranges::max_element(compute);
  if (compute.size() < 2 || !(*slowest > median * (1 + kUnequalCompute)) || !(median > 0)) {
    return;
  }
  const RankTime& rank = report.rank_times[static_cast<std::size_t>(slowest - compute.begin())];
  findings.push_back(
      {.text = fmt::format("Work is uneven: {} computes {:.0f} % longer than the median rank.",
                           rank.label, 100 * (*slowest / median - 1)),
       .more = fmt::format("{} against {}.",
                           draw::FormatDuration({static_cast<std::int64_t>(*slowest)}),
                           draw::FormatDuration({static_cast<std::int64_t>(median)})),
       .share = (*slowest - median) / total});
}

double IdleShare(const analyze::DataLoading& loading) {
  return loading.total_ns == 0
             ? 0
             : static_cast<double>(loading.idle_ns) / static_cast<double>(loading.total_ns);
}

// Time in which the host waits for the next batch and devices have nothing to do.
void AddDataLoader(const RunReport& report, std::vector<Document::Finding>& findings) {
  if (report.data_loading.empty()) {
    return;
  }
  const auto worst = std::ranges::max_element(report.data_loading, {}, IdleShare);
  const double share = IdleShare(*worst);
  if (share < kWorthSaying) {
    return;
  }
  const std::string steps =
      worst->num_steps == 0 ? "of the recording"
      : worst->num_steps == 1
          ? "of the recorded step"
          : fmt::format("of {} recorded steps", draw::FormatCount(worst->num_steps));
  findings.push_back(
      {.text =
           fmt::format("Devices wait for the data loader for {:.1f} % of the time{}.", 100 * share,
                       report.data_loading.size() < 2
                           ? ""
                           : fmt::format(" on rank {}, where it is most", worst->rank)),
       .more = fmt::format(
           "The host is in the loader's next() for {} of the {} {}, and devices do nothing for {} "
           "of that. More workers (num_workers, prefetch_factor), pinned memory (pin_memory, "
           "copies "
           "with non_blocking) or less work for each sample would shorten it.",
           draw::FormatDuration({worst->loading_ns}), draw::FormatDuration({worst->total_ns}),
           steps, draw::FormatDuration({worst->idle_ns})),
       .share = share});
}

// ", nearly all on rank 3": where one rank has most of the path.
std::string MostlyOnRank(const CriticalPath& path) {
  std::map<std::int32_t, std::int64_t> by_rank;
  for (const Hop& hop : path.hops) {
    by_rank[hop.rank] += hop.duration_ns;
  }
  const auto most =
      std::ranges::max_element(by_rank, {}, [](const auto& entry) { return entry.second; });
  if (by_rank.size() < 2 && path.num_rank_changes == 0 && most != by_rank.end()) {
    return fmt::format(", all on rank {}", most->first);
  }
  const double share = most == by_rank.end() ? 0
                                             : static_cast<double>(most->second) /
                                                   static_cast<double>(path.length_ns);
  return share < 0.5 ? "" : fmt::format("; {:.0f} % of it on rank {}", 100 * share, most->first);
}

void AddPath(const RunReport& report, std::vector<Document::Finding>& findings) {
  if (!report.critical_path || report.critical_path->length_ns <= 0) {
    return;
  }
  const CriticalPath& path = *report.critical_path;
  const std::vector<ClassTime> classes = TimeByClass(path);
  if (classes.empty()) {
    return;
  }
  const double share =
      static_cast<double>(classes[0].time_ns) / static_cast<double>(path.length_ns);
  Document::Finding finding{
      .text = fmt::format("{:.0f} % of the critical path, which decides how long the "
                          "step takes, is {}{}.",
                          100 * share, ClassName(classes[0].path_class),
                          report.rank_times.size() < 2 ? "" : MostlyOnRank(path)),
      .share = share};
  const HopSum largest = LargestSums(path, 1).front();
  if (!largest.longest->name.empty()) {
    finding.more =
        fmt::format("The largest single item is {} ({}): {} in {} {}.",
                    draw::Truncated(largest.longest->name, kMaxNameWidth),
                    ClassName(largest.longest->path_class), draw::FormatDuration({largest.time_ns}),
                    draw::FormatCount(largest.count), largest.count == 1 ? "hop" : "hops");
  }
  findings.push_back(std::move(finding));
}

}  // namespace

std::int64_t TotalNs(const RankTime& rank) {
  return std::accumulate(rank.part_ns.begin(), rank.part_ns.end(), std::int64_t{0});
}

std::array<double, kNumParts> MeanShares(const RunReport& report) {
  std::array<double, kNumParts> shares{};
  for (std::size_t part = 0; part < kNumParts; ++part) {
    for (const RankTime& rank : report.rank_times) {
      shares[part] += ShareOf(rank, static_cast<Part>(part));
    }
    shares[part] /= static_cast<double>(std::max<std::size_t>(1, report.rank_times.size()));
  }
  return shares;
}

std::vector<Document::Finding> FindingsOf(const RunReport& report) {
  std::vector<Document::Finding> findings;
  if (MeanShares(report)[0] >= kMostlyCompute) {
    AddPart(report, Part::kCompute, "Devices compute for {:.1f} % of the time.",
            WithGain(RangeOver(report.rank_times, Part::kCompute), report, "compute",
                     &ReplayedGains::compute),
            findings);
  }
  AddPart(report, Part::kWaiting,
          "Ranks spend {:.1f} % of the time waiting for others to arrive at a collective.",
          BlameText(report), findings);
  const bool is_matched = std::ranges::any_of(report.collectives, &CollectivePoint::is_matched);
  AddPart(report, Part::kTransfer,
          is_matched
              ? "Transfer takes {:.1f} % of the time, and no compute hides it."
              : "Communication takes {:.1f} % of the time, and no compute hides it; how much "
                "of it is waiting is not known, since nothing was matched over ranks.",
          is_matched ? WithGain(TransferText(report), report, "a network", &ReplayedGains::network)
                     : TransferText(report),
          findings);
  // A recording of accesses has launches without times: that is not idleness.
  const bool has_device_time = MeanShares(report)[static_cast<std::size_t>(Part::kIdle)] < 1;
  AddPart(
      report, Part::kIdle,
      has_device_time ? "Devices do nothing for {:.1f} % of the time."
                      : "{:.0f} % of the time is not accounted for: no device work with a time "
                        "was recorded.",
      WithGain(RangeOver(report.rank_times, Part::kIdle), report, "the CPU", &ReplayedGains::host),
      findings);
  AddCopies(report, findings);
  AddDataLoader(report, findings);
  AddImbalance(report, findings);
  AddPath(report, findings);
  std::ranges::stable_sort(findings, std::greater{}, [](const Document::Finding& finding) {
    return finding.share.value_or(0);
  });
  return findings;
}

}  // namespace orrery::report
