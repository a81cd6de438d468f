// One bytecode interpreter, many variants. Everything that a variant changes is
// a template parameter of `Machine`; the macros at the top only pick the
// arguments for the one kernel that this translation unit holds (see run.sh).
// Freestanding: clang compiles it for nvptx64; host.cpp includes it to run the
// same programs on the CPU.

#ifndef PLACE
#define PLACE 1
#endif
#ifndef FETCH
#define FETCH 2
#endif
#ifndef ENC
#define ENC 1
#endif
#ifndef DISP
#define DISP 1
#endif
#ifndef BLOCK
#define BLOCK 128
#endif
#ifndef PC64
#define PC64 0
#endif
#ifndef ALIGN
#define ALIGN 1
#endif
#ifndef FIELD
#define FIELD 1
#endif
#ifndef OPMASK
#define OPMASK 127
#endif
#ifndef EXIT
#define EXIT 2
#endif
#ifndef SLICE
#define SLICE 1
#endif

using u8 = unsigned char;
using i8 = signed char;
using u16 = unsigned short;
using i16 = short;
using u32 = unsigned;
using i32 = int;
using u64 = unsigned long long;
using i64 = long long;

#ifdef __NVPTX__
#define AS_GLOBAL __attribute__((address_space(1)))
#define AS_SHARED __attribute__((address_space(3)))
extern AS_SHARED __attribute__((aligned(16))) u32 shared_words[];
static inline u32 thread_in_block() { return __nvvm_read_ptx_sreg_tid_x(); }
static inline u32 block_index() { return __nvvm_read_ptx_sreg_ctaid_x(); }
static inline u64 clock_now() { return __nvvm_read_ptx_sreg_clock64(); }
static inline double sqrt64(double x) { return __nvvm_sqrt_rn_d(x); }
#else
#define AS_GLOBAL
#define AS_SHARED
static u64 *g_count;              // host only: source ops executed so far
static const u32 *g_weight;       // host only: source ops each word stands for
static inline double sqrt64(double x) { return __builtin_sqrt(x); }
#endif

// PLACE 1 shared, 32-bit shared address          (R1)
//       2 generic pointer: shared or global      (R2; R3 is the same kernel
//         with its first frame in global memory)
//       3 global, 64-bit global address          (R3g)
//       4 per-thread array in local memory       (R4)
//       5 split at unit H, branch per operand    (R5)
//       6 split at unit H, generic pointer select (R5s)
enum class Place { Shared = 1, Generic = 2, Global = 3, Local = 4, Split = 5, SplitSelect = 6 };
// FETCH 1 shared, 2 ld.global.nc, 3 ld.global, 4 ld.global.nc one word ahead
enum class Fetch { Shared = 1, ReadOnly = 2, Plain = 3, Ahead = 4 };

struct Params {
  const void AS_GLOBAL *code;
  u32 code_bytes;
  u32 active;        // lanes of a block that run
  u8 AS_GLOBAL *mem; // linear memory: lane t uses mem + (t / mem_div) * mem_stride
  u64 mem_stride;
  u64 mem_size;
  u32 mem_div;
  u32 units;         // register units a lane has in its first segment
  u32 shared_units;  // of them in shared memory (PLACE 2: 0 puts all in global)
  u32 global_units;
  u32 AS_GLOBAL *frames; // global frames, [block][unit][lane]
  u64 AS_GLOBAL *out;
  u64 AS_GLOBAL *cycles;
  const u32 AS_GLOBAL *stop;
  u32 AS_GLOBAL *fault;
  u32 iterations;
};

