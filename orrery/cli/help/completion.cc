#include "orrery/cli/help/completion.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/api/list.h"
#include "orrery/base/text/text.h"
#include "orrery/cli/description.h"

namespace orrery::cli {
namespace {

constexpr std::string_view kBash =
    R"SH(# bash completion of orrery; load it with: source <(orrery completion bash)
_orrery() {
  local word
  COMPREPLY=()
  while IFS=$'\t' read -r word _; do
    COMPREPLY+=("$(printf '%q' "$word")")
  done < <("${COMP_WORDS[0]}" completion words "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _orrery orrery
)SH";

// As a file _orrery of $fpath it is run at the first completion; sourced, it is only defined.
constexpr std::string_view kZsh = R"SH(#compdef orrery
# zsh completion of orrery; load it with: source <(orrery completion zsh)
_orrery() {
  local line meaning
  local -a candidates
  for line in ${(f)"$(${words[1]} completion words "${(@)words[2,CURRENT]}" 2>/dev/null)"}; do
    meaning=${line#*$'\t'}
    candidates+=("${${line%%$'\t'*}//:/\\:}${meaning:+:$meaning}")
  done
  if (( $#candidates )); then
    _describe orrery candidates -M 'm:{a-zA-Z}={A-Za-z}'
  else
    _files
  fi
}
if [[ $funcstack[1] == _orrery ]]; then _orrery "$@"; else compdef _orrery orrery; fi
)SH";

constexpr std::string_view kFish =
    R"SH(# fish completion of orrery; load it with: orrery completion fish | source
function __orrery_words
    set -l words (commandline -opc) (commandline -ct)
    orrery completion words $words[2..-1] 2>/dev/null
end
complete -c orrery -f -n 'string length -q -- (__orrery_words)' -a '(__orrery_words)'
)SH";

std::vector<Candidate> Words(const std::vector<std::string>& words) {
  std::vector<Candidate> candidates;
  for (const std::string& word : words) {
    candidates.push_back({word});
  }
  return candidates;
}

// Joins what bash split: "--gpu", "=", "H". Returns what it keeps before the last piece.
std::string JoinAtEquals(std::vector<std::string>& words) {
  std::string kept;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "=") {
      const bool is_last = i + 1 == words.size();
      kept = i + 2 >= words.size() ? words[i - 1] + "=" : "";
      words[i - 1] += "=" + (is_last ? std::string() : words[i + 1]);
      words.erase(words.begin() + static_cast<std::ptrdiff_t>(i),
                  words.begin() + static_cast<std::ptrdiff_t>(i + (is_last ? 1 : 2)));
      --i;
    }
  }
  return kept;
}

const OptionDescription* FindOption(const VerbDescription& verb, std::string_view name) {
  const auto found = std::ranges::find_if(verb.options, [&](const OptionDescription& option) {
    return std::ranges::find(option.names, name) != option.names.end();
  });
  return found == verb.options.end() ? nullptr : &*found;
}

// Keys of a job that name something: "model=llama3-8b".
std::vector<Candidate> JobSettings() {
  std::vector<Candidate> candidates;
  for (const std::string thing : {"model", "gpu", "cluster", "framework"}) {
    for (const std::string& name : api::ListedNames(thing + "s")) {
      candidates.push_back({fmt::format("{}={}", thing, name)});
    }
  }
  return candidates;
}

std::vector<Candidate> ValuesOf(const VerbDescription& verb, const OptionDescription& option) {
  static const std::map<std::string_view, std::string_view> kLists{
      {"--gpu", "gpus"}, {"--cluster", "clusters"}, {"--metric", "metrics"}};
  const std::string_view name = option.names.back();
  const auto list = kLists.find(name);
  if (list != kLists.end() && !option.value.starts_with(" INT")) {
    return Words(api::ListedNames(list->second));
  }
  if (name == "--set" && option.value.starts_with(" KEY=")) {
    return JobSettings();
  }
  std::vector<Candidate> candidates = Words(option.choices);
  for (const OptionDescription& other : verb.options) {  // "--tool heat" is a title
    if (const std::string title = std::string(name) + " "; other.group.starts_with(title)) {
      candidates.push_back({other.group.substr(title.size())});
    }
  }
  return candidates;
}

std::vector<Candidate> OptionsOf(const VerbDescription& verb) {
  std::vector<Candidate> candidates;
  for (const OptionDescription& option : verb.options) {
    for (const std::string& name : option.names) {
      if (name.starts_with("--")) {
        candidates.push_back({name, option.text});
      }
    }
  }
  return candidates;
}

// Verbs below a verb, and choices of its positionals.
std::vector<Candidate> PositionalsOf(const VerbDescription& verb) {
  std::vector<Candidate> candidates;
  for (const VerbDescription& below : verb.verbs) {
    candidates.push_back({below.name, below.text});
  }
  for (const OptionDescription& option : verb.options) {
    if (option.IsPositional()) {
      std::ranges::copy(Words(option.choices), std::back_inserter(candidates));
    }
  }
  return candidates;
}

const VerbDescription* FindBelow(const VerbDescription& verb, std::string_view name) {
  const auto found = std::ranges::find(verb.verbs, name, &VerbDescription::name);
  return found == verb.verbs.end() ? nullptr : &*found;
}

/// The position of the next word.
struct Place {
  const VerbDescription* verb;
  const OptionDescription* option = nullptr;  // whose value it is; none: of the verb
};

Place PlaceBehind(const VerbDescription& program, std::span<const std::string> words) {
  Place place{&program};
  for (const std::string& word : words) {
    const OptionDescription* const option = FindOption(*place.verb, word);
    place.option = option != nullptr && !option->value.empty() ? option : nullptr;
    if (const VerbDescription* const below = FindBelow(*place.verb, word)) {
      place.verb = below->name == "help" ? &program : below;  // help is followed by any verb
    }
  }
  return place;
}

std::vector<Candidate> CandidatesAt(const Place& place, std::string_view beginning) {
  if (place.option != nullptr) {
    return ValuesOf(*place.verb, *place.option);
  }
  if (const std::size_t equals = beginning.find('=');
      beginning.starts_with("--") && equals != std::string_view::npos) {
    const OptionDescription* const option = FindOption(*place.verb, beginning.substr(0, equals));
    std::vector<Candidate> values =
        option == nullptr ? std::vector<Candidate>() : ValuesOf(*place.verb, *option);
    for (Candidate& value : values) {
      value.word.insert(0, beginning.substr(0, equals + 1));
    }
    return values;
  }
  return beginning.starts_with('-') ? OptionsOf(*place.verb) : PositionalsOf(*place.verb);
}

}  // namespace

std::vector<Candidate> CandidatesFor(const VerbDescription& program,
                                     std::vector<std::string> words) {
  for (std::string& word : words) {  // bash hands quotes over as they are typed
    std::erase_if(word, [](char c) { return c == '\\' || c == '"' || c == '\''; });
  }
  const std::string kept = JoinAtEquals(words);
  const std::string last = words.empty() ? "" : words.back();
  const Place place =
      PlaceBehind(program, std::span(words).first(words.size() - (words.empty() ? 0 : 1)));
  std::vector<Candidate> candidates;
  for (Candidate& candidate : CandidatesAt(place, last)) {
    if (!LowerCase(candidate.word).starts_with(LowerCase(last))) {
      continue;
    }
    candidate.word.erase(0, kept.size());
    if (std::ranges::find(candidates, candidate) == candidates.end()) {
      candidates.push_back(std::move(candidate));
    }
  }
  return candidates;
}

std::string_view CompletionScript(std::string_view shell) {
  return shell == "bash" ? kBash : shell == "zsh" ? kZsh : shell == "fish" ? kFish : "";
}

}  // namespace orrery::cli
