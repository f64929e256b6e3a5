#include "orrery/network/topology_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/error.h"
#include "orrery/base/text/parse_number.h"
#include "orrery/base/text/text.h"
#include "orrery/network/topology.h"

namespace orrery::network {
namespace {

constexpr std::uint64_t kMostNodes = 8'000'000;

struct Unit {
  std::string_view name;
  double factor;
};

// To bytes per second and to picoseconds; longer names before those they end in.
constexpr std::array<Unit, 6> kRateUnits{{{"Tbps", 125e9},
                                          {"Gbps", 125e6},
                                          {"Mbps", 125e3},
                                          {"Kbps", 125},
                                          {"kbps", 125},
                                          {"bps", 0.125}}};
constexpr std::array<Unit, 4> kTimeUnits{{{"ms", 1e9}, {"us", 1e6}, {"ns", 1e3}, {"s", 1e12}}};

std::optional<double> NumberWithUnit(std::string_view text, std::span<const Unit> units) {
  for (const Unit& unit : units) {
    if (text.ends_with(unit.name)) {
      const auto number = ParseWhole<double>(text.substr(0, text.size() - unit.name.size()));
      return number && std::isfinite(*number) ? std::optional(*number * unit.factor) : std::nullopt;
    }
  }
  return std::nullopt;
}

std::optional<std::uint32_t> Count(std::string_view text) {
  const auto value = ParseWhole<std::uint32_t>(text);
  return value && *value <= kMostNodes ? value : std::nullopt;
}

class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}

  // The words of the next line that has any; none at the end.
  std::vector<std::string_view> Next() {
    std::vector<std::string_view> words;
    while (words.empty() && !rest_.empty()) {
      ++number_;
      const std::string_view line = rest_.substr(0, rest_.find('\n'));
      rest_.remove_prefix(std::min(line.size() + 1, rest_.size()));
      Split(line, words);
    }
    return words;
  }

  int number() const { return number_; }

 private:
  static void Split(std::string_view line, std::vector<std::string_view>& words) {
    constexpr std::string_view kBlank = " \t\r";
    for (std::size_t at = line.find_first_not_of(kBlank); at != std::string_view::npos;) {
      const std::size_t end = std::min(line.find_first_of(kBlank, at), line.size());
      words.push_back(line.substr(at, end - at));
      at = line.find_first_not_of(kBlank, end);
    }
  }

  std::string_view rest_;
  int number_ = 0;
};

struct Header {
  std::uint32_t nodes = 0;
  std::uint32_t nvswitches = 0;
  std::uint32_t switches = 0;
  std::uint32_t links = 0;
};

class Reader {
 public:
  Reader(std::string_view text, std::string_view file) : lines_(text), file_(file) {}

  Result<Topology> Read() && {
    ORRERY_TRY_STATUS(ReadHeader());
    ORRERY_TRY_STATUS(ReadSwitches());
    AddNodes();
    for (std::uint32_t link = 0; link < header_.links; ++link) {
      ORRERY_TRY_STATUS(ReadLink(link));
    }
    if (!lines_.Next().empty()) {
      return Bad(
          fmt::format("more links than the {} of the first line; raise it there", header_.links));
    }
    Result<Topology> topology = std::move(builder_).Build();
    return topology ? std::move(topology) : FailWithin(file_, topology);
  }

 private:
  enum Role : std::uint8_t { kGpu, kNvswitch, kSwitch };

  tl::unexpected<Error> Bad(std::string_view what) const {
    return Invalid("{}: line {}: {}", file_, std::max(lines_.number(), 1), what);
  }

  Status ReadHeader() {
    const std::vector<std::string_view> words = lines_.Next();
    std::array<std::optional<std::uint32_t>, 5> counts;
    for (std::size_t i = 0; i < counts.size() && i < words.size(); ++i) {
      counts[i] = Count(words[i]);
    }
    if (!(counts[0] && counts[1] && counts[2] && counts[3] && counts[4])) {
      return Bad(
          "the first line must be: nodes gpus_per_server nvswitches switches links gpu_type");
    }
    header_ = {
        .nodes = *counts[0], .nvswitches = *counts[2], .switches = *counts[3], .links = *counts[4]};
    if (std::uint64_t{header_.nvswitches} + header_.switches >= header_.nodes) {
      return Bad(fmt::format("{} nodes leave no GPU besides {} switches", header_.nodes,
                             header_.nvswitches + header_.switches));
    }
    return {};
  }

