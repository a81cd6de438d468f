// The programs that the probe runs: an assembler, one encoder per encoding, the
// programs, and a native reference for each.
#pragma once
#include "probe.cpp"
#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

struct Ins { u32 op; i32 a, b, c; u32 weight; int label = -1; };

inline const char *operand_kinds(u32 op) {
  static const char *const kinds[] = {
#define X(n, k) k,
      PLAIN_OPS(X) IMM_OPS(X)
#undef X
  };
  return kinds[op];
}
constexpr u32 FIRST_IMM = CONST;

struct Asm {
  bool fuse;
  int tmp; // a free unit for what is not fused
  std::vector<Ins> ins;
  std::vector<int> labels;
  int label() { labels.push_back(-1); return (int)labels.size() - 1; }
  void bind(int l) { labels[l] = (int)ins.size(); }
  // The last argument is always the number of source ops that the line stands for.
  void op(u32 o, int a = 0, int b = 0, int c = 0, u32 weight = 1) { ins.push_back({o, a, b, c, weight}); }
  void to(u32 o, int a, int b, int l, u32 weight) { ins.push_back({o, a, b, 0, weight, l}); }
  void constant(int a, i32 k) { op(CONST, a, 0, k, 0); }
  void imm(u32 fused, u32 plain, int a, int b, i32 k) {
    if (fuse) return op(fused, a, b, k);
    constant(tmp, k);
    op(plain, a, b, tmp);
  }
  void mem(u32 o, int a, int b, i32 offset) {
    if (fuse || !offset) return op(o, a, b, offset);
    constant(tmp, offset);
    op(ADD, tmp, b, tmp, 0);
    op(o, a, tmp, 0);
  }
  void br(u32 fused, u32 plain, int a, int b, int l) { // compare and br_if
    if (fuse) return to(fused, a, b, l, 2);
    op(plain, tmp, a, b);
    to(BRIF, tmp, 0, l, 1);
  }
  void br_imm(u32 fused, u32 plain, int a, i32 k, int l) {
    if (fuse) return to(fused, a, k, l, 2);
    constant(tmp, k);
    br(0, plain, a, tmp, l);
  }
  void call(int delta, int need, int l) { to(CALL, delta, need, l, 1); }
};

struct Encoded { std::vector<u8> bytes; std::vector<u32> weight; };

// E2 instructions take two words where the immediate does not fit 8 bits.
inline Encoded encode(const Asm &s, int enc, u32 stride) {
  std::vector<int> length(s.ins.size(), 1), at(s.ins.size() + 1);
  auto value = [&](size_t i) {
    const Ins &n = s.ins[i];
    return n.label < 0 ? n.c : at[s.labels[n.label]] - (at[i] + length[i]);
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < s.ins.size(); i++) at[i + 1] = at[i] + length[i];
    if (enc != 2) break;
    for (size_t i = 0; i < s.ins.size(); i++)
      if (s.ins[i].op >= FIRST_IMM && length[i] == 1 && (value(i) < -128 || value(i) > 127)) length[i] = 2, changed = true;
  }
  Encoded out; // word 0 is a HALT, the program starts at word 1
  auto put = [&](const void *p, size_t n) { out.bytes.insert(out.bytes.end(), (const u8 *)p, (const u8 *)p + n); };
  auto fail = [&](const char *what) { fprintf(stderr, "does not fit: %s\n", what); exit(1); };
  static_assert(HALT == 0, "");
  out.bytes.resize(enc == 2 ? 4 : enc == 1 || enc == 4 ? 8 : 16);
  out.weight.push_back(0);
  for (size_t i = 0; i < s.ins.size(); i++) {
    const Ins &n = s.ins[i];
    i32 c = value(i);
    out.weight.push_back(n.weight);
    if (length[i] == 2) out.weight.push_back(0);
    if (enc == 1 || enc == 4) {
      bool wide = n.op == CONST;
      if (!wide && (c < -32768 || c > 65535)) fail("16 bits");
      u64 w = n.op | (u64)(u16)n.a << 16;
      w |= wide ? (u64)(u32)c << 32 : (u64)(u16)n.b << 32 | (u64)(u16)c << 48;
      put(&w, 8);
    } else if (enc == 2) {
      if (n.a > 255 || n.b > 255 || (n.op < FIRST_IMM && c > 255)) fail("8 bits");
      u32 w = (n.op + (length[i] == 2 ? EXTENDED : 0)) | (u32)(u8)n.a << 8 | (u32)(u8)n.b << 16 | (u32)(u8)c << 24;
      put(&w, 4);
      if (length[i] == 2) put(&c, 4);
    } else {
      const char *k = operand_kinds(n.op);
      auto field = [&](int f, i32 v) { return enc == 5 && k[f] != 'i' ? (u32)v * stride : (u32)v; };
      u32 w[4] = {n.op, field(0, n.a), field(1, n.b), field(2, c)};
      put(w, 16);
    }
  }
  u8 pad[32] = {};
  put(pad, 32); // read ahead past the end
  while (out.bytes.size() % 16) out.bytes.push_back(0);
  return out;
}

