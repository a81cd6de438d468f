// Loads the cubins that run.sh built, runs the plan, checks every result against
// the native reference, prints one line a run.
//   host --selftest            run the programs on the CPU (encoding: -DENC=n)
//   host PLAN                  run the plan on the GPU
//   host PLAN --once N         one launch of N iterations a line, for a profiler
#include <cstdio>
#include <cstdlib>
#include "programs.h"
#include <algorithm>
#include <chrono>
#include <dlfcn.h>
#include <fstream>
#include <map>
#include <sstream>

// --- on the CPU ------------------------------------------------------------

struct Executed { u64 source_ops, words; };
static Executed run_on_cpu(const Program &p, u32 iterations, u32 lane, u64 *result, int enc, bool small_first_segment) {
  Asm s{enc != 4, p.tmp, {}, {}};
  p.build(s);
  constexpr u32 lanes = 4;
  Encoded e = encode(s, enc, lanes * 4);
  std::vector<u8> mem(p.mem_size);
  p.image(mem);
  std::vector<u32> first(256 * lanes), second(256 * lanes);
  Frames<Place::Generic, lanes, ENC == 5> r;
  r.fp = (u64)(first.data() + 1);
  r.limit = r.fp + (small_first_segment ? 32 : 256) * lanes * 4;
  r.overflow = (u64)(second.data() + 1);
  r.overflow_bytes = 256 * lanes * 4;
  r.set(0, iterations);
  r.set(ENC == 5 ? lanes * 4 : 1, lane);
  Code<Fetch::Plain, ENC, PC64 != 0> code{};
  code.base = (decltype(code.base))e.bytes.data();
  code.jump_to(1);
  std::vector<u32> ones(e.weight.size());
  u64 sum = 0;
  for (size_t i = 0; i < ones.size(); i++) ones[i] = 1u << 16 | e.weight[i]; // words above, source ops below
  g_count = &sum;
  g_weight = ones.data();
  u32 stop = 0, fault = 0;
  u32 status = interpret<Place::Generic, Fetch::Plain, ENC, PC64 != 0, true, true, (int)lanes>(
      r, code, Memory<true>{mem.data(), p.mem_size}, &stop, &fault, result);
  if (status || fault) *result = ~0ull;
  return {sum & 0xffff, sum >> 16}; // good for runs under 65,536 source ops
}
static u64 cpu_lo(const Program &p, u32 n, int enc, bool words) {
  u64 r;
  Executed e = run_on_cpu(p, n, 3, &r, enc, false);
  return words ? e.words : e.source_ops;
}

static int selftest() {
  int bad = 0;
  for (auto &p : programs()) {
    for (u32 lane : {0u, 77u}) {
      u64 got, want = p.reference(3, lane);
      Executed e = run_on_cpu(p, 3, lane, &got, ENC, p.name == "fib20");
      if (got != want) bad++;
      if (lane == 0)
        printf("E%d %-7s %s source ops %llu words %llu\n", ENC, p.name.c_str(), got == want ? "ok" : "WRONG", e.source_ops, e.words);
    }
  }
  return bad;
}

// --- on the GPU: the few driver calls that are needed ------------------------

