#pragma once

#include <memory>

#include "cost/farm/transport/transport.h"

namespace msc::cost {

/// Joins the processes that mpirun started together with this one. Call it once and early: every
/// rank waits here for all others. Asks the system to kill this process when the launcher dies.
/// SystemError if MPI reports an error.
///
/// MPI returns errors from here on instead of aborting. Afterwards the transport uses no collective
/// calls, no blocking sends and no waits, so a rank that dies blocks no other rank.
[[nodiscard]] std::unique_ptr<Transport> ConnectMpi();

/// Finalizes MPI. Every rank must call it; if a rank was lost, the call waits forever. After a
/// loss, use LeaveAfterLoss instead.
void FinalizeMpi(std::unique_ptr<Transport> transport);

/// Ends this process immediately without MPI_Finalize, which would wait for the lost ranks. Flushes
/// stdio output; exits with EXIT_FAILURE instead of 0 if that fails.
[[noreturn]] void LeaveAfterLoss(int exit_code);

}  // namespace msc::cost
