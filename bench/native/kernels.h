// The kernels of guests/, in CUDA C++: the same algorithms, the same share of the work for each
// thread, the same checksums. They are host functions too, so that native.cu can check itself.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>

using u32 = uint32_t;
using u64 = uint64_t;
#define BOTH __host__ __device__ __forceinline__

// What a thread of a kernel is given.
struct Thread {
  u32 id, count;
  // Arrays of spmd, saxpy and reduce.
  u32 *memory;
};

BOTH u32 seed(u32 id) { return (0x2545f491 ^ id * 0x9e3779b1) | 1; }

BOTH u32 xorshift(u32 x) {
  x ^= x << 13;
  x ^= x >> 17;
  return x ^ x << 5;
}

BOTH u32 rotl(u32 x, int n) { return x << n | x >> (32 - n); }
BOTH u32 rotr(u32 x, int n) { return x >> n | x << (32 - n); }

BOTH u32 hash(Thread t, u32 n) {
  u32 x = seed(t.id), sum = 0;
  for (u32 i = 0; i < n; i++) {
    x = xorshift(x);
    sum += x;
  }
  return sum;
}

BOTH u32 monte_carlo(Thread t, u32 n) {
  const double scale = 1.0 / 4294967296.0;
  u32 state = seed(t.id), inside = 0;
  for (u32 i = 0; i < n; i++) {
    state = xorshift(state);
    double x = state * scale;
    state = xorshift(state);
    double y = state * scale;
    inside += x * x + y * y <= 1.0;
  }
  return inside;
}

template <class Float> BOTH u32 mandelbrot(Thread t, u32 n) {
  Float step = Float(2.5) / Float(n);
  u32 sum = 0;
  for (u32 pixel = t.id; pixel < n * n; pixel += t.count) {
    Float cx = Float(pixel % n) * step - Float(2.0), cy = Float(pixel / n) * step - Float(1.25);
    Float x = 0, y = 0;
    u32 i = 0;
    for (; i < 1024; i++) {
      Float xx = x * x, yy = y * y;
      if (xx + yy > Float(4.0)) break;
      y = Float(2.0) * x * y + cy;
      x = xx - yy + cx;
    }
    sum += i;
  }
  return sum;
}

namespace bodies {
const double STEP = 0.01;

struct Body {
  double at[3], speed[3], mass;
};

BOTH Body body(double x, double y, double z, double u, double v, double w, double mass) {
  const double year = 365.24, solar = 39.47841760435743;
  return {{x, y, z}, {u * year, v * year, w * year}, mass * solar};
}

BOTH void attract(Body &a, Body &b) {
  double d[3];
  for (int k = 0; k < 3; k++) d[k] = a.at[k] - b.at[k];
  double square = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
  double pull = STEP / (square * sqrt(square));
  for (int k = 0; k < 3; k++) {
    a.speed[k] -= d[k] * (b.mass * pull);
    b.speed[k] += d[k] * (a.mass * pull);
  }
}

BOTH u32 add_bits(u32 sum, const Body &body) {
  for (double at : body.at) {
    u64 bits;
    memcpy(&bits, &at, 8);
    sum = rotl(sum, 5) ^ u32(bits) ^ u32(bits >> 32);
  }
  return sum;
}
} // namespace bodies

BOTH u32 nbody(Thread t, u32 n) {
  using namespace bodies;
  Body b[5] = {
      body(0, 0, 0, 0, 0, 0, 1.0),
      body(4.84, -1.16, -0.1, 0.00166, 0.00770, -0.00007, 0.000955),
      body(8.34, 4.12, -0.4, -0.00277, 0.00500, 0.00002, 0.000286),
      body(12.89, -15.11, -0.22, 0.00296, 0.00238, -0.00003, 0.0000437),
      body(15.38, -25.92, 0.18, 0.00268, 0.00163, -0.00010, 0.0000515),
  };
  b[1].at[2] += t.id * 1e-6;
  for (u32 step = 0; step < n; step++) {
#pragma unroll
    for (int i = 0; i < 5; i++)
#pragma unroll
      for (int j = i + 1; j < 5; j++) attract(b[i], b[j]);
#pragma unroll
    for (int i = 0; i < 5; i++)
      for (int k = 0; k < 3; k++) b[i].at[k] += STEP * b[i].speed[k];
  }
  u32 sum = 0;
#pragma unroll
  for (int i = 0; i < 5; i++) sum = add_bits(sum, b[i]);
  return sum;
}

