// How often does the timing protocol find a difference where there is none?
//
// Times a matrix product against itself, again and again, and against one that does 1, 2, 5 and 10
// per cent more work, as `mscgym search` times candidates. Prints how often the interval excluded
// 1, how wide it was, and how often the machine was called noisy. Stored results:
// benchmarks/results/aa_latency.md.
//
//   build/release/bin/aa_latency [comparisons = 30] [core = first allowed]

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "compiler/ir/tensor.h"
#include "compiler/runtime/threads.h"
#include "cost/measure/latency.h"
#include "cost/measure/machine.h"
#include "cost/measure/statistics.h"

namespace {

using msc::cost::Latency;

/// c += a * b for square matrices, `rows` rows of it: work in proportion to `rows`.
class Product {
 public:
  void Run(std::int64_t rows) {
    const auto a = a_.Values<float>();
    const auto b = b_.Values<float>();
    const auto c = c_.MutableValues<float>();
    for (std::size_t i = 0; i < static_cast<std::size_t>(rows); ++i) {
      for (std::size_t k = 0; k < kSize; ++k) {
        const float x = a[i * kSize + k];
        for (std::size_t j = 0; j < kSize; ++j) c[i * kSize + j] += x * b[k * kSize + j];
      }
    }
  }

 private:
  static constexpr std::size_t kSize = 96;
  static constexpr std::int64_t kMaxRows = 128;
  msc::Tensor a_{msc::DType::kF32, {kMaxRows, kSize}};
  msc::Tensor b_{msc::DType::kF32, {kSize, kSize}};
  msc::Tensor c_{msc::DType::kF32, {kMaxRows, kSize}};
};

/// The same machine code for both sides: a compiler that saw one number of rows as a constant would
/// make them differ.
msc::cost::Call Work(Product& product, std::int64_t rows) {
  return [&product, rows] { product.Run(rows); };
}

void Report(std::int64_t rows, int comparisons) {
  constexpr std::int64_t kReferenceRows = 100;
  std::vector<double> ratios;
  std::vector<double> widths;
  std::vector<double> rounds;
  int significant = 0;
  int noisy = 0;
  for (int i = 0; i < comparisons; ++i) {
    // One and the same memory for both sides: where a buffer lies makes a few per cent, which is a
    // difference and not noise.
    Product product;
    msc::cost::LatencyOptions options;
    options.seed = static_cast<std::uint64_t>(i);
    const Latency latency =
        msc::cost::MeasureLatency(Work(product, kReferenceRows), Work(product, rows), options);
    ratios.push_back(latency.ratio);
    widths.push_back(latency.ratio_high - latency.ratio_low);
    rounds.push_back(static_cast<double>(latency.rounds));
    significant += latency.significant() ? 1 : 0;
    noisy += latency.noisy ? 1 : 0;
  }
  std::printf("| %5.2f | %6.4f | %6.2f %% | %6.4f | %5.0f | %3d of %d | %3d of %d |\n",
              static_cast<double>(rows) / kReferenceRows, msc::cost::Median(ratios),
              100 * msc::cost::MedianPercentageError(ratios), msc::cost::Median(widths),
              msc::cost::Median(rounds), significant, comparisons, noisy, comparisons);
}

}  // namespace

int main(int argc, char** argv) {
  const int comparisons = argc > 1 ? std::max(1, std::atoi(argv[1])) : 30;
  const int core = argc > 2 ? std::atoi(argv[2]) : msc::AllowedCores().front();
  msc::PinTo({core});
  const msc::cost::MachineFacts machine = msc::cost::ReadMachine();
  std::printf("%s, %lld cores, pinned to core %d\n\n", machine.cpu.c_str(),
              static_cast<long long>(machine.cores), core);
  std::printf(
      "| work | median ratio | spread of ratios | median width | rounds | significant | "
      "noisy |\n|---|---|---|---|---|---|---|\n");
  for (const std::int64_t rows : {100, 101, 102, 105, 110}) Report(rows, comparisons);
  return 0;
}
