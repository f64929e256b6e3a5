#include "orrery/ingest/param_comms/run_facts.h"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "orrery/ingest/nccl_tests/run.h"
#include "orrery/ingest/nccl_tests/run_header.h"
#include "orrery/ingest/text_behind.h"

namespace orrery::ingest::param_comms {
namespace {

constexpr std::int64_t kMaxRanks = 1'000'000;
constexpr std::string_view kGreeting = "[Rank";
constexpr std::string_view kHost = " host ";

std::string_view FirstWord(std::string_view text) {
  return text.substr(0, text.find_first_of(" \t\r,'\"]"));
}

std::optional<std::int64_t> CountAt(std::string_view text) {
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_count = error == std::errc() && value >= 0 && value <= kMaxRanks;
  return is_count ? std::optional(value) : std::nullopt;
}

void TakeWord(std::string_view line, std::string_view key, std::string& value) {
  if (const std::string_view word = FirstWord(TextBehind(line, key)); !word.empty()) {
    value = word;
  }
}

// Every greeting of the line: "[Rank   3] host node-a, device: cuda:3, …". With mpi4py one line
// holds those of all ranks.
void ReadGreetings(std::string_view line, std::map<std::int64_t, std::string>& host_of_rank) {
  for (std::size_t at = line.find(kGreeting); at != std::string_view::npos;
       at = line.find(kGreeting, at + 1)) {
    const std::string_view greeting = line.substr(at, line.find(kGreeting, at + 1) - at);
    const auto rank = CountAt(TextBehind(greeting, kGreeting));
    const std::string_view host = FirstWord(TextBehind(greeting, kHost));
    if (rank && !host.empty()) {
      host_of_rank[*rank] = host;
    }
  }
}

}  // namespace

bool RunFacts::IsGreeting(std::string_view line) {
  return line.find(kGreeting) != std::string_view::npos &&
         line.find(kHost) != std::string_view::npos;
}

void RunFacts::ReadLine(std::string_view line) {
  for (const std::string_view key : {"world_size:", "'world_size':", "groupSize"}) {
    if (const auto ranks = CountAt(TextBehind(line, key)); ranks && *ranks > 0) {
      num_ranks = ranks;
    }
  }
  TakeWord(line, "--collective ", collective);
  TakeWord(line, "--collective=", collective);
  TakeWord(line, "\t collective=", collective);
  TakeWord(line, "args.dtype: torch.", data_type);
  if (IsGreeting(line)) {
    ReadGreetings(line, host_of_rank);
  }
  if (nccl_tests::IsVersionLine(line)) {
    nccl_tests::Run versions;
    nccl_tests::ReadVersionLine(line, versions);
    nccl_version = versions.nccl_version;
  }
}

}  // namespace orrery::ingest::param_comms
