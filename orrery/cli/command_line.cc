#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "orrery/base/concurrency/stop.h"
#include "orrery/base/error.h"
#include "orrery/base/text/nearest_word.h"
#include "orrery/cli/description.h"
#include "orrery/cli/help/wrapped_help.h"
#include "orrery/cli/output.h"
#include "orrery/cli/verb.h"

namespace orrery::cli {
namespace {

const CLI::App* FindVerb(const CLI::App& above, std::string_view name) {
  const std::vector<const CLI::App*> found =
      above.get_subcommands([&](const CLI::App* verb) { return verb->get_name() == name; });
  return found.empty() ? nullptr : found.front();
}

std::vector<std::string> VerbNames(const CLI::App& above) {
  std::vector<std::string> names;
  for (const CLI::App* const verb : above.get_subcommands({})) {
    names.push_back(verb->get_name());
  }
  return names;
}

std::string DidYouMeanOneOf(std::string_view word, const std::vector<std::string>& known) {
  return DidYouMean(word, std::vector<std::string_view>(known.begin(), known.end()));
}

/// A verb and the words that name it: "orrery fit kernels".
struct NamedVerb {
  const CLI::App* app;
  std::string path;

  // At the beginning of a sentence, which begins with the name of the program.
  [[nodiscard]] std::string subject() const {
    constexpr std::string_view kProgram = "orrery ";
    return path.starts_with(kProgram) ? path.substr(kProgram.size()) : path;
  }
};

// The verb that words name, below `from`. CLI11 reports an unknown verb as a missing one.
Result<NamedVerb> FindVerbs(const CLI::App& from, std::span<const std::string> words) {
  NamedVerb found{&from, "orrery"};
  for (const std::string& word : words) {
    const CLI::App* const verb = FindVerb(*found.app, word);
    if (verb == nullptr) {
      return NotFound("no such verb: {}{} ({} --help lists them)",
                      found.app == &from ? word : found.subject() + " " + word,
                      DidYouMeanOneOf(word, VerbNames(*found.app)), found.path);
    }
    found = {verb, found.path + " " + word};
  }
  return found;
}

std::vector<std::string> OptionNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* const option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      names.push_back("--" + name);
    }
  }
  return names;
}

std::string NoSuchOption(const NamedVerb& verb, std::string_view word) {
  const std::string_view name = word.substr(0, word.find('='));
  return fmt::format("{} has no option {}{} ({} --help lists them)", verb.subject(), name,
                     DidYouMeanOneOf(name, OptionNames(*verb.app)), verb.path);
}

// The verbs at the beginning of a command line, as far as each needs one below it.
// CLI11 takes the next word for the value of `--option=`, so that `--html= --json` writes a file of
// that name.
Status CheckEmptyValues(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--") {
      break;
    }
    if (word.starts_with("--") && word.find('=') == word.size() - 1) {
      return InvalidInput("{} has no value; write {} VALUE", word, word.substr(0, word.size() - 1));
    }
  }
  return {};
}

Status CheckVerbs(const CLI::App& program, int argc, char** argv) {
  NamedVerb named{&program, "orrery"};
  std::vector<std::string> words;
  for (int i = 1; named.app->get_require_subcommand_min() > 0; ++i) {
    if (i == argc) {
      return InvalidInput("{} needs a verb: {} ({} --help says what they do)", named.subject(),
                          fmt::join(VerbNames(*named.app), ", "), named.path);
    }
    if (argv[i][0] == '-') {
      return named.app->get_option_no_throw(argv[i]) != nullptr
                 ? Status()
                 : InvalidInput("{}", NoSuchOption(named, argv[i]));
    }
    words.emplace_back(argv[i]);
    ORRERY_TRY(named, FindVerbs(program, words));
  }
  return {};
}

// The last verb that CLI11 read, or the first one with words that it does not take.
NamedVerb VerbOfMistake(const CLI::App& program) {
  NamedVerb named{&program, "orrery"};
  while (!named.app->get_subcommands().empty() && named.app->remaining().empty()) {
    const CLI::App* const verb = named.app->get_subcommands().back();
    named = {verb, named.path + " " + verb->get_name()};
  }
  return named;
}