// A state of SHA-256 after a block more, whose 16 words it takes for its schedule.
BOTH void sha256_block(u32 (&hash)[8], u32 (&w)[16]) {
  constexpr u32 k[64] = {
      0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
      0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
      0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
      0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
      0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
      0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
      0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
      0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
  };
  u32 s[8];
  for (int i = 0; i < 8; i++) s[i] = hash[i];
#pragma unroll
  for (int i = 0; i < 64; i++) {
    if (i >= 16) {
      u32 a = w[(i + 1) % 16], b = w[(i + 14) % 16];
      w[i % 16] += (rotr(a, 7) ^ rotr(a, 18) ^ a >> 3) + w[(i + 9) % 16] + (rotr(b, 17) ^ rotr(b, 19) ^ b >> 10);
    }
    u32 a = s[0], b = s[1], c = s[2], e = s[4], f = s[5], g = s[6];
    u32 x = s[7] + (rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)) + ((e & f) ^ (~e & g)) + k[i] + w[i % 16];
    u32 y = (rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    s[7] = g, s[6] = f, s[5] = e, s[4] = s[3] + x, s[3] = c, s[2] = b, s[1] = a, s[0] = x + y;
  }
  for (int i = 0; i < 8; i++) hash[i] += s[i];
}

BOTH void sha256_start(u32 (&hash)[8]) {
  constexpr u32 start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                            0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  for (int i = 0; i < 8; i++) hash[i] = start[i];
}

BOTH u32 sha256(Thread t, u32 n) {
  u32 digest[8] = {};
  for (u32 round = 0; round < n; round++) {
    u32 w[16] = {};
    for (int i = 0; i < 8; i++) w[i] = digest[i];
    w[8] = t.id, w[9] = 0x80000000, w[15] = 36 * 8;
    sha256_start(digest);
    sha256_block(digest, w);
  }
  return digest[0];
}

// Tables that threads read at indices of their own, so in device memory and not in __constant__.
struct Tables {
  uint8_t distance[81] = {};
  u32 crc[256] = {};

  constexpr Tables() {
    for (int i = 9; i < 81; i++) {
      int t = i / 9, c = i % 9, rows = t / 3 - c / 3, columns = t % 3 - c % 3;
      distance[i] = (rows < 0 ? -rows : rows) + (columns < 0 ? -columns : columns);
    }
    for (u32 i = 0; i < 256; i++) {
      u32 x = i;
      for (int bit = 0; bit < 8; bit++) x = x & 1 ? x >> 1 ^ 0xedb88320 : x >> 1;
      crc[i] = x;
    }
  }
};
__device__ const Tables device_tables;
const Tables host_tables;
#ifdef __CUDA_ARCH__
#define TABLES device_tables
#else
#define TABLES host_tables
#endif

struct Board {
  u64 cells;
  u32 blank, distance;

  BOTH u32 legal() const { return 0x5d97fb6eaull >> 4 * blank & 15; }

  BOTH Board moved(u32 direction) const {
    u32 to = blank + (0x4260 >> 4 * direction & 15) - 3, tile = cells >> 4 * to & 15;
    return {cells ^ u64(tile) << 4 * to ^ u64(tile) << 4 * blank, to,
            distance + TABLES.distance[9 * tile + blank] - TABLES.distance[9 * tile + to]};
  }
};

BOTH u32 lowest_bit(u32 x) {
#ifdef __CUDA_ARCH__
  return __ffs(x) - 1;
#else
  return __builtin_ctz(x);
#endif
}

