#include "orrery/cli/verb.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "orrery/cli/output.h"
#include "orrery/cli/overwrite.h"

namespace orrery::cli {
namespace {

// CLI11 reports an unknown verb as a missing one.
bool IsUnknownVerb(const CLI::App& app, int argc, char** argv) {
  const auto is_named = [&](const CLI::App* verb) { return verb->get_name() == argv[1]; };
  return argc > 1 && argv[1][0] != '-' && app.get_subcommands(is_named).empty();
}

// Help that is the same with every version of CLI11 from 2.1 on: since 2.4 defaults are in
// brackets, and the last line is not followed by an empty one.
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
    text.erase(text.find_last_not_of('\n') + 1);
    return text + "\n";
  }
};

// The messages of CLI11's own checks differ from version to version, too.
template <typename T>
CLI::Validator Check(std::string name, std::string expectation, std::function<bool(T)> is_valid) {
  return {
      [expectation = std::move(expectation), is_valid = std::move(is_valid)](std::string& text) {
        T value{};
        const bool is_read = CLI::detail::lexical_cast(text, value);
        return is_read && is_valid(value) ? std::string() : text + " is not " + expectation;
      },
      std::move(name)};
}

template <typename T>
CLI::Validator Between(T low, T high) {
  return Check<T>(fmt::format("{} in [{} - {}]", CLI::detail::type_name<T>(), low, high),
                  fmt::format("between {} and {}", low, high),
                  [=](T value) { return low <= value && value <= high; });
}

// The names under which verbs take a file to write; --csv is a flag of some.
constexpr std::array<const char*, 8> kWrittenFiles = {
    "OUT", "--output", "--html", "--csv", "--svg", "--predictions", "--trace", "--nvlink-report"};

Result<int> RunVerb(const CLI::App& app, const std::function<Result<int>()>& run) {
  std::vector<std::string> read;
  std::vector<std::string> written;
  for (const CLI::Option* option : app.get_options()) {
    const auto is_named = [&](const char* name) { return option->check_name(name); };
    std::vector<std::string>& words = std::ranges::any_of(kWrittenFiles, is_named) ? written : read;
    words.insert(words.end(), option->results().begin(), option->results().end());
  }
  ORRERY_TRY_STATUS(CheckInputsAreKept(read, written));
  return run();
}

int PrintMistake(std::string_view sentence) {
  PrintNotice(sentence);
  return kExitUnusable;
}

int PrintBug(std::string_view what) {
  constexpr int kExitBug = 70;  // EX_SOFTWARE of sysexits.h
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
    return PrintMistake(fmt::format("{} (orrery --help lists what there is)", error.what()));
  } catch (const std::bad_alloc&) {
    return PrintMistake("out of memory");
  } catch (const std::exception& error) {
    return PrintBug(error.what());
  } catch (...) {
    return PrintBug("an exception of an unknown type");
  }
  return status;
}

// A full disk shows when the buffer is written, some network file systems only when a file is
// closed; a copy is closed, because C++ writes the streams once more at exit.
int CloseStandardOutput(int status) {
  const bool was_lost = std::ferror(stdout) != 0;
  errno = 0;
  if (std::fflush(stdout) == 0 && close(dup(STDOUT_FILENO)) == 0 && !was_lost) {
    return status;
  }
  // The reason of an earlier failure is not known any more.
  return PrintMistake(errno == 0
                          ? "standard output: cannot write all of it; is the disk full?"
                          : fmt::format("standard output: cannot write: {}", std::strerror(errno)));
}

}  // namespace

Option& Option::Required() {
  option_->required();
  return *this;
}

Option& Option::ShowDefault() {
  option_->capture_default_str();
  return *this;
}

Option& Option::ShowDefault(const std::string& text) {
  option_->default_str(text);
  return *this;
}

Option& Option::Range(double low, double high) {
  option_->check(Between(low, high));
  return *this;
}

Option& Option::Range(std::int64_t low, std::int64_t high) {
  option_->check(Between(low, high));
  return *this;
}

Option& Option::Positive() {
  option_->check(Check<double>("POSITIVE", "above 0", [](double value) { return value > 0; }));
  return *this;
}

Option& Option::NonNegative() {
  option_->check(
      Check<double>("NONNEGATIVE", "0 or more", [](double value) { return value >= 0; }));
  return *this;
}

Option& Option::OneOf(const std::vector<std::string>& words) {
  option_->check(CLI::IsMember(words));
  return *this;
}

Option& Option::OneValueEach() {
  option_->allow_extra_args(false);
  return *this;
}

Option& Option::NumValues(int count) {
  option_->expected(count);
  return *this;
}

Option& Option::Delimiter(char delimiter) {
  option_->delimiter(delimiter);
  return *this;
}

Option& Option::Excludes(const std::string& other) {
  option_->excludes(other);
  return *this;
}

