// All that differs between the two homes of the kernel. They are a GPU (clang for nvptx64) and a host CPU (any C++17
// compiler with the __atomic builtins). No other file asks where it runs or holds PTX.
//
// Orders and scopes are in the names. clang's NVPTX backend drops order and scope of read-modify-write atomics, so
// those are spelled in PTX here. Loads, stores and compare-exchange keep theirs.
#pragma once

namespace gpu_run {

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using i8 = signed char;
using i16 = short;
using i32 = int;
using i64 = long long;

static_assert(sizeof(u32) == 4 && sizeof(u64) == 8 && sizeof(void *) == 8, "a 64-bit platform");

#if defined(__NVPTX__)
#define GPU_RUN_GPU 1
#define GPU_RUN_INLINE inline __attribute__((always_inline))
#else
#define GPU_RUN_GPU 0
#define GPU_RUN_INLINE inline
#endif
#if !defined(GPU_RUN_NOINLINE)
#define GPU_RUN_NOINLINE __attribute__((noinline))
#endif

// Before a loop: not unrolled, for the instruction cache's sake. Or fully unrolled, so that loads of several iterations
// are in flight together, and what they bring stays in registers.
#if GPU_RUN_GPU
#define GPU_RUN_NO_UNROLL _Pragma("clang loop unroll(disable)")
#define GPU_RUN_UNROLL _Pragma("clang loop unroll(full)")
#else
#define GPU_RUN_NO_UNROLL
#define GPU_RUN_UNROLL
#endif

#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

#if GPU_RUN_GPU

// --- GPU --------------------------------------------------------------------------------------

GPU_RUN_INLINE u32 global_lane() {
  return __nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() + __nvvm_read_ptx_sreg_tid_x();
}
GPU_RUN_INLINE u32 lane_in_block() { return __nvvm_read_ptx_sreg_tid_x(); }
GPU_RUN_INLINE u32 lanes_in_block() { return __nvvm_read_ptx_sreg_ntid_x(); }

// Nanoseconds on a clock that all multiprocessors share.
GPU_RUN_INLINE u64 clock_ns() {
  u64 now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

// Backoff of a lane that has nothing to run, for the `idle`th time in a row: lets other warps run. Short at first,
// because the host responds within microseconds.
GPU_RUN_INLINE void backoff(u32 idle) {
  u32 pause = idle < 32 ? 100 : 2000;
  asm volatile("nanosleep.u32 %0;" ::"r"(pause));
}

// Backoff of a lane that has nothing to do for so many nanoseconds. A lane that wakes takes time from the others of its
// warp, so it wakes seldom; and nanosleep takes up to twice as long as it is asked to.
GPU_RUN_INLINE void backoff_for(u64 length) {
  const u64 half = length / 2;
  const u32 pause = half < 100 ? 100 : half > 500000 ? 500000 : (u32)half;
  asm volatile("nanosleep.u32 %0;" ::"r"(pause));
}

// How often a lane that has nothing else to do looks for the host's response before its backoff; each look takes a
// microsecond.
constexpr u32 RESPONSE_POLLS = 6;

// A lane's cycles, of which the difference of two is how many went by.
GPU_RUN_INLINE u32 cycles() {
  u32 now;
  asm volatile("mov.u32 %0, %%clock;" : "=r"(now));
  return now;
}

// The same for long times.
GPU_RUN_INLINE u64 long_cycles() {
  u64 now;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(now));
  return now;
}

// A word that one lane writes, and that the host may read meanwhile: by a copy, which takes words whole.
using Shown = u32;

// The time by which a lane's threads are sampled, which is cheap to look at, and whether the host counts it.
constexpr bool HAS_TICKS = false;
GPU_RUN_INLINE u64 lane_time(const u64 *) { return long_cycles(); }

// Backoff of a lane from what may take the host some time, and where many lanes wait.
GPU_RUN_INLINE void backoff_long() { asm volatile("nanosleep.u32 16000;"); }

// Backoff of a lane that has nothing to do until a word is no longer 0, or for so many nanoseconds.
GPU_RUN_INLINE void rest(const u32 *, u32 idle, u64) {
  backoff(idle);
  if (idle >= 64) backoff_long();
}
// Ends the rest of a lane. Those of a GPU look again by themselves.
GPU_RUN_INLINE void rouse(const u32 *) {}

// Tells the host of a message. It looks by itself.
GPU_RUN_INLINE void ring_doorbell(u64, u64) {}

// Ends the lane, wherever it is. For compiled code, which has no loop to return to.
[[noreturn]] GPU_RUN_INLINE void exit_lane() {
  asm volatile("exit;");
  __builtin_unreachable();
}

// The hardware block's shared memory, of which the lanes see each other's accesses one after the other.
GPU_RUN_INLINE u32 add_shared(__attribute__((address_space(3))) u32 *at, u32 value) {
  return __atomic_fetch_add(at, value, __ATOMIC_RELAXED);
}
GPU_RUN_INLINE void fence_block() { __nvvm_membar_cta(); }
GPU_RUN_INLINE u32 exchange_shared(__attribute__((address_space(3))) u32 *at, u32 value) {
  return __atomic_exchange_n(at, value, __ATOMIC_RELAXED);
}

// Where the lane's native stack ends, in local memory; it grows downwards.
GPU_RUN_INLINE u32 native_stack() {
  u32 at;
  asm volatile("stacksave.u32 %0;" : "=r"(at));
  return at;
}

// The halves of a 64-bit value. Spelled in PTX, because clang 22 may otherwise store half of an f64 register as if it
// were an integer one. ptxas then converts that to an integer.
GPU_RUN_INLINE void split(u64 value, u32 &low, u32 &high) {
  asm("mov.b64 {%0, %1}, %2;" : "=r"(low), "=r"(high) : "l"(value));
}
GPU_RUN_INLINE u64 join(u32 low, u32 high) {
  u64 value;
  asm("mov.b64 %0, {%1, %2};" : "=l"(value) : "r"(low), "r"(high));
  return value;
}

// Address of register unit `unit` of a frame. In PTX, because clang makes three instructions of it.
GPU_RUN_INLINE u8 *advance(u8 *frame, u32 unit, u32 stride) {
  u8 *at;
  asm("mad.wide.u32 %0, %1, %2, %3;" : "=l"(at) : "r"(unit), "r"(stride), "l"(frame));
  return at;
}

// Code that a kernel may have read is not written while it runs, so it may come through the read-only
// path. `next_command` says how that holds for a kernel that stays.
GPU_RUN_INLINE u64 load_code(const u64 *at) {
  u64 word;
  asm("ld.global.nc.u64 %0, [%1];" : "=l"(word) : "l"(at));
  return word;
}

// Loads, stores and compare-exchange. Spelled in PTX too: for this target clang 22 compiles its
// __scoped_atomic builtins to system scope, whatever scope they name.
#define GPU_RUN_LOAD(name, instruction, T, width, out)                                             \
  GPU_RUN_INLINE T name(const T *at) {                                                             \
    T value;                                                                                       \
    asm volatile(instruction "." width " %0, [%1];" : out(value) : "l"(at) : "memory");            \
    return value;                                                                                  \
  }
#define GPU_RUN_STORE(name, instruction, T, width, in)                                             \
  GPU_RUN_INLINE void name(T *at, T value) {                                                       \
    asm volatile(instruction "." width " [%0], %1;" ::"l"(at), in(value) : "memory");              \
  }
// Read-modify-write operations name the state space: all such words are in global memory. For an address that might be
// in another space, ptxas makes two more paths, and waits for a result that is not used. On failure `expected` becomes
// what was found.
#define GPU_RUN_EXCHANGE(name, before, instruction, T, width, out, in)                             \
  GPU_RUN_INLINE bool name(T *at, T &expected, T desired) {                                        \
    T found;                                                                                       \
    asm volatile(before instruction "." width " %0, [%1], %2, %3;"                                 \
                 : out(found)                                                                      \
                 : "l"(at), in(expected), in(desired)                                              \
                 : "memory");                                                                      \
    bool done = found == expected;                                                                 \
    expected = found;                                                                              \
    return done;                                                                                   \
  }
#define GPU_RUN_ATOMICS(T, width, out, in)                                                         \
  GPU_RUN_LOAD(load_relaxed_system, "ld.relaxed.sys", T, width, out)                               \
  GPU_RUN_LOAD(load_acquire_system, "ld.acquire.sys", T, width, out)                               \
  GPU_RUN_LOAD(load_relaxed_device, "ld.relaxed.gpu", T, width, out)                               \
  GPU_RUN_LOAD(load_acquire_device, "ld.acquire.gpu", T, width, out)                               \
  GPU_RUN_STORE(store_relaxed_system, "st.relaxed.sys", T, width, in)                              \
  GPU_RUN_STORE(store_release_system, "st.release.sys", T, width, in)                              \
  GPU_RUN_STORE(store_relaxed_device, "st.relaxed.gpu", T, width, in)                              \
  GPU_RUN_STORE(store_release_device, "st.release.gpu", T, width, in)                              \
  GPU_RUN_LOAD(load_seq_cst_device, "fence.sc.gpu; ld.acquire.gpu", T, width, out)                 \
  GPU_RUN_STORE(store_seq_cst_device, "fence.sc.gpu; st.relaxed.gpu", T, width, in)                \
  GPU_RUN_EXCHANGE(compare_exchange_acquire_device, "", "atom.acquire.gpu.global.cas", T, width, out, in) \
  GPU_RUN_EXCHANGE(compare_exchange_acq_rel_device, "", "atom.acq_rel.gpu.global.cas", T, width, out, in) \
  GPU_RUN_EXCHANGE(compare_exchange_seq_cst_device, "fence.sc.gpu; ", "atom.acquire.gpu.global.cas", T, width, out, in)

// Sequentially consistent: operations with a fence.sc before them, which also releases; those that load acquire. So they are
// spelled in NVIDIA's "Atomics Application Binary Interface", after "A Formal Analysis of the NVIDIA PTX Memory Consistency
// Model" (D. Lustig and others, 2019). A release of their own would wait for the lane's writes once more, which takes
// as long as the fence. They serve guests, for which device scope is
// enough: while threads run, only lanes of their GPU touch guest memory. The host reads and writes it before and after
// a run.
GPU_RUN_ATOMICS(u32, "b32", "=r", "r")
GPU_RUN_ATOMICS(u64, "b64", "=l", "l")
#undef GPU_RUN_LOAD
#undef GPU_RUN_STORE
#undef GPU_RUN_EXCHANGE
#undef GPU_RUN_ATOMICS

// A look at a word at which lanes look again and again, until it is no longer `nothing`: an acquire load if it is not. One
// that acquires empties the L1 cache of the whole multiprocessor, and does so for nothing as long as nothing has come.
template <typename T>
GPU_RUN_INLINE T look_acquire_device(const T *at, T nothing) {
  // What is loaded the second time is as new, or newer: both are strong loads of one word.
  return load_relaxed_device(at) == nothing ? nothing : load_acquire_device(at);
}

// A hint, which may be old: through the multiprocessor's own cache, which does not see what others store.
GPU_RUN_INLINE u16 load_hint(const u16 *at) {
  u16 value;
  asm volatile("ld.global.u16 %0, [%1];" : "=h"(value) : "l"(at) : "memory");
  return value;
}

// Two adjacent words, at a multiple of 16: each is loaded or stored at once, in any order.
GPU_RUN_INLINE void load_pair_relaxed_system(const u64 *at, u64 &first, u64 &second) {
  asm volatile("ld.relaxed.sys.v2.b64 {%0, %1}, [%2];" : "=l"(first), "=l"(second) : "l"(at) : "memory");
}
GPU_RUN_INLINE void store_pair_relaxed_system(u64 *at, u64 first, u64 second) {
  asm volatile("st.relaxed.sys.v2.b64 [%0], {%1, %2};" ::"l"(at), "l"(first), "l"(second) : "memory");
}
// Makes an acquire load of the relaxed one by which this lane has seen what is at `at`. Takes half as long as another
// look over the bus.
GPU_RUN_INLINE void acquire_seen_system(const u64 *) { asm volatile("fence.acq_rel.sys;" ::: "memory"); }

// What this lane has loaded before the fence was loaded before others see what it stores after the fence.
GPU_RUN_INLINE void release_fence_system() { asm volatile("fence.acq_rel.sys;" ::: "memory"); }

// Narrower ones serve accesses of guests that are not aligned: volatile, which PTX treats as
// relaxed at system scope.
template <typename T>
GPU_RUN_INLINE T load_relaxed_device(const T *at) { return *(const volatile T *)at; }
template <typename T>
GPU_RUN_INLINE void store_relaxed_device(T *at, T value) { *(volatile T *)at = value; }

// Plain accesses of guests, naturally aligned: what wasm asks of a racing access. On the GPU they may
// use the L1 cache.
template <typename T>
GPU_RUN_INLINE T load_guest(const T *at) { return *at; }
template <typename T>
GPU_RUN_INLINE void store_guest(T *at, T value) { *at = value; }

// Two adjacent words, at a multiple of 16, as one access; otherwise as with `load_guest`. What is spelled here stays
// where it is, so that several loads are in flight at once.
GPU_RUN_INLINE void load_pair_guest(const void *at, u64 &first, u64 &second) {
  asm volatile("ld.global.v2.b64 {%0, %1}, [%2];" : "=l"(first), "=l"(second) : "l"(at) : "memory");
}
GPU_RUN_INLINE void store_word_guest(u64 *at, u64 word) {
  asm volatile("st.global.b64 [%0], %1;" ::"l"(at), "l"(word) : "memory");
}
GPU_RUN_INLINE u64 load_word_guest(const u64 *at) {
  u64 word;
  asm volatile("ld.global.b64 %0, [%1];" : "=l"(word) : "l"(at) : "memory");
  return word;
}
GPU_RUN_INLINE u32 load_word_guest(const u32 *at) {
  u32 word;
  asm volatile("ld.global.b32 %0, [%1];" : "=r"(word) : "l"(at) : "memory");
  return word;
}
template <typename T>
GPU_RUN_INLINE T *load_word_guest(T *const *at) { return (T *)load_word_guest((const u64 *)at); }

// Statistics: these order nothing, and no lane waits for the word's new value.
#define GPU_RUN_REDUCE(name, operation, T, width, in)                                              \
  GPU_RUN_INLINE void name(T *at, T value) {                                                       \
    asm volatile("red.relaxed.gpu.global." operation "." width " [%0], %1;" ::"l"(at), in(value) : "memory"); \
  }
GPU_RUN_REDUCE(red_add_device, "add", u32, "u32", "r")
GPU_RUN_REDUCE(red_add_device, "add", u64, "u64", "l")
GPU_RUN_REDUCE(red_max_device, "max", u32, "u32", "r")
GPU_RUN_REDUCE(red_max_device, "max", u64, "u64", "l")
#undef GPU_RUN_REDUCE

#define GPU_RUN_FETCH(name, instruction, T, width, out, in)                                        \
  GPU_RUN_INLINE T name(T *at, T value) {                                                          \
    T old;                                                                                         \
    asm volatile(instruction "." width " %0, [%1], %2;"                                            \
                 : out(old)                                                                        \
                 : "l"(at), in(value)                                                              \
                 : "memory");                                                                      \
    return old;                                                                                    \
  }
// `released` is a release for a lane that has just made one: atom.release begins with a fence that comes after all of
// the lane's writes. PTX has no such fence by itself.
#define GPU_RUN_FETCHES(T, integer, bits, out, in)                                                 \
  GPU_RUN_FETCH(fetch_add_seq_cst_device, "fence.sc.gpu; atom.acquire.gpu.global.add", T, integer, out, in) \
  GPU_RUN_FETCH(fetch_and_seq_cst_device, "fence.sc.gpu; atom.acquire.gpu.global.and", T, bits, out, in) \
  GPU_RUN_FETCH(fetch_or_seq_cst_device, "fence.sc.gpu; atom.acquire.gpu.global.or", T, bits, out, in) \
  GPU_RUN_FETCH(fetch_xor_seq_cst_device, "fence.sc.gpu; atom.acquire.gpu.global.xor", T, bits, out, in) \
  GPU_RUN_FETCH(exchange_seq_cst_device, "fence.sc.gpu; atom.acquire.gpu.global.exch", T, bits, out, in) \
  GPU_RUN_FETCH(fetch_add_relaxed_device, "atom.relaxed.gpu.global.add", T, integer, out, in) \
  GPU_RUN_FETCH(fetch_add_acquire_device, "atom.acquire.gpu.global.add", T, integer, out, in) \
  GPU_RUN_FETCH(fetch_add_release_device, "atom.release.gpu.global.add", T, integer, out, in) \
  GPU_RUN_FETCH(fetch_add_released_device, "atom.relaxed.gpu.global.add", T, integer, out, in) \
  GPU_RUN_FETCH(fetch_add_acq_rel_device, "atom.acq_rel.gpu.global.add", T, integer, out, in) \
  GPU_RUN_FETCH(fetch_and_acq_rel_device, "atom.acq_rel.gpu.global.and", T, bits, out, in) \
  GPU_RUN_FETCH(fetch_and_release_device, "atom.release.gpu.global.and", T, bits, out, in) \
  GPU_RUN_FETCH(fetch_or_acq_rel_device, "atom.acq_rel.gpu.global.or", T, bits, out, in) \
  GPU_RUN_FETCH(fetch_or_acquire_device, "atom.acquire.gpu.global.or", T, bits, out, in)

GPU_RUN_FETCHES(u32, "u32", "b32", "=r", "r")
GPU_RUN_FETCHES(u64, "u64", "b64", "=l", "l")
#undef GPU_RUN_FETCH
#undef GPU_RUN_FETCHES

GPU_RUN_INLINE void fence_seq_cst_device() { asm volatile("fence.sc.gpu;" ::: "memory"); }

// Stores four words at an address that is a multiple of 16, as one access.
GPU_RUN_INLINE void store_16(void *at, const u32 *words) {
  asm volatile("st.v4.b32 [%0], {%1, %2, %3, %4};"
               ::"l"(at), "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3])
               : "memory");
}

// What lane `of` of the warp has. Each of the lanes in `lanes` comes here, and it is one of them.
GPU_RUN_INLINE u32 shuffle(u32 lanes, u32 value, u32 of) {
  return (u32)__nvvm_shfl_sync_idx_i32(lanes, (i32)value, (i32)of, 31);
}
GPU_RUN_INLINE u64 shuffle(u32 lanes, u64 value, u32 of) {
  u32 low, high;
  split(value, low, high);
  return join(shuffle(lanes, low, of), shuffle(lanes, high, of));
}

// Amounts of the lanes of a warp that come here together.
struct WarpSum {
  u32 lanes;  // a bit for each
  u32 first;  // the lowest of them
  u32 before;  // sum of the amounts of those below this one
  u32 all;  // sum of all
};

// Whether a value holds for all lanes that are converged here.
GPU_RUN_INLINE bool all_here(bool value) {
  const u32 lanes = __nvvm_activemask();
  return __nvvm_vote_ballot_sync(lanes, value) == lanes;
}

// Adds up an amount below 8. All lanes that are converged here call the builtins with the same lanes.
GPU_RUN_INLINE WarpSum warp_exclusive_sum(u32 amount) {
  u32 lanes = __nvvm_activemask();
  u32 below = __nvvm_read_ptx_sreg_lanemask_lt();
  WarpSum sum = {lanes, (u32)__builtin_ctz(lanes), 0, 0};
  for (u32 bit = 0; bit < 3; bit++) {
    u32 votes = __nvvm_vote_ballot_sync(lanes, (amount >> bit) & 1);
    sum.before += (u32)__builtin_popcount(votes & below) << bit;
    sum.all += (u32)__builtin_popcount(votes) << bit;
  }
  return sum;
}
GPU_RUN_INLINE bool is_leader(const WarpSum &sum) { return (lane_in_block() & 31) == sum.first; }
// The first lane's value, and what that lane has seen. The barrier orders what that lane did before it ahead of what
// others do after it.
GPU_RUN_INLINE u64 broadcast(const WarpSum &sum, u64 value) {
  __nvvm_bar_warp_sync(sum.lanes);
  return shuffle(sum.lanes, value, sum.first);
}
// Orders what the lanes did before it ahead of what any of them does after it.
GPU_RUN_INLINE void sync(const WarpSum &sum) { __nvvm_bar_warp_sync(sum.lanes); }
// A number that lanes far from each other seldom share: of the multiprocessor.
GPU_RUN_INLINE u32 sm_hint() { return __nvvm_read_ptx_sreg_smid(); }
// One that the lanes of a warp share, and few others.
GPU_RUN_INLINE u32 warp_number() { return global_lane() / 32; }

// The coalesced group of this lane: the lanes of a warp that are here together with the same key. Any lane may be
// alone: nothing is required of the others. The lanes of a group must not diverge until its last `broadcast` or `sync`.
struct CoalescedGroup {
  u32 mask;
  u32 rank;  // of this lane among them
  u32 size;
  GPU_RUN_INLINE bool is_leader() const { return rank == 0; }
};
GPU_RUN_INLINE CoalescedGroup match_group(u64 key) {
  u32 mask = __nvvm_activemask();
  // A lane that is alone need not ask.
  if (mask & (mask - 1)) mask = __nvvm_match_any_sync_i64(mask, (long long)key);
  return {mask, (u32)__builtin_popcount(mask & __nvvm_read_ptx_sreg_lanemask_lt()), (u32)__builtin_popcount(mask)};
}
// The same for a key of 32 bits, which takes half as long.
GPU_RUN_INLINE CoalescedGroup match_group(u32 key) {
  u32 mask = __nvvm_activemask();
  if (mask & (mask - 1)) mask = __nvvm_match_any_sync_i32(mask, (int)key);
  return {mask, (u32)__builtin_popcount(mask & __nvvm_read_ptx_sreg_lanemask_lt()), (u32)__builtin_popcount(mask)};
}
// The leader's value.
template <typename T>
GPU_RUN_INLINE T broadcast(const CoalescedGroup &group, T value) {
  return group.size == 1 ? value : shuffle(group.mask, value, (u32)__builtin_ctz(group.mask));
}
// The group without its `count` lowest lanes, for one of the others.
GPU_RUN_INLINE CoalescedGroup without(const CoalescedGroup &group, u32 count) {
  u32 mask = group.mask;
  for (u32 i = 0; i < count; i++) mask &= mask - 1;
  return {mask, group.rank - count, group.size - count};
}
// Orders what the lanes did before it ahead of what any of them does after it.
GPU_RUN_INLINE void sync(const CoalescedGroup &group) {
  if (group.size > 1) __nvvm_bar_warp_sync(group.mask);
}

// The same for lanes of the warp by their bits, each of which comes here.
GPU_RUN_INLINE void sync_lanes(u32 lanes) { __nvvm_bar_warp_sync(lanes); }

#else

// --- Host -------------------------------------------------------------------------------------

// A lane is an OS thread, and a block has one lane.
inline u32 lane_in_block() { return 0; }
inline u32 lanes_in_block() { return 1; }
// The number of the lane that this thread is now; ~0: none.
inline u32 &own_lane() {
  static thread_local u32 lane = ~0u;
  return lane;
}
inline u32 global_lane() { return own_lane(); }

}  // namespace gpu_run
#include <sched.h>
#include <time.h>
#if defined(__linux__)
#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif
namespace gpu_run {

inline u64 clock_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (u64)now.tv_sec * 1000000000ull + (u64)now.tv_nsec;
}

