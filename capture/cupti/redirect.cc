#include "capture/cupti/redirect.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

namespace orrery::capture {
namespace {

#if defined(__x86_64__)
constexpr std::uint64_t kCallReference = R_X86_64_JUMP_SLOT;
constexpr std::uint64_t kDataReference = R_X86_64_GLOB_DAT;
#elif defined(__aarch64__)
constexpr std::uint64_t kCallReference = R_AARCH64_JUMP_SLOT;
constexpr std::uint64_t kDataReference = R_AARCH64_GLOB_DAT;
#else
#error "capture runs on x86-64 and aarch64"
#endif

struct Search {
  std::span<const Redirection> redirections;
  std::span<const void* const> except;
  std::size_t num_changed = 0;
};

/// The tables of a loaded object that its linkage goes by.
struct Tables {
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  std::span<const ElfW(Rela)> calls = {};
  std::span<const ElfW(Rela)> data = {};
};

std::span<const ElfW(Rela)> Entries(ElfW(Addr) begin, std::size_t bytes) {
  return {reinterpret_cast<const ElfW(Rela)*>(begin), bytes / sizeof(ElfW(Rela))};
}

Tables TablesOf(const ElfW(Dyn) * entry) {
  Tables tables;
  ElfW(Addr) calls = 0;
  ElfW(Addr) data = 0;
  std::size_t calls_bytes = 0;
  std::size_t data_bytes = 0;
  for (; entry->d_tag != DT_NULL; ++entry) {
    switch (entry->d_tag) {
      case DT_SYMTAB:
        tables.symbols = reinterpret_cast<const ElfW(Sym)*>(entry->d_un.d_ptr);
        break;
      case DT_STRTAB:
        tables.names = reinterpret_cast<const char*>(entry->d_un.d_ptr);
        break;
      case DT_JMPREL:
        calls = entry->d_un.d_ptr;
        break;
      case DT_PLTRELSZ:
        calls_bytes = entry->d_un.d_val;
        break;
      case DT_RELA:
        data = entry->d_un.d_ptr;
        break;
      case DT_RELASZ:
        data_bytes = entry->d_un.d_val;
        break;
      default:
        break;
    }
  }
  tables.calls = Entries(calls, calls == 0 ? 0 : calls_bytes);
  tables.data = Entries(data, data == 0 ? 0 : data_bytes);
  return tables;
}

// The page may be read-only by now (RELRO).
bool Change(void** slot, void* function) {
  const auto page_bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  void* const page =
      reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(slot) & ~(page_bytes - 1));
  if (*slot == function || mprotect(page, page_bytes, PROT_READ | PROT_WRITE) != 0) {
    return false;
  }
  __atomic_store_n(slot, function, __ATOMIC_RELEASE);
  return true;
}

void ChangeEntries(std::span<const ElfW(Rela)> entries, const Tables& tables, ElfW(Addr) base,
                   Search& search) {
  for (const ElfW(Rela) & entry : entries) {
    const std::uint64_t type = ELF64_R_TYPE(entry.r_info);
    if (type != kCallReference && type != kDataReference) {
      continue;
    }
    const char* const name = tables.names + tables.symbols[ELF64_R_SYM(entry.r_info)].st_name;
    const auto found = std::find_if(search.redirections.begin(), search.redirections.end(),
                                    [name](const Redirection& redirection) {
                                      return std::strcmp(name, redirection.name) == 0;
                                    });
    if (found != search.redirections.end()) {
      void** const slot = reinterpret_cast<void**>(base + entry.r_offset);
      search.num_changed += Change(slot, found->function) ? 1 : 0;
    }
  }
}

bool Contains(const dl_phdr_info& object, const void* address) {
  const auto place = reinterpret_cast<std::uintptr_t>(address);
  return std::any_of(
      object.dlpi_phdr, object.dlpi_phdr + object.dlpi_phnum, [&](const ElfW(Phdr) & part) {
        const std::uintptr_t begin = object.dlpi_addr + part.p_vaddr;
        return part.p_type == PT_LOAD && place >= begin && place < begin + part.p_memsz;
      });
}

// The kernel's own object (vdso) has addresses that the loader did not relocate.
bool IsLoaded(const dl_phdr_info& object, const Tables& tables) {
  return tables.names != nullptr && tables.symbols != nullptr && Contains(object, tables.names);
}

int ChangeObject(dl_phdr_info* object, std::size_t /*bytes*/, void* data) {
  auto& search = *static_cast<Search*>(data);
  if (std::any_of(search.except.begin(), search.except.end(),
                  [object](const void* address) { return Contains(*object, address); })) {
    return 0;
  }
  for (const ElfW(Phdr) & part : std::span(object->dlpi_phdr, object->dlpi_phnum)) {
    if (part.p_type != PT_DYNAMIC) {
      continue;
    }
    const Tables tables =
        TablesOf(reinterpret_cast<const ElfW(Dyn)*>(object->dlpi_addr + part.p_vaddr));
    if (IsLoaded(*object, tables)) {
      ChangeEntries(tables.calls, tables, object->dlpi_addr, search);
      ChangeEntries(tables.data, tables, object->dlpi_addr, search);
    }
  }
  return 0;
}

}  // namespace

std::size_t RedirectCalls(std::span<const Redirection> redirections,
                          std::span<const void* const> except) {
  Search search{.redirections = redirections, .except = except};
  dl_iterate_phdr(ChangeObject, &search);
  return search.num_changed;
}

unsigned long long NumLoadedSoFar() {
  unsigned long long count = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* data) {
        *static_cast<unsigned long long*>(data) = object->dlpi_adds;
        return 1;
      },
      &count);
  return count;
}

}  // namespace orrery::capture