typedef int CUresult;
typedef void *Handle;
typedef u64 DevPtr;
#define DRIVER(X) \
  X(cuInit, (unsigned)) X(cuDeviceGet, (int *, int)) X(cuDevicePrimaryCtxRetain, (Handle *, int)) \
  X(cuCtxSetCurrent, (Handle)) X(cuDeviceGetName, (char *, int, int)) X(cuDeviceGetAttribute, (int *, int, int)) \
  X(cuModuleLoad, (Handle *, const char *)) X(cuModuleGetFunction, (Handle *, Handle, const char *)) \
  X(cuFuncGetAttribute, (int *, int, Handle)) X(cuFuncSetAttribute, (Handle, int, int)) \
  X(cuMemAlloc_v2, (DevPtr *, size_t)) X(cuMemcpyHtoD_v2, (DevPtr, const void *, size_t)) \
  X(cuMemcpyDtoH_v2, (void *, DevPtr, size_t)) X(cuMemcpyDtoD_v2, (DevPtr, DevPtr, size_t)) \
  X(cuMemsetD8_v2, (DevPtr, unsigned char, size_t)) \
  X(cuLaunchKernel, (Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Handle, void **, void **)) \
  X(cuEventCreate, (Handle *, unsigned)) X(cuEventRecord, (Handle, Handle)) X(cuEventSynchronize, (Handle)) \
  X(cuEventElapsedTime, (float *, Handle, Handle)) X(cuCtxSynchronize, (void)) \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor, (int *, Handle, int, size_t)) X(cuDriverGetVersion, (int *))
#define X(n, args) static CUresult(*n) args;
DRIVER(X)
#undef X
#define CHECK(e) do { CUresult c_ = (e); if (c_) { printf("FAILED %s = %d\n", #e, c_); exit(1); } } while (0)

struct Variant { std::map<std::string, int> flag; Handle function = nullptr; };
static int flag(const Variant &v, const char *n, int d) { auto f = v.flag.find(n); return f == v.flag.end() ? d : f->second; }