// The first times only look again: what a lane waits for often comes at once. Then, for about a millisecond, the
// processor goes to threads that have something to do, such as responding to a request.
inline void backoff(u32 idle) {
  if (idle < 100) return;
  if (idle < 1000) {
    sched_yield();
    return;
  }
  timespec pause = {0, 50000};
  nanosleep(&pause, nullptr);
}

// Compiled threads, which sleep on their lanes, are a GPU's.
inline void backoff_for(u64) { backoff(0); }

// Backoff of a lane that has nothing to do until a word is no longer 0, or for so many nanoseconds, less than a second.
// The system compares the word, so that nothing is lost that was written before.
inline void rest([[maybe_unused]] const u32 *word, u32 idle, [[maybe_unused]] u64 length) {
#if defined(__linux__)
  // The system wakes a lane some time later than it is asked to.
  constexpr u64 LATE = 40000;
  if (idle < 200 || length <= LATE) return backoff(idle < 1000 ? idle : 999);
  // Else it adds 50 us.
  [[maybe_unused]] static thread_local const int exact = prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
  timespec most = {0, (long)(length - LATE)};
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 0, &most, nullptr, 0);
#else
  backoff(idle);
#endif
}
// Ends the rest of a lane.
inline void rouse([[maybe_unused]] const u32 *word) {
#if defined(__linux__)
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
#endif
}

