#include "compiler/targets/target.h"

#include <charconv>
#include <mutex>
#include <utility>
#include <vector>

#include "compiler/base/error.h"
#include "compiler/base/nearest.h"
#include "compiler/targets/program_steps.h"

namespace msc {
namespace {

constexpr int kMaxThreads = 1024;

int ReadThreads(const std::string& target, const std::string& text) {
  int threads = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), threads);
  if (error != std::errc() || end != text.data() + text.size() || threads < 1 ||
      threads > kMaxThreads) {
    throw UserError("'" + target + ":threads' must be an integer between 1 and " +
                    std::to_string(kMaxThreads) + ", not '" + text + "'");
  }
  return threads;
}

constexpr const char* kDense = "dense";
constexpr const char* kChannelsLast = "channels_last";

bool ReadImages(const std::string& target, const std::string& text) {
  if (text == kChannelsLast) return true;
  if (text == kDense) return false;
  throw UserError("'" + target + ":images' must be dense or channels_last, not '" + text + "'");
}

constexpr const char* kAsStrategy = "strategy";

/// Returns an empty text for the default.
std::string ReadPrecision(const std::string& target, const std::string& text) {
  if (text == kAsStrategy) return "";
  if (text == "f32" || text == "bf16") return text;
  throw UserError("'" + target + ":precision' must be strategy, f32 or bf16, not '" + text + "'");
}

/// Removes an option from `options` and returns its text.
std::optional<std::string> TakeOption(const char* key, OptionMap& options) {
  const auto it = options.find(key);
  if (it == options.end()) return std::nullopt;
  std::string text = std::move(it->second);
  options.erase(it);
  return text;
}

}  // namespace

std::optional<Failure> Target::DoGraphToRuntime(const Region& region, const TargetOptions& options,
                                                ExecutableBuilder& builder) const {
  Result<kernel::Program> program = DoGraphToKernel(region, options);
  if (!program.ok()) return program.failure();
  auto module = DoKernelToRuntime(program.value().funcs);
  if (!module.ok()) return module.failure();
  AddProgram(program.value(), std::move(module).value(), facts().name, options.threads,
             CodeDigest(program.value(), *region.graph, options.threads), builder);
  return std::nullopt;
}

Result<kernel::Program> Target::DoGraphToKernel(const Region& /*region*/,
                                                const TargetOptions& /*options*/) const {
  return Failure{FailureKind::kUnsupported, facts().name + " makes no kernels"};
}

Result<std::shared_ptr<const kernel::Module>> Target::DoKernelToRuntime(
    std::span<const kernel::KernelFunc> /*funcs*/) const {
  return Failure{FailureKind::kUnsupported, facts().name + " compiles no kernels"};
}

// Targets by every spec text given so far and by their canonical spec.
struct TargetRegistry::Made {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<const Target>, std::less<>> targets;
};

TargetRegistry::TargetRegistry() : made_(std::make_unique<Made>()) {}
TargetRegistry::TargetRegistry(TargetRegistry&& other) noexcept = default;
TargetRegistry& TargetRegistry::operator=(TargetRegistry&& other) noexcept = default;
TargetRegistry::~TargetRegistry() = default;

void TargetRegistry::Add(TargetKind kind) {
  Check(!kinds_.contains(kind.name), "a target is registered once");
  std::string name = kind.name;
  kinds_.emplace(std::move(name), std::move(kind));
}

void TargetRegistry::Add(std::string name, std::unique_ptr<Target> (*make)()) {
  TargetKind kind{.name = std::move(name), .make = {}};
  kind.make = [target = kind.name, make](const OptionMap& options) {
    if (!options.empty()) {
      throw UserError("unknown key '" + target + "." + options.begin()->first +
                      "'; known here: threads, images, precision");
    }
    return make();
  };
  Add(std::move(kind));
}

void TargetRegistry::AddAbsent(std::string name, std::string why) {
  absent_.insert_or_assign(std::move(name), std::move(why));
}

std::vector<TargetOption> TargetRegistry::CommonOptions() {
  return {{.key = "threads",
           .otherwise = "as --threads",
           .allowed = "between 1 and " + std::to_string(kMaxThreads),
           .help = "number of threads"},
          {.key = "images",
           .otherwise = kDense,
           .allowed = std::string("one of ") + kDense + ", " + kChannelsLast,
           .help = "how its regions of a partition exchange images with other regions"},
          {.key = "precision",
           .otherwise = kAsStrategy,
           .allowed = std::string("one of ") + kAsStrategy + ", f32, bf16",
           .help = "precision of the layers in its regions; overrides the strategy"}};
}

const TargetKind& TargetRegistry::KindFor(std::string_view name) const {
  if (const auto it = kinds_.find(name); it != kinds_.end()) return it->second;
  if (const auto it = absent_.find(name); it != absent_.end()) {
    throw UserError("target '" + it->first + "' is not in this build: " + it->second);
  }
  std::vector<std::string> known;
  for (const auto& [kind, unused] : kinds_) known.push_back(kind);
  throw UserError("unknown target '" + std::string(name) + "'" + DidYouMean(name, known));
}

const Target& TargetRegistry::Get(std::string_view spec) const {
  const std::scoped_lock lock(made_->mutex);
  if (const auto it = made_->targets.find(spec); it != made_->targets.end()) return *it->second;
  TargetSpec canonical = ParseTargetSpec(spec);
  const TargetKind& kind = KindFor(canonical.name);
  int threads = 0;
  if (const auto text = TakeOption("threads", canonical.options)) {
    threads = ReadThreads(canonical.name, *text);
  }
  bool channels_last = false;
  if (const auto text = TakeOption("images", canonical.options)) {
    channels_last = ReadImages(canonical.name, *text);
  }
  std::string precision;
  if (const auto text = TakeOption("precision", canonical.options)) {
    precision = ReadPrecision(canonical.name, *text);
  }
  std::shared_ptr<Target> target = kind.make(canonical.options);
  Check(target != nullptr && target->facts().name == kind.name, "a kind makes its own targets");
  if (threads > 0) canonical.options["threads"] = std::to_string(threads);
  if (channels_last) canonical.options["images"] = kChannelsLast;
  if (!precision.empty()) canonical.options["precision"] = precision;
  target->spec_ = ToString(canonical);
  target->threads_ = threads;
  target->channels_last_ = channels_last;
  // A different text of the same options may have made this target already.
  const auto it = made_->targets.emplace(target->spec_, std::move(target)).first;
  return *made_->targets.emplace(std::string(spec), it->second).first->second;
}

const Target* TargetRegistry::Find(std::string_view spec) const {
  const std::string name = ParseTargetSpec(spec).name;
  return kinds_.contains(name) ? &Get(spec) : nullptr;
}

}  // namespace msc
