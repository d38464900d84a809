#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fcntl.h>
#include <unistd.h>

#include "compiler/base/error.h"
#include "cost/farm/options.h"
#include "gym/app/command.h"
#include "gym/app/json_output.h"
#include "gym/app/typo.h"

namespace msc::gym {
namespace {

std::string ExecutablePath() {
  std::array<char, 4096> path{};
  const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size() - 1);
  if (length <= 0) throw SystemError("cannot find out where this program is");
  return {path.data(), static_cast<std::size_t>(length)};
}

int Complain(int code, const std::string& what) {
  std::fprintf(stderr, "mscgym: %s\n", what.c_str());
  return code;
}

/// Returns whether the caller is a program that reads JSON.
bool AsksForJson(int argc, const char* const* argv) {
  return std::any_of(argv, argv + argc,
                     [](const char* word) { return std::string_view(word) == "--json"; });
}

/// Opens /dev/null for standard streams that were closed at start. Otherwise a file opened later
/// would get such a number, and output would be written into it. They are opened in the wrong
/// direction, so that using them fails.
void OccupyStandardStreams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    if (::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd) ::_exit(kExitFailure);
  }
}

/// Returns `code` if all output was written, else a failure. The program must not print afterwards.
int Delivered(int code) {
  const bool lost_before = std::ferror(stdout) != 0;  // errno is lost as well
  // Some file systems report a full disk only on close.
  const bool arrived = std::fflush(stdout) == 0 && ::close(STDOUT_FILENO) == 0;
  if (arrived && !lost_before) return code;
  const SystemError error = lost_before ? SystemError("cannot write the output")
                                        : SystemError("cannot write the output", errno);
  (void)Complain(kExitFailure, error.what());
  return code == kExitUsage ? code : kExitFailure;
}

/// Complains about a command line that does not parse; prints the help or version if asked for
/// these.
int Reject(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  if (error.get_exit_code() == 0) return app.exit(error);
  const std::string hint = OptionHint(app, argc, argv);
  (void)Complain(kExitUsage, error.what() + hint);
  std::fprintf(stderr, "Run with --help for more information.\n");
  return kExitUsage;
}

int Main(int argc, char** argv) {
  CLI::App app("MSCGym searches how to compress a trained network for this machine.", "mscgym");
  app.require_subcommand(1);
  app.set_version_flag("--version", "mscgym " MSC_VERSION);
  app.footer(
      "Examples:\n"
      "  mscgym inspect model.onnx\n"
      "  mscgym optimize model.onnx --samples photos/ --time 10m\n"
      "  mscgym search experiments/quantize_fashion/config.json --out run\n"
      "  mpirun -n 3 mscgym search config.json --out run     a coordinator and two workers\n"
      "  mscgym search config.json --out run --resume        continue where it stopped\n"
      "  mscgym compile model.onnx --strategy run/best/strategy.json --out artefact\n"
      "Exit codes: 0 done, constraints met; 3 done, but limits are missed or the result is "
      "suspicious "
      "or slower than f32; 2 bad usage or input; "
      "1 any other failure.");
  AppContext context;
  context.self = ExecutablePath();
  context.words.assign(argv, argv + argc);
  if (argc > 0) context.words[0] = "mscgym";
  // NOLINTNEXTLINE(concurrency-mt-unsafe): before any thread
  const auto environment = [](const char* name) { return std::getenv(name); };
  context.under_mpi = cost::UnderMpi(environment);
  context.ranks_here = cost::RanksHere(environment);
  AddOptimize(app, context);
  AddSearch(app, context);
  AddCompile(app, context);
  AddPrune(app, context);
  AddQuantize(app, context);
  AddDistill(app, context);
  AddTrack(app, context);
  AddRun(app, context);
  AddBench(app, context);
  AddPartition(app, context);
  AddExport(app, context);
  AddExportStudy(app, context);
  AddReport(app, context);
  AddJournal(app, context);
  AddInspect(app, context);
  AddList(app, context);
  AddConformance(app, context);
  AddMeasureChild(app, context);
  AddMetricChild(app, context);
  AddMeasureRegions(app, context);
  const bool json = AsksForJson(argc, argv);
  const auto fail = [&](int code, const std::string& what) {
    if (json) PrintJsonError(code, what);
    return Complain(code, what);
  };
  try {
    const std::string unknown = argc > 1 ? UnknownSubcommand(app, argv[1]) : "";
    if (!unknown.empty()) throw UserError(unknown);
    app.parse(argc, argv);
    return context.exit_code;
  } catch (const CLI::ParseError& error) {
    if (json && error.get_exit_code() != 0) {
      PrintJsonError(kExitUsage, error.what() + OptionHint(app, argc, argv));
    }
    return Reject(app, error, argc, argv);
  } catch (const UserError& error) {
    return fail(kExitUsage, error.what());
  } catch (const std::bad_alloc&) {
    return fail(kExitFailure, "out of memory");
  } catch (const std::exception& error) {
    return fail(kExitFailure, error.what());
  }
}

}  // namespace
}  // namespace msc::gym

int main(int argc, char** argv) {
  msc::gym::OccupyStandardStreams();
  return msc::gym::Delivered(msc::gym::Main(argc, argv));
}