  Status ReadSwitches() {
    role_.assign(header_.nodes, kGpu);
    const std::uint32_t num_switches = header_.nvswitches + header_.switches;
    const std::vector<std::string_view> words =
        num_switches == 0 ? std::vector<std::string_view>() : lines_.Next();
    if (words.size() != num_switches) {
      return Bad(
          fmt::format("the second line must name {} switches, not {}", num_switches, words.size()));
    }
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::optional<std::uint32_t> node = Count(words[i]);
      if (!node || *node >= header_.nodes || role_[*node] != kGpu) {
        return Bad(fmt::format("a switch must be a node below {} that is named once: {}",
                               header_.nodes, words[i]));
      }
      role_[*node] = i < header_.nvswitches ? kNvswitch : kSwitch;
    }
    return {};
  }

  void AddNodes() {
    for (std::uint32_t node = 0; node < header_.nodes; ++node) {
      if (role_[node] == kGpu) {
        builder_.AddGpu(fmt::format("gpu{}", node));
      } else {
        builder_.AddNode(
            NodeKind::kSwitch,
            fmt::format("{}{}", role_[node] == kNvswitch ? "nvswitch" : "switch", node));
      }
    }
  }

  Status ReadLink(std::uint32_t index) {
    const std::vector<std::string_view> words = lines_.Next();
    if (words.empty()) {
      return Bad(fmt::format("the file ends after {} of {} links", index, header_.links));
    }
    if (words.size() < 4) {
      return Bad("a link must be: from to bandwidth latency error_rate");
    }
    const std::optional<std::uint32_t> from = Count(words[0]);
    const std::optional<std::uint32_t> to = Count(words[1]);
    if (!from || !to || *from >= header_.nodes || *to >= header_.nodes || *from == *to) {
      return Bad(fmt::format("a link must connect two different nodes below {}: {} {}",
                             header_.nodes, words[0], words[1]));
    }
    if (!joined_.insert(std::minmax(*from, *to)).second) {
      return Bad(
          fmt::format("nodes {} and {} are linked already; write one link with the bandwidth "
                      "of both",
                      *from, *to));
    }
    ORRERY_TRY(Wire wire, WireOf(words[2], words[3]));
    wire.kind = role_[*from] == kNvswitch || role_[*to] == kNvswitch ? LinkKind::kNvlink
                                                                     : LinkKind::kNetwork;
    builder_.AddCable(*from, *to, wire);
    return {};
  }

  Result<Wire> WireOf(std::string_view bandwidth, std::string_view latency) const {
    const std::optional<double> rate = NumberWithUnit(bandwidth, kRateUnits);
    if (!rate || !(*rate > 0)) {
      return Bad(
          fmt::format("bandwidth must be above zero and have a unit such as Gbps: {}", bandwidth));
    }
    const std::optional<double> latency_ps = NumberWithUnit(latency, kTimeUnits);
    if (!latency_ps || !(*latency_ps >= 0 && *latency_ps < 1e18)) {
      return Bad(
          fmt::format("latency must not be negative and must have a unit such as ns: {}", latency));
    }
    return Wire{.bandwidth = {*rate}, .latency_ps = std::llround(*latency_ps)};
  }

  Lines lines_;
  std::string_view file_;
  Header header_;
  std::vector<Role> role_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> joined_;
  TopologyBuilder builder_;
};

}  // namespace

Result<Topology> ReadSimaiText(std::string_view text, std::string_view file) {
  return Reader(text, file).Read();
}

Result<Topology> ReadTopologyText(std::string_view text, std::string_view file) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && IsDigit(text[first])) {
    return ReadSimaiText(text, file);
  }
  if (Contains(text, "npus_count")) {
    return ReadAstraSimYaml(text, file);
  }
  return ReadTopologyYaml(text, file);
}

}  // namespace orrery::network
