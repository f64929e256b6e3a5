#include "capture/sanitizer/host/functions.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <elf.h>

#include "capture/recorder/demangled.h"

namespace orrery::capture::sanitizer {
namespace {

constexpr std::uint16_t kCudaMachine = 190;
constexpr std::string_view kCodePrefix = ".text.";
constexpr std::size_t kInstructionBytes = 16;
constexpr std::uint32_t kKnownArchitecture = 90;

// The low bits of an instruction say what it does; those above, where its operands are.
constexpr std::uint64_t kOperationMask = 0x1ff;
constexpr std::uint64_t kTensorLoad = 0x1b4;
constexpr std::uint64_t kTensorStore = 0x1b5;
constexpr std::uint64_t kTensorReduction = 0x1b6;
constexpr std::uint64_t kAbsoluteCall = 0x143;
constexpr std::uint64_t kRelativeCall = 0x144;

/// A view of a file in memory that answers nothing beyond its end.
class Image {
 public:
  explicit Image(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <typename T>
  [[nodiscard]] bool Read(std::uint64_t offset, T& value) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) {
      return false;
    }
    std::memcpy(&value, bytes_.data() + offset, sizeof(T));
    return true;
  }

  [[nodiscard]] std::span<const std::byte> Part(std::uint64_t offset, std::uint64_t bytes) const {
    return offset > bytes_.size() || bytes_.size() - offset < bytes ? std::span<const std::byte>()
                                                                    : bytes_.subspan(offset, bytes);
  }

  [[nodiscard]] std::string_view TextAt(std::uint64_t offset) const {
    if (offset >= bytes_.size()) {
      return {};
    }
    const auto* const begin = reinterpret_cast<const char*>(bytes_.data() + offset);
    return {begin, ::strnlen(begin, bytes_.size() - offset)};
  }

 private:
  std::span<const std::byte> bytes_;
};

struct Code {
  std::string kernel;
  bool has_maps = false;
  bool has_calls = false;
};

Code CodeIn(std::string_view name, std::span<const std::byte> bytes) {
  Code code{.kernel = std::string(name)};
  for (std::size_t at = 0; at + kInstructionBytes <= bytes.size(); at += kInstructionBytes) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, sizeof(word));
    const std::uint64_t operation = word & kOperationMask;
    code.has_maps = code.has_maps || operation == kTensorLoad || operation == kTensorStore ||
                    operation == kTensorReduction;
    code.has_calls = code.has_calls || operation == kAbsoluteCall || operation == kRelativeCall;
  }
  return code;
}

bool ReadHeader(const Image& image, Elf64_Ehdr& header) {
  return image.Read(0, header) && std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
         header.e_machine == kCudaMachine && header.e_shentsize == sizeof(Elf64_Shdr);
}

std::vector<Code> AllCode(const Image& image, const Elf64_Ehdr& header) {
  std::vector<Code> all;
  Elf64_Shdr names{};
  Elf64_Shdr section{};
  if (!image.Read(header.e_shoff + header.e_shstrndx * sizeof(section), names)) {
    return all;
  }
  for (std::uint64_t index = 0; index < header.e_shnum; ++index) {
    if (!image.Read(header.e_shoff + index * sizeof(section), section)) {
      break;
    }
    const std::string_view name = image.TextAt(names.sh_offset + section.sh_name);
    if (name.starts_with(kCodePrefix)) {
      all.push_back(
          CodeIn(name.substr(kCodePrefix.size()), image.Part(section.sh_offset, section.sh_size)));
    }
  }
  return all;
}

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

std::optional<std::set<std::string>> KernelsWithTensorMaps(std::span<const std::byte> cubin) {
  const Image image(cubin);
  Elf64_Ehdr header{};
  if (!ReadHeader(image, header)) {
    return std::nullopt;
  }
  const std::uint32_t architecture = header.e_flags >> 8U & 0xffU;
  if (architecture != kKnownArchitecture) {
    return std::nullopt;
  }
  const std::vector<Code> all = AllCode(image, header);
  bool has_any = false;
  for (const Code& code : all) {
    has_any = has_any || code.has_maps;
  }
  std::set<std::string> kernels;
  for (const Code& code : all) {
    if (code.has_maps || (code.has_calls && has_any)) {
      kernels.insert(code.kernel);
    }
  }
  return all.empty() ? std::nullopt : std::optional(kernels);
}

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
