#include "cost/farm/transport/mpi/mpi_transport.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <string>
#include <thread>
#include <utility>

// The C++ bindings, removed in MPI-3, would need another library.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "compiler/base/error.h"

namespace msc::cost {
namespace {

constexpr int kTag = 1;

void Require(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  throw SystemError(std::string("MPI: ") + what + ": " + text.data());
}

class MpiTransport final : public Transport {
 public:
  MpiTransport() {
    Require(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "cannot tell the rank");
    Require(MPI_Comm_size(MPI_COMM_WORLD, &size_), "cannot tell the number of ranks");
  }

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }

  void Post(int to, std::span<const std::byte> bytes) override {
    Check(to >= 0 && to < size_, "packets go to a rank of the farm");
    Check(bytes.size() <= kMaxPacketBytes, "packets are small");
    if (IsDead(to)) return;
    Sending& sending = sending_.emplace_back();
    sending.to = to;
    std::copy(bytes.begin(), bytes.end(), sending.bytes.begin());
    // Progress tests the request; no rank waits for it.
    // NOLINTNEXTLINE(clang-analyzer-optin.mpi.MPI-Checker)
    const int code = MPI_Isend(sending.bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, to,
                               kTag, MPI_COMM_WORLD, &sending.request);
    if (code == MPI_SUCCESS) return;
    sending_.pop_back();
    dead_.push_back(to);
  }

  [[nodiscard]] std::optional<Packet> Poll(std::chrono::milliseconds wait) override {
    for (bool waited = false;; waited = true) {
      Progress();
      int there = 0;
      MPI_Status status{};
      // An error reports a dead peer; its silence will show which one.
      const int code = MPI_Iprobe(MPI_ANY_SOURCE, kTag, MPI_COMM_WORLD, &there, &status);
      if (code == MPI_SUCCESS && there != 0) return Receive(status);
      if (waited) return std::nullopt;
      // A rank that blocks inside MPI burns a whole core, and one that polls often disturbs
      // measurements on its machine. So this rank sleeps and finds packets only after the wait.
      std::this_thread::sleep_for(wait);
    }
  }

  [[nodiscard]] std::vector<int> dead_peers() const override { return dead_; }

 private:
  /// A packet in transit. MPI needs its bytes at a fixed address, so packets live in a list.
  struct Sending {
    int to = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    std::array<std::byte, kMaxPacketBytes> bytes;
  };

  [[nodiscard]] bool IsDead(int peer) const {
    return std::find(dead_.begin(), dead_.end(), peer) != dead_.end();
  }

  /// Drops packets that were sent. A packet to a dead peer may remain forever; no rank waits for
  /// it.
  void Progress() {
    for (auto it = sending_.begin(); it != sending_.end();) {
      int sent = 0;
      const int code = MPI_Test(&it->request, &sent, MPI_STATUS_IGNORE);
      if (code != MPI_SUCCESS && !IsDead(it->to)) dead_.push_back(it->to);
      it = code != MPI_SUCCESS || sent != 0 ? sending_.erase(it) : std::next(it);
    }
  }

  static std::optional<Packet> Receive(const MPI_Status& status) {
    int count = 0;
    if (MPI_Get_count(&status, MPI_BYTE, &count) != MPI_SUCCESS || count < 0) return std::nullopt;
    Packet packet;
    packet.from = status.MPI_SOURCE;
    packet.bytes.resize(static_cast<std::size_t>(count));
    const int code = MPI_Recv(packet.bytes.data(), count, MPI_BYTE, status.MPI_SOURCE, kTag,
                              MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS) return std::nullopt;
    return packet;
  }

  int rank_ = 0;
  int size_ = 1;
  std::list<Sending> sending_;
  std::vector<int> dead_;
};

}  // namespace

std::unique_ptr<Transport> ConnectMpi() {
  // The coordinator's service thread takes over MPI calls from the main thread, one thread at a
  // time.
  int provided = MPI_THREAD_SINGLE;
  Require(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided), "cannot start");
  if (provided < MPI_THREAD_SERIALIZED) {
    throw SystemError("MPI: this build of the library allows one thread only");
  }
  Require(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "cannot set up errors");
  Require(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN), "cannot set up errors");
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  return std::make_unique<MpiTransport>();
}

void FinalizeMpi(std::unique_ptr<Transport> transport) {
  transport.reset();
  Require(MPI_Finalize(), "cannot end");
}

void LeaveAfterLoss(int exit_code) {
  const bool lost = std::fflush(nullptr) != 0 || std::ferror(stdout) != 0;
  ::_exit(lost && exit_code == 0 ? EXIT_FAILURE : exit_code);
}

}  // namespace msc::cost
