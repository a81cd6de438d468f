// Times the heap's kernels (heap.ptx) and CUDA's own malloc, side by side in one run.
//
//   native HEAP.PTX

#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "../../vm/kernel/layout.h"

using gpu_run::u32;
using gpu_run::u64;

constexpr u32 BLOCK = 256, ROUNDS = 7;
constexpr u64 LIMIT = 4ull << 30, BYTES = 3ull << 30;

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

static float median(std::vector<float> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

static u32 fetch(const u32 *at) {
  u32 value;
  CUDA(cudaMemcpy(&value, at, 4, cudaMemcpyDeviceToHost));
  return value;
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: native HEAP.PTX\n");
    return 2;
  }
  setvbuf(stdout, nullptr, _IOLBF, 0);
  CUDA(cudaDeviceSetLimit(cudaLimitMallocHeapSize, LIMIT));
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
             give = kernel("heap_give"), latency = kernel("heap_latency");

  const u32 pages = LIMIT / gpu_run::PAGE, words = pages / 64, most = 1 << 20;
  auto *memory = device<gpu_run::Memory>(1);
  gpu_run::Memory record{};
  record.base = device<gpu_run::u8>(LIMIT);
  record.limit = LIMIT;
  record.heap.pages = device<gpu_run::HeapPage>(pages);
  record.heap.sets = device<u64>((words + words / 64) * (1ull + gpu_run::HEAP_CLASSES));
  record.heap.slots = device<u64>(gpu_run::HEAP_CLASSES * gpu_run::HEAP_GROUPS);
  record.heap.page_limit = pages;
  record.size = gpu_run::PAGE;
  CUDA(cudaMemcpy(memory, &record, sizeof record, cudaMemcpyHostToDevice));
  u32 *blocks = device<u32>(most), *retries = device<u32>(1), *wrong = device<u32>(1);
  void **native = device<void *>(most);

  auto launch = [&](CUfunction function, u32 count, void **args) {
    check(launch_kernel(function, (count + BLOCK - 1) / BLOCK, 1, 1, BLOCK, 1, 1, 0, nullptr, args, nullptr), "launch");
  };
  Timer timer;
  int failed = 0;
  printf("millions a second; retries for each allocation\n");
  printf("%7s %8s | %8s %8s %8s %8s | %8s %8s\n", "bytes", "threads", "first", "alloc", "free", "retries", "malloc", "free");
  for (u32 size = 16; size <= 65536; size *= 2) {
    u32 count = (u32)std::min<u64>(most, BYTES / size);
    std::vector<float> taken, given, native_taken, native_given;
    CUDA(cudaMemset(retries, 0, 4));
    CUDA(cudaMemset(wrong, 0, 4));
    for (u32 round = 0; round < ROUNDS; round++) {
      void *take_args[] = {&memory, &size, &blocks, &retries, &count};
      void *mark_args[] = {&memory, &blocks, &count};
      void *verify_args[] = {&memory, &blocks, &wrong, &count};
      void *give_args[] = {&memory, &size, &blocks, &wrong, &count};
      taken.push_back(timer([&] { launch(take, count, take_args); }));
      launch(mark, count, mark_args);
      launch(verify, count, verify_args);
      given.push_back(timer([&] { launch(give, count, give_args); }));
    }
    for (u32 round = 0; round < 3; round++) {
      u32 grid = (count + BLOCK - 1) / BLOCK;
      native_taken.push_back(timer([&] { native_take<<<grid, BLOCK>>>(size, native, count); }));
      native_given.push_back(timer([&] { native_give<<<grid, BLOCK>>>(native, count); }));
    }
    auto rate = [&](float ms) { return count / ms / 1e3; };
    float first = taken[0];
    taken.erase(taken.begin());
    printf("%7u %8u | %8.1f %8.1f %8.1f %8.3f | %8.2f %8.2f\n", size, count, rate(first), rate(median(taken)),
           rate(median(given)), fetch(retries) / (double)count / ROUNDS, rate(median(native_taken)),
           rate(median(native_given)));
    if (u32 found = fetch(wrong)) {
      printf("%7u: WRONG: %u blocks are missing, had by two, or could not be freed\n", size, found);
      failed = 1;
    }
  }
  printf("cycles of an allocation and a free, median of 1,000\n");
  u32 times = 1000, *cycles = device<u32>(2 * times);
  for (u32 lanes : {1u, 32u}) {
    u32 size = 64;
    void *args[] = {&memory, &size, &lanes, &cycles, &times};
    check(launch_kernel(latency, 1, 1, 1, 32, 1, 1, 0, nullptr, args, nullptr), "launch");
    std::vector<u32> all(2 * times);
    CUDA(cudaMemcpy(all.data(), cycles, all.size() * 4, cudaMemcpyDeviceToHost));
    std::vector<float> taken, given;
    for (u32 i = 0; i < times; i++) {
      taken.push_back(all[2 * i]);
      given.push_back(all[2 * i + 1]);
    }
    printf("%2u lanes: %.0f and %.0f\n", lanes, median(taken), median(given));
  }
  return failed;
}
