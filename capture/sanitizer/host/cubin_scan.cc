#include "capture/sanitizer/host/cubin_scan.h"

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include <elf.h>

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

}  // namespace orrery::capture::sanitizer