// Operand kinds: r register, i immediate, u unit count (scaled as a register is).
#define PLAIN_OPS(X) \
  X(HALT, "   ") X(MOV, "rr ") X(MOV64, "rr ") \
  X(ADD, "rrr") X(SUB, "rrr") X(MUL, "rrr") X(AND, "rrr") X(OR, "rrr") X(XOR, "rrr") \
  X(SHL, "rrr") X(SHRU, "rrr") X(SHRS, "rrr") X(ROTL, "rrr") X(DIVU, "rrr") X(CLZ, "rr ") \
  X(EQ, "rrr") X(NE, "rrr") X(LTS, "rrr") X(LTU, "rrr") X(GES, "rrr") X(GEU, "rrr") X(EQZ, "rr ") \
  X(ADD64, "rrr") X(SUB64, "rrr") X(MUL64, "rrr") X(AND64, "rrr") X(OR64, "rrr") X(XOR64, "rrr") \
  X(SHL64, "rrr") X(SHRU64, "rrr") X(EQ64, "rrr") X(LTS64, "rrr") X(LTU64, "rrr") \
  X(EXTU, "rr ") X(EXTS, "rr ") X(WRAP, "rr ") \
  X(FADD64, "rrr") X(FSUB64, "rrr") X(FMUL64, "rrr") X(FDIV64, "rrr") X(FSQRT64, "rr ") \
  X(FNEG64, "rr ") X(FLT64, "rrr") X(FCVTS64, "rr ") \
  X(FADD, "rrr") X(FSUB, "rrr") X(FMUL, "rrr") X(FDIV, "rrr") \
  X(SELECT, "rrr") X(RET, "   ")
#define IMM_OPS(X) \
  X(CONST, "r i") X(ADDI, "rri") X(MULI, "rri") X(ANDI, "rri") X(XORI, "rri") \
  X(SHLI, "rri") X(SHRUI, "rri") X(ROTLI, "rri") X(XSHLI, "rri") X(XSHRUI, "rri") X(ADDI64, "rri") \
  X(LD32, "rri") X(ST32, "rri") X(LD8U, "rri") X(ST8, "rri") X(LD64, "rri") X(ST64, "rri") \
  X(BR, "  i") X(BRIF, "r i") X(BRZ, "r i") X(BEQ, "rri") X(BNE, "rri") X(BLTS, "rri") X(BLTU, "rri") \
  X(BGES, "rri") X(BLTSI, "rii") X(BGESI, "rii") X(LOOP, "rri") X(CALL, "uui")

enum Op : u32 {
#define X(n, k) n,
  PLAIN_OPS(X) IMM_OPS(X)
#undef X
  OP_COUNT
};
constexpr u32 EXTENDED = 128; // E2: opcode + 128 has its immediate in the next word

// --- words -----------------------------------------------------------------

template <int E> struct Word;
// A 16-bit field by byte permutation: one instruction. Written as shift and mask
// it is merged with the multiplication by the stride into three.
static inline u32 half(u32 v, bool high) {
#if defined(__NVPTX__) && FIELD == 1
  return __nvvm_prmt(v, 0, high ? 0x4432 : 0x4410);
#else
  return high ? v >> 16 : v & 0xffff;
#endif
}
template <> struct Word<1> { // [op:16][a:16][b:16][c:16]
  using Raw = u64;
  Raw w;
  u32 op() const { return (u16)w; }
  u32 a() const { return half((u32)w, true); }
  u32 b() const { return half((u32)(w >> 32), false); }
  u32 c() const { return half((u32)(w >> 32), true); }
  i32 imm() const { return (i16)(w >> 48); }
  i32 imm_b() const { return (i16)(w >> 32); }
  i32 imm_wide() const { return (i32)(w >> 32); }
};
template <> struct Word<2> { // [op:8][a:8][b:8][c:8] and a next word where c is too small
  using Raw = u32;
  Raw w;
  u32 op() const { return w & 0xff; }
  u32 a() const { return (w >> 8) & 0xff; }
  u32 b() const { return (w >> 16) & 0xff; }
  u32 c() const { return w >> 24; }
  i32 imm() const { return (i8)(w >> 24); }
  i32 imm_b() const { return (i8)(w >> 16); }
  i32 imm_wide() const { return imm(); }
};
typedef u32 u32x4 __attribute__((ext_vector_type(4)));
template <> struct Word<3> { // [op:32][a:32][b:32][c:32]
  using Raw = u32x4;
  Raw w;
  u32 op() const { return w.x; }
  u32 a() const { return w.y; }
  u32 b() const { return w.z; }
  u32 c() const { return w.w; }
  i32 imm() const { return (i32)w.w; }
  i32 imm_b() const { return (i32)w.z; }
  i32 imm_wide() const { return (i32)w.w; }
};
template <> struct Word<4> : Word<1> {}; // E1's word, no fused ops
template <> struct Word<5> : Word<3> {}; // E3's word, registers as byte offsets

