// Where the kernel of batches begins on the GPU. It is a module of its own, because few programs need it.

#define GPU_RUN_FAMILIES 1
#include "generated/layout_check.h"
#include "process_lanes.h"

// One lane a hardware thread. Returns when no process is left in the queue.
extern "C" [[clang::device_kernel]] void gpu_run_processes(gpu_run::Batch *batch) {
  gpu_run::u32 slot = gpu_run::processes::slot_of_lane(*batch);
  if (slot != ~0u) gpu_run::run_slot(*batch, slot);
}
