#include "capture/sanitizer/host/functions.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <utility>

#include "capture/recorder/demangled.h"
#include "capture/sanitizer/host/cubin_scan.h"

namespace orrery::capture::sanitizer {
namespace {

// FNV-1a over words of 8 bytes: cubins have hundreds of megabytes.
std::uint64_t HashOf(std::span<const std::byte> bytes) {
  constexpr std::uint64_t kPrime = 0x100000001b3;
  std::uint64_t hash = 0xcbf29ce484222325;
  for (std::size_t offset = 0; offset < bytes.size(); offset += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + offset, std::min(sizeof(word), bytes.size() - offset));
    hash = (hash ^ word) * kPrime;
  }
  return hash;
}

std::string HexOf(std::uint64_t number) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text(16, '0');
  for (std::size_t place = text.size(); place-- > 0; number >>= 4U) {
    text[place] = kDigits[number & 0xf];
  }
  return text;
}

}  // namespace

std::shared_ptr<const FunctionFacts> Functions::Find(const LaunchEvent& event) {
  const std::lock_guard lock(mutex_);
  const auto found = known_.find(event.function.value);
  return found == known_.end() ? nullptr : found->second.facts;
}

std::shared_ptr<const FunctionFacts> Functions::Add(const LaunchEvent& event, bool is_patched) {
  auto facts = std::make_shared<FunctionFacts>();
  facts->name = Demangled(event.name == nullptr ? "" : event.name);
  facts->is_patched = is_patched;
  std::uint64_t bytes = 0;
  if (calls_.FunctionPlace(event.module, event.name, &facts->pc, &bytes) != 0) {
    facts->pc = 0;
    bytes = 0;
  }
  const std::lock_guard lock(mutex_);
  const auto found = modules_.find(event.module.value);
  static const Module unknown;
  const Module& module = found == modules_.end() ? unknown : found->second;
  facts->may_use_tensor_maps =
      !module.kernels_with_maps || module.kernels_with_maps->contains(event.name);
  facts->id = recorder_.Function(facts->name, module.number, bytes,
                                 module.kernels_with_maps && facts->may_use_tensor_maps);
  return known_.try_emplace(event.function.value, Known{event.module, facts}).first->second.facts;
}

void Functions::AddModule(const ModuleEvent& event, std::uint64_t context) {
  const std::string hash = event.cubin.empty() ? "" : HexOf(HashOf(event.cubin));
  Module module{
      .number = recorder_.Module(context, event.module.value, hash, "", event.cubin.size()),
      .kernels_with_maps = KernelsWithTensorMaps(event.cubin)};
  const std::lock_guard lock(mutex_);
  modules_[event.module.value] = std::move(module);
}

void Functions::ForgetModule(const ModuleEvent& event, std::uint64_t context) {
  recorder_.ForgetModule(context, event.module.value);
  const std::lock_guard lock(mutex_);
  modules_.erase(event.module.value);
  std::erase_if(known_, [&](const auto& entry) { return entry.second.module == event.module; });
}

}  // namespace orrery::capture::sanitizer