static inline u64 load_read_only(const u64 AS_GLOBAL *p) {
#ifdef __NVPTX__
  return __nvvm_ldg_ull((const u64 *)p);
#else
  return *p;
#endif
}
static inline u32 load_read_only(const u32 AS_GLOBAL *p) {
#ifdef __NVPTX__
  return __nvvm_ldg_ui((const u32 *)p);
#else
  return *p;
#endif
}
static inline u32x4 load_read_only(const u32x4 AS_GLOBAL *p) {
#ifdef __NVPTX__
  return __nvvm_ldg_ui4((const u32x4 *)p);
#else
  return *p;
#endif
}

template <Fetch F, int E, bool POINTER> struct Code {
  using Raw = typename Word<E>::Raw;
  const Raw AS_GLOBAL *base;
  const Raw AS_GLOBAL *at; // POINTER
  u32 index;               // otherwise
  u32 shared_base;
  Raw ahead;

  Raw read(u32 i) const {
    if constexpr (F == Fetch::Shared) {
#ifdef __NVPTX__
      return *(const AS_SHARED Raw *)(shared_base + i * (u32)sizeof(Raw));
#else
      return base[i];
#endif
    } else if constexpr (F == Fetch::Plain) {
      return base[i];
    } else {
      return load_read_only(base + i);
    }
  }
  Raw read_at(const Raw AS_GLOBAL *p) const {
    if constexpr (F == Fetch::Plain) return *p;
    else return load_read_only(p);
  }
#ifdef __NVPTX__
  // In shared memory a pointer is the 32-bit shared address, in `index`.
  static constexpr bool SHARED_POINTER = F == Fetch::Shared && POINTER;
#else
  static constexpr bool SHARED_POINTER = false;
#endif
  void jump_to(u32 i) {
    if constexpr (SHARED_POINTER) index = shared_base + i * (u32)sizeof(Raw);
    else if constexpr (POINTER) at = base + i;
    else index = i;
    refill();
  }
  void branch(i32 relative) {
    if constexpr (SHARED_POINTER) index += (u32)relative * (u32)sizeof(Raw);
    else if constexpr (POINTER) at += relative;
    else index += relative;
    refill();
  }
  void refill() {
    if constexpr (F == Fetch::Ahead) ahead = POINTER ? read_at(at) : read(index);
  }
  u32 position() const {
    if constexpr (SHARED_POINTER) return (index - shared_base) / (u32)sizeof(Raw);
    else if constexpr (POINTER) return (u32)(at - base);
    else return index;
  }
  Raw next() {
    if constexpr (F == Fetch::Ahead) {
      Raw w = ahead;
      if constexpr (POINTER) { at++; ahead = read_at(at); }
      else { index++; ahead = read(index); }
      return w;
    } else if constexpr (SHARED_POINTER) {
      Raw w = *(const AS_SHARED Raw *)(u64)index;
      index += (u32)sizeof(Raw);
      return w;
    } else if constexpr (POINTER) {
      return read_at(at++);
    } else {
      return read(index++);
    }
  }
};

// --- registers -------------------------------------------------------------

// Splitting and joining by mov.b64. Written with shifts, clang 22 stores the low
// half as `st.b32 [..], %rd` straight from the result of an f64 op, and ptxas 13.0
// turns that into a conversion to an integer (F2I): a wrong result.
static inline u64 pair(u32 lo, u32 hi) {
#ifdef __NVPTX__
  u64 v;
  asm("mov.b64 %0, {%1, %2};" : "=l"(v) : "r"(lo), "r"(hi));
  return v;
#else
  return (u64)hi << 32 | lo;
#endif
}
static inline void halves(u64 v, u32 &lo, u32 &hi) {
#ifdef __NVPTX__
  asm("mov.b64 {%0, %1}, %2;" : "=r"(lo), "=r"(hi) : "l"(v));
#else
  lo = (u32)v;
  hi = (u32)(v >> 32);
#endif
}

// Frames by address: `A` is the integer the frame pointer lives in.
template <Place P> struct Address;
template <> struct Address<Place::Shared> {
  using Int = u32;
#ifdef __NVPTX__
  static u32 get(u32 a) { return *(const AS_SHARED u32 *)a; }
  static void set(u32 a, u32 v) { *(AS_SHARED u32 *)a = v; }
#else
  static u32 get(u32) { return 0; }
  static void set(u32, u32) {}
#endif
};
template <> struct Address<Place::Generic> {
  using Int = u64;
  static u32 get(u64 a) { return *(const u32 *)a; }
  static void set(u64 a, u32 v) { *(u32 *)a = v; }
};
template <> struct Address<Place::Global> {
  using Int = u64;
  static u32 get(u64 a) { return *(const AS_GLOBAL u32 *)a; }
  static void set(u64 a, u32 v) { *(AS_GLOBAL u32 *)a = v; }
};

