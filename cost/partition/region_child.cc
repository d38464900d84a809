#include "cost/partition/region_child.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <iostream>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "compiler/base/rng.h"
#include "compiler/ir/serialize.h"
#include "compiler/runtime/threads.h"
#include "cost/measure/child.h"
#include "cost/measure/probe.h"
#include "cost/measure/record.h"
#include "cost/model/closeness.h"
#include "cost/model/outcome.h"
#include "cost/partition/region_kernels.h"
#include "cost/partition/region_protocol.h"
#include "cost/partition/source.h"

namespace msc::cost {
namespace {

/// Appends answers to a file, each in one piece and immediately.
class Answers {
 public:
  explicit Answers(const std::string& path) : file_(std::fopen(path.c_str(), "ae")) {
    if (file_ == nullptr) throw SystemError("cannot append to '" + path + "'", errno);
  }
  void Say(RegionAnswer answer) {
    answer.at = std::chrono::duration<double>(Clock::now() - start_).count();
    const std::string line = ToJson(answer) + "\n";
    if (std::fwrite(line.data(), 1, line.size(), file_.get()) != line.size() ||
        std::fflush(file_.get()) != 0) {
      throw SystemError("cannot write answers", errno);
    }
  }

 private:
  using Clock = std::chrono::steady_clock;
  struct Close {
    void operator()(std::FILE* file) const noexcept { (void)std::fclose(file); }
  };
  Clock::time_point start_ = Clock::now();
  std::unique_ptr<std::FILE, Close> file_;
};

/// A runner that is ready to be timed.
struct Ready {
  std::size_t index = 0;
  Executable executable;
  std::vector<Tensor> inputs = {};
  std::vector<Tensor> outputs = {};
  std::int64_t weight_bytes = 0;
};

/// Reads a byte of every cache line.
void Read(std::span<const std::byte> memory) {
  constexpr std::size_t kLine = 64;
  unsigned sum = 0;
  for (std::size_t i = 0; i < memory.size(); i += kLine)
    sum += std::to_integer<unsigned>(memory[i]);
  // Volatile, so that the compiler does not drop the reads.
  volatile unsigned kept = sum;
  static_cast<void>(kept);
}

/// Returns a random input: positive reals, so that no logarithm or root is NaN; varying 8-bit
/// integers; zeros for types that may be indices.
Tensor InputFor(const ValueType& type, Rng& rng) {
  Tensor tensor(type.dtype, StaticDims(type.shape.value()).value());
  if (type.dtype == DType::kF32) {
    for (float& x : tensor.MutableValues<float>()) x = static_cast<float>(0.5 + rng.Uniform());
  } else if (type.dtype == DType::kBF16) {
    for (auto& x : tensor.MutableValues<std::uint16_t>()) {
      x = ToBF16(static_cast<float>(0.5 + rng.Uniform()));
    }
  } else if (type.dtype == DType::kI8) {
    for (auto& x : tensor.MutableValues<std::int8_t>())
      x = static_cast<std::int8_t>(rng.Below(128));
  } else if (type.dtype == DType::kU8) {
    for (auto& x : tensor.MutableValues<std::uint8_t>()) {
      x = static_cast<std::uint8_t>(rng.Below(256));
    }
  }
  return tensor;
}

std::vector<RegionSource> SourcesOf(const RegionRequest& request) {
  std::vector<RegionSource> sources;
  sources.reserve(request.sources.size());
  for (const SourceFiles& files : request.sources) {
    sources.emplace_back(LoadGraph(files.graph),
                         std::set<std::string>(files.added.begin(), files.added.end()));
  }
  return sources;
}

class RegionChild {
 public:
  RegionChild(const RegionRequest& request, const TargetRegistry& targets)
      : request_(request),
        targets_(targets),
        answers_(request.answers),
        sources_(SourcesOf(request)),
        elsewhere_(static_cast<std::size_t>(request.timing.cold_bytes), std::byte{1}) {
    UseThreads(request.threads);
  }

  void Run() {
    if (request_.only_kernels) {
      CompileKernels(sources_, request_.groups, request_.threads, targets_, [&](double part) {
        const auto groups = static_cast<double>(request_.groups.size());
        const auto group = static_cast<std::size_t>(part * groups);
        answers_.Say({.state = RegionEvent::kBuilds, .group = group, .runner = 0});
      });
      return;
    }
    for (std::size_t i = 0; i < request_.groups.size(); ++i) MeasureGroup(i);
  }

 private:
  void MeasureGroup(std::size_t index) {
    const RegionGroup& group = request_.groups[index];
    std::vector<Ready> ready;
    for (std::size_t i = 0; i < group.runners.size(); ++i) {
      answers_.Say({.state = RegionEvent::kBuilds, .group = index, .runner = i});
      Result<Ready> made = Make(group, i);
      std::optional<Failure> failure;
      if (!made.ok()) failure = made.failure();
      if (!failure) {
        const Ready* first = FirstLike(made.value(), group, ready);
        if (first != nullptr) failure = Compare(*first, made.value());
      }
      if (failure) {
        Give(index, i, *failure);
        continue;
      }
      ready.push_back(std::move(made).value());
    }
    if (ready.empty()) return;
    answers_.Say({.state = RegionEvent::kTimes, .group = index});
    const std::vector<Latency> latencies = Time(ready);
    for (std::size_t i = 0; i < ready.size(); ++i) {
      Outcome outcome;
      outcome.latency = latencies[i];
      outcome.weight_bytes = ready[i].weight_bytes;
      outcome.peak_bytes = static_cast<std::int64_t>(ready[i].executable.memory().arena_bytes);
      Give(index, ready[i].index, outcome);
    }
  }

