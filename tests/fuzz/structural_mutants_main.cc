// Models changed in structure, through all that is done with a model:
//
//   structural_mutants --models A.onnx,B.onnx --count 10000 --seed 1 --save DIR
//
// With --bytes, the bytes of the files change. Mutant i is the same in every run. Children work, so
// that a crash and a hang are counted and named as an internal error is; what fails is saved, and
// --replay FILE repeats it.

#include <algorithm>
#include <cctype>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "compiler/base/rng.h"
#include "compiler/base/sanitizer.h"
#include "compiler/codegen/onnx/export.h"
#include "compiler/targets/register.h"
#include "tests/fuzz/byte_mutants.h"
#include "tests/fuzz/model_mutants.h"
#include "tests/fuzz/structural_mutants.h"
#include "tests/support/random_model.h"

namespace {

using namespace msc;

struct Options {
  std::vector<std::string> models;
  std::vector<std::string> replay;
  std::uint64_t random = 0;
  std::uint64_t count = 10000;
  std::uint64_t first = 0;
  std::uint64_t seed = 1;
  std::vector<std::string> targets{"reference", "onednn", "native", "xnnpack", "blas"};
  std::string save;
  unsigned seconds = 60;
  std::uint64_t memory_mb = 6144;
  bool refusals = false;
  bool bytes = false;
};

/// What a child leaves of one mutant, in memory that both see.
struct Slot {
  bool begun = false;
  bool done = false;
  bool imported = false;
  bool found = false;
  std::uint32_t ms = 0;
  char stage[64] = "";
  char changes[192] = "";
  char refusal[400] = "";  ///< the last one
  char finding[700] = "";
};

template <std::size_t size>
void Put(std::string_view text, char (&into)[size]) {
  const std::size_t length = std::min(text.size(), size - 1);
  std::memcpy(into, text.data(), length);
  into[length] = '\0';
}

/// A model that mutants are made of.
struct Source {
  std::string name;
  std::string bytes;
};

/// A model as what mutants are made of.
struct Mutants {
  fuzz::ModelMutants structure;
  std::string bytes;
};

struct Counts {
  int mutants = 0;
  int not_imported = 0;
  int refused_later = 0;
  int through = 0;
  int findings = 0;
};

void Add(const Slot& slot, Counts& counts) {
  ++counts.mutants;
  if (slot.found) {
    ++counts.findings;
  } else if (!slot.imported) {
    ++counts.not_imported;
  } else if (slot.refusal[0] != '\0') {
    ++counts.refused_later;
  } else {
    ++counts.through;
  }
}

/// Without names and numbers: what refusals of one kind have in common.
std::string Form(const std::string& text) {
  std::string form;
  bool quoted = false;
  for (const char c : text) {
    if (c == '\'') quoted = !quoted;
    if (quoted) continue;
    const bool digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    if (!digit || form.empty() || form.back() != '#') form += digit ? '#' : c;
  }
  return form;
}

class Sweep {
 public:
  explicit Sweep(const Options& options) : options_(options) {}

  int Run(const std::vector<Source>& sources) {
    const std::uint64_t each = (options_.count + sources.size() - 1) / sources.size();
    for (const Source& source : sources) Take(source, each);
    Print();
    return all_.findings == 0 ? 0 : 1;
  }

 private:
  [[nodiscard]] fuzz::ModelMutant Make(const Mutants& mutants, std::uint64_t seed) const {
    if (!options_.bytes) return mutants.structure.Make(seed);
    return {.bytes = fuzz::ByteMutant(mutants.bytes, seed), .changes = {"bytes"}};
  }

  void Take(const Source& source, std::uint64_t count) {
    const std::size_t bytes = count * sizeof(Slot);
    void* const memory =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw SystemError("cannot share memory", errno);
    auto* const slots = static_cast<Slot*>(memory);
    const Mutants mutants{fuzz::ModelMutants(source.bytes), source.bytes};
    ++model_;
    for (std::uint64_t at = 0; at < count;) {
      const std::uint64_t end = std::min(count, at + kBatch);
      at = RunBatch(mutants, at, end, slots);
    }
    const Counts before = all_;
    for (std::uint64_t i = 0; i < count; ++i) Record(source, mutants, i, slots[i]);
    std::printf("%s: %d mutants, %d findings\n", source.name.c_str(), all_.mutants - before.mutants,
                all_.findings - before.findings);
    std::fflush(stdout);
    ::munmap(memory, bytes);
  }