int main(int argc, char **argv) {
  if (argc > 1 && !strcmp(argv[1], "--selftest")) return selftest();
  if (argc < 2) { fprintf(stderr, "usage: host --selftest | PLAN [--once N]\n"); return 2; }
  u32 once = argc > 3 && !strcmp(argv[2], "--once") ? (u32)atoi(argv[3]) : 0;

  void *lib = dlopen("libcuda.so.1", RTLD_NOW);
  if (!lib) { fprintf(stderr, "no CUDA driver\n"); return 1; }
#define X(n, args) *(void **)&n = dlsym(lib, #n); if (!n) { fprintf(stderr, "no " #n "\n"); return 1; }
  DRIVER(X)
#undef X
  int device, sms, major, minor, version;
  Handle context;
  char name[100];
  CHECK(cuInit(0)); CHECK(cuDeviceGet(&device, 0)); CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context)); CHECK(cuDeviceGetName(name, 100, device));
  CHECK(cuDeviceGetAttribute(&sms, 16, device));
  CHECK(cuDeviceGetAttribute(&major, 75, device)); CHECK(cuDeviceGetAttribute(&minor, 76, device));
  CHECK(cuDriverGetVersion(&version));
  printf("# %s, %d SMs, sm_%d%d, driver API %d\n", name, sms, major, minor, version);

  std::map<std::string, Variant> variants;
  std::string line, word;
  for (std::ifstream in("variants.txt"); std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream l(line);
    std::string n;
    l >> n;
    while (l >> word)
      if (word[0] == '-' && word.find('=') != std::string::npos)
        variants[n].flag[word.substr(2, word.find('=') - 2)] = atoi(word.c_str() + word.find('=') + 1);
    variants[n];
  }

  constexpr size_t MEM = 256u << 20, FRAMES = 512u << 20;
  constexpr u32 MAX_LANES = 1 << 19;
  DevPtr mem, pristine, frames, code, out, cycles, stop, fault;
  CHECK(cuMemAlloc_v2(&mem, MEM)); CHECK(cuMemAlloc_v2(&pristine, MEM)); CHECK(cuMemAlloc_v2(&frames, FRAMES));
  CHECK(cuMemAlloc_v2(&code, 1 << 20)); CHECK(cuMemAlloc_v2(&out, MAX_LANES * 8)); CHECK(cuMemAlloc_v2(&cycles, 8));
  CHECK(cuMemAlloc_v2(&fault, 4)); CHECK(cuMemsetD8_v2(fault, 0, 4)); CHECK(cuMemAlloc_v2(&stop, 4)); CHECK(cuMemsetD8_v2(stop, 0, 4));
  Handle begin, end;
  CHECK(cuEventCreate(&begin, 0)); CHECK(cuEventCreate(&end, 0));

  auto all = programs();
  int wrong = 0;
  printf("label\tvariant\tprogram\tmode\tblocks/SM\tblock\tunits\tshared\tregs\tresident\titer\tops/iter\twords/iter\tms\tmin\tmax\tGop/s\tcycles/op\tcheck\n");
  for (std::ifstream in(argv[1]); std::getline(in, line);) {
    if (line.empty() || line[0] == '#') { if (!line.empty()) printf("%s\n", line.c_str()); continue; }
    std::istringstream l(line);
    std::string label, variant, names, modes;
    u32 blocks, units, shared_units;
    l >> label >> variant >> names >> modes >> blocks >> units >> shared_units;
    if (!variants.count(variant)) { printf("FAILED no variant %s\n", variant.c_str()); wrong++; continue; }
    Variant &v = variants[variant];
    const int enc = flag(v, "ENC", 1), block = flag(v, "BLOCK", 128);
    if (!v.function) {
      Handle module;
      CHECK(cuModuleLoad(&module, ("target/" + variant + ".cubin").c_str()));
      CHECK(cuModuleGetFunction(&v.function, module, "probe"));
    }
    int regs;
    CHECK(cuFuncGetAttribute(&regs, 4, v.function));
    std::istringstream ns(names);
    for (std::string pn; std::getline(ns, pn, ',');) {
      auto prog = std::find_if(all.begin(), all.end(), [&](auto &p) { return p.name == pn; });
      if (prog == all.end()) { printf("FAILED no program %s\n", pn.c_str()); wrong++; continue; }
      Asm s{enc != 4, prog->tmp, {}, {}};
      prog->build(s);
      Encoded e = encode(s, enc, (u32)block * 4);
      CHECK(cuMemcpyHtoD_v2(code, e.bytes.data(), e.bytes.size()));
      // Source ops of one iteration; words from the base encoding (E2 and E4: see selftest).
      const bool deep = pn == "fib20";
      static std::map<std::string, std::pair<double, double>> per;
      if (!per.count(pn)) {
        if (deep) {
          // linear: fib(20) has 10946 leaves of 3 ops (2 words) and 10945 inner calls of 7 ops (8 words)
          per[pn] = {10946 * 3. + 10945 * 7. + 4, 10946 * 2. + 10945 * 8. + 5};
        } else {
          per[pn] = {(double)cpu_lo(*prog, 2, ENC, false) - cpu_lo(*prog, 1, ENC, false),
                     (double)cpu_lo(*prog, 2, ENC, true) - cpu_lo(*prog, 1, ENC, true)};
        }
      }
      const double ops = per[pn].first, words = per[pn].second;

      std::istringstream ms(modes);
      for (std::string mode; std::getline(ms, mode, ',');) {
        const bool full = mode == "full";
        const u32 grid = full ? (u32)sms * blocks : 1, active = full ? (u32)block : mode == "warp" ? 32 : 1;
        const u32 lanes = grid * active;
        const size_t shared = (size_t)shared_units * block * 4 + (flag(v, "FETCH", 2) == 1 ? e.bytes.size() : 0);
        CHECK(cuFuncSetAttribute(v.function, 8, (int)shared));
        // carveout: as much L1 as the shared memory of the resident blocks leaves
        int carve = (int)std::min<size_t>(100, ((shared + 1024) * blocks * 100 + 233471) / 233472);
        CHECK(cuFuncSetAttribute(v.function, 9, shared ? carve : 0));
        int resident;
        CHECK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&resident, v.function, block, shared));

        // One image for each group of mem_div lanes.
        std::vector<u8> image(prog->mem_size);
        prog->image(image);
        const u32 copies = prog->mem_div == ~0u ? 1 : (lanes + prog->mem_div - 1) / prog->mem_div;
        if (copies * prog->mem_size > MEM || (size_t)grid * 256 * block * 4 > FRAMES) { printf("FAILED too large\n"); wrong++; continue; }
        {
          std::vector<u8> big(copies * prog->mem_size);
          for (u32 c = 0; c < copies; c++) memcpy(&big[c * prog->mem_size], image.data(), image.size());
          CHECK(cuMemcpyHtoD_v2(pristine, big.data(), big.size()));
        }
        Params p{};
        p.code = (const void *)code;
        p.code_bytes = (u32)e.bytes.size();
        p.active = active;
        p.mem = (u8 *)mem;
        p.mem_stride = prog->mem_size;
        p.mem_size = prog->mem_size;
        p.mem_div = prog->mem_div;
        p.units = units;
        p.shared_units = shared_units;
        p.global_units = 256;
        p.frames = (u32 *)frames;
        p.out = (u64 *)out;
        p.cycles = (u64 *)cycles;
        p.stop = (u32 *)stop;
        p.fault = (u32 *)fault;
        auto launch = [&](u32 n) {
          p.iterations = n;
            CHECK(cuMemcpyDtoD_v2(mem, pristine, copies * prog->mem_size));
          CHECK(cuMemsetD8_v2(out, 0xa5, lanes * 8));
          void *args[] = {&p};
          CHECK(cuEventRecord(begin, nullptr));
          CHECK(cuLaunchKernel(v.function, grid, 1, 1, (unsigned)block, 1, 1, (unsigned)shared, nullptr, args, nullptr));
          CHECK(cuEventRecord(end, nullptr));
          CHECK(cuEventSynchronize(end));
          float t;
          CHECK(cuEventElapsedTime(&t, begin, end));
          return t;
        };
        u32 n = once ? once : 4;
        std::vector<std::pair<double, double>> times; // ms, cycles
        if (once) {
          times.push_back({launch(n), 1});
        } else {
          for (;;) { // grow until the run is long enough to scale from
            float t = launch(n);
            if (t > 22) break;
            double f = t > 1.5 ? 26 / t : 8;
            n = (u32)std::max(n + 1., std::min(n * f, 4e9));
          }
          for (int i = 0; i < 5; i++) {
            double t = launch(n);
            u64 c;
            CHECK(cuMemcpyDtoH_v2(&c, cycles, 8));
            times.push_back({t, (double)c});
          }
        }
        std::vector<u64> got(lanes);
        CHECK(cuMemcpyDtoH_v2(got.data(), out, lanes * 8));
        u32 faults;
        CHECK(cuMemcpyDtoH_v2(&faults, fault, 4));
        bool ok = faults == 0;
        CHECK(cuMemsetD8_v2(fault, 0, 4));
        for (u32 i = 0; i < lanes && ok; i += lanes > 64 ? lanes / 41 : 1) {
          u64 want = prog->reference(n, i);
          if (got[i] != want) { ok = false; printf("# lane %u: %016llx, want %016llx\n", i, got[i], want); }
        }
        if (prog->mem_div != ~0u) for (u32 i = 1; i < lanes; i++) ok = ok && got[i] == got[0];
        wrong += !ok;
        std::sort(times.begin(), times.end());
        auto [t, c] = times[times.size() / 2];
        printf("%s\t%s\t%s\t%s\t%u\t%d\t%u\t%u\t%d\t%d\t%u\t%.0f\t%.0f\t%.2f\t%.2f\t%.2f\t%.1f\t%.1f\t%s\n", label.c_str(),
               variant.c_str(), pn.c_str(), mode.c_str(), full ? blocks : 0, block, units, shared_units, regs, resident, n,
               ops, words, t, times.front().first, times.back().first, ops * n * lanes / t * 1e-6, c / (ops * n),
               ok ? "ok" : "WRONG");
        fflush(stdout);
      }
    }
  }
  printf(wrong ? "# %d WRONG\n" : "# all results as the reference\n", wrong);
  return wrong != 0;
}