  std::vector<Latency> Time(std::vector<Ready>& ready) const {
    std::vector<Call> calls;
    calls.reserve(ready.size());
    for (Ready& runner : ready) {
      calls.emplace_back([&] { runner.executable.RunInto(runner.inputs, runner.outputs); });
    }
    RivalOptions options{.latency = request_.timing.latency, .give_up = request_.timing.give_up};
    if (!elsewhere_.empty()) {
      options.before_round = [&] { Read(elsewhere_); };
      options.before_call = [&](std::size_t rival) {
        for (const Tensor& output : ready[rival].outputs) Read(output.Raw());
        for (const Tensor& input : ready[rival].inputs) Read(input.Raw());
      };
    }
    return MeasureRivals(calls, options, SystemProbe());
  }

  /// Returns the region in the form in which its runner exchanges values.
  [[nodiscard]] Graph GraphOf(const RegionGroup& group, std::size_t runner) const {
    const RegionSource& source = sources_.at(static_cast<std::size_t>(group.sources.at(runner)));
    if (group.nodes.empty()) return source.graph();
    const Target& target = targets_.Get(group.runners[runner].target);
    return source.Cut(group.nodes, target.ExchangesChannelsLast());
  }

  Result<Ready> Make(const RegionGroup& group, std::size_t index) {
    // A rejection or failure of a library or of generated code is a result of the measurement.
    try {
      Strategy strategy;
      strategy.target = group.runners[index].target;
      strategy.partition = group.runners[index].partition;
      const Graph graph = GraphOf(group, index);
      const CompileOptions options{.threads = request_.threads};
      const Lowered lowered = LowerFor(graph, strategy, targets_, options);
      if (!group.nodes.empty()) {
        const std::vector<std::string> refused = RejectedNodes(lowered, targets_);
        if (!refused.empty()) {
          return Failure{FailureKind::kUnsupported,
                         "does not support node '" + refused.front() + "'"};
        }
      }
      Result<Executable> built = BuildExecutable(lowered, targets_, options);
      if (!built.ok()) return built.failure();
      Ready ready{.index = index, .executable = std::move(built).value()};
      Rng rng(1);
      for (const ValueId id : graph.inputs()) {
        ready.inputs.push_back(InputFor(graph.type(id), rng));
      }
      ready.outputs = ready.executable.Run(ready.inputs);
      ready.weight_bytes = CountContents(lowered.graph).weight_bytes;
      return ready;
    } catch (const std::bad_alloc&) {
      return Failure{FailureKind::kOutOfMemory, "out of memory while compiling"};
    } catch (const std::exception& error) {
      return Failure{FailureKind::kCompile, error.what()};
    }
  }

  /// Returns the first ready runner in the same precisions; nullptr if there is none.
  static const Ready* FirstLike(const Ready& made, const RegionGroup& group,
                                const std::vector<Ready>& ready) {
    const auto source = [&](const Ready& of) { return group.sources.at(of.index); };
    const auto first = std::find_if(ready.begin(), ready.end(), [&](const Ready& other) {
      return source(other) == source(made);
    });
    return first == ready.end() ? nullptr : &*first;
  }

  [[nodiscard]] std::optional<Failure> Compare(const Ready& first, const Ready& other) const {
    if (request_.timing.tolerance == 0) return std::nullopt;
    for (std::size_t i = 0; i < first.outputs.size(); ++i) {
      const double difference = TensorDifference(first.outputs[i], other.outputs[i]);
      if (difference <= request_.timing.tolerance) continue;
      return Failure{FailureKind::kWrongOutput, "an output differs from the first runner's by " +
                                                    std::to_string(difference) + " of its range"};
    }
    return std::nullopt;
  }

  void Give(std::size_t group, std::size_t runner, const Result<Outcome>& outcome) {
    answers_.Say({.group = group, .runner = runner, .outcome = outcome});
  }

  const RegionRequest& request_;
  const TargetRegistry& targets_;
  Answers answers_;  // first, because it knows when the child started
  std::vector<RegionSource> sources_;
  std::vector<std::byte> elsewhere_;  ///< stands for the rest of the model
};

}  // namespace

int MeasureRegionsMain(const std::string& request_path, const TargetRegistry& targets) {
  // No exception may leave the child: everything becomes a record or an exit status.
  try {
    const RegionRequest request =
        RegionRequestFromJson(ReadFile(request_path), "'" + request_path + "'");
    RegionChild(request, targets).Run();
    WriteRecord(kRecordFd, "{}");
    return 0;
  } catch (const std::bad_alloc&) {
    return kExitOutOfMemory;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}

}  // namespace msc::cost