template <Place P, int LANES, bool SCALED> struct Frames {
  using A = Address<P>;
  using Int = typename A::Int;
  static constexpr u32 STRIDE = LANES * 4;
  Int fp, limit;
  u64 overflow; // PLACE 2: this lane's segment in global memory
  u32 overflow_bytes;

  static Int bytes(u32 r) { return SCALED ? (Int)r : (Int)r * STRIDE; }
  u32 get(u32 r) const { return A::get(fp + bytes(r)); }
  void set(u32 r, u32 v) { A::set(fp + bytes(r), v); }
  u64 get64(u32 r) const { Int p = fp + bytes(r); return pair(A::get(p), A::get(p + STRIDE)); }
  void set64(u32 r, u64 v) {
    Int p = fp + bytes(r);
    u32 lo, hi;
    halves(v, lo, hi);
    A::set(p, lo);
    A::set(p + STRIDE, hi);
  }

  // A call moves the frame pointer up. Callee units -2, -1: return pc, bytes to
  // move back; 0 there means that the caller's frame is in another segment.
  bool call(u32 delta, u32 need, u32 return_pc) {
    if (__builtin_expect(fp + bytes(need) > limit, 0)) {
      if constexpr (P == Place::Generic) return call_slow(delta, return_pc);
      return false;
    }
    Int up = bytes(delta);
    fp += up;
    A::set(fp - 2 * STRIDE, return_pc);
    A::set(fp - STRIDE, (u32)up);
    return true;
  }
  u32 ret() {
    u32 pc = A::get(fp - 2 * STRIDE);
    u32 down = A::get(fp - STRIDE);
    if constexpr (P == Place::Generic) {
      if (__builtin_expect(down == 0, 0)) ret_slow();
      else fp -= down;
    } else fp -= down;
    return pc;
  }
  bool call_slow(u32 delta, u32 return_pc) {
    if (!overflow) return false;
    u64 caller = fp + bytes(delta), seg = overflow;
    u32 p0 = A::get(caller), p1 = A::get(caller + STRIDE);
    A::set(seg, (u32)caller);
    A::set(seg + STRIDE, (u32)(caller >> 32));
    A::set(seg + 2 * STRIDE, (u32)limit);
    A::set(seg + 3 * STRIDE, (u32)(limit >> 32));
    A::set(seg + 4 * STRIDE, delta);
    A::set(seg + 5 * STRIDE, return_pc);
    A::set(seg + 6 * STRIDE, 0);
    fp = seg + 7 * STRIDE;
    A::set(fp, p0);
    A::set(fp + STRIDE, p1);
    limit = overflow + overflow_bytes;
    overflow = 0;
    return true;
  }
  void ret_slow() {
    u64 seg = fp - 7 * STRIDE;
    u64 caller = pair(A::get(seg), A::get(seg + STRIDE));
    A::set(caller, A::get(fp));
    A::set(caller + STRIDE, A::get(fp + STRIDE));
    limit = (Int)pair(A::get(seg + 2 * STRIDE), A::get(seg + 3 * STRIDE));
    fp = caller - bytes(A::get(seg + 4 * STRIDE));
    overflow = seg;
  }
};

