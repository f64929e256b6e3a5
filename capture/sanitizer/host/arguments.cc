#include "capture/sanitizer/host/arguments.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace orrery::capture::sanitizer {
namespace {

TensorMaps::Key KeyOf(std::span<const std::byte> bytes) {
  TensorMaps::Key key{};
  std::copy_n(bytes.begin(), std::min(bytes.size(), key.size()), key.begin());
  return key;
}

constexpr std::size_t kWordBytes = 8;
// The driver allows maps at multiples of 64 bytes; a block of parameters is only as aligned as its
// parameters.
constexpr std::size_t kMapStep = 64;
constexpr std::uint32_t kMaxParameters = 4096;

std::uint64_t WordAt(std::span<const std::byte> block, std::size_t offset) {
  std::uint64_t word = 0;
  std::memcpy(&word, block.data() + offset, kWordBytes);
  return word;
}

bool IsKnown(const std::vector<Argument>& arguments, std::uint32_t range, std::uint64_t map) {
  return std::any_of(arguments.begin(), arguments.end(), [&](const Argument& known) {
    return known.range == range && (map == 0 || known.map == map);
  });
}

// Adds what the address points to, unless that is known; a map says more than a word.
void AddTarget(std::uint64_t address, std::uint64_t offset, std::uint64_t map,
               const ObjectSnapshot& objects, std::vector<Argument>& arguments) {
  const std::int64_t found = objects.Find(address);
  const auto range = static_cast<std::uint32_t>(found);
  if (found >= 0 && !IsKnown(arguments, range, map)) {
    arguments.push_back({range, address, offset, map});
  }
}

}  // namespace

TensorMaps::Added TensorMaps::Add(const TensorMapEvent& event) {
  const std::lock_guard lock(mutex_);
  const auto [known, is_new] =
      maps_.try_emplace(KeyOf(event.map), Known{maps_.size() + 1, event.address});
  num_maps_.store(maps_.size(), std::memory_order_release);
  return {known->second.id, is_new};
}

std::optional<TensorMaps::Known> TensorMaps::Find(std::span<const std::byte> bytes) const {
  if (bytes.size() < kTensorMapBytes) {
    return std::nullopt;
  }
  const std::lock_guard lock(mutex_);
  const auto found = maps_.find(KeyOf(bytes));
  return found == maps_.end() ? std::nullopt : std::optional(found->second);
}

void ParameterReader::Read(const LaunchCall& call, ParameterBlock& block) {
  block.function = call.function;
  block.bytes.assign(call.block.begin(), call.block.end());
  if (!call.block.empty() || call.parameters == nullptr) {
    return;
  }
  const auto layout = LayoutOf(call.function);
  for (std::size_t index = 0; const ParameterPlace& place : *layout) {
    block.bytes.resize(std::max<std::size_t>(block.bytes.size(), place.offset + place.bytes));
    std::memcpy(block.bytes.data() + place.offset, call.parameters[index++], place.bytes);
  }
}

std::shared_ptr<const ParameterReader::Layout> ParameterReader::LayoutOf(FunctionHandle function) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = layouts_.find(function); known != layouts_.end()) {
      return known->second;
    }
  }
  // Asking may load the function's module, whose callback comes in between: no lock is held.
  auto layout = std::make_shared<Layout>();
  ParameterPlace place;
  for (std::uint32_t index = 0; index < kMaxParameters; ++index) {
    if (calls_.ParameterInfo(function, index, &place) != 0) {
      break;
    }
    layout->push_back(place);
  }
  const std::lock_guard lock(mutex_);
  return layouts_.insert_or_assign(function, std::move(layout)).first->second;
}

void ParameterReader::ForgetAll() {
  const std::lock_guard lock(mutex_);
  layouts_.clear();
}

std::vector<Argument> FindArguments(std::span<const std::byte> block, const ObjectSnapshot& objects,
                                    const TensorMaps& maps) {
  std::vector<Argument> arguments;
  for (std::size_t offset = 0; offset + kWordBytes <= block.size(); offset += kWordBytes) {
    if (!maps.empty() && offset % kMapStep == 0) {
      if (const auto map = maps.Find(block.subspan(offset))) {
        AddTarget(map->address, offset, map->id, objects, arguments);
        offset += kTensorMapBytes - kWordBytes;
        continue;
      }
    }
    AddTarget(WordAt(block, offset), offset, 0, objects, arguments);
  }
  return arguments;
}

}  // namespace orrery::capture::sanitizer
