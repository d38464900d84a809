#pragma once

#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming)
class App;
}  // namespace CLI

namespace msc::gym {

// Exit codes of mscgym. 0 also means that constraints were met.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1;     ///< the machine or a bug
inline constexpr int kExitUsage = 2;       ///< bad command line or input
inline constexpr int kExitInfeasible = 3;  ///< finished, but nothing meets the constraints, or the
                                           ///< result is suspicious or slower than f32

/// State that subcommands share.
struct AppContext {
  std::string self;                     ///< path of this executable, for measuring children
  bool under_mpi = false;               ///< an MPI launcher started this process as a rank
  int ranks_here = 0;                   ///< ranks of that job on this machine; 0 = unknown
  int exit_code = kExitOk;              ///< set by the subcommand that ran
  std::vector<std::string> words = {};  ///< of the command line, "mscgym" first
};

// One function per subcommand, in the .cc of the same name. It declares options and help, and the
// callback that runs the subcommand. Both arguments outlive the parse.
void AddSearch(CLI::App& app, AppContext& context);
void AddOptimize(CLI::App& app, AppContext& context);
void AddCompile(CLI::App& app, AppContext& context);
void AddConformance(CLI::App& app, AppContext& context);
void AddPrune(CLI::App& app, AppContext& context);
void AddQuantize(CLI::App& app, AppContext& context);
void AddDistill(CLI::App& app, AppContext& context);
void AddTrack(CLI::App& app, AppContext& context);
void AddRun(CLI::App& app, AppContext& context);
void AddBench(CLI::App& app, AppContext& context);
void AddPartition(CLI::App& app, AppContext& context);
void AddExport(CLI::App& app, AppContext& context);
void AddExportStudy(CLI::App& app, AppContext& context);
void AddReport(CLI::App& app, AppContext& context);
void AddJournal(CLI::App& app, AppContext& context);
void AddInspect(CLI::App& app, AppContext& context);
void AddList(CLI::App& app, AppContext& context);
void AddMeasureChild(CLI::App& app, AppContext& context);
void AddMeasureRegions(CLI::App& app, AppContext& context);  // in measure_child.cc
void AddMetricChild(CLI::App& app, AppContext& context);     // in measure_child.cc

}  // namespace msc::gym
