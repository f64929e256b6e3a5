#include "orrery/hardware/gpu.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <yaml-cpp/yaml.h>

#include "orrery/base/text/text.h"
#include "orrery/hardware/embedded_catalogue.h"

namespace orrery::hardware {
namespace {

bool IsWordCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

bool HasWord(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string_view::npos;
       at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool begins = at == 0 || !IsWordCharacter(text[at - 1]);
    const bool ends = end == text.size() || !IsWordCharacter(text[end]);
    if (begins && ends) {
      return true;
    }
  }
  return false;
}

constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kOtherSpellings{{
    {"bfloat16", "bf16"},
    {"float16", "fp16"},
    {"half", "fp16"},
    {"float32", "fp32"},
    {"float", "fp32"},
    {"float64", "fp64"},
    {"double", "fp64"},
    {"float8", "fp8"},
    {"mxfp8", "fp8"},
    {"e4m3", "fp8"},
}};

Gpu ReadGpu(const YAML::Node& node) {
  Gpu gpu;
  gpu.name = node["name"].as<std::string>();
  gpu.vendor = node["vendor"].as<std::string>();
  gpu.match = node["match"].as<MatchWords>();
  gpu.generation = node["generation"].as<std::string>();
  gpu.year = node["year"].as<int>();
  gpu.multiprocessors = node["sms"].as<int>();
  gpu.clock_hz = node["clock_mhz"].as<double>() * 1e6;
  gpu.last_level_cache = {node["l2_mb"].as<std::int64_t>() * (std::int64_t{1} << 20)};
  gpu.memory_size = {node["memory_gb"].as<std::int64_t>() * std::int64_t{1'000'000'000}};
  gpu.power_watts = node["power_w"].as<double>();
  gpu.memory = {node["memory_gbps"].as<double>() * 1e9};
  gpu.link = {node["link_gbps"].as<double>() * 1e9};
  gpu.host_link = {node["host_gbps"].as<double>() * 1e9};
  for (const auto& peak : node["peaks"]) {
    gpu.peak_flops[peak.first.as<std::string>()] = peak.second.as<double>() * 1e12;
  }
  gpu.source = node["source"].as<std::string>();
  return gpu;
}

}  // namespace

bool IsCalled(std::string_view name, const MatchWords& match) {
  const std::string lower = LowerCase(name);
  return std::ranges::any_of(match, [&](const std::vector<std::string>& words) {
    return std::ranges::all_of(words, [&](const std::string& w) { return HasWord(lower, w); });
  });
}

std::optional<double> Gpu::PeakFlops(std::string_view precision) const {
  if (const auto found = peak_flops.find(precision); found != peak_flops.end()) {
    return found->second;
  }
  std::string key = LowerCase(precision);
  for (const auto& [other, ours] : kOtherSpellings) {
    if (key == other) {
      key = ours;
    }
  }
  const auto found = peak_flops.find(key);
  return found == peak_flops.end() ? std::nullopt : std::optional(found->second);
}

const std::vector<Gpu>& GpuCatalogue() {
  static const std::vector<Gpu> catalogue = [] {
    std::vector<Gpu> gpus;
    for (const YAML::Node& node : YAML::Load(kEmbeddedGpus)["gpus"]) {
      gpus.push_back(ReadGpu(node));
    }
    return gpus;
  }();
  return catalogue;
}

const Gpu* FindGpu(std::string_view name) {
  const auto& gpus = GpuCatalogue();
  const auto found =
      std::ranges::find_if(gpus, [&](const Gpu& gpu) { return IsCalled(name, gpu.match); });
  return found == gpus.end() ? nullptr : &*found;
}

}  // namespace orrery::hardware
