// Random models through every target, compared with the reference kernels:
//
//   differential --graphs 5000 --targets onednn,native --save tests/fuzz/corpus/differential
//
// Model i is the same in every run. A failure is shrunk and saved as a graph that differential_test
// replays from then on.

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "compiler/ir/serialize.h"
#include "compiler/ir/text.h"
#include "compiler/targets/register.h"
#include "tests/fuzz/differential.h"
#include "tests/support/random_model.h"

namespace {

using namespace msc;

struct Options {
  std::uint64_t first = 0;
  std::uint64_t graphs = 5000;
  std::vector<std::string> targets;
  int threads = 1;
  std::string save;
};

class Progress {
 public:
  explicit Progress(std::uint64_t all) : all_(all) {}
  void Show(std::uint64_t done, int failures) {
    const auto now = std::chrono::steady_clock::now();
    if (now - shown_ < std::chrono::seconds(5) && done < all_) return;
    shown_ = now;
    const double seconds = std::chrono::duration<double>(now - start_).count();
    std::fprintf(stderr, "%llu of %llu graphs, %d failures, %.0f s, %.0f s to go\n",
                 static_cast<unsigned long long>(done), static_cast<unsigned long long>(all_),
                 failures, seconds,
                 seconds / static_cast<double>(done) * static_cast<double>(all_ - done));
  }

 private:
  std::uint64_t all_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point shown_ = start_;
};

void Report(const Graph& graph, const fuzz::Variant& variant, const std::string& wrong,
            std::uint64_t seed, const TargetRegistry& registry, const std::string& save) {
  const auto fails = [&](const Graph& smaller) {
    return fuzz::Disagreement(smaller, variant, registry).has_value();
  };
  const Graph small = fuzz::Shrunk(graph, fails);
  std::printf("model %llu on %s: %s\n%s\n", static_cast<unsigned long long>(seed),
              fuzz::ToString(variant).c_str(), wrong.c_str(),
              Print(small, {.inline_elements = 8, .large = LargeConstants::kElide}).c_str());
  std::fflush(stdout);
  if (save.empty()) return;
  MakeFolders(save);
  SaveGraph(small, save + "/model_" + std::to_string(seed));
}

int Run(const Options& options) {
  TargetRegistry registry;
  RegisterAllTargets(registry);
  Progress progress(options.graphs);
  int failures = 0;
  std::uint64_t compared = 0;
  for (std::uint64_t i = 0; i < options.graphs; ++i) {
    const std::uint64_t seed = options.first + i;
    const Graph graph = RandomModel(seed);
    for (const std::string& target : options.targets) {
      for (const std::uint64_t precisions : {std::uint64_t{0}, seed + 1}) {
        const fuzz::Variant variant{
            .target = target, .precision_seed = precisions, .threads = options.threads};
        ++compared;
        const auto wrong = fuzz::Disagreement(graph, variant, registry);
        if (!wrong) continue;
        ++failures;
        Report(graph, variant, *wrong, seed, registry, options.save);
      }
    }
    progress.Show(i + 1, failures);
  }
  std::printf("%llu models, %llu comparisons, %d failures\n",
              static_cast<unsigned long long>(options.graphs),
              static_cast<unsigned long long>(compared), failures);
  return failures == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Random models through targets, compared with the reference kernels");
  app.add_option("--first", options.first, "number of the first model")->capture_default_str();
  app.add_option("--graphs", options.graphs, "how many models")
      ->check(CLI::Range(1, 100000000))
      ->capture_default_str();
  app.add_option("--targets", options.targets, "whom to compare")->delimiter(',')->required();
  app.add_option("--threads", options.threads, "threads")->check(CLI::Range(1, 64));
  app.add_option("--save", options.save, "folder for what fails, shrunk");
  app.footer("Example:\n  differential --graphs 5000 --targets onednn,native --save found");
  CLI11_PARSE(app, argc, argv);
  try {
    return Run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "differential: %s\n", error.what());
    return 2;
  }
}
