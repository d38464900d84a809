#pragma once

#include <string>
#include <vector>

#include "gym/app/bench_rows.h"

namespace msc::gym {

/// Content of the lines above the table.
struct BenchTitle {
  std::string model;
  std::int64_t batch = 1;
  int threads = 1;
  double flops = 0;  ///< of the uncompressed model
};

void PrintTable(const BenchTitle& title, const BenchSetup& setup,
                const std::vector<BenchRow>& rows);
/// Prints one JSON object. If `profiles` is not empty, it includes the median step times of each
/// row, by index, and the content of PrintParts by variant.
void PrintJson(const BenchTitle& title, const BenchSetup& setup, const std::vector<BenchRow>& rows,
               const TargetRegistry& targets, const std::vector<std::vector<StepTime>>& profiles);
/// Prints time, GFLOP/s and fraction of the roofline of every step.
void PrintProfile(const BenchRow& row, const std::vector<StepTime>& times, const cost::Roof& roof);

/// Prints the rows of each variant side by side: every part that their steps have in common, and
/// the fastest row. Omits rows of a single step, which cannot be split into parts.
void PrintParts(const std::vector<BenchRow>& rows,
                const std::vector<std::vector<StepTime>>& profiles);

}  // namespace msc::gym
