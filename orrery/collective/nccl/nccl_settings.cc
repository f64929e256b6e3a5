#include "orrery/collective/nccl/nccl_settings.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "orrery/base/collective_kind.h"
#include "orrery/base/error.h"
#include "orrery/base/text/decimal.h"
#include "orrery/base/text/text.h"
#include "orrery/base/units.h"
#include "orrery/collective/algorithm.h"
#include "orrery/collective/request.h"

namespace orrery::collective {
namespace {

using MaskOfKind = std::array<ChoiceMask, kNumCollectiveKinds>;

template <typename Choice>
ChoiceMask Bit(Choice choice) {
  return ChoiceMask{1} << static_cast<unsigned>(choice);
}

std::vector<std::string_view> SplitAt(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find_first_of(separators);
    if (end != 0 && !text.empty()) {
      parts.push_back(text.substr(0, end));
    }
    if (end == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(end + 1);
  }
}

template <typename Choice>
Result<Choice> FindChoice(std::string_view text, std::span<const Choice> choices,
                          std::string_view what) {
  std::vector<std::string_view> known;
  for (const Choice choice : choices) {
    if (SameIgnoringCase(Name(choice), text)) {
      return choice;
    }
    known.push_back(Name(choice));
  }
  return Invalid("'{}' is not a known {}; expected one of {}", text, what, fmt::join(known, ", "));
}

// "Ring,Tree" or "^NVLS".
template <typename Choice>
Result<ChoiceMask> ReadMask(std::string_view text, std::span<const Choice> choices,
                            std::string_view what) {
  const bool others = text.starts_with('^');
  ChoiceMask named = 0;
  ChoiceMask all = 0;
  for (const std::string_view word : SplitAt(text.substr(others ? 1 : 0), ",")) {
    ORRERY_TRY(const Choice choice, FindChoice(word, choices, what));
    named |= Bit(choice);
  }
  for (const Choice choice : choices) {
    all |= Bit(choice);
  }
  const ChoiceMask mask = others ? all & ~named : named;
  if (mask == 0) {
    return Invalid("'{}' leaves no {}", text, what);
  }
  return mask;
}

// "Ring" or "Ring;allreduce:^Tree,NVLS": the first, without a collective, applies to all that have
// no entry of their own.
template <typename Choice>
Status ReadMasks(std::string_view text, std::span<const Choice> choices, std::string_view what,
                 MaskOfKind& masks) {
  MaskOfKind own{};
  std::vector<std::string_view> entries = SplitAt(text, ";");
  if (entries.empty()) {
    entries.emplace_back();  // rejected like any list that leaves nothing
  }
  for (const std::string_view entry : entries) {
    const std::size_t colon = entry.find(':');
    if (colon == std::string_view::npos) {
      ORRERY_TRY(const ChoiceMask mask, ReadMask(entry, choices, what));
      masks.fill(mask);
      continue;
    }
    ORRERY_TRY(const CollectiveKind kind, ParseCollectiveKind(entry.substr(0, colon)));
    ORRERY_TRY(own[static_cast<std::size_t>(kind)],
               ReadMask(entry.substr(colon + 1), choices, what));
  }
  for (std::size_t kind = 0; kind < own.size(); ++kind) {
    masks[kind] = own[kind] == 0 ? masks[kind] : own[kind];
  }
  return {};
}

Status ReadAlgorithms(std::string_view text, NcclSettings& settings) {
  return ReadMasks<Algorithm>(text, kTunedAlgorithms, "algorithm of NCCL", settings.algorithms);
}

Status ReadProtocols(std::string_view text, NcclSettings& settings) {
  return ReadMasks<Protocol>(text, kProtocols, "protocol of NCCL", settings.protocols);
}

Result<std::int64_t> ReadNumber(std::string_view variable, std::string_view text,
                                std::int64_t least) {
  const std::optional<std::int64_t> number = ParseInteger(text);
  if (!number || *number < least || *number > (std::int64_t{1} << 30)) {
    return Invalid("{} must be a whole number of at least {}, not '{}'", variable, least, text);
  }
  return *number;
}

Status ReadVariable(std::string_view variable, std::string_view value, NcclSettings& settings) {
  if (variable == "NCCL_ALGO") {
    return ReadAlgorithms(value, settings);
  }
  if (variable == "NCCL_PROTO") {
    return ReadProtocols(value, settings);
  }
  if (variable == "NCCL_MIN_NCHANNELS") {
    ORRERY_TRY(settings.min_channels, ReadNumber(variable, value, 1));
  } else if (variable == "NCCL_MAX_NCHANNELS") {
    ORRERY_TRY(settings.max_channels, ReadNumber(variable, value, 1));
  } else if (variable == "NCCL_BUFFSIZE") {
    ORRERY_TRY(const std::int64_t bytes, ReadNumber(variable, value, 4096));
    settings.buffer = Bytes{bytes};
  } else if (variable == "NCCL_NVLS_ENABLE") {
    ORRERY_TRY(const std::int64_t enable, ReadNumber(variable, value, 0));
    settings.nvls = enable != 0;
  } else {
    return Invalid(
        "'{}' is not supported; expected one of NCCL_ALGO, NCCL_PROTO, "
        "NCCL_MIN_NCHANNELS, NCCL_MAX_NCHANNELS, NCCL_BUFFSIZE and "
        "NCCL_NVLS_ENABLE",
        variable);
  }
  return {};
}

bool IsProtocol(std::string_view word) {
  return std::ranges::any_of(
      kProtocols, [&](Protocol protocol) { return SameIgnoringCase(Name(protocol), word); });
}

std::string WithoutBrackets(std::string_view text) {
  std::string kept;
  int depth = 0;
  for (const char c : text) {
    depth += c == '(' ? 1 : 0;
    kept += depth > 0 ? ' ' : c;
    depth -= c == ')' && depth > 0 ? 1 : 0;
  }
  return kept;
}

struct Entry {
  std::string variable;  // empty: a bare word
  std::string value;
};

// Commas separate entries and list elements: a word without '=' belongs to the list before it, if
// any.
std::vector<Entry> ReadEntries(std::string_view text) {
  std::vector<Entry> entries;
  for (const std::string_view chunk : SplitAt(text, " \t")) {
    bool list_open = false;
    for (const std::string_view word : SplitAt(chunk, ",")) {
      const std::size_t equals = word.find('=');
      if (equals != std::string_view::npos) {
        entries.push_back(
            {std::string(word.substr(0, equals)), std::string(word.substr(equals + 1))});
        list_open = true;
      } else if (list_open) {
        entries.back().value += "," + std::string(word);
      } else {
        entries.push_back({"", std::string(word)});
      }
    }
  }
  return entries;
}

// All bare words form one list of algorithms and one of protocols.
Status ReadBareWords(const std::vector<Entry>& entries, NcclSettings& settings) {
  std::string algorithms;
  std::string protocols;
  for (const Entry& entry : entries) {
    if (entry.variable.empty()) {
      std::string& list = IsProtocol(entry.value) ? protocols : algorithms;
      list += (list.empty() ? "" : ",") + entry.value;
    }
  }
  if (!algorithms.empty()) {
    ORRERY_TRY_STATUS(ReadAlgorithms(algorithms, settings));
  }
  return protocols.empty() ? Status{} : ReadProtocols(protocols, settings);
}

}  // namespace

std::string_view Name(Algorithm algorithm) {
  constexpr std::array<std::string_view, 9> kNames = {
      "Tree",     "Ring", "CollnetDirect", "CollnetChain", "NVLS",
      "NVLSTree", "PAT",  "Hierarchical",  "Direct"};
  return kNames.at(static_cast<std::size_t>(algorithm));
}

std::string_view Name(Protocol protocol) {
  constexpr std::array<std::string_view, 3> kNames = {"LL", "LL128", "Simple"};
  return kNames.at(static_cast<std::size_t>(protocol));
}

bool NcclSettings::Allows(CollectiveKind kind, Algorithm algorithm) const {
  const ChoiceMask mask = algorithms[static_cast<std::size_t>(kind)];
  return mask == 0 || (mask & Bit(algorithm)) != 0;
}

bool NcclSettings::Allows(CollectiveKind kind, Protocol protocol) const {
  const ChoiceMask mask = protocols[static_cast<std::size_t>(kind)];
  return mask == 0 || (mask & Bit(protocol)) != 0;
}

bool NcclSettings::Asks(CollectiveKind kind, Algorithm algorithm) const {
  return (algorithms[static_cast<std::size_t>(kind)] & Bit(algorithm)) != 0;
}

bool NcclSettings::Asks(CollectiveKind kind, Protocol protocol) const {
  return (protocols[static_cast<std::size_t>(kind)] & Bit(protocol)) != 0;
}

Result<NcclSettings> ParseNcclSettings(std::string_view text) {
  NcclSettings settings;
  const std::vector<Entry> entries = ReadEntries(WithoutBrackets(text));
  for (const Entry& entry : entries) {
    if (!entry.variable.empty()) {
      ORRERY_TRY_STATUS(ReadVariable(entry.variable, entry.value, settings));
    }
  }
  ORRERY_TRY_STATUS(ReadBareWords(entries, settings));
  if (settings.min_channels && settings.max_channels &&
      *settings.min_channels > *settings.max_channels) {
    return Invalid("NCCL_MIN_NCHANNELS must not exceed NCCL_MAX_NCHANNELS: {} > {}",
                   *settings.min_channels, *settings.max_channels);
  }
  return settings;
}

}  // namespace orrery::collective
