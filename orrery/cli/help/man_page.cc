#include "orrery/cli/help/man_page.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/cli/description.h"

namespace orrery::cli {
namespace {

// Text as roff reads it: backslashes and dashes are escaped, and a line may begin with any letter.
std::string Roff(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    const bool begins_line = escaped.empty() || escaped.back() == '\n';
    escaped += begins_line && (c == '.' || c == '\'') ? "\\&" : "";
    escaped += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, c);
  }
  return escaped;
}

std::string OptionEntry(const OptionDescription& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.names) {
    names.push_back(fmt::format("\\fB{}\\fR", Roff(name)));
  }
  return fmt::format(".TP\n{}{}\n{}\n", fmt::join(names, ", "), Roff(option.value),
                     Roff(option.text));
}

std::string_view TitleOf(const OptionDescription& option) {
  return option.IsPositional() ? std::string_view("Positionals") : std::string_view(option.group);
}

// Under their titles, positionals first.
std::string OptionGroups(const VerbDescription& verb) {
  std::vector<std::string_view> titles = {"Positionals"};
  for (const OptionDescription& option : verb.options) {
    if (std::ranges::find(titles, TitleOf(option)) == titles.end()) {
      titles.push_back(TitleOf(option));
    }
  }
  std::string text;
  for (const std::string_view title : titles) {
    std::string entries;
    for (const OptionDescription& option : verb.options) {
      entries += TitleOf(option) == title ? OptionEntry(option) : "";
    }
    text += entries.empty() ? "" : fmt::format(".SH \"{}\"\n{}", Roff(title), entries);
  }
  return text;
}

std::string Verbs(const VerbDescription& verb, std::string_view path) {
  std::string text = verb.verbs.empty() ? "" : ".SH VERBS\n";
  for (const VerbDescription& below : verb.verbs) {
    text += fmt::format(".TP\n.BR orrery\\-{}\\-{} (1)\n{}\n", Roff(path), Roff(below.name),
                        Roff(below.text));
  }
  return text;
}

}  // namespace

std::string ManPage(const VerbDescription& verb, std::string_view path) {
  std::string page =
      fmt::format(".TH \"orrery\\-{}\" 1\n.SH NAME\norrery\\-{} \\- {}\n.SH SYNOPSIS\n{}\n",
                  Roff(path), Roff(path), Roff(verb.text), Roff(verb.usage));
  page += OptionGroups(verb) + Verbs(verb, path);
  // As it stands in --help, columns and all.
  page += fmt::format(".SH NOTES\n.nf\n{}.fi\n", Roff(verb.footer));
  return page + ".SH SEE ALSO\n.BR orrery (1)\n";
}

}  // namespace orrery::cli
