#pragma once

#include <memory>

#include "cost/farm/transport/transport.h"

namespace msc::cost {

/// Joins the processes that mpirun started together with this one. To be called once, early: every
/// rank waits here until all have come. Asks the system to kill this process when the launcher
/// dies. SystemError if MPI refuses.
///
/// Errors of MPI are returned, not fatal; after this there are no collective calls, no blocking
/// sends and no waiting, so that a rank that dies holds up nobody.
[[nodiscard]] std::unique_ptr<Transport> ConnectMpi();

/// Ends MPI in good order: every rank must call it, and none may have been lost, or it waits for
/// ever. A process that leaves without it after a loss uses LeaveAfterLoss.
void FinalizeMpi(std::unique_ptr<Transport> transport);

/// Ends this process at once without MPI_Finalize, which would wait for the lost ranks; output
/// written with stdio is flushed.
[[noreturn]] void LeaveAfterLoss(int exit_code);

}  // namespace msc::cost