// --- programs. Unit 0 holds the number of iterations, unit 1 the lane. ---------

struct Program {
  std::string name;
  std::function<void(Asm &)> build;
  int tmp;
  u64 mem_size;
  u32 mem_div;                            // lanes that share one copy of the image
  std::function<void(std::vector<u8> &)> image;
  std::function<u64(u32 iterations, u32 lane)> reference; // units 0 and 1 at the end
};

inline void build_hash(Asm &s, bool pairs) {
  enum { N = 0, X = 1, H = 2, I = 3, T = 4 };
  s.constant(T, (i32)2654435761u);
  s.op(MUL, X, X, T);
  s.imm(ADDI, ADD, X, X, 12345);
  s.constant(H, 0);
  s.constant(I, 0);
  int loop = s.label();
  s.bind(loop);
  if (pairs && s.fuse) {
    s.op(XSHLI, X, X, 13, 2);
    s.op(XSHRUI, X, X, 17, 2);
    s.op(ADD, H, H, X);
    s.to(LOOP, I, N, loop, 3);
  } else {
    s.imm(SHLI, SHL, T, X, 13);
    s.op(XOR, X, X, T);
    s.imm(SHRUI, SHRU, T, X, 17);
    s.op(XOR, X, X, T);
    s.op(ADD, H, H, X);
    s.imm(ADDI, ADD, I, I, 1);
    s.br(BLTU, LTU, I, N, loop);
  }
  s.op(MOV, 0, H, 0, 0);
  s.op(HALT, 0, 0, 0, 0);
}
inline u64 reference_hash(u32 n, u32 lane) {
  u32 x = lane * 2654435761u + 12345, h = 0;
  for (u32 i = 0; i < n; i++) { x ^= x << 13; x ^= x >> 17; h += x; }
  return pair(h, x);
}

constexpr u32 CHASE_NODES = 1 << 14, CHASE_NODE = 64;
inline u32 chase_next(u32 i) { return (i * 1664525u + 1013904223u) & (CHASE_NODES - 1); }
inline u32 chase_value(u32 i) { return i * 2246822519u + 7; }
inline void build_chase(Asm &s) {
  enum { N = 0, P = 1, I = 2, S = 3, V = 4 };
  s.imm(MULI, MUL, P, P, 97);
  s.constant(V, CHASE_NODES - 1);
  s.op(AND, P, P, V);
  s.imm(SHLI, SHL, P, P, 6);
  s.constant(I, 0);
  s.constant(S, 0);
  int loop = s.label();
  s.bind(loop);
  s.mem(LD32, V, P, 4);
  s.op(ADD, S, S, V);
  s.mem(LD32, P, P, 0);
  s.imm(ADDI, ADD, I, I, 1);
  s.br(BLTU, LTU, I, N, loop);
  s.op(MOV, 0, S, 0, 0);
  s.op(HALT, 0, 0, 0, 0);
}
inline void image_chase(std::vector<u8> &m) {
  for (u32 i = 0; i < CHASE_NODES; i++) {
    u32 w[2] = {chase_next(i) * CHASE_NODE, chase_value(i)};
    memcpy(&m[i * CHASE_NODE], w, 8);
  }
}
inline u64 reference_chase(u32 n, u32 lane) {
  u32 i = lane * 97 & (CHASE_NODES - 1), s = 0;
  for (u32 k = 0; k < n; k++) { s += chase_value(i); i = chase_next(i); }
  return pair(s, i * CHASE_NODE);
}

