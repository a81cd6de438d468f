// The buffers that a run has beside its memory: input, output and frame. Threads write anywhere, at the same time;
// where two write the same place, one value remains, as in linear memory.
#pragma once

#include "bulk.h"
#include "frames.h"
#include "generated/isa.h"

namespace gpu_run {
namespace io {

GPU_RUN_INLINE void set_pixel(Io &io, u32 x, u32 y, u32 rgba) {
  if (x >= io.width || y >= io.height) return;
  store_guest(&io.frame[(u64)y * io.width + x], rgba);
  if (!io.progress) return;
  red_add_device(&io.pixels, (u64)1);
  // Once in a row, as it goes over the bus. Relaxed: it is only shown to a user.
  if (x == io.width - 1) store_relaxed_system(io.progress, load_relaxed_device(&io.pixels));
}

// Runs an instruction that works on the buffers.
GPU_RUN_NOINLINE StepResult execute(Io &io, const Launch &launch, const Memory &memory, Registers registers, const u64 *pc,
                              u64 w) {
  u32 first = slot(w, 1), words = 1, cost = 0;
  switch ((u16)w) {
    case OP_in_size: registers.set64(first, io.input_size); break;
    case OP_out_size: registers.set64(first, io.output_size); break;
    case OP_frame_size: registers.set64(first, join(io.width, io.height)); break;
    case OP_set_pixel:
      set_pixel(io, registers.get32(first), registers.get32(slot(w, 2)), registers.get32(slot(w, 3)));
      break;
    default: {
      bool writes = (u16)w == OP_st_out;
      u64 at = registers.get64(slot(w, 2)), size = writes ? io.output_size : io.input_size;
      u32 address = registers.get32(slot(w, 3)), len = registers.get32(slot(load_code(pc + 1), 0));
      if (!in_bounds(address, len, load_relaxed_device(&memory.size))) return StepResult{DONE_Trap, TRAP_MemoryOutOfBounds, 0};
      // What does not lie in the buffer is left out.
      u32 count = at < size ? (u32)lesser(len, size - at) : 0;
      registers.set32(first, count);
      u8 *to = writes ? io.output : memory.base;
      const u8 *from = writes ? memory.base : io.input;
      if (count) bulk_copy(launch, to, writes ? at : address, from, writes ? address : at, count);
      // Most writes lie below the highest byte, and need not wait in line for its word.
      if (writes && count && load_relaxed_device(&io.output_end) < at + count) red_max_device(&io.output_end, at + count);
      words = 2;
      cost = 1 + count / 256;
    }
  }
  return StepResult{DONE_Step, words, cost};
}

}  // namespace io
}  // namespace gpu_run
