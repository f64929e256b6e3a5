#include "orrery/cli/verb.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <fmt/ranges.h>

#include "orrery/api/session.h"
#include "orrery/base/error.h"
#include "orrery/cli/output.h"
#include "orrery/cli/overwrite.h"
#include "orrery/distribute/deal.h"

namespace orrery::cli {
namespace {

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
constexpr std::array<const char*, 10> kWrittenFiles = {
    "OUT",   "--output",      "--out",   "--html",          "--csv",
    "--svg", "--predictions", "--trace", "--nvlink-report", "--man-pages"};

Result<int> RunVerb(const CLI::App& app, const std::function<Result<int>()>& run) {
  std::vector<std::string> read;
  std::vector<std::string> written;
  for (const CLI::Option* option : app.get_options()) {
    const auto is_named = [&](const char* name) { return option->check_name(name); };
    std::vector<std::string>& words = std::ranges::any_of(kWrittenFiles, is_named) ? written : read;
    words.insert(words.end(), option->results().begin(), option->results().end());
    if (&words == &written && option->empty()) {  // job.yaml of init, say
      words.push_back(option->get_default_str());
    }
  }
  ORRERY_TRY_STATUS(CheckInputsAreKept(read, written));
  const WrittenFiles files(std::move(written));
  ORRERY_TRY(const int status, run());
  if (status == distribute::kServed) {
    return kExitOk;
  }
  files.Say();
  return status;
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
  const std::string choices = fmt::format("{}", fmt::join(words, "|"));
  option_->type_name(choices)->check([words, choices](const std::string& word) {
    return std::ranges::find(words, word) != words.end() ? "" : word + " is none of " + choices;
  });
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
  return {app_->add_subcommand(name, description), invocation_};
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

void Verb::OnRun(std::function<Result<int>(const api::Session&)> run) {
  app_->callback([app = app_, run = std::move(run), invocation = invocation_] {
    if (!app->get_subcommands().empty()) {
      return;
    }
    const Result<int> result = RunVerb(*app, [&] { return run(invocation->session); });
    invocation->status = result ? *result : PrintError(result.error());
  });
}

void Verb::OnRunWithWords(std::function<int(const std::vector<std::string>&)> run) {
  app_->prefix_command();
  app_->final_callback([app = app_, run = std::move(run), status = &invocation_->status] {
    *status = run(app->remaining());
  });
}

void Verb::KeepWordsBehindDashes(const std::string& positional, const std::string& description) {
  app_->validate_positionals();
  app_->add_option_function<std::string>(
          positional, [](const std::string&) {}, description)
      ->check([](const std::string&) { return std::string("is for orrery-capture"); });
}

}  // namespace orrery::cli