// Frames by unit number: local array, or split between shared and global.
struct Counted {
  u32 fp, limit;
  bool call_at(u32 delta, u32 need) {
    if (fp + need > limit) return false;
    fp += delta;
    return true;
  }
};
template <int LANES, bool SCALED> struct Frames<Place::Local, LANES, SCALED> : Counted {
  u32 *array;
  u32 get(u32 r) const { return array[fp + r]; }
  void set(u32 r, u32 v) { array[fp + r] = v; }
  u64 get64(u32 r) const { return pair(get(r), get(r + 1)); }
  void set64(u32 r, u64 v) { u32 lo, hi; halves(v, lo, hi); set(r, lo); set(r + 1, hi); }
  bool call(u32 delta, u32 need, u32 return_pc) {
    if (!call_at(delta, need)) return false;
    set(-2u, return_pc); set(-1u, delta);
    return true;
  }
  u32 ret() { u32 pc = get(-2u); fp -= get(-1u); return pc; }
};
template <bool SELECT_POINTER, int LANES> struct SplitFrames : Counted {
  u32 split;
  u32 shared_base;
  u64 shared_generic, global;
  u64 where(u32 u) const { return (u < split ? shared_generic : global) + (u64)u * (LANES * 4); }
  u32 get(u32 r) const {
    u32 u = fp + r;
    if constexpr (SELECT_POINTER) return *(const u32 *)where(u);
#ifdef __NVPTX__
    if (u < split) return *(const AS_SHARED u32 *)(shared_base + u * (LANES * 4));
#endif
    return *(const AS_GLOBAL u32 *)(global + (u64)u * (LANES * 4));
  }
  void set(u32 r, u32 v) {
    u32 u = fp + r;
    if constexpr (SELECT_POINTER) { *(u32 *)where(u) = v; return; }
#ifdef __NVPTX__
    if (u < split) { *(AS_SHARED u32 *)(shared_base + u * (LANES * 4)) = v; return; }
#endif
    *(AS_GLOBAL u32 *)(global + (u64)u * (LANES * 4)) = v;
  }
  u64 get64(u32 r) const { return pair(get(r), get(r + 1)); }
  void set64(u32 r, u64 v) { u32 lo, hi; halves(v, lo, hi); set(r, lo); set(r + 1, hi); }
  bool call(u32 delta, u32 need, u32 return_pc) {
    if (!call_at(delta, need)) return false;
    set(-2u, return_pc); set(-1u, delta);
    return true;
  }
  u32 ret() { u32 pc = get(-2u); fp -= get(-1u); return pc; }
};
template <int LANES, bool SCALED> struct Frames<Place::Split, LANES, SCALED> : SplitFrames<false, LANES> {};
template <int LANES, bool SCALED> struct Frames<Place::SplitSelect, LANES, SCALED> : SplitFrames<true, LANES> {};

// --- linear memory ---------------------------------------------------------

static u64 load_bytes(const u8 AS_GLOBAL *p, u32 n) {
  u64 v = 0;
#pragma clang loop unroll(disable)
  for (u32 i = 0; i < n; i++) v |= (u64)p[i] << (8 * i);
  return v;
}
static void store_bytes(u8 AS_GLOBAL *p, u32 n, u64 v) {
#pragma clang loop unroll(disable)
  for (u32 i = 0; i < n; i++) p[i] = (u8)(v >> (8 * i));
}

template <bool CHECK_ALIGN> struct Memory {
  u8 AS_GLOBAL *base;
  u64 size;
  template <class T> bool load(u32 address, u32 offset, T &v) const {
    u64 at = (u64)address + offset;
    if (__builtin_expect(at + sizeof(T) > size, 0)) return false;
    if (CHECK_ALIGN && sizeof(T) > 1 && __builtin_expect(at & (sizeof(T) - 1), 0)) v = (T)load_bytes(base + at, sizeof(T));
    else v = *(const T AS_GLOBAL *)(base + at);
    return true;
  }
  template <class T> bool store(u32 address, u32 offset, T v) {
    u64 at = (u64)address + offset;
    if (__builtin_expect(at + sizeof(T) > size, 0)) return false;
    if (CHECK_ALIGN && sizeof(T) > 1 && __builtin_expect(at & (sizeof(T) - 1), 0)) store_bytes(base + at, sizeof(T), v);
    else *(T AS_GLOBAL *)(base + at) = v;
    return true;
  }
};

// --- the loop --------------------------------------------------------------

static inline double as_f64(u64 v) { return __builtin_bit_cast(double, v); }
static inline u64 bits(double v) { return __builtin_bit_cast(u64, v); }
static inline float as_f32(u32 v) { return __builtin_bit_cast(float, v); }
static inline u32 bits(float v) { return __builtin_bit_cast(u32, v); }
constexpr u32 SLICE_LENGTH = 4096;

