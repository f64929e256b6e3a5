#include <algorithm>
#include <cstdio>

#include "experiment.h"

namespace managed {
namespace {

std::string List(const std::vector<int64_t>& values) {
  std::string text;
  for (const int64_t value : values) {
    text += (text.empty() ? "" : ", ") + std::to_string(value);
  }
  return "[" + text + "]";
}

}  // namespace

std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char character : text) {
    if (character == '"' || character == '\\') {
      quoted += '\\';
    }
    if (static_cast<unsigned char>(character) >= ' ') {
      quoted += character;
    }
  }
  return quoted + "\"";
}

int64_t Median(std::vector<int64_t> values) {
  const auto middle = values.begin() + static_cast<int64_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::string RowOf(const Experiment& experiment, const std::vector<int64_t>& total_ns,
                  const std::vector<int64_t>& call_ns) {
  std::string row = "{\"experiment\": " + Quoted(experiment.kind);
  const auto text = [&](const char* name, const std::string& value) {
    row += std::string(", \"") + name + "\": " + Quoted(value);
  };
  const auto number = [&](const char* name, int64_t value) {
    row += std::string(", \"") + name + "\": " + std::to_string(value);
  };
  text("backing", experiment.backing);
  text("order", experiment.order);
  text("access", experiment.access);
  row += std::string(", \"resident\": ") + (experiment.resident ? "true" : "false");
  number("blocks", experiment.blocks);
  number("pages_per_block", experiment.pages_per_block);
  number("bytes", experiment.bytes);
  number("calls", experiment.calls);
  number("compute_ns", experiment.compute_ns);
  number("median_ns", Median(total_ns));
  if (!call_ns.empty()) {
    number("call_median_ns", Median(call_ns));
  }
  return row + ", \"times_ns\": " + List(total_ns) + "}";
}

}  // namespace managed