inline void build_fib(Asm &s, int k) {
  enum { DELTA = 5, NEED = DELTA + 3 };
  int loop = s.label(), fib = s.label(), more = s.label();
  s.bind(loop);
  s.constant(DELTA, k);
  s.call(DELTA, NEED, fib);
  s.op(ADD, 1, 1, DELTA);
  s.imm(ADDI, ADD, 0, 0, -1);
  s.to(BRIF, 0, 0, loop, 1);
  s.op(HALT, 0, 0, 0, 0);
  s.bind(fib);
  s.br_imm(BGESI, GES, 0, 2, more);
  s.op(RET);
  s.bind(more);
  s.imm(ADDI, ADD, DELTA, 0, -1);
  s.call(DELTA, NEED, fib);
  s.op(MOV, 1, DELTA, 0, 0);
  s.imm(ADDI, ADD, DELTA, 0, -2);
  s.call(DELTA, NEED, fib);
  s.op(ADD, 0, 1, DELTA);
  s.op(RET, 0, 0, 0, 0);
}
inline u64 reference_fib(int k, u32 n, u32 lane) {
  u32 a = 0, b = 1;
  for (int i = 0; i < k; i++) { u32 t = a + b; a = b; b = t; }
  return pair(0, lane + n * a);
}

constexpr int BODIES = 5, BODY = 56, DT_AT = 288;
inline void image_nbody(std::vector<u8> &m) {
  static const double start[BODIES][7] = {
      {0, 0, 0, 0, 0, 0, 39.47},
      {4.84, -1.16, -0.10, 0.606, 2.81, -0.02, 0.0377},
      {8.34, 4.12, -0.40, -1.01, 1.82, 0.008, 0.0113},
      {12.89, -15.11, -0.22, 1.08, 0.868, -0.0108, 0.00172},
      {15.37, -25.9, 0.179, 0.979, 0.594, -0.0347, 0.00203}};
  memcpy(&m[0], start, sizeof start);
  double dt = 0.001;
  memcpy(&m[DT_AT], &dt, 8);
}
inline void build_nbody(Asm &s) {
  enum { X = 0, Y = 2, Z = 4, MI = 6, DX = 8, DY = 10, DZ = 12, D2 = 14, MAG = 16, T = 18, U = 20, DT = 22,
         STEPS = 24, PI = 25, PJ = 26, END = 27 };
  s.op(MOV, STEPS, 0, 0, 0);
  s.constant(PI, DT_AT);
  s.mem(LD64, DT, PI, 0);
  s.constant(END, BODIES * BODY);
  int step = s.label(), li = s.label(), lj = s.label(), next = s.label(), update = s.label();
  s.bind(step);
  s.constant(PI, 0);
  s.bind(li);
  for (int k = 0; k < 3; k++) s.mem(LD64, X + 2 * k, PI, 8 * k);
  s.mem(LD64, MI, PI, 48);
  s.imm(ADDI, ADD, PJ, PI, BODY);
  s.br(BGES, GES, PJ, END, next);
  s.bind(lj);
  for (int k = 0; k < 3; k++) {
    s.mem(LD64, DX + 2 * k, PJ, 8 * k);
    s.op(FSUB64, DX + 2 * k, X + 2 * k, DX + 2 * k);
  }
  s.op(FMUL64, D2, DX, DX);
  s.op(FMUL64, T, DY, DY);
  s.op(FADD64, D2, D2, T);
  s.op(FMUL64, T, DZ, DZ);
  s.op(FADD64, D2, D2, T);
  s.op(FSQRT64, T, D2);
  s.op(FMUL64, D2, D2, T);
  s.op(FDIV64, MAG, DT, D2);
  s.mem(LD64, D2, PJ, 48);
  s.op(FMUL64, D2, D2, MAG); // mass of j times mag
  s.op(FMUL64, MAG, MI, MAG);
  for (int k = 0; k < 3; k++) {
    s.mem(LD64, T, PI, 24 + 8 * k);
    s.op(FMUL64, U, DX + 2 * k, D2);
    s.op(FSUB64, T, T, U);
    s.mem(ST64, T, PI, 24 + 8 * k);
    s.mem(LD64, T, PJ, 24 + 8 * k);
    s.op(FMUL64, U, DX + 2 * k, MAG);
    s.op(FADD64, T, T, U);
    s.mem(ST64, T, PJ, 24 + 8 * k);
  }
  s.imm(ADDI, ADD, PJ, PJ, BODY);
  s.br(BLTU, LTU, PJ, END, lj);
  s.bind(next);
  s.imm(ADDI, ADD, PI, PI, BODY);
  s.br(BLTU, LTU, PI, END, li);
  s.constant(PI, 0);
  s.bind(update);
  for (int k = 0; k < 3; k++) {
    s.mem(LD64, T, PI, 24 + 8 * k);
    s.op(FMUL64, T, T, DT);
    s.mem(LD64, U, PI, 8 * k);
    s.op(FADD64, U, U, T);
    s.mem(ST64, U, PI, 8 * k);
  }
  s.imm(ADDI, ADD, PI, PI, BODY);
  s.br(BLTU, LTU, PI, END, update);
  s.imm(ADDI, ADD, STEPS, STEPS, -1);
  s.to(BRIF, STEPS, 0, step, 1);
  s.constant(PI, BODY);
  s.mem(LD64, 0, PI, 8);
  s.op(HALT, 0, 0, 0, 0);
}
inline u64 reference_nbody(u32 n) {
  std::vector<u8> m(512);
  image_nbody(m);
  double b[BODIES][7], dt;
  memcpy(b, &m[0], sizeof b);
  memcpy(&dt, &m[DT_AT], 8);
  while (n--) {
    for (int i = 0; i < BODIES; i++)
      for (int j = i + 1; j < BODIES; j++) {
        double d[3];
        for (int k = 0; k < 3; k++) d[k] = b[i][k] - b[j][k];
        double d2 = d[0] * d[0], t = d[1] * d[1];
        d2 = d2 + t;
        t = d[2] * d[2];
        d2 = d2 + t;
        double mag = dt / (d2 * sqrt(d2)), mj = b[j][6] * mag, mi = b[i][6] * mag;
        for (int k = 0; k < 3; k++) {
          double u = d[k] * mj, v = d[k] * mi;
          b[i][3 + k] = b[i][3 + k] - u;
          b[j][3 + k] = b[j][3 + k] + v;
        }
      }
    for (int i = 0; i < BODIES; i++)
      for (int k = 0; k < 3; k++) { double t = b[i][3 + k] * dt; b[i][k] = b[i][k] + t; }
  }
  return bits(b[1][1]);
}

