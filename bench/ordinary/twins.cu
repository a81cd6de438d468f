// The same work as CUDA C++, where one would write it so: in arrays of a thread's own.
//
//   twins NAME THREADS ROUNDS          on the GPU: the sum of all results, and the milliseconds of the second launch
//   twins --host NAME THREADS ROUNDS   on one CPU thread, to check the code without a GPU
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#define BOTH __host__ __device__

using u32 = uint32_t;

BOTH u32 next(u32 &state) {
  state ^= state << 13;
  state ^= state >> 17;
  state ^= state << 5;
  return state;
}

BOTH u32 seed(u32 id) { return (0x2545f491 ^ id * 0x9e3779b1) | 1; }

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
  BOTH static u32 turned(u32 x, int n) { return x >> n | x << (32 - n); }

  BOTH static void block(u32 (&hash)[8], const uint8_t *bytes) {
    static constexpr u32 K[64] = {
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
        0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
        0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
        0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
        0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
        0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
        0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
        0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
    u32 w[64];
    for (int i = 0; i < 16; i++) {
      w[i] = u32(bytes[4 * i]) << 24 | u32(bytes[4 * i + 1]) << 16 | u32(bytes[4 * i + 2]) << 8 | bytes[4 * i + 3];
    }
    for (int i = 16; i < 64; i++) {
      u32 low = turned(w[i - 15], 7) ^ turned(w[i - 15], 18) ^ w[i - 15] >> 3;
      u32 high = turned(w[i - 2], 17) ^ turned(w[i - 2], 19) ^ w[i - 2] >> 10;
      w[i] = w[i - 16] + low + w[i - 7] + high;
    }
    u32 v[8];
    for (int i = 0; i < 8; i++) v[i] = hash[i];
    for (int i = 0; i < 64; i++) {
      u32 first = v[7] + (turned(v[4], 6) ^ turned(v[4], 11) ^ turned(v[4], 25)) + ((v[4] & v[5]) ^ (~v[4] & v[6]));
      first += K[i] + w[i];
      u32 second = (turned(v[0], 2) ^ turned(v[0], 13) ^ turned(v[0], 22)) + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
      for (int j = 7; j > 0; j--) v[j] = v[j - 1];
      v[4] += first;
      v[0] = first + second;
    }
    for (int i = 0; i < 8; i++) hash[i] += v[i];
  }

  BOTH static u32 work(u32 id, u32 rounds) {
    constexpr int LEN = 200, PADDED = 256;
    u32 state = seed(id), sum = 0;
    for (u32 round = 0; round < rounds; round++) {
      uint8_t text[PADDED] = {};
      for (int i = 0; i < LEN; i++) text[i] = uint8_t(next(state));
      text[LEN] = 0x80;
      text[PADDED - 2] = LEN * 8 >> 8;
      text[PADDED - 1] = uint8_t(LEN * 8);
      u32 hash[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
      for (int at = 0; at < PADDED; at += 64) block(hash, text + at);
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