Option& Option::Excludes(const Option& other) {
  option_->excludes(other.option_);
  return *this;
}

Verb Verb::AddVerb(const std::string& name, const std::string& description) {
  return {app_->add_subcommand(name, description), status_};
}

void Verb::RequireVerb() {
  app_->require_subcommand(1);
}

void Verb::Footer(const std::string& text) {
  app_->footer(text);
}

template <typename T>
Option Verb::AddOption(const std::string& name, T& target, const std::string& description) {
  const std::size_t blank = std::min(name.find(' '), name.size());
  CLI::Option* const option = app_->add_option(name.substr(0, blank), target, description);
  if constexpr (std::is_same_v<T, double> || std::is_same_v<T, std::optional<double>> ||
                std::is_same_v<T, std::vector<double>>) {
    option->check(
        Check<double>("", "a finite number", [](double value) { return std::isfinite(value); }));
  }
  return Option(blank == name.size() ? option : option->type_name(name.substr(blank + 1)));
}

#define ORRERY_OPTION_TYPE(...) \
  template Option Verb::AddOption(const std::string&, __VA_ARGS__&, const std::string&)
ORRERY_OPTION_TYPE(std::string);
ORRERY_OPTION_TYPE(std::vector<std::string>);
ORRERY_OPTION_TYPE(std::optional<std::string>);
ORRERY_OPTION_TYPE(int);
ORRERY_OPTION_TYPE(std::int64_t);
ORRERY_OPTION_TYPE(std::uint32_t);
ORRERY_OPTION_TYPE(std::uint64_t);
ORRERY_OPTION_TYPE(double);
ORRERY_OPTION_TYPE(std::optional<int>);
ORRERY_OPTION_TYPE(std::optional<std::int64_t>);
ORRERY_OPTION_TYPE(std::optional<double>);
ORRERY_OPTION_TYPE(std::vector<double>);
ORRERY_OPTION_TYPE(std::vector<int>);
#undef ORRERY_OPTION_TYPE

Option Verb::AddFlag(const std::string& name, bool& target, const std::string& description) {
  return Option(app_->add_flag(name, target, description));
}

Option Verb::FindOption(const std::string& name) const {
  return Option(app_->get_option(name));
}

// CLI11's own transformer shows enumerations as unprintable characters, in help and in errors.
Option Verb::AddWords(const std::string& name, std::vector<std::string> words,
                      std::function<void(std::size_t)> choose, const std::string& description) {
  const std::string choices = fmt::format("{}", fmt::join(words, "|"));
  const auto take = [words = std::move(words), choose = std::move(choose), name,
                     choices](const std::string& word) {
    const auto found = std::find(words.begin(), words.end(), word);
    if (found == words.end()) {
      throw CLI::ValidationError(name, word + " is none of " + choices);
    }
    choose(static_cast<std::size_t>(found - words.begin()));
  };
  return Option(
      app_->add_option_function<std::string>(name, take, description)->type_name(choices));
}

void Verb::AddGroup(const std::string& title, const std::function<void(Verb&)>& add) {
  const std::size_t before = app_->get_options().size();
  add(*this);
  const std::vector<CLI::Option*> options = app_->get_options();
  for (std::size_t i = before; i < options.size(); ++i) {
    options[i]->group(title);
  }
}

void Verb::OnRun(std::function<Result<int>()> run) {
  app_->callback([app = app_, run = std::move(run), status = status_] {
    if (!app->get_subcommands().empty()) {
      return;
    }
    const Result<int> result = RunVerb(*app, run);
    *status = result ? *result : PrintError(result.error());
  });
}

void Verb::OnRunWithWords(std::function<int(const std::vector<std::string>&)> run) {
  app_->prefix_command();
  app_->final_callback(
      [app = app_, run = std::move(run), status = status_] { *status = run(app->remaining()); });
}

void Verb::KeepWordsBehindDashes(const std::string& positional, const std::string& description) {
  app_->validate_positionals();
  app_->add_option_function<std::string>(
          positional, [](const std::string&) {}, description)
      ->check([](const std::string&) { return std::string("is for orrery-capture"); });
}

int RunCommandLine(int argc, char** argv, const std::string& description,
                   const std::string& version, const std::function<void(Verb&)>& add_verbs) {
  CLI::App app(description);
  app.set_version_flag("--version", version);
  app.require_subcommand(1);
  const auto formatter = std::make_shared<HelpFormatter>();
  formatter->column_width(30);
  app.formatter(formatter);
  int status = kExitOk;
  Verb program(&app, &status);
  add_verbs(program);
  if (IsUnknownVerb(app, argc, argv)) {
    return PrintMistake(fmt::format("no such verb: {} (orrery --help lists them)", argv[1]));
  }
  return CloseStandardOutput(Parse(app, argc, argv, status));
}

}  // namespace orrery::cli