// A function with 200 live registers, each used three times an iteration.
constexpr int WIDE = 200, WIDE_AT = 4;
inline u32 wide_start(int k, u32 lane) { return (u32)k * 2654435761u + lane; }
inline void build_wide(Asm &s) {
  enum { N = 0, LANE = 1, I = 2 };
  for (int k = 0; k < WIDE; k++) {
    s.constant(WIDE_AT + k, (i32)wide_start(k, 0));
    s.op(ADD, WIDE_AT + k, WIDE_AT + k, LANE);
  }
  s.constant(I, 0);
  int loop = s.label();
  s.bind(loop);
  for (int k = 0; k < WIDE; k++)
    s.op(k % 2 ? XOR : ADD, WIDE_AT + k, WIDE_AT + (k * 7 + 3) % WIDE, WIDE_AT + (k * 11 + 5) % WIDE);
  s.imm(ADDI, ADD, I, I, 1);
  s.br(BLTU, LTU, I, N, loop);
  s.op(XOR, 0, WIDE_AT + 10, WIDE_AT + 150, 0);
  s.op(MOV, 1, WIDE_AT + 60, 0, 0);
  s.op(HALT, 0, 0, 0, 0);
}
inline u64 reference_wide(u32 n, u32 lane) {
  u32 r[WIDE];
  for (int k = 0; k < WIDE; k++) r[k] = wide_start(k, lane);
  while (n--)
    for (int k = 0; k < WIDE; k++) {
      u32 x = r[(k * 7 + 3) % WIDE], y = r[(k * 11 + 5) % WIDE];
      r[k] = k % 2 ? x ^ y : x + y;
    }
  return pair(r[10] ^ r[150], r[60]);
}

inline std::vector<Program> programs() {
  auto nothing = [](std::vector<u8> &) {};
  auto nbody = [](u32 n, u32) { return reference_nbody(n); };
  return {
      {"hash", [](Asm &s) { build_hash(s, false); }, 5, 64, ~0u, nothing, reference_hash},
      {"hash4", [](Asm &s) { build_hash(s, true); }, 5, 64, ~0u, nothing, reference_hash},
      {"nbody", build_nbody, 28, 512, 32, image_nbody, nbody},
      {"nbodyP", build_nbody, 28, 512, 1, image_nbody, nbody},
      {"chase", build_chase, 5, CHASE_NODES * CHASE_NODE, ~0u, image_chase, reference_chase},
      {"fib5", [](Asm &s) { build_fib(s, 5); }, 2, 64, ~0u, nothing, [](u32 n, u32 l) { return reference_fib(5, n, l); }},
      {"fib20", [](Asm &s) { build_fib(s, 20); }, 2, 64, ~0u, nothing, [](u32 n, u32 l) { return reference_fib(20, n, l); }},
      {"wide", build_wide, WIDE_AT + WIDE, 64, ~0u, nothing, reference_wide},
  };
}