  [[nodiscard]] std::uint64_t SeedOf(std::uint64_t i) const {
    return MixSeed({options_.seed, model_, options_.first + i});
  }

  /// Where to go on.
  std::uint64_t RunBatch(const Mutants& mutants, std::uint64_t from, std::uint64_t to,
                         Slot* slots) {
    const pid_t child = ::fork();
    if (child < 0) throw SystemError("cannot start a child", errno);
    if (child == 0) {
      Work(mutants, from, to, slots);
      std::fflush(nullptr);
      ::_exit(0);
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    std::uint64_t at = from;
    while (at < to && slots[at].done) ++at;
    if (at == to) return at;
    Slot& slot = slots[at];
    const std::string how =
        !WIFSIGNALED(status)          ? "ends with " + std::to_string(WEXITSTATUS(status))
        : WTERMSIG(status) == SIGALRM ? "takes over " + std::to_string(options_.seconds) + " s"
                                      : "dies of signal " + std::to_string(WTERMSIG(status));
    Put(std::string(slot.stage) + ": " + how, slot.finding);
    slot.found = slot.done = true;
    return at + 1;
  }

  void Work(const Mutants& mutants, std::uint64_t from, std::uint64_t to, Slot* slots) const {
    const rlimit none{0, 0};
    (void)::setrlimit(RLIMIT_CORE, &none);
    if (!kSanitized) {
      const rlimit memory{options_.memory_mb << 20U, options_.memory_mb << 20U};
      (void)::setrlimit(RLIMIT_AS, &memory);
    }
    TargetRegistry registry;
    RegisterAllTargets(registry);
    for (std::uint64_t i = from; i < to; ++i) {
      ::alarm(options_.seconds);
      TryOne(mutants, SeedOf(i), registry, slots[i]);
    }
  }

  void TryOne(const Mutants& mutants, std::uint64_t seed, const TargetRegistry& registry,
              Slot& slot) const {
    const auto start = std::chrono::steady_clock::now();
    slot.begun = true;
    const fuzz::ModelMutant mutant = Make(mutants, seed);
    std::string changes;
    for (const std::string& change : mutant.changes) changes += change + ";";
    Put(changes, slot.changes);
    const fuzz::MutantEnd end =
        fuzz::TryMutant(mutant.bytes, registry,
                        {.targets = options_.targets,
                         .all = false,
                         .seed = seed,
                         .on_stage = [&](std::string_view stage) { Put(stage, slot.stage); }});
    slot.imported = end.imported;
    if (!end.refusals.empty()) Put(end.refusals.back(), slot.refusal);
    if (end.finding) {
      slot.found = true;
      Put(*end.finding, slot.finding);
    }
    slot.ms = static_cast<std::uint32_t>(std::chrono::duration_cast<std::chrono::milliseconds>(
                                             std::chrono::steady_clock::now() - start)
                                             .count());
    slot.done = true;
  }

  void Record(const Source& source, const Mutants& mutants, std::uint64_t i, const Slot& slot) {
    Add(slot, all_);
    std::string changes = slot.changes;
    for (std::size_t at = 0; at < changes.size();) {
      const std::size_t end = changes.find(';', at);
      Add(slot, by_change_[changes.substr(at, end - at)]);
      at = end == std::string::npos ? changes.size() : end + 1;
    }
    if (slot.refusal[0] != '\0') ++refusals_[Form(slot.refusal)];
    if (slot.ms > 5000) {
      std::printf("%s %llu (%s) took %u ms\n", source.name.c_str(),
                  static_cast<unsigned long long>(i), slot.changes, slot.ms);
    }
    if (!slot.found) return;
    ++findings_[Form(slot.finding)];
    std::printf("%s %llu (%s): %s\n", source.name.c_str(), static_cast<unsigned long long>(i),
                slot.changes, slot.finding);
    if (options_.save.empty()) return;
    MakeFolders(options_.save);
    WriteFileAtomic(options_.save + "/" + source.name + "_" + std::to_string(i) + ".onnx",
                    Make(mutants, SeedOf(i)).bytes);
  }

  static void Print(const std::string& what, const Counts& counts) {
    std::printf("%-22s %7d %12d %8d %8d %8d\n", what.c_str(), counts.mutants, counts.not_imported,
                counts.refused_later, counts.through, counts.findings);
  }
  void Print() const {
    std::printf("%-22s %7s %12s %8s %8s %8s\n", "change", "mutants", "not imported", "refused",
                "through", "findings");
    for (const auto& [change, counts] : by_change_) Print(change, counts);
    Print("all", all_);
    for (const auto& [form, count] : findings_) std::printf("%5d found: %s\n", count, form.c_str());
    if (!options_.refusals) return;
    for (const auto& [form, count] : refusals_) std::printf("%5d %s\n", count, form.c_str());
  }

  static constexpr std::uint64_t kBatch = 200;
  const Options& options_;
  std::uint64_t model_ = 0;  ///< number of the one at hand
  Counts all_;
  std::map<std::string, Counts> by_change_;
  std::map<std::string, int> findings_;
  std::map<std::string, int> refusals_;
};

int Replay(const Options& options) {
  TargetRegistry registry;
  RegisterAllTargets(registry);
  int findings = 0;
  for (const std::string& file : options.replay) {
    std::printf("%s\n", file.c_str());
    const auto on_stage = [](std::string_view stage) {
      std::printf("  %s\n", std::string(stage).c_str());
      std::fflush(stdout);
    };
    const fuzz::MutantEnd end = fuzz::TryMutant(ReadFile(file), registry,
                                                {.targets = options.targets, .on_stage = on_stage});
    for (const std::string& refusal : end.refusals) std::printf("  refused: %s\n", refusal.c_str());
    if (!end.finding) continue;
    ++findings;
    std::printf("  FINDING %s\n", end.finding->c_str());
  }
  return findings == 0 ? 0 : 1;
}

std::vector<Source> Sources(const Options& options) {
  std::vector<Source> sources;
  for (const std::string& path : options.models) {
    sources.push_back({std::filesystem::path(path).stem().string(), ReadFile(path)});
  }
  for (std::uint64_t i = 0; i < options.random; ++i) {
    sources.push_back({"random_" + std::to_string(i), ExportOnnxBytes(RandomModel(i))});
  }
  if (sources.empty()) throw UserError("give --models, --random or --replay");
  return sources;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Models changed in structure, through all that is done with a model");
  app.add_option("--models", options.models, "ONNX files to change")->delimiter(',');
  app.add_option("--random", options.random, "random models to change besides");
  app.add_option("--count", options.count, "mutants in all")->capture_default_str();
  app.add_option("--first", options.first, "number of the first")->capture_default_str();
  app.add_option("--seed", options.seed, "of all that is drawn")->capture_default_str();
  app.add_option("--targets", options.targets, "whom to compile for")->delimiter(',');
  app.add_option("--seconds", options.seconds, "that one mutant may take")->capture_default_str();
  app.add_option("--memory-mb", options.memory_mb, "address space of a child")
      ->capture_default_str();
  app.add_option("--save", options.save, "folder for what fails");
  app.add_flag("--bytes", options.bytes, "change bytes of the files instead of the structure");
  app.add_flag("--refusals", options.refusals, "count refusals by their words");
  app.add_option("--replay", options.replay, "files to take through all of it, as they are");
  app.footer("Example:\n  structural_mutants --models a.onnx,b.onnx --count 10000 --save found");
  CLI11_PARSE(app, argc, argv);
  try {
    return options.replay.empty() ? Sweep(options).Run(Sources(options)) : Replay(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "structural_mutants: %s\n", error.what());
    return 2;
  }
}
