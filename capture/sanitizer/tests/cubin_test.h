#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <elf.h>

namespace orrery::capture::sanitizer {

/// Code of one kernel.
struct TestCode {
  std::string name;
  std::vector<std::uint64_t> first_words;  // of its instructions
};

/// The least that is a cubin: header, names, code, sections.
inline std::vector<std::byte> Cubin(const std::vector<TestCode>& all,
                                    std::uint32_t architecture = 90) {
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

}  // namespace orrery::capture::sanitizer