// The error of a word that a verb does not take. The first word may be a mistyped verb that was
// taken for a file.
std::string UnexpectedWord(const NamedVerb& verb, const std::string& word) {
  if (word.starts_with('-')) {
    return NoSuchOption(verb, word);
  }
  std::string suggestion;
  for (const CLI::Option* const option : verb.app->get_options()) {
    if (option->get_positional() && option->count() > 0 && suggestion.empty()) {
      suggestion = DidYouMeanOneOf(option->results().front(), VerbNames(*verb.app));
    }
  }
  return fmt::format("{} does not take the word {}{} ({} --help says what it takes)",
                     verb.subject(), word, suggestion, verb.path);
}

constexpr const char* kExitStatuses =
    "Exit status: 0 done; 2 input, command line or output unusable, one sentence says why;\n"
    "3 partial, the output says what is missing; 4 the job does not fit into the memory of its "
    "GPUs;\n70 internal error, a bug: please report it.\n";

// Help that is the same with every version of CLI11 from 2.1 on: since 2.4 defaults are in
// brackets, the last line is not followed by an empty one, and the line before the footer is
// the footer's.
class HelpFormatter : public CLI::Formatter {
 public:
  [[nodiscard]] std::string make_option_opts(const CLI::Option* option) const override {
    std::string text = CLI::Formatter::make_option_opts(option);
    const std::string bracketed = " [" + option->get_default_str() + "] ";
    if (const std::size_t at = text.find(bracketed); at != std::string::npos) {
      text.replace(at, bracketed.size(), "=" + option->get_default_str());
    }
    return text;
  }

  [[nodiscard]] std::string make_help(const CLI::App* app, std::string name,
                                      CLI::AppFormatMode mode) const override {
    std::string text = CLI::Formatter::make_help(app, std::move(name), mode);
    const std::string footer = make_footer(app);
    if (const std::size_t at = footer.empty() ? std::string::npos : text.rfind(footer);
        at != std::string::npos) {
      const std::size_t end = text.substr(0, at).find_last_not_of('\n') + 1;
      text.replace(end, at - end, "\n\n");
    }
    text.erase(text.find_last_not_of('\n') + 1);
    return WrappedHelp(text + "\n", TextWidth());
  }

  // Verbs of orrery-capture say themselves what they end with.
  [[nodiscard]] std::string make_footer(const CLI::App* app) const override {
    std::string footer = CLI::Formatter::make_footer(app);
    footer.erase(0, footer.find_first_not_of('\n'));
    return app->get_prefix_command() ? footer
                                     : footer + (footer.empty() ? "" : "\n") + kExitStatuses;
  }
};

// The formatter of all verbs, for what it would print of parts.
const HelpFormatter& FormatterOf(const CLI::App& app) {
  return static_cast<const HelpFormatter&>(*app.get_formatter());  // NOLINT: set in RunCommandLine
}

OptionDescription DescribeOption(const CLI::Option& option, const HelpFormatter& formatter) {
  OptionDescription description{.names = {},
                                .value = formatter.make_option_opts(&option),
                                .text = option.get_description(),
                                .group = option.get_group(),
                                .choices = {}};
  for (const std::string& name : option.get_snames()) {
    description.names.push_back("-" + name);
  }
  for (const std::string& name : option.get_lnames()) {
    description.names.push_back("--" + name);
  }
  if (description.names.empty()) {
    description.names.push_back(option.get_name(true));
  }
  if (const std::string type = option.get_type_name(); type.find('|') != std::string::npos) {
    description.choices = CLI::detail::split(type, '|');
  }
  return description;
}

// "Usage: orrery fit [OPTIONS]" without its first word and the line end.
std::string UsageOf(const CLI::App& app, const std::string& path) {
  const std::string line = FormatterOf(app).make_usage(&app, path);
  return line.substr(line.find(path), line.find_last_not_of('\n') + 1 - line.find(path));
}

