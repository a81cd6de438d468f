// Where the kernel begins, in its two homes.

#include "generated/layout_check.h"
#include "scheduler.h"
#if !GPU_RUN_GPU
#include "process_lanes.h"
#endif

#if GPU_RUN_GPU

// One lane a hardware thread. Returns when every thread has ended or the host says stop; a kernel that
// stays then goes on to the next run.
extern "C" [[clang::device_kernel]] void gpu_run_interpret(const gpu_run::Launch *launch) {
  gpu_run::u32 lane = gpu_run::global_lane();
  if (lane < launch->lanes) gpu_run::run_lane(*launch, lane);
}

#else

// One lane an OS thread.
extern "C" void gpu_run_interpret(const gpu_run::Launch *launch, gpu_run::u32 lane) {
  gpu_run::u32 before = gpu_run::own_lane();
  gpu_run::own_lane() = lane;
  gpu_run::run_lane(*launch, lane);
  gpu_run::own_lane() = before;
}

// The same of a batch.
extern "C" void gpu_run_processes(gpu_run::Batch *batch, gpu_run::u32 lane) {
  gpu_run::u32 before = gpu_run::own_lane();
  gpu_run::own_lane() = lane;
  gpu_run::run_slot(*batch, lane);
  gpu_run::own_lane() = before;
}

#endif
