#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "orrery/api/fields/field_table.h"
#include "orrery/api/session.h"
#include "orrery/api/verbs.h"
#include "orrery/api/view/questions.h"
#include "orrery/base/document/value.h"
#include "orrery/base/error.h"
#include "orrery/base/file/byte_sink.h"
#include "orrery/cli/help/completion.h"
#include "orrery/cli/help/man_page.h"
#include "orrery/cli/output.h"
#include "orrery/cli/verb.h"
#include "orrery/draw/format.h"
#include "orrery/report/document.h"

namespace orrery::cli {
namespace {

struct HelpArguments {
  std::vector<std::string> verbs;
  std::string man_pages;  // folder; empty: none
  bool prints_schema = false;
  bool prints_fields = false;
  bool prints_typescript = false;
};

// One page for each verb and for each below it: orrery-fit.1, orrery-fit-kernels.1.
Status WriteManPages(const VerbDescription& above, const std::string& prefix,
                     const std::filesystem::path& folder) {
  for (const VerbDescription& verb : above.verbs) {
    const std::string path = prefix + verb.name;
    ORRERY_TRY_STATUS(
        WriteFile((folder / fmt::format("orrery-{}.1", path)).string(), ManPage(verb, path)));
    ORRERY_TRY_STATUS(WriteManPages(verb, path + "-", folder));
  }
  return {};
}

Result<int> Help(const Verb& program, const HelpArguments& arguments) {
  if (!arguments.man_pages.empty()) {
    std::error_code error;
    std::filesystem::create_directories(arguments.man_pages, error);
    if (error) {
      return InvalidInput("{}: cannot make this folder: {}", arguments.man_pages, error.message());
    }
    ORRERY_TRY_STATUS(WriteManPages(program.Describe(), "", arguments.man_pages));
    return kExitOk;
  }
  if (arguments.prints_schema || arguments.prints_fields) {
    ORRERY_TRY(const api::AnyVerb* const verb,
               api::VerbNamed(fmt::format("{}", fmt::join(arguments.verbs, " "))));
    Print(arguments.prints_schema
              ? draw::JsonText(api::SchemaOf(*verb)) + "\n"
              : report::RenderText(api::FieldTables(*verb), {.width = TextWidth()}));
    return kExitOk;
  }
  if (arguments.prints_typescript) {
    if (arguments.verbs != std::vector<std::string>{"view"}) {
      return InvalidInput("--typescript is for view: the protocol of its page");
    }
    Print(api::view::TypeScript());
    return kExitOk;
  }
  ORRERY_TRY(const std::string text, program.HelpText(arguments.verbs));
  Print(text);
  return kExitOk;
}

int PrintCandidates(const Verb& program, const std::vector<std::string>& words) {
  for (const Candidate& candidate : CandidatesFor(program.Describe(), words)) {
    Print(fmt::format("{}\t{}\n", candidate.word, candidate.meaning));
  }
  return kExitOk;
}

}  // namespace

void AddHelpCommand(Verb& program) {
  auto arguments = std::make_shared<HelpArguments>();
  Verb verb = program.AddVerb("help", "What a verb does and takes: help simulate");
  verb.Footer(
      "Prints what --help behind the verb prints. `make install` also installs it as manual pages\n"
      "(man orrery-simulate).\n\n"
      "Examples:\n"
      "  orrery help simulate\n"
      "  orrery help fit kernels\n"
      "  orrery help simulate --schema\n"
      "  orrery help predict kernel --fields\n"
      "  orrery help view --typescript");
  verb.AddOption("VERB", arguments->verbs, "the verb, and the one below it");
  verb.AddOption("--man-pages FOLDER", arguments->man_pages,
                 "write a manual page of each verb into this folder");
  verb.AddFlag("--schema", arguments->prints_schema,
               "print the JSON Schemas of the verb's request and of its --json");
  verb.AddFlag("--fields", arguments->prints_fields,
               "print the fields of the verb's request and of its --json as tables")
      .Excludes("--schema");
  verb.AddFlag("--typescript", arguments->prints_typescript,
               "print the questions of the page of view and their answers as types")
      .Excludes("--schema")
      .Excludes("--fields");
  verb.OnRun(
      [program, arguments](const api::Session& /*session*/) { return Help(program, *arguments); });
}

void AddCompletionCommand(Verb& program) {
  Verb verb = program.AddVerb("completion", "Print a script for the completion of a shell");
  verb.Footer(
      "Completes verbs, options, and names of GPUs, clusters, models, frameworks and metrics.\n\n"
      "Examples:\n"
      "  source <(orrery completion bash)                            # this shell; zsh likewise\n"
      "  orrery completion bash > ~/.local/share/bash-completion/completions/orrery\n"
      "  orrery completion fish > ~/.config/fish/completions/orrery.fish");
  verb.RequireVerb();
  for (const std::string shell : {"bash", "zsh", "fish"}) {
    verb.AddVerb(shell, fmt::format("Print the script for {}", shell))
        .OnRun([shell](const api::Session& /*session*/) -> Result<int> {
          Print(CompletionScript(shell));
          return kExitOk;
        });
  }
  verb.AddVerb("words", "Print what the last of the words behind it can become, for the scripts")
      .OnRunWithWords([program](const std::vector<std::string>& words) {
        return PrintCandidates(program, words);
      });
}

}  // namespace orrery::cli
