#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "orrery/api/errors.h"
#include "orrery/api/session.h"
#include "orrery/base/error.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the name of CLI11
class App;
class Option;
}  // namespace CLI

namespace orrery::cli {

/// The exit status of the program.
enum ExitStatus : int {
  kExitOk = 0,
  kExitWorse = 1,        // a comparison found a regression
  kExitUnusable = 2,     // wrong input; one sentence on standard error says which
  kExitPartial = 3,      // something was kept and something lost; the output says what
  kExitOutOfMemory = 4,  // the job does not fit into its GPUs, or no plan of it does
  kExitBug = 70,         // EX_SOFTWARE of sysexits.h
};

/// The start of the program and its exit status.
struct Invocation {
  std::string version = {};  // "orrery 0.1.0"
  std::string command = {};  // as a shell takes it
  int status = kExitOk;
  api::Session session = {};  // state that the verbs share
};

using api::InvalidInput;
using api::NotFound;
using api::Unsupported;

/// An option of a verb. A handle: copies are the same option.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option& Required();

  /// Shows the value that the target has now as the default in --help.
  Option& ShowDefault();
  Option& ShowDefault(const std::string& text);

  Option& Range(double low, double high);
  Option& Range(std::int64_t low, std::int64_t high);

  Option& Range(int low, int high) { return Range(std::int64_t{low}, std::int64_t{high}); }

  Option& Positive();
  Option& NonNegative();
  Option& OneOf(const std::vector<std::string>& words);

  /// Takes one value each time it is given, so that words behind it are not swallowed.
  Option& OneValueEach();
  /// Takes exactly so many values.
  Option& NumValues(int count);
  Option& Delimiter(char delimiter);

  Option& Excludes(const std::string& other);
  Option& Excludes(const Option& other);

 private:
  CLI::Option* option_;
};

struct VerbDescription;

/// A verb of the command line, or the program itself, which has verbs. A handle: copies are the
/// same verb. CLI11 does the work in verb.cc and nowhere else, because its header takes eight
/// seconds to compile.
class Verb {
 public:
  Verb(CLI::App* app, Invocation* invocation) : app_(app), invocation_(invocation) {}

  [[nodiscard]] const Invocation& invocation() const { return *invocation_; }

  /// Adds a verb below this one.
  Verb AddVerb(const std::string& name, const std::string& description);
  /// Running this verb means running one below it.
  void RequireVerb();
  void Footer(const std::string& text);

  /// Adds an option, or a positional argument if `name` has no dashes; its value is stored in
  /// `target`. What follows a blank in "--model FILE" stands for the value in --help. Defined for
  /// the types that verb.cc lists.
  template <typename T>
  Option AddOption(const std::string& name, T& target, const std::string& description);
  Option AddFlag(const std::string& name, bool& target, const std::string& description);
  [[nodiscard]] Option FindOption(const std::string& name) const;

  /// Adds an option that takes one of a few words, each of which stands for a value.
  template <typename T>
  Option AddChoice(const std::string& name, T& target, const std::map<std::string, T>& choices,
                   const std::string& description) {
    std::vector<std::string> words;
    std::vector<T> values;
    for (const auto& [word, value] : choices) {
      words.push_back(word);
      values.push_back(value);
    }
    return AddWords(
        name, std::move(words),
        [&target, values = std::move(values)](std::size_t chosen) { target = values[chosen]; },
        description);
  }

  /// Shows the options that `add` adds under a title of their own.
  void AddGroup(const std::string& title, const std::function<void(Verb&)>& add);

  /// Runs `run` when the user gives this verb and none below it. It returns the exit status of the
  /// program; its error is printed.
  void OnRun(std::function<Result<int>(const api::Session&)> run);

  /// Hands all words behind the verb over to `run`, unread.
  void OnRunWithWords(std::function<int(const std::vector<std::string>&)> run);

  /// Returns what --help prints for a verb below this one: `{"fit", "kernels"}`.
  [[nodiscard]] Result<std::string> HelpText(const std::vector<std::string>& names) const;

  /// Returns what --help knows of this verb and of all below it (cli/description.h).
  [[nodiscard]] VerbDescription Describe() const;

  /// Adds a positional that takes no word, so that words behind "--" are handed over too. CLI11
  /// ends a verb at "--", and forgets it, unless the verb still expects a word.
  void KeepWordsBehindDashes(const std::string& positional, const std::string& description);

 private:
  Option AddWords(const std::string& name, std::vector<std::string> words,
                  std::function<void(std::size_t)> choose, const std::string& description);

  CLI::App* app_;
  Invocation* invocation_;
};

/// Parses the command line and runs the verb that it names; returns the exit status.
int RunCommandLine(int argc, char** argv, const std::string& description,
                   const std::string& version, const std::function<void(Verb&)>& add_verbs);

// One function for each verb and verb below it: adds it to the program. program.cc calls them.

void AddInfoCommand(Verb& program);
void AddListCommand(Verb& program);
void AddInitCommand(Verb& program);
void AddAnalyzeCommand(Verb& program);
/// capture, measure, doctor and trace.
void AddCaptureCommands(Verb& program);
void AddConvertCommand(Verb& program);
void AddDiffCommand(Verb& program);
void AddMemoryCommand(Verb& program);
void AddSimulateCommand(Verb& program);
void AddGoodputCommand(Verb& program);
void AddSearchCommand(Verb& program);
void AddValidateCommand(Verb& program);
void AddViewCommand(Verb& program);
void AddMcpCommand(Verb& program);
void AddHelpCommand(Verb& program);
void AddCompletionCommand(Verb& program);

void AddEvaluateKernelsCommand(Verb& evaluate);
void AddEvaluateCollectivesCommand(Verb& evaluate);
void AddEvaluateOverlapCommand(Verb& evaluate);
void AddEvaluateJitterCommand(Verb& evaluate);
void AddEvaluateAllCommand(Verb& evaluate);

void AddFitCollectivesCommand(Verb& fit);
void AddFitFrameworksCommand(Verb& fit);
void AddFitHostCommand(Verb& fit);
void AddFitJitterCommand(Verb& fit);
void AddFitKernelsCommand(Verb& fit);
void AddFitOverlapCommand(Verb& fit);
void AddFitPowerCommand(Verb& fit);
void AddFitSiblingsCommand(Verb& fit);

/// `predict TRACE` has no word of its own: its options belong to the verb.
void AddPredictTraceCommand(Verb& predict);
void AddPredictCollectiveCommand(Verb& predict);
void AddPredictKernelCommand(Verb& predict);
void AddPredictOverlapCommand(Verb& predict);

}  // namespace orrery::cli
