// The same work as CUDA C++, where one would write it so: in arrays of a thread's own.
//
//   twins NAME THREADS ROUNDS          on the GPU: the sum of all results, and the milliseconds of the second launch
//   twins --host NAME THREADS ROUNDS   on one CPU thread, to check the code without a GPU
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

// `BOTH`, random numbers and SHA-256, which the kernels written for a GPU have too.
#include "../native/kernels.h"

BOTH u32 next(u32 &state) { return state = xorshift(state); }

struct Edit {
  BOTH static u32 work(u32 id, u32 rounds) {
    constexpr int LEN = 48;
    u32 state = seed(id), sum = 0;
    for (u32 round = 0; round < rounds; round++) {
      uint8_t a[LEN], b[LEN];
      for (auto &letter : a) letter = 'a' + uint8_t(next(state) >> 16) % 4;
      for (auto &letter : b) letter = 'a' + uint8_t(next(state) >> 16) % 4;
      u32 row[LEN + 1];
      for (int j = 0; j <= LEN; j++) row[j] = j;
      for (int i = 0; i < LEN; i++) {
        u32 diagonal = row[0];
        row[0] = i + 1;
        for (int j = 0; j < LEN; j++) {
          u32 least = diagonal + (a[i] != b[j]);
          diagonal = row[j + 1];
          if (row[j] + 1 < least) least = row[j] + 1;
          if (diagonal + 1 < least) least = diagonal + 1;
          row[j + 1] = least;
        }
      }
      sum += row[LEN];
    }
    return sum;
  }
};

struct Matrix {
  BOTH static u32 work(u32 id, u32 rounds) {
    constexpr int SIZE = 16;
    u32 state = seed(id), sum = 0;
    for (u32 round = 0; round < rounds; round++) {
      float a[SIZE][SIZE], b[SIZE][SIZE];
      for (auto &row : a)
        for (auto &value : row) value = next(state) % 64;
      for (auto &row : b)
        for (auto &value : row) value = next(state) % 64;
      for (int i = 0; i < SIZE; i++) {
        for (int j = 0; j < SIZE; j++) {
          float product = 0;
          for (int k = 0; k < SIZE; k++) product += a[i][k] * b[k][j];
          sum = sum * 31 + u32(product);
        }
      }
    }
    return sum;
  }
};

struct Queens {
  static constexpr u32 SIZE = 7;

  // A row's state is on a stack of its own, in place of the recursion.
  BOTH static u32 ways(u32 row_taken, u32 square) {
    u32 columns[SIZE + 1], left[SIZE + 1], right[SIZE + 1], free[SIZE + 1], ways = 0;
    columns[0] = left[0] = right[0] = 0;
    free[0] = ((1u << SIZE) - 1) & ~(row_taken == 0 ? square : 0);
    int row = 0;
    while (row >= 0) {
      if (!free[row]) {
        row--;
        continue;
      }
      u32 queen = free[row] & (0 - free[row]);
      free[row] ^= queen;
      u32 c = columns[row] | queen, l = (left[row] | queen) << 1, r = (right[row] | queen) >> 1;
      if (row + 1 == int(SIZE)) {
        ways++;
        continue;
      }
      row++;
      columns[row] = c, left[row] = l, right[row] = r;
      free[row] = ~(c | l | r) & ((1u << SIZE) - 1) & ~(row_taken == u32(row) ? square : 0);
    }
    return ways;
  }

  BOTH static u32 work(u32 id, u32 rounds) {
    u32 state = seed(id), sum = 0;
    for (u32 round = 0; round < rounds; round++) {
      u32 square = next(state) % 49;
      sum = sum * 3 + ways(square / 7, 1u << (square % 7));
    }
    return sum;
  }
};

struct Sha256 {
  BOTH static u32 work(u32 id, u32 rounds) {
    constexpr int LEN = 200, PADDED = 256;
    u32 state = seed(id), sum = 0;
    for (u32 round = 0; round < rounds; round++) {
      uint8_t text[PADDED] = {};
      for (int i = 0; i < LEN; i++) text[i] = uint8_t(next(state));
      text[LEN] = 0x80;
      text[PADDED - 2] = LEN * 8 >> 8;
      text[PADDED - 1] = uint8_t(LEN * 8);
      u32 hash[8];
      sha256_start(hash);
      for (const uint8_t *at = text; at < text + PADDED; at += 64) {
        u32 w[16];
        for (int i = 0; i < 16; i++) {
          w[i] = u32(at[4 * i]) << 24 | u32(at[4 * i + 1]) << 16 | u32(at[4 * i + 2]) << 8 | at[4 * i + 3];
        }
        sha256_block(hash, w);
      }
      // The first four bytes, the least one first.
      u32 first = hash[0];
      sum += first >> 24 | (first >> 8 & 0xff00) | (first << 8 & 0xff0000) | first << 24;
    }
    return sum;
  }
};

template <typename Work>
__global__ void kernel(u32 threads, u32 rounds, u32 *total) {
  u32 id = blockIdx.x * blockDim.x + threadIdx.x;
  if (id < threads) atomicAdd(total, Work::work(id, rounds));
}

static void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  fprintf(stderr, "twins: %s\n", cudaGetErrorString(error));
  exit(1);
}

template <typename Work>
void run(bool host, u32 threads, u32 rounds) {
  if (host) {
    u32 sum = 0;
    auto begin = std::chrono::steady_clock::now();
    for (u32 id = 0; id < threads; id++) sum += Work::work(id, rounds);
    std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - begin;
    printf("%u %.2f\n", sum, taken.count());
    return;
  }
  u32 *total, sum;
  cudaEvent_t begin, end;
  float ms;
  check(cudaMalloc(&total, sizeof sum));
  check(cudaEventCreate(&begin));
  check(cudaEventCreate(&end));
  for (int launch = 0; launch < 2; launch++) {
    check(cudaMemset(total, 0, sizeof sum));
    check(cudaEventRecord(begin));
    kernel<Work><<<(threads + 127) / 128, 128>>>(threads, rounds, total);
    check(cudaEventRecord(end));
    check(cudaEventSynchronize(end));
  }
  check(cudaEventElapsedTime(&ms, begin, end));
  check(cudaMemcpy(&sum, total, sizeof sum, cudaMemcpyDeviceToHost));
  printf("%u %.2f\n", sum, ms);
}

int main(int argc, char **argv) {
  bool host = argc > 1 && !strcmp(argv[1], "--host");
  if (argc != 4 + host) {
    fprintf(stderr, "usage: twins [--host] edit|matrix|queens|sha256 THREADS ROUNDS\n");
    return 2;
  }
  std::string name = argv[1 + host];
  u32 threads = u32(atol(argv[2 + host])), rounds = u32(atol(argv[3 + host]));
  if (name == "edit") run<Edit>(host, threads, rounds);
  else if (name == "matrix") run<Matrix>(host, threads, rounds);
  else if (name == "queens") run<Queens>(host, threads, rounds);
  else if (name == "sha256") run<Sha256>(host, threads, rounds);
  else return fprintf(stderr, "twins: there is no %s\n", name.c_str()), 2;
}