template <Place P, Fetch F, int E, bool POINTER, bool CHECK_ALIGN, bool COUNT_SLICE, int LANES>
[[gnu::always_inline]] static inline u32 interpret(Frames<P, LANES, E == 5> r, Code<F, E, POINTER> code, Memory<CHECK_ALIGN> mem,
                            const u32 AS_GLOBAL *stop, u32 AS_GLOBAL *fault, u64 *result) {
  Word<E> w;
  u32 slice = SLICE_LENGTH;
  u32 status = 0;

#define A w.a()
#define B w.b()
#define C w.c()
#ifdef __NVPTX__
#define COUNT
#else
#define COUNT *g_count += g_weight[code.position()];
#endif
#define PLAIN_CASE(n, k) case n: goto L_##n;
#if ENC == 2
#define IMM_CASE(n, k) case n: goto L_##n; case n + EXTENDED: goto X_##n;
#define OPI(n, ...) L_##n: { const i32 imm = w.imm_wide(); __VA_ARGS__ } NEXT \
                    X_##n: { const i32 imm = (i32)code.next(); __VA_ARGS__ } NEXT
#define OPC(n, ...) OPI(n, __VA_ARGS__)
#else
#define IMM_CASE(n, k) case n: goto L_##n;
#define OPI(n, ...) L_##n: { const i32 imm = w.imm(); __VA_ARGS__ } NEXT
#define OPC(n, ...) L_##n: { const i32 imm = w.imm_wide(); __VA_ARGS__ } NEXT
#endif
#define OP(n, ...) L_##n: { __VA_ARGS__ } NEXT
#define DISPATCH { COUNT w.w = code.next(); \
    switch (w.op() & OPCODE_BITS) { PLAIN_OPS(PLAIN_CASE) IMM_OPS(IMM_CASE) UNUSED_CASES default: __builtin_unreachable(); } }
// With every value of the masked opcode a case there is no range test. OPMASK 0: tested.
#if OPMASK && ENC != 2
#define OPCODE_BITS OPMASK
#define UNUSED_CASES case OP_COUNT ... OPMASK: goto trap;
#else
#define OPCODE_BITS ~0u
#define UNUSED_CASES
#endif
#if DISP == 1
#define NEXT goto dispatch;
#else
#define NEXT DISPATCH
#endif
#define TAKE { code.branch(imm); \
    if (COUNT_SLICE && --slice == 0) { \
      slice = SLICE_LENGTH; \
      if (*(const volatile u32 AS_GLOBAL *)stop) STOP } }
// EXIT 1: stop and trap leave the loop with a status in a register. EXIT 2: they
// write it to memory and go on at word 0, a HALT; the loop has one way out.
#if EXIT == 1
#define STOP { status = 2; goto done; }
#else
#define STOP { *fault = 2; code.jump_to(0); }
#endif