VerbDescription DescribeVerb(const NamedVerb& verb) {
  const HelpFormatter& formatter = FormatterOf(*verb.app);
  VerbDescription description{
      .name = verb.app->get_parent() == nullptr ? verb.path : verb.app->get_name(),
      .text = verb.app->get_description(),
      .usage = UsageOf(*verb.app, verb.path),
      .footer = formatter.make_footer(verb.app)};
  for (const CLI::Option* const option : verb.app->get_options()) {
    description.options.push_back(DescribeOption(*option, formatter));
  }
  for (const CLI::App* const below : verb.app->get_subcommands({})) {
    description.verbs.push_back(DescribeVerb({below, verb.path + " " + below->get_name()}));
  }
  return description;
}

int PrintMistake(std::string_view sentence) {
  PrintNotice(sentence);
  return kExitUnusable;
}

int PrintBug(std::string_view what) {
  PrintNotice(fmt::format(
      "this is a bug in Orrery ({}); please report it with this line, the command, the output of "
      "orrery --version and, if you can, the files",
      what));
  return kExitBug;
}

int Parse(CLI::App& app, int argc, char** argv, const int& status) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    const NamedVerb verb = VerbOfMistake(app);
    if (const std::vector<std::string> extra = verb.app->remaining(); !extra.empty()) {
      return PrintMistake(UnexpectedWord(verb, extra.front()));
    }
    return PrintMistake(fmt::format("{} ({} --help lists what there is)", error.what(), verb.path));
  } catch (const Stopped&) {
    return PrintMistake("stopped");
  } catch (const std::bad_alloc&) {
    return PrintMistake("out of memory");
  } catch (const std::exception& error) {
    return PrintBug(error.what());
  } catch (...) {
    return PrintBug("an exception of an unknown type");
  }
  return status;
}

// As a shell takes it; what is not plain is in single quotes.
std::string CommandText(int argc, char** argv) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=,@%+-";
  std::string command = "orrery";
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos) {
      command.append(" ").append(word);
      continue;
    }
    command += " '";
    for (const char c : word) {
      command += c == '\'' ? "'\\''" : std::string(1, c);
    }
    command += '\'';
  }
  return command;
}

// A full disk shows when the buffer is written, some network file systems only when a file is
// closed; a copy is closed, because C++ writes the streams once more at exit.
int CloseStandardOutput(int status) {
  const bool was_lost = std::ferror(stdout) != 0;
  errno = 0;
  if (std::fflush(stdout) == 0 && close(dup(STDOUT_FILENO)) == 0 && !was_lost) {
    return status;
  }
  // The reason of an earlier failure is not known any more, and whether it was earlier depends on
  // the size of a buffer: the most frequent one has one sentence.
  return PrintMistake(errno == 0 || errno == ENOSPC
                          ? "standard output: cannot write all of it; is the disk full?"
                          : fmt::format("standard output: cannot write: {}", std::strerror(errno)));
}

}  // namespace

Result<std::string> Verb::HelpText(const std::vector<std::string>& names) const {
  // The options of what orrery-capture does are its own.
  const CLI::App* const first = names.empty() ? nullptr : FindVerb(*app_, names.front());
  const bool is_handed_over = first != nullptr && first->get_prefix_command();
  ORRERY_TRY(const NamedVerb verb,
             FindVerbs(*app_, std::span(names).first(is_handed_over ? 1 : names.size())));
  return FormatterOf(*verb.app).make_help(verb.app, verb.path, CLI::AppFormatMode::Normal);
}

VerbDescription Verb::Describe() const {
  return DescribeVerb({app_, "orrery"});
}

int RunCommandLine(int argc, char** argv, const std::string& description,
                   const std::string& version, const std::function<void(Verb&)>& add_verbs) {
  CLI::App app(description);
  app.set_version_flag("--version", version);
  app.require_subcommand(1);
  const auto formatter = std::make_shared<HelpFormatter>();
  formatter->column_width(30);
  app.formatter(formatter);
  Invocation invocation{.version = version, .command = CommandText(argc, argv)};
  Verb program(&app, &invocation);
  add_verbs(program);
  Status checked = CheckVerbs(app, argc, argv);
  if (checked) {
    checked = CheckEmptyValues(argc, argv);
  }
  if (!checked) {
    return PrintError(checked.error());
  }
  return CloseStandardOutput(Parse(app, argc, argv, invocation.status));
}

}  // namespace orrery::cli
