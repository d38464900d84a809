#include <csignal>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compiler/base/file.h"
#include "cost/model/outcome.h"
#include "tests/farm/support.h"

namespace msc::cost {
namespace {

using namespace std::chrono_literals;

/// For what takes a second on an idle machine; nothing is measured.
constexpr auto kPatience = 60s;

std::string FindMpirun() {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string program = folder + "/mpirun";
    if (::access(program.c_str(), X_OK) == 0) return program;
  }
  return "";
}

bool WaitUntil(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(5ms);
  }
  return true;
}

/// mpirun with three ranks of farm_mpi_program, in a process group of its own.
class Job {
 public:
  explicit Job(int count) : folder_(testing::NewFolder("mpi")) {
    std::filesystem::create_directory(folder_ + "/tmp");
    std::vector<std::string> words{FindMpirun(),
                                   "--enable-recovery",
                                   "--oversubscribe",
                                   "--bind-to",
                                   "none",
                                   "--mca",
                                   "orte_tmpdir_base",
                                   folder_ + "/tmp",
                                   "--mca",
                                   "btl_vader_backing_directory",
                                   folder_ + "/tmp",
                                   "-np",
                                   "3"};
    if (::geteuid() == 0) words.insert(words.begin() + 1, "--allow-run-as-root");
    for (const std::string& word : {std::string(MSC_MPI_PROGRAM), folder_, std::to_string(count)}) {
      words.push_back(word);
    }
    std::vector<char*> argv;
    for (auto& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    const std::string log = folder_ + "/log";
    mpirun_ = ::fork();
    if (mpirun_ == 0) {
      ::setpgid(0, 0);
      const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
      ::dup2(out, 1);
      ::dup2(out, 2);
      ::execv(argv[0], argv.data());
      ::_exit(127);
    }
  }
  ~Job() {
    if (mpirun_ > 0) {
      ::kill(-mpirun_, SIGKILL);
      ::waitpid(mpirun_, nullptr, 0);
    }
    // The ranks are children of mpirun in groups of their own; they asked to die with it.
    for (int rank = 0; rank < 3; ++rank) EXPECT_TRUE(WaitUntil([&] { return !Lives(rank); }));
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  [[nodiscard]] bool Has(const std::string& file) const {
    return ::access((folder_ + "/" + file).c_str(), F_OK) == 0;
  }
  [[nodiscard]] std::string Text(const std::string& file) const {
    return Has(file) ? ReadFile(folder_ + "/" + file) : "";
  }
  [[nodiscard]] bool AllStarted() const { return Has("pid.0") && Has("pid.1") && Has("pid.2"); }
  [[nodiscard]] pid_t Pid(int rank) const {
    const std::string text = Text("pid." + std::to_string(rank));
    return text.empty() ? 0 : std::stoi(text);
  }
  [[nodiscard]] bool Lives(int rank) const {
    const pid_t pid = Pid(rank);
    if (pid == 0) return false;
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string number;
    std::string name;
    std::string state;
    stat >> number >> name >> state;
    return !state.empty() && state != "Z";
  }
  [[nodiscard]] std::size_t Results() const {
    const std::string text = Text("results");
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  }
  void Signal(int rank, int signal) const { ASSERT_EQ(::kill(Pid(rank), signal), 0); }
  /// Exit status of mpirun, once it has ended by itself.
  int Join() {
    int status = -1;
    EXPECT_TRUE(WaitUntil([&] { return ::waitpid(mpirun_, &status, WNOHANG) == mpirun_; }));
    if (status != -1) mpirun_ = 0;
    return status;
  }
  /// Every candidate reported once, as a single process would.
  void ExpectAllResults(int count) const {
    const auto batch = testing::Candidates(count);
    std::map<std::size_t, int> times;
    std::istringstream lines(Text("results"));
    for (std::string line; std::getline(lines, line);) {
      const auto space = line.find(' ');
      const std::size_t index = std::stoul(line.substr(0, space));
      ++times[index];
      EXPECT_EQ(line.substr(space + 1), ToJson(testing::Truth(batch.at(index))));
    }
    EXPECT_EQ(times.size(), batch.size());
    for (const auto& [index, count_of] : times) EXPECT_EQ(count_of, 1) << index;
  }

 private:
  std::string folder_;
  pid_t mpirun_ = 0;
};

class Mpi : public ::testing::Test {
 protected:
  void SetUp() override {
    if (FindMpirun().empty()) GTEST_SKIP() << "mpirun is not installed";
  }
};

TEST_F(Mpi, FarmGivesWhatOneProcessGives) {
  Job job(60);
  EXPECT_EQ(job.Join(), 0) << job.Text("log");
  EXPECT_EQ(job.Text("end"), "clean lost_workers 0") << job.Text("log");
  job.ExpectAllResults(60);
}

TEST_F(Mpi, FarmFinishesWhenAWorkerIsKilled) {
  Job job(200);
  ASSERT_TRUE(WaitUntil([&] { return job.AllStarted() && job.Results() >= 10; }));
  job.Signal(1, SIGKILL);
  ASSERT_TRUE(WaitUntil([&] { return job.Has("end"); })) << job.Text("log");
  EXPECT_EQ(job.Text("end"), "after_loss lost_workers 1");
  job.ExpectAllResults(200);
}

TEST_F(Mpi, FarmFinishesWhenAWorkerHangs) {
  Job job(200);
  ASSERT_TRUE(WaitUntil([&] { return job.AllStarted() && job.Results() >= 10; }));
  job.Signal(2, SIGSTOP);
  ASSERT_TRUE(WaitUntil([&] { return job.Has("end"); })) << job.Text("log");
  EXPECT_EQ(job.Text("end"), "after_loss lost_workers 1");
  job.ExpectAllResults(200);
}

TEST_F(Mpi, WorkersLeaveWhenTheCoordinatorIsKilled) {
  Job job(5000);
  ASSERT_TRUE(WaitUntil([&] { return job.AllStarted() && job.Results() >= 10; }));
  job.Signal(0, SIGKILL);
  EXPECT_TRUE(WaitUntil([&] { return !job.Lives(1) && !job.Lives(2); })) << job.Text("log");
}

}  // namespace
}  // namespace msc::cost
