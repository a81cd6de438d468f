// Times the heap's kernels (heap.ptx) and CUDA's own malloc, side by side in one run.
//
//   native HEAP.PTX [--no-malloc]   --no-malloc: without CUDA's own

#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "heap/classes.h"

using gpu_run::u32;
using gpu_run::u64;

constexpr u32 BLOCK = 256, ROUNDS = 7;
constexpr u64 LIMIT = 4ull << 30, BYTES = 3ull << 30;
// CUDA's malloc takes 17 s for a million blocks of 512 bytes: above 256 bytes so many have to do.
constexpr u32 NATIVE_THREADS = 16384;
constexpr u32 CHURN_THREADS = 1 << 18, CHURN_ROUNDS = 20;

#define CUDA(call)                                                                                 \
  do {                                                                                             \
    cudaError_t error = (call);                                                                    \
    if (error != cudaSuccess) {                                                                    \
      fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error));                               \
      exit(1);                                                                                     \
    }                                                                                              \
  } while (0)

template <typename T>
static T driver(const char *name) {
  void *function = nullptr;
  cudaDriverEntryPointQueryResult result;
  CUDA(cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &result));
  if (!function) {
    fprintf(stderr, "the driver has no %s\n", name);
    exit(1);
  }
  return (T)function;
}

static CUresult (*launch_kernel)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                 CUstream, void **, void **);

static void check(CUresult result, const char *what) {
  if (result == CUDA_SUCCESS) return;
  fprintf(stderr, "%s failed: CUDA error %d\n", what, (int)result);
  exit(1);
}

template <typename T>
static T *device(u64 count) {
  T *at;
  CUDA(cudaMalloc(&at, count * sizeof(T)));
  CUDA(cudaMemset(at, 0, count * sizeof(T)));
  return at;
}

// Milliseconds that a launch of `count` threads takes.
struct Timer {
  cudaEvent_t begin, end;
  Timer() {
    CUDA(cudaEventCreate(&begin));
    CUDA(cudaEventCreate(&end));
  }
  template <typename Work>
  float operator()(Work work) {
    CUDA(cudaEventRecord(begin));
    work();
    CUDA(cudaEventRecord(end));
    CUDA(cudaEventSynchronize(end));
    float ms;
    CUDA(cudaEventElapsedTime(&ms, begin, end));
    return ms;
  }
};

__global__ void native_take(u32 size, void **blocks, u32 count) {
  u32 id = blockIdx.x * blockDim.x + threadIdx.x;
  if (id < count) blocks[id] = malloc(size);
}
__global__ void native_give(void **blocks, u32 count) {
  u32 id = blockIdx.x * blockDim.x + threadIdx.x;
  if (id < count) free(blocks[id]);
}

#define ADD(order)                                                                                 \
  asm volatile("atom." order ".gpu.global.add.u64 %0, [%1], %2;"                                   \
               : "=l"(found)                                                                       \
               : "l"(word + value), "l"(value)                                                     \
               : "memory")

// Operations of which each needs the result of the one before, by one lane: cycles of each kind. What a heap's
// shortest way is made of.
__global__ void native_steps(u64 *word, u64 *cycles) {
  constexpr u32 TIMES = 256;
  auto time = [&](u32 which, auto step) {
    u64 value = 0, begin = clock64();
    for (u32 i = 0; i < TIMES; i++) value = step(value);
    cycles[which] = (clock64() - begin + value) / TIMES;
  };
  for (u32 warm = 0; warm < 2; warm++) {
    time(0, [&](u64 value) {
      u64 found;
      asm volatile("ld.global.ca.u64 %0, [%1];" : "=l"(found) : "l"(word + value) : "memory");
      return found;
    });
    time(1, [&](u64 value) {
      u64 found;
      asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(found) : "l"(word + value) : "memory");
      return found;
    });
    time(2, [&](u64 value) {
      u64 found;
      ADD("relaxed");
      return found;
    });
    time(3, [&](u64 value) {
      u64 found;
      ADD("acquire");
      return found;
    });
    time(4, [&](u64 value) {
      u64 found;
      ADD("acq_rel");
      return found;
    });
  }
}

