// Runs one kernel of kernels.h natively, as the bench's yardstick.
//
//   native NAME THREADS N [LEN]        on the GPU: {"ms": time of the kernel, "first": result of
//                                      thread 0, "total": sum of all results}
//   native --host NAME THREADS N [LEN] on one CPU thread, to check the algorithms without a GPU
//   native copy                        GB/s of a copy of 2 GiB, bytes read plus bytes written
//
// Build: nvcc -O3 --fmad=false -arch=sm_90 native.cu -o native
#include "kernels.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#define CHECK(call)                                                                          \
  if (cudaError_t error = call; error != cudaSuccess) {                                      \
    fprintf(stderr, "native: %s: %s\n", #call, cudaGetErrorString(error));                   \
    exit(1);                                                                                 \
  }

enum Name { HASH, MANDELBROT_F32, MANDELBROT_F64, NBODY, SHA256, MONTE_CARLO, PUZZLE, SPMD, SAXPY, REDUCE, NAMES };
const char *const names[] = {"hash",        "mandelbrot_f32", "mandelbrot_f64", "nbody", "sha256",
                             "monte_carlo", "puzzle",         "spmd",           "saxpy", "reduce"};

template <int NAME> BOTH u32 kernel(Thread t, u32 n, u32 len) {
  switch (NAME) {
  case HASH: return hash(t, n);
  case MANDELBROT_F32: return mandelbrot<float>(t, n);
  case MANDELBROT_F64: return mandelbrot<double>(t, n);
  case NBODY: return nbody(t, n);
  case SHA256: return sha256(t, n);
  case MONTE_CARLO: return monte_carlo(t, n);
  case PUZZLE: return puzzle(t, n);
  case SPMD: return spmd(t, n);
  case SAXPY: return saxpy(t, n, len);
  default: return reduce(t, n, len);
  }
}

template <int NAME> __global__ void launch(u32 threads, u32 n, u32 len, u32 *memory, u32 *results) {
  u32 id = blockIdx.x * blockDim.x + threadIdx.x;
  if (id < threads) results[id] = kernel<NAME>({id, threads, memory}, n, len);
}

struct Run {
  u32 threads, n, len;
  u64 bytes;
};

// Milliseconds from the kernel's start to its end; the second of two launches.
template <int NAME> float on_gpu(Run run, std::vector<u32> &results) {
  u32 *memory, *out;
  CHECK(cudaMalloc(&memory, run.bytes));
  CHECK(cudaMalloc(&out, 4ull * run.threads));
  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  for (int i = 0; i < 2; i++) {
    CHECK(cudaMemset(out, 0xff, 4ull * run.threads));
    CHECK(cudaEventRecord(begin));
    launch<NAME><<<(run.threads + 255) / 256, 256>>>(run.threads, run.n, run.len, memory, out);
    CHECK(cudaEventRecord(end));
    CHECK(cudaGetLastError());
    CHECK(cudaEventSynchronize(end));
  }
  float ms;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  CHECK(cudaMemcpy(results.data(), out, 4ull * run.threads, cudaMemcpyDeviceToHost));
  return ms;
}

template <int NAME> float on_host(Run run, std::vector<u32> &results) {
  std::vector<u32> memory(run.bytes / 4);
  for (u32 id = 0; id < run.threads; id++) results[id] = kernel<NAME>({id, run.threads, memory.data()}, run.n, run.len);
  return 0;
}

// Calls the function for the kernel of this name.
template <int NAME = 0> float dispatch(const std::string &name, bool host, Run run, std::vector<u32> &results) {
  if constexpr (NAME < NAMES) {
    if (name != names[NAME]) return dispatch<NAME + 1>(name, host, run, results);
    return host ? on_host<NAME>(run, results) : on_gpu<NAME>(run, results);
  }
  fprintf(stderr, "native: no kernel is called %s\n", name.c_str());
  exit(2);
}

// The median of nine copies from device memory to device memory, after one that is not counted.
void copy() {
  const size_t bytes = 2ull << 30;
  char *from, *to;
  CHECK(cudaMalloc(&from, bytes));
  CHECK(cudaMalloc(&to, bytes));
  CHECK(cudaMemset(from, 0x5a, bytes));
  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  std::vector<float> times;
  for (int i = 0; i < 10; i++) {
    CHECK(cudaEventRecord(begin));
    CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice));
    CHECK(cudaEventRecord(end));
    CHECK(cudaEventSynchronize(end));
    float ms;
    CHECK(cudaEventElapsedTime(&ms, begin, end));
    if (i > 0) times.push_back(ms);
  }
  std::sort(times.begin(), times.end());
  printf("%.1f\n", 2 * bytes / times[times.size() / 2] / 1e6);
}

int main(int argc, char **argv) {
  std::vector<std::string> args(argv + 1, argv + argc);
  bool host = !args.empty() && args[0] == "--host";
  if (host) args.erase(args.begin());
  if (args.size() == 1 && args[0] == "copy") return copy(), 0;
  if (args.size() < 3) {
    fprintf(stderr, "usage: native [--host] NAME THREADS N [LEN]\n");
    return 2;
  }
  auto number = [&](size_t i) { return i < args.size() ? u32(strtoul(args[i].c_str(), nullptr, 10)) : 0; };
  Run run = {number(1), number(2), number(3), 0};
  // saxpy has two arrays, spmd 16 words a thread, in whole groups of 32 threads.
  run.bytes = run.len ? 8ull * run.len : 64ull * (run.threads + 31);
  std::vector<u32> results(run.threads);
  float ms = dispatch(args[0], host, run, results);
  u32 total = 0;
  for (u32 result : results) total += result;
  printf("{\"ms\": %.4f, \"first\": %u, \"total\": %u}\n", ms, results[0], total);
}