// Here the loop around all that waits is enough: lanes are few.
inline void backoff_long() {}
constexpr u32 RESPONSE_POLLS = 1;
inline u32 cycles() { return 0; }

// Tells the host of a message, by the function that the host left for that.
inline void ring_doorbell(u64 bell, u64 context) {
  if (bell) ((void (*)(u64))bell)(context);
}

inline void split(u64 value, u32 &low, u32 &high) {
  low = (u32)value;
  high = (u32)(value >> 32);
}
inline u64 join(u32 low, u32 high) { return low | (u64)high << 32; }

// On the host a segment has one thread, so the stride is a constant that the compiler can fold.
inline u8 *advance(u8 *frame, u32 unit, u32) { return frame + (u64)unit * 4; }

inline u64 load_code(const u64 *at) { return *at; }
inline u16 load_hint(const u16 *at) { return __atomic_load_n(at, __ATOMIC_RELAXED); }

// One scope exists on a host, so the scope in a name is the reader's only.
template <typename T>
inline T load_relaxed_system(const T *at) { return __atomic_load_n(at, __ATOMIC_RELAXED); }

constexpr bool HAS_TICKS = true;
// Here the host reads it as an atomic, and so it is one. Relaxed: what it shows orders nothing.
struct Shown {
  u32 value;
  operator u32() const { return __atomic_load_n(&value, __ATOMIC_RELAXED); }
  Shown &operator=(u32 now) { return __atomic_store_n(&value, now, __ATOMIC_RELAXED), *this; }
};
inline u32 load_acquire_device(const Shown *at) { return __atomic_load_n(&at->value, __ATOMIC_ACQUIRE); }
inline void store_release_device(Shown *at, u32 value) { __atomic_store_n(&at->value, value, __ATOMIC_RELEASE); }