dispatch:
  DISPATCH

  OP(MOV, r.set(A, r.get(B));)
  OP(MOV64, r.set64(A, r.get64(B));)
  OP(ADD, r.set(A, r.get(B) + r.get(C));)
  OP(SUB, r.set(A, r.get(B) - r.get(C));)
  OP(MUL, r.set(A, r.get(B) * r.get(C));)
  OP(AND, r.set(A, r.get(B) & r.get(C));)
  OP(OR, r.set(A, r.get(B) | r.get(C));)
  OP(XOR, r.set(A, r.get(B) ^ r.get(C));)
  OP(SHL, r.set(A, r.get(B) << (r.get(C) & 31));)
  OP(SHRU, r.set(A, r.get(B) >> (r.get(C) & 31));)
  OP(SHRS, r.set(A, (u32)((i32)r.get(B) >> (r.get(C) & 31)));)
  OP(ROTL, u32 v = r.get(B); u32 k = r.get(C) & 31; r.set(A, v << k | v >> ((32 - k) & 31));)
  OP(DIVU, u32 d = r.get(C); if (d == 0) goto trap; r.set(A, r.get(B) / d);)
  OP(CLZ, u32 v = r.get(B); r.set(A, v ? (u32)__builtin_clz(v) : 32u);)
  OP(EQ, r.set(A, r.get(B) == r.get(C));)
  OP(NE, r.set(A, r.get(B) != r.get(C));)
  OP(LTS, r.set(A, (i32)r.get(B) < (i32)r.get(C));)
  OP(LTU, r.set(A, r.get(B) < r.get(C));)
  OP(GES, r.set(A, (i32)r.get(B) >= (i32)r.get(C));)
  OP(GEU, r.set(A, r.get(B) >= r.get(C));)
  OP(EQZ, r.set(A, r.get(B) == 0);)
  OP(ADD64, r.set64(A, r.get64(B) + r.get64(C));)
  OP(SUB64, r.set64(A, r.get64(B) - r.get64(C));)
  OP(MUL64, r.set64(A, r.get64(B) * r.get64(C));)
  OP(AND64, r.set64(A, r.get64(B) & r.get64(C));)
  OP(OR64, r.set64(A, r.get64(B) | r.get64(C));)
  OP(XOR64, r.set64(A, r.get64(B) ^ r.get64(C));)
  OP(SHL64, r.set64(A, r.get64(B) << (r.get(C) & 63));)
  OP(SHRU64, r.set64(A, r.get64(B) >> (r.get(C) & 63));)
  OP(EQ64, r.set(A, r.get64(B) == r.get64(C));)
  OP(LTS64, r.set(A, (i64)r.get64(B) < (i64)r.get64(C));)
  OP(LTU64, r.set(A, r.get64(B) < r.get64(C));)
  OP(EXTU, r.set64(A, r.get(B));)
  OP(EXTS, r.set64(A, (u64)(i64)(i32)r.get(B));)
  OP(WRAP, r.set(A, r.get(B));)
  OP(FADD64, r.set64(A, bits(as_f64(r.get64(B)) + as_f64(r.get64(C))));)
  OP(FSUB64, r.set64(A, bits(as_f64(r.get64(B)) - as_f64(r.get64(C))));)
  OP(FMUL64, r.set64(A, bits(as_f64(r.get64(B)) * as_f64(r.get64(C))));)
  OP(FDIV64, r.set64(A, bits(as_f64(r.get64(B)) / as_f64(r.get64(C))));)
  OP(FSQRT64, r.set64(A, bits(sqrt64(as_f64(r.get64(B)))));)
  OP(FNEG64, r.set64(A, r.get64(B) ^ 1ull << 63);)
  OP(FLT64, r.set(A, as_f64(r.get64(B)) < as_f64(r.get64(C)));)
  OP(FCVTS64, r.set64(A, bits((double)(i32)r.get(B)));)
  OP(FADD, r.set(A, bits(as_f32(r.get(B)) + as_f32(r.get(C))));)
  OP(FSUB, r.set(A, bits(as_f32(r.get(B)) - as_f32(r.get(C))));)
  OP(FMUL, r.set(A, bits(as_f32(r.get(B)) * as_f32(r.get(C))));)
  OP(FDIV, r.set(A, bits(as_f32(r.get(B)) / as_f32(r.get(C))));)
  OP(SELECT, u32 x = r.get(B); u32 y = r.get(C); r.set(A, r.get(A) ? x : y);)
  OP(RET, code.jump_to(r.ret());)

  OPC(CONST, r.set(A, (u32)imm);)
  OPI(ADDI, r.set(A, r.get(B) + (u32)imm);)
  OPI(MULI, r.set(A, r.get(B) * (u32)imm);)
  OPI(ANDI, r.set(A, r.get(B) & (u32)imm);)
  OPI(XORI, r.set(A, r.get(B) ^ (u32)imm);)
  OPI(SHLI, r.set(A, r.get(B) << (imm & 31));)
  OPI(SHRUI, r.set(A, r.get(B) >> (imm & 31));)
  OPI(ROTLI, u32 v = r.get(B); r.set(A, v << (imm & 31) | v >> ((32 - imm) & 31));)
  OPI(XSHLI, u32 v = r.get(B); r.set(A, v ^ v << (imm & 31));)
  OPI(XSHRUI, u32 v = r.get(B); r.set(A, v ^ v >> (imm & 31));)
  OPI(ADDI64, r.set64(A, r.get64(B) + (u64)(i64)imm);)
  OPI(LD32, u32 v; if (!mem.load(r.get(B), (u32)imm, v)) goto trap; r.set(A, v);)
  OPI(ST32, if (!mem.store(r.get(B), (u32)imm, r.get(A))) goto trap;)
  OPI(LD8U, u8 v; if (!mem.load(r.get(B), (u32)imm, v)) goto trap; r.set(A, v);)
  OPI(ST8, if (!mem.store(r.get(B), (u32)imm, (u8)r.get(A))) goto trap;)
  OPI(LD64, u64 v; if (!mem.load(r.get(B), (u32)imm, v)) goto trap; r.set64(A, v);)
  OPI(ST64, if (!mem.store(r.get(B), (u32)imm, r.get64(A))) goto trap;)
  OPI(BR, TAKE)
  OPI(BRIF, if (r.get(A) != 0) TAKE)
  OPI(BRZ, if (r.get(A) == 0) TAKE)
  OPI(BEQ, if (r.get(A) == r.get(B)) TAKE)
  OPI(BNE, if (r.get(A) != r.get(B)) TAKE)
  OPI(BLTS, if ((i32)r.get(A) < (i32)r.get(B)) TAKE)
  OPI(BLTU, if (r.get(A) < r.get(B)) TAKE)
  OPI(BGES, if ((i32)r.get(A) >= (i32)r.get(B)) TAKE)
  OPI(BLTSI, if ((i32)r.get(A) < w.imm_b()) TAKE)
  OPI(BGESI, if ((i32)r.get(A) >= w.imm_b()) TAKE)
  OPI(LOOP, u32 v = r.get(A) + 1; r.set(A, v); if (v < r.get(B)) TAKE)
  OPI(CALL, u32 back = code.position(); if (!r.call(A, B, back)) goto trap; TAKE)