BOTH u32 puzzle(Thread t, u32 n) {
  // Counts up from the id and not from 0: ptxas 13.0.88 for sm_90 keeps a count that starts equal in
  // all threads in a uniform register, though they come to its increment at different times.
  u32 solved = t.id;
  u32 state = seed(t.id), sum = 0, bound = 0, next_bound = 0, looked_at = 0, depth = 0, untried = 0;
  u64 path = 0;
  Board board = {0x876543210, 0, 0};
  for (;;) {
    if (board.distance == 0) {
      sum = sum * 31 + (looked_at ^ depth << 24);
      if (solved++ == t.id + n) break;
      for (int i = 0; i < 60; i++) {
        state = xorshift(state);
        if (board.legal() >> (state >> 30) & 1) board = board.moved(state >> 30);
      }
      bound = board.distance, next_bound = ~0u, looked_at = 0;
      depth = 0, path = 0, untried = board.legal();
      continue;
    }
    bool back = untried == 0;
    if (back && depth == 0) bound = next_bound, next_bound = ~0u, untried = board.legal();
    back = back && depth > 0;
    u32 last = path & 3, direction = back ? last ^ 1 : lowest_bit(untried);
    Board next = board.moved(direction);
    u32 estimate = depth + 1 + next.distance;
    if (back) {
      board = next, depth--, path >>= 2;
      u32 came = depth > 0 ? 1 << ((path & 3) ^ 1) : 0;
      untried = board.legal() & 14 << last & ~came;
    } else if (estimate <= bound) {
      board = next, depth++, path = path << 2 | direction, looked_at++;
      untried = board.legal() & ~(1 << (direction ^ 1));
    } else {
      next_bound = estimate < next_bound ? estimate : next_bound, looked_at++;
      untried &= untried - 1;
    }
  }
  return sum;
}

BOTH u32 spmd(Thread t, u32 n) {
  const int len = 16, group = 32;
  // Number i of the thread is numbers[group * i].
  u32 *numbers = t.memory + u64(t.id / group) * len * group + t.id % group;
  u32 state = seed(t.id), crc = ~0u;
  for (u32 round = 0; round < n; round++) {
    for (int i = 0; i < len; i++) numbers[group * i] = state = xorshift(state);
    for (int i = 1; i < len; i++) {
      u32 number = numbers[group * i];
      int at = i;
      for (; at > 0 && numbers[group * (at - 1)] > number; at--) numbers[group * at] = numbers[group * (at - 1)];
      numbers[group * at] = number;
    }
    float sum = 0;
    for (int i = 0; i < len; i++) {
      u32 number = numbers[group * i];
      sum += float(number) * 0.25f;
      for (int byte = 0; byte < 4; byte++) crc = crc >> 8 ^ TABLES.crc[(crc ^ number >> 8 * byte) & 255];
    }
    u32 bits;
    memcpy(&bits, &sum, 4);
    crc ^= bits;
  }
  return crc;
}

BOTH u32 saxpy(Thread t, u32 rounds, u32 len) {
  float *x = (float *)t.memory, *y = x + len;
  const u32 step = t.count;
  for (u32 i = t.id; i < len; i += step) x[i] = float(i % 1021), y[i] = float(i % 509);
  for (u32 round = 0; round < rounds; round++) {
    u32 i = t.id;
    // All loads before the first store, so that many are under way.
    for (; i + 3 * step < len; i += 4 * step) {
      float xs[4], ys[4];
      for (int k = 0; k < 4; k++) xs[k] = x[i + k * step];
      for (int k = 0; k < 4; k++) ys[k] = y[i + k * step];
      for (int k = 0; k < 4; k++) y[i + k * step] = 0.5f * xs[k] + ys[k];
    }
    for (; i < len; i += step) y[i] = 0.5f * x[i] + y[i];
  }
  u32 sum = 0;
  for (u32 i = t.id; i < len; i += step) {
    u32 bits;
    memcpy(&bits, &y[i], 4);
    sum += bits;
  }
  return sum;
}

BOTH u32 reduce(Thread t, u32 rounds, u32 len) {
  u32 *x = t.memory;
  const u32 step = t.count;
  for (u32 i = t.id; i < len; i += step) x[i] = i * 0x9e3779b1;
  u32 sum = 0;
  for (u32 round = 0; round < rounds; round++) {
    sum = rotl(sum, 1);
    u32 i = t.id;
    for (; i + 7 * step < len; i += 8 * step) {
      u32 parts[8];
      for (int k = 0; k < 8; k++) parts[k] = x[i + k * step];
      for (u32 part : parts) sum += part;
    }
    for (; i < len; i += step) sum += x[i];
  }
  return sum;
}