// Relaxed: it is a count, and tells of nothing else.
inline u64 lane_time(const u64 *ticks) { return load_relaxed_system(ticks); }
template <typename T>
inline T load_acquire_system(const T *at) { return __atomic_load_n(at, __ATOMIC_ACQUIRE); }
template <typename T>
inline void store_relaxed_system(T *at, T value) { __atomic_store_n(at, value, __ATOMIC_RELAXED); }
template <typename T>
inline void store_release_system(T *at, T value) { __atomic_store_n(at, value, __ATOMIC_RELEASE); }
template <typename T>
inline T load_relaxed_device(const T *at) { return __atomic_load_n(at, __ATOMIC_RELAXED); }
template <typename T>
inline T load_acquire_device(const T *at) { return __atomic_load_n(at, __ATOMIC_ACQUIRE); }
template <typename T>
inline T look_acquire_device(const T *at, T) { return load_acquire_device(at); }
template <typename T>
inline void store_relaxed_device(T *at, T value) { __atomic_store_n(at, value, __ATOMIC_RELAXED); }
template <typename T>
inline void store_release_device(T *at, T value) { __atomic_store_n(at, value, __ATOMIC_RELEASE); }
inline void load_pair_relaxed_system(const u64 *at, u64 &first, u64 &second) {
  first = load_relaxed_system(at);
  second = load_relaxed_system(at + 1);
}
inline void store_pair_relaxed_system(u64 *at, u64 first, u64 second) {
  store_relaxed_system(at, first);
  store_relaxed_system(at + 1, second);
}
inline void acquire_seen_system(const u64 *at) { load_acquire_system(at); }
inline void release_fence_system() { __atomic_thread_fence(__ATOMIC_RELEASE); }
// Guests may race, so their accesses are atomics here.
template <typename T>
inline T load_guest(const T *at) { return load_relaxed_device(at); }
template <typename T>
inline void store_guest(T *at, T value) { store_relaxed_device(at, value); }
template <typename T>
inline T load_word_guest(const T *at) { return load_relaxed_device(at); }
inline void load_pair_guest(const void *at, u64 &first, u64 &second) {
  first = load_relaxed_device((const u64 *)at);
  second = load_relaxed_device((const u64 *)at + 1);
}
inline void store_word_guest(u64 *at, u64 word) { store_relaxed_device(at, word); }
template <typename T>
inline bool compare_exchange_acq_rel_device(T *at, T &expected, T desired) {
  return __atomic_compare_exchange_n(at, &expected, desired, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}
template <typename T>
inline bool compare_exchange_seq_cst_device(T *at, T &expected, T desired) {
  return __atomic_compare_exchange_n(at, &expected, desired, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}
template <typename T>
inline T load_seq_cst_device(const T *at) { return __atomic_load_n(at, __ATOMIC_SEQ_CST); }
template <typename T>
inline void store_seq_cst_device(T *at, T value) { __atomic_store_n(at, value, __ATOMIC_SEQ_CST); }
template <typename T>
inline bool compare_exchange_acquire_device(T *at, T &expected, T desired) {
  return __atomic_compare_exchange_n(at, &expected, desired, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}
template <typename T>
inline void red_add_device(T *at, T value) { __atomic_fetch_add(at, value, __ATOMIC_RELAXED); }
template <typename T>
inline void red_max_device(T *at, T value) {
  T seen = load_relaxed_device(at);
  while (seen < value && !__atomic_compare_exchange_n(at, &seen, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
}
template <typename T>
inline T fetch_add_relaxed_device(T *at, T value) { return __atomic_fetch_add(at, value, __ATOMIC_RELAXED); }
template <typename T>
inline T fetch_add_acquire_device(T *at, T value) { return __atomic_fetch_add(at, value, __ATOMIC_ACQUIRE); }
template <typename T>
inline T fetch_add_acq_rel_device(T *at, T value) { return __atomic_fetch_add(at, value, __ATOMIC_ACQ_REL); }
template <typename T>
inline T fetch_add_release_device(T *at, T value) { return __atomic_fetch_add(at, value, __ATOMIC_RELEASE); }
template <typename T>
inline T fetch_add_released_device(T *at, T value) { return __atomic_fetch_add(at, value, __ATOMIC_RELEASE); }
template <typename T>
inline T fetch_and_acq_rel_device(T *at, T value) { return __atomic_fetch_and(at, value, __ATOMIC_ACQ_REL); }
template <typename T>
inline T fetch_and_release_device(T *at, T value) { return __atomic_fetch_and(at, value, __ATOMIC_RELEASE); }
template <typename T>
inline T fetch_or_acq_rel_device(T *at, T value) { return __atomic_fetch_or(at, value, __ATOMIC_ACQ_REL); }
template <typename T>
inline T fetch_or_acquire_device(T *at, T value) { return __atomic_fetch_or(at, value, __ATOMIC_ACQUIRE); }
template <typename T>
inline T fetch_add_seq_cst_device(T *at, T value) { return __atomic_fetch_add(at, value, __ATOMIC_SEQ_CST); }
template <typename T>
inline T fetch_and_seq_cst_device(T *at, T value) { return __atomic_fetch_and(at, value, __ATOMIC_SEQ_CST); }
template <typename T>
inline T fetch_or_seq_cst_device(T *at, T value) { return __atomic_fetch_or(at, value, __ATOMIC_SEQ_CST); }
template <typename T>
inline T fetch_xor_seq_cst_device(T *at, T value) { return __atomic_fetch_xor(at, value, __ATOMIC_SEQ_CST); }
template <typename T>
inline T exchange_seq_cst_device(T *at, T value) { return __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST); }
inline void fence_seq_cst_device() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

inline void store_16(void *at, const u32 *words) { __builtin_memcpy(at, words, 16); }

// On the CPU a lane is alone in its warp.
struct WarpSum {
  u32 before, all;
};
inline WarpSum warp_exclusive_sum(u32 amount) { return {0, amount}; }
inline bool is_leader(const WarpSum &) { return true; }
inline u64 broadcast(const WarpSum &, u64 value) { return value; }
inline void sync(const WarpSum &) {}
// Of the OS thread: from where it has its thread-local variables.
inline u32 sm_hint() {
  static thread_local char here;
  return (u32)((u64)&here >> 12);
}
inline u32 warp_number() { return sm_hint(); }

// A host has no warps: a lane is alone.
struct CoalescedGroup {
  u32 rank;
  u32 size;
  bool is_leader() const { return true; }
};
inline CoalescedGroup match_group(u64) { return {0, 1}; }
inline CoalescedGroup without(const CoalescedGroup &group, u32 count) {
  return {group.rank - count, group.size - count};
}
template <typename T>
inline T broadcast(const CoalescedGroup &, T value) { return value; }
inline void sync(const CoalescedGroup &) {}
inline void sync_lanes(u32) {}
inline bool all_here(bool value) { return value; }

#endif

}  // namespace gpu_run