trap:
#if EXIT == 1
  status = 1;
#else
  *fault = 1;
  code.jump_to(0);
  NEXT
#endif
L_HALT:
done:
  *result = r.get64(0);
  return status;
}

#ifdef __NVPTX__
template <Place P, u32 STRIDE, class R>
static inline void place(R &r, const Params &p, u32 shared, u64 global, u32 *local) {
  const u64 shared_generic = (u64)(void *)(AS_SHARED char *)shared;
  if constexpr (P == Place::Local) {
    r.array = local;
    r.fp = 0;
    r.limit = 256;
  } else if constexpr (P == Place::Split || P == Place::SplitSelect) {
    r.fp = 0;
    r.limit = p.units;
    r.split = p.shared_units;
    r.shared_base = shared;
    r.shared_generic = shared_generic;
    r.global = global;
  } else {
    if constexpr (P == Place::Shared) r.fp = shared;
    if constexpr (P == Place::Global) r.fp = global;
    if constexpr (P == Place::Generic) r.fp = p.shared_units ? shared_generic : global;
    r.limit = r.fp + p.units * STRIDE;
    r.overflow = P == Place::Generic && p.shared_units ? global : 0;
    r.overflow_bytes = p.global_units * STRIDE;
  }
}

extern "C" [[clang::device_kernel]] void probe(Params p) {
  constexpr Place P = (Place)PLACE;
  constexpr Fetch F = (Fetch)FETCH;
  constexpr bool SCALED = ENC == 5;
  constexpr u32 STRIDE = BLOCK * 4;
  const u32 tid = thread_in_block(), block = block_index();
  const u32 shared_base = (u32)(u64)(AS_SHARED void *)shared_words;

  Code<F, ENC, PC64 != 0> code;
  code.base = (decltype(code.base))p.code;
  code.shared_base = shared_base + p.shared_units * STRIDE;
  if constexpr (F == Fetch::Shared) {
    for (u32 i = tid; i < p.code_bytes / 4; i += BLOCK)
      *(AS_SHARED u32 *)(code.shared_base + i * 4) = ((const u32 AS_GLOBAL *)p.code)[i];
    __nvvm_bar_sync(0);
  }
  if (tid >= p.active) return;
  code.jump_to(1);

  const u32 lane = block * p.active + tid;
  const u64 global_base = (u64)p.frames + ((u64)block * p.global_units * BLOCK + tid) * 4;
  Frames<P, BLOCK, SCALED> r;
  u32 local[P == Place::Local ? 256 : 1];
  place<P, STRIDE>(r, p, shared_base + tid * 4, global_base, local);
  r.set(0, p.iterations);
  r.set(SCALED ? STRIDE : 1, lane);

  Memory<ALIGN != 0> mem{p.mem + (u64)(lane / p.mem_div) * p.mem_stride, p.mem_size};
  u64 result, start = clock_now();
  u32 status = interpret<P, F, ENC, PC64 != 0, ALIGN != 0, SLICE != 0, BLOCK>(r, code, mem, p.stop, p.fault, &result);
  if (lane == 0) *p.cycles = clock_now() - start;
  p.out[lane] = status ? ~0ull - status : result;
}
#endif
