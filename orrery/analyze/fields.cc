#include "orrery/analyze/fields.h"

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include <fmt/core.h>

#include "orrery/analyze/run_view.h"
#include "orrery/hardware/gpu.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

namespace orrery::analyze {
namespace {

// Sections that may contain a field. Cards without model_arch have its fields directly under model.
constexpr std::array<std::string_view, 9> kPlaces{"workload.model.model_arch.",
                                                  "workload.model.",
                                                  "workload.data.",
                                                  "workload.hardware.xpu_spec.",
                                                  "workload.hardware.",
                                                  "workload.hardware.network_topo.",
                                                  "model_executor.model_plan_parallelization.",
                                                  "model_executor.expert_parallel.",
                                                  "model_executor."};

// Returns the first value of a field that `get(path)` accepts.
template <typename Get>
auto FirstOf(const trace::TraceSet& set, std::string_view field, Get&& get)
    -> decltype(get(std::string())) {
  for (const std::string_view place : kPlaces) {
    if (const auto value = set.card ? get(std::string(place).append(field)) : std::nullopt) {
      return value;
    }
  }
  return std::nullopt;
}

template <typename T>
std::optional<T> IfPositive(std::optional<T> number) {
  return number && *number > 0 ? number : std::nullopt;
}

constexpr std::string_view kBlanks = " \t\r\n";

std::size_t SkipBlanks(std::string_view text, std::size_t at) {
  const std::size_t next = text.find_first_not_of(kBlanks, at);
  return next == std::string_view::npos ? text.size() : next;
}

// From a quote to behind the quote that closes it.
std::size_t EndOfString(std::string_view text, std::size_t quote) {
  for (std::size_t at = quote + 1; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == '"') {
      return at + 1;
    }
  }
  return text.size();
}

// To the comma behind a value that may hold lists and objects.
std::size_t EndOfValue(std::string_view text, std::size_t at) {
  int depth = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"') {
      at = EndOfString(text, at);
      continue;
    }
    if (depth == 0 && c == ',') {
      break;
    }
    depth += static_cast<int>(c == '{' || c == '[') - static_cast<int>(c == '}' || c == ']');
    ++at;
  }
  return at;
}

std::string_view Trimmed(std::string_view value) {
  value.remove_suffix(value.size() - (value.find_last_not_of(kBlanks) + 1));
  return value.size() >= 2 && value.front() == '"' ? value.substr(1, value.size() - 2) : value;
}

}  // namespace

std::optional<double> CardNumber(const trace::TraceSet& set, std::string_view field) {
  return FirstOf(set, field,
                 [&](const std::string& path) { return IfPositive(set.card->Number(path)); });
}

std::optional<std::int64_t> CardInteger(const trace::TraceSet& set, std::string_view field) {
  return FirstOf(set, field,
                 [&](const std::string& path) { return IfPositive(set.card->Integer(path)); });
}

std::optional<std::string_view> CardText(const trace::TraceSet& set, std::string_view field) {
  return FirstOf(set, field, [&](const std::string& path) { return set.card->Text(path); });
}

std::string WhyNoCardValue(const trace::TraceSet& set, std::string_view field) {
  return set.card ? fmt::format("the workload card has no usable {}", field)
                  : fmt::format("no workload card (it would give {})", field);
}

std::int64_t CardParallelSize(const trace::TraceSet& set, std::string_view dimension) {
  if (dimension == "dp") {
    return CardInteger(set, "dp_replicate").value_or(1) * CardInteger(set, "dp_shard").value_or(1);
  }
  return CardInteger(set, dimension).value_or(1);
}

std::optional<double> CardLinkBytesPerSecond(const trace::TraceSet& set, bool inside_node) {
  const auto gigabits = CardNumber(set, inside_node ? "bandwidth_gbps.1" : "bandwidth_gbps.0");
  return gigabits ? std::optional(*gigabits * 1e9 / 8) : std::nullopt;
}

const hardware::Gpu* ChipOf(const RunView& run) {
  if (const auto model = CardText(*run.set, "xpu_spec.model")) {
    if (const hardware::Gpu* const gpu = hardware::FindGpu(*model)) {
      return gpu;
    }
  }
  return run.set->ranks.empty() ? nullptr
                                : hardware::FindGpu(trace::DeviceName(run.set->ranks.front()));
}

std::optional<std::string_view> JsonField(std::string_view fields, std::string_view key) {
  std::size_t at = SkipBlanks(fields, 0);
  while (at < fields.size() && fields[at] == '"') {
    const std::size_t key_end = EndOfString(fields, at);
    const std::string_view found = fields.substr(at + 1, key_end - at - 2);
    const std::size_t colon = fields.find(':', key_end);
    if (colon == std::string_view::npos) {
      return std::nullopt;
    }
    const std::size_t value = SkipBlanks(fields, colon + 1);
    const std::size_t end = EndOfValue(fields, value);
    if (found == key) {
      return Trimmed(fields.substr(value, end - value));
    }
    at = SkipBlanks(fields, end + 1);
  }
  return std::nullopt;
}

std::optional<double> JsonNumber(std::string_view fields, std::string_view key) {
  const auto text = JsonField(fields, key);
  if (!text) {
    return std::nullopt;
  }
  double number = 0;
  const auto [stop, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  return error == std::errc() && stop == text->data() + text->size() ? std::optional(number)
                                                                     : std::nullopt;
}

}  // namespace orrery::analyze
