#include "gym/app/next_command.h"

#include <filesystem>

#include "compiler/base/error.h"
#include "gym/search/report/text.h"

namespace msc::gym {
namespace {

/// Returns the file's path without its extension, and with this ending.
std::string Beside(const std::string& file, const std::string& ending) {
  return std::filesystem::path(file).replace_extension("").string() + ending;
}

/// Returns the names of all targets that run here, but the slow one that checks others.
std::string TargetsHere(const TargetRegistry& targets) {
  std::string names;
  for (const auto& [name, kind] : targets.kinds()) {
    if (name == "reference") continue;
    try {
      (void)targets.Get(name);
    } catch (const UserError&) {
      continue;  // not on this machine
    }
    names += (names.empty() ? "" : ",") + name;
  }
  return names;
}

}  // namespace

std::string ShellLine(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + ShellWord(word);
  return line;
}

std::string NextCommand(const Written& written, const std::vector<std::string>& words,
                        const TargetRegistry& targets) {
  std::vector<std::string> next;
  const auto add = [&](const std::vector<std::string>& more) {
    next.insert(next.end(), more.begin(), more.end());
  };
  const auto add_shapes = [&] {
    for (const std::string& shape : written.shapes) add({"--shape", shape});
  };
  const auto add_threads = [&] {
    if (written.threads != 1) add({"--threads", std::to_string(written.threads)});
  };
  if (written.onnx.empty() && written.plan.empty()) {
    const std::string name = std::filesystem::path(written.model).filename().string();
    next = words;
    add({"--out", Beside(name, "_" + words.at(1) + ".onnx")});
  } else if (written.slower || written.plan.empty()) {
    add({"mscgym", "bench", written.plan.empty() ? written.onnx : written.model});
    add_shapes();
    add({"--targets", written.slower ? TargetsHere(targets) : written.target});
    if (!written.plan.empty()) add({"--strategy", written.plan});
    add_threads();
  } else if (written.onnx.empty()) {
    add({"mscgym", "export", written.model});
    add_shapes();
    add({"--strategy", written.plan, "--for", "onnxruntime", "--out",
         Beside(written.plan, ".onnx")});
  } else {
    add({"mscgym", "compile", written.model});
    add_shapes();
    add({"--strategy", written.plan, "--out", Beside(written.plan, "_artefact")});
    add_threads();
  }
  return ShellLine(next);
}

}  // namespace msc::gym
