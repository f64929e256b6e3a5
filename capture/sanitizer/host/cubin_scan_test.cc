#include "capture/sanitizer/host/cubin_scan.h"

#include <cstdint>
#include <cstring>
#include <vector>

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace orrery::capture::sanitizer {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct TestCode {
  std::string name;
  std::vector<std::uint64_t> first_words;  // of its instructions
};

// The least that is a cubin: header, names, code, sections.
std::vector<std::byte> Cubin(const std::vector<TestCode>& all, std::uint32_t architecture = 90) {
  std::string bytes(sizeof(Elf64_Ehdr), '\0');
  std::string names(1, '\0');
  std::vector<Elf64_Shdr> sections(1);
  for (const TestCode& code : all) {
    Elf64_Shdr section{};
    section.sh_name = static_cast<Elf64_Word>(names.size());
    section.sh_offset = bytes.size();
    section.sh_size = code.first_words.size() * 16;
    names += ".text." + code.name + '\0';
    for (const std::uint64_t word : code.first_words) {
      bytes.append(reinterpret_cast<const char*>(&word), sizeof(word));
      bytes.append(8, '\0');
    }
    sections.push_back(section);
  }
  sections[0].sh_offset = bytes.size();  // the names
  sections[0].sh_size = names.size();
  bytes += names;
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_machine = 190;
  header.e_flags = architecture << 8U;
  header.e_shoff = bytes.size();
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = static_cast<Elf64_Half>(sections.size());
  bytes.append(reinterpret_cast<const char*>(sections.data()),
               sections.size() * sizeof(Elf64_Shdr));
  std::memcpy(bytes.data(), &header, sizeof(header));
  const auto* const begin = reinterpret_cast<const std::byte*>(bytes.data());
  return {begin, begin + bytes.size()};
}

// Words as CUDA 13.0 writes them: a plain store, a load and a store through a map, a call.
constexpr std::uint64_t kStore = 0x7986;
constexpr std::uint64_t kMapLoad = 0x75b4;
constexpr std::uint64_t kMapStore = 0x73b5;
constexpr std::uint64_t kCall = 0x7944;

TEST(CubinScanTest, KernelsWithTensorMapsAreNamed) {
  const auto kernels = KernelsWithTensorMaps(
      Cubin({{"plain", {kStore, kStore}}, {"load", {kStore, kMapLoad}}, {"store", {kMapStore}}}));
  ASSERT_TRUE(kernels.has_value());
  EXPECT_THAT(*kernels, ElementsAre("load", "store"));
}

TEST(CubinScanTest, AKernelThatCallsIsSuspectedWhereAnyCodeHasThem) {
  EXPECT_THAT(KernelsWithTensorMaps(Cubin({{"caller", {kCall}}, {"other", {kStore}}})).value(),
              IsEmpty());
  EXPECT_THAT(KernelsWithTensorMaps(Cubin({{"caller", {kCall}}, {"other", {kMapLoad}}})).value(),
              ElementsAre("caller", "other"));
}

TEST(CubinScanTest, WhatIsNotKnownIsNotClaimed) {
  EXPECT_FALSE(KernelsWithTensorMaps({}).has_value());
  EXPECT_FALSE(KernelsWithTensorMaps(Cubin({{"plain", {kStore}}}, 100)).has_value());
  EXPECT_FALSE(KernelsWithTensorMaps(Cubin({})).has_value());
}

TEST(CubinScanTest, ACutCubinIsRead) {
  const auto cubin = Cubin({{"load", {kMapLoad}}, {"plain", {kStore}}});
  for (std::size_t bytes = 0; bytes <= cubin.size(); ++bytes) {
    static_cast<void>(KernelsWithTensorMaps(std::span(cubin).first(bytes)));
  }
  EXPECT_TRUE(KernelsWithTensorMaps(cubin).has_value());
}

}  // namespace
}  // namespace orrery::capture::sanitizer