static float median(std::vector<float> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

template <typename T>
static std::vector<T> fetch(const T *at, u64 count) {
  std::vector<T> values(count);
  CUDA(cudaMemcpy(values.data(), at, count * sizeof(T), cudaMemcpyDeviceToHost));
  return values;
}

template <typename T>
static T fetch(const T *at) {
  return fetch(at, 1)[0];
}

int main(int argc, char **argv) {
  bool with_malloc = argc < 3 || std::string(argv[2]) != "--no-malloc";
  if (argc < 2 || argc > 3 || (argc == 3 && with_malloc)) {
    fprintf(stderr, "usage: native HEAP.PTX [--no-malloc]\n");
    return 2;
  }
  setvbuf(stdout, nullptr, _IOLBF, 0);
  if (with_malloc) CUDA(cudaDeviceSetLimit(cudaLimitMallocHeapSize, LIMIT));
  CUDA(cudaFree(nullptr));
  std::ifstream file(argv[1]);
  std::string ptx{std::istreambuf_iterator<char>(file), {}};
  launch_kernel = driver<decltype(launch_kernel)>("cuLaunchKernel");
  auto load = driver<CUresult (*)(CUmodule *, const void *)>("cuModuleLoadData");
  auto get = driver<CUresult (*)(CUfunction *, CUmodule, const char *)>("cuModuleGetFunction");
  CUmodule module;
  check(load(&module, ptx.c_str()), "loading the kernels");
  auto kernel = [&](const char *name) {
    CUfunction function;
    check(get(&function, module, name), name);
    return function;
  };
  CUfunction take = kernel("heap_take"), mark = kernel("heap_mark"), verify = kernel("heap_verify"),
             give = kernel("heap_give"), latency = kernel("heap_latency"), hits = kernel("heap_hits"), churn = kernel("heap_churn"),
             settle = kernel("heap_settle");

  const u32 pages = LIMIT / gpu_run::PAGE, words = pages / 64, most = 1 << 20;
  auto *memory = device<gpu_run::Memory>(1);
  gpu_run::Memory record{};
  record.base = device<gpu_run::u8>(LIMIT);
  record.limit = LIMIT;
  record.heap.pages = device<gpu_run::HeapPage>(pages);
  record.heap.sets = device<u64>((words + words / 64) * (1ull + gpu_run::HEAP_CLASSES));
  record.heap.slots = device<u64>(gpu_run::HEAP_CLASSES * gpu_run::HEAP_GROUPS);
  record.heap.page_limit = pages;
  const u32 lanes = std::min(pages * (gpu_run::PAGE / 4096), 1u << 19), slabs = pages * (gpu_run::PAGE / gpu_run::LANE_SLAB);
  const u64 lists = (gpu_run::LANE_CLASSES + 1ull) * lanes;
  record.heap.lane_slabs = device<gpu_run::LaneSlab>(slabs);
  record.heap.lane_lists = device<u64>(lists);
  record.heap.lane_inboxes = device<u32>(lanes);
  record.heap.lane_records = slabs;
  record.heap.lanes = lanes;
  record.size = gpu_run::PAGE;
  CUDA(cudaMemcpy(memory, &record, sizeof record, cudaMemcpyHostToDevice));
  u32 *blocks = device<u32>(most), *sizes = device<u32>(most), *retries = device<u32>(1), *wrong = device<u32>(1);
  void **native = device<void *>(most);

  auto launch = [&](CUfunction function, u32 count, void **args) {
    check(launch_kernel(function, (count + BLOCK - 1) / BLOCK, 1, 1, BLOCK, 1, 1, 0, nullptr, args, nullptr), "launch");
  };
  Timer timer;
  int failed = 0;
  auto complain = [&](const char *where) {
    u32 found = fetch(wrong);
    if (found) printf("WRONG: %s: %u blocks are missing, had by two, or could not be freed\n", where, found);
    failed |= found != 0;
    CUDA(cudaMemset(wrong, 0, 4));
    CUDA(cudaMemset(retries, 0, 4));
  };

  // The kernels are loaded at their first launch: here, without a thread that does anything.
  u32 none = 0, size = 16;
  void *take_args[] = {&memory, &size, &blocks, &retries, &none};
  void *mark_args[] = {&memory, &blocks, &none};
  void *verify_args[] = {&memory, &blocks, &wrong, &none};
  void *give_args[] = {&memory, &size, &blocks, &wrong, &none};
  auto round = [&](u32 &count, float &taken, float &given) {
    take_args[4] = mark_args[2] = verify_args[3] = give_args[4] = &count;
    taken = timer([&] { launch(take, std::max(count, 1u), take_args); });
    launch(mark, std::max(count, 1u), mark_args);
    launch(verify, std::max(count, 1u), verify_args);
    given = timer([&] { launch(give, std::max(count, 1u), give_args); });
  };
  float ignored;
  round(none, ignored, ignored);
  auto empty = [&] {
    CUDA(cudaMemset(record.heap.pages, 0, pages * sizeof(gpu_run::HeapPage)));
    CUDA(cudaMemset(record.heap.sets, 0, (words + words / 64) * (1ull + gpu_run::HEAP_CLASSES) * 8));
    CUDA(cudaMemset(record.heap.slots, 0, gpu_run::HEAP_CLASSES * gpu_run::HEAP_GROUPS * 8));
    CUDA(cudaMemset(record.heap.lane_slabs, 0, slabs * sizeof(gpu_run::LaneSlab)));
    CUDA(cudaMemset(record.heap.lane_lists, 0, lists * 8));
    CUDA(cudaMemset(record.heap.lane_inboxes, 0, lanes * 4));
    CUDA(cudaMemcpy(memory, &record, sizeof record, cudaMemcpyHostToDevice));
  };

  printf("millions a second; retries for each allocation; MiB that memory was grown by\n");
  printf("%6s %8s | %8s %8s %8s %8s %6s | %8s %8s %8s\n", "bytes", "threads", "first", "alloc", "free", "retries",
         "held", "threads", "malloc", "free");
  for (; size <= 65536; size *= 2) {
    u32 count = (u32)std::min<u64>(most, BYTES / size);
    std::vector<float> taken(ROUNDS), given(ROUNDS);
    for (u32 i = 0; i < ROUNDS; i++) round(count, taken[i], given[i]);
    auto rate = [](u32 count, float ms) { return count / ms / 1e3; };
    float first = taken[0];
    taken.erase(taken.begin());
    printf("%6u %8u | %8.1f %8.1f %8.1f %8.3f %6u |", size, count, rate(count, first), rate(count, median(taken)),
           rate(count, median(given)), fetch(retries) / (double)count / ROUNDS, fetch(memory).heap.held / 16);
    if (with_malloc) {
      count = size > 256 ? std::min(count, NATIVE_THREADS) : count;
      u32 grid = (count + BLOCK - 1) / BLOCK;
      float allocated = timer([&] { native_take<<<grid, BLOCK>>>(size, native, count); });
      float freed = timer([&] { native_give<<<grid, BLOCK>>>(native, count); });
      printf(" %8u %8.2f %8.2f", count, rate(count, allocated), rate(count, freed));
    }
    printf("\n");
    complain("allocate and free");
  }

  // Threads that replace blocks of random sizes: the rate, and what of the memory is in no block then.
  u32 threads = CHURN_THREADS, rounds = CHURN_ROUNDS;
  void *churn_args[] = {&memory, &blocks, &sizes, &retries, &wrong, &rounds, &threads};
  void *settle_args[] = {&memory, &blocks, &sizes, &wrong, &threads};
  empty();
  float ms = timer([&] { launch(churn, threads, churn_args); });
  u64 asked = 0, bytes = 0, asked_of[gpu_run::HEAP_CLASSES] = {}, bytes_of[gpu_run::HEAP_CLASSES] = {};
  for (u32 asked_for : fetch(sizes, threads)) {
    u32 c = gpu_run::heap::class_of(asked_for);
    asked += asked_for, bytes += gpu_run::heap::class_size(c);
    asked_of[c] += asked_for, bytes_of[c] += gpu_run::heap::class_size(c);
  }
  gpu_run::Heap heap = fetch(memory).heap;
  printf("churn: %u threads replace a block of random size %u times: %.1f million a second, %.3f retries\n", threads,
         rounds, (u64)threads * (rounds + 1) / ms / 1e3, fetch(retries) / (double)threads / (rounds + 1));
  printf("fragmentation: %.1f MiB asked for, %.1f MiB of blocks (internal %.1f %%), %.1f MiB of pages with blocks "
         "(external %.1f %%; at most %.1f MiB), %.1f MiB that memory was grown by\n",
         asked / 1048576., bytes / 1048576., 100 - asked * 100. / bytes, heap.used / 16.,
         100 - bytes / 655.36 / heap.used,
         heap.used_peak / 16., heap.held / 16.);
  printf("internal waste by class:");
  for (u32 c = 0; c < gpu_run::HEAP_CLASSES; c++) {
    if (bytes_of[c]) printf(" %u: %.0f %%", gpu_run::heap::class_size(c), 100 - asked_of[c] * 100. / bytes_of[c]);
  }
  printf("\n");
  launch(settle, threads, settle_args);
  complain("churn");
  empty();

  // Blocks of 64 bytes come out of a slab of the lane's own; without those, from a slab that is there. One of 64 KiB, by one
  // lane, is a slab of its own, which is fetched each time.
  printf("cycles of an allocation and a free, median of 1,000 (and the 99th percentile)\n");
  u32 times = 1000, *cycles = device<u32>(2 * times);
  struct Case {
    const char *name;
    u32 size, lanes, own;
  };
  for (Case what : {Case{"own", 64, 1, lanes}, Case{"own", 64, 32, lanes}, Case{"slab", 64, 1, 0},
                    Case{"slab", 64, 32, 0}, Case{"pages", 65536, 1, 0}, Case{"pages", 65536, 32, 0}}) {
    empty();
    record.heap.lanes = what.own;
    CUDA(cudaMemcpy(memory, &record, sizeof record, cudaMemcpyHostToDevice));
    void *args[] = {&memory, &what.size, &what.lanes, &cycles, &times};
    check(launch_kernel(latency, 1, 1, 1, 32, 1, 1, 0, nullptr, args, nullptr), "launch");
    // Each lane has a slab with blocks now.
    void *hit_args[] = {&memory, &what.size, &what.lanes, &cycles, &times};
    if (what.own) check(launch_kernel(hits, 1, 1, 1, 32, 1, 1, 0, nullptr, hit_args, nullptr), "launch");
    std::vector<u32> all = fetch(cycles, 2 * times);
    std::vector<float> taken, given;
    for (u32 i = 0; i < times; i++) {
      taken.push_back(all[2 * i]);
      given.push_back(all[2 * i + 1]);
    }
    float typical = median(taken), freed = median(given);
    std::sort(taken.begin(), taken.end());
    printf("%5s, %5u bytes, %2u lanes: %.0f (%.0f) and %.0f\n", what.name, what.size, what.lanes, typical,
           taken[times * 99 / 100], freed);
  }
  u64 *step = device<u64>(1), *step_cycles = device<u64>(5);
  native_steps<<<1, 1>>>(step, step_cycles);
  std::vector<u64> steps = fetch(step_cycles, 5);
  printf("cycles of a load: L1 cache %llu, L2 cache %llu; of an atomic addition: %llu, "
         "that acquires %llu, that acquires and releases %llu\n",
         steps[0], steps[1], steps[2], steps[3], steps[4]);
  return failed;
}
