// The kernel of parts.py: what a paged array does for a block of 1 KiB that it hasn't, in parts that can
// be left out, so that the cost of each shows. Parts that are left out make it wrong, not quicker than
// it could be.
using ull = unsigned long long;

enum Part : unsigned {
  kSettled = 1,         // an ordinary load of the block's word
  kRelaxedLook = 2,     // a relaxed load of its valid bit
  kAcquireLook = 4,     // an acquiring one
  kClaim = 8,           // busy |= bit, with the old value
  kWrite = 16,          // the block to its place in the GPU's memory
  kWriteNear = 32,      // or to the warp's own 1 KiB
  kRelease = 64,        // valid |= bit, released
  kPublish = 128,       // or relaxed
  kReadBack = 256,      // the block from the GPU's memory, for the sum
  kCount = 512,         // an addition to one counter
  kInOrder = 1024,      // blocks of the host in order; the rest stays random
  kPlainLoad = 2048,    // host: ld instead of ld.cs
  kNoAllocate = 4096,   // host: ld.L1::no_allocate
  kBusyLook = 8192,     // a relaxed load of the busy bit, as the only look
  kAhead = 16384,       // the next block is claimed and read before this one is written
};

__device__ float all_of(float4 v) { return v.x + v.y + v.z + v.w; }
__device__ float4 as_floats(uint4 v) {
  return make_float4(__uint_as_float(v.x), __uint_as_float(v.y), __uint_as_float(v.z),
                     __uint_as_float(v.w));
}
__device__ unsigned relaxed(const unsigned* at) {
  unsigned value;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
  return value;
}
__device__ unsigned acquired(const unsigned* at) {
  unsigned value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
  return value;
}

template <unsigned kParts>
__device__ uint4 from_host(const uint4* at) {
  if constexpr ((kParts & kPlainLoad) != 0) return *at;
  if constexpr ((kParts & kNoAllocate) != 0) {
    uint4 v;
    asm volatile("ld.global.L1::no_allocate.v4.u32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(at));
    return v;
  }
  return __ldcs(at);
}

struct Memory {
  const uint4* host;
  uint4* device;
  unsigned *settled, *valid, *busy;
  ull* counter;
};

struct Block {
  ull number;
  bool mine;
  uint4 first, second;
};

/// Looks at a block's bits, claims it, and issues its reads.
template <unsigned kParts>
__device__ Block begun(const Memory& memory, ull i, ull num_blocks) {
  Block block;
  block.number = (i * 0x9E3779B1ULL + 12345) & (num_blocks - 1);
  const unsigned lane = threadIdx.x % 32, bit = 1U << (block.number % 32);
  const ull word = block.number / 32;
  bool absent = true;
  if constexpr ((kParts & kSettled) != 0) absent = (memory.settled[word] & bit) == 0;
  if constexpr ((kParts & kRelaxedLook) != 0)
    absent = absent && (relaxed(memory.valid + word) & bit) == 0;
  if constexpr ((kParts & kAcquireLook) != 0)
    absent = absent && (acquired(memory.valid + word) & bit) == 0;
  if constexpr ((kParts & kBusyLook) != 0)
    absent = absent && (relaxed(memory.busy + word) & bit) == 0;
  if constexpr ((kParts & kClaim) != 0) {
    bool won = false;
    if (lane == 0 && absent) won = (atomicOr(memory.busy + word, bit) & bit) == 0;
    absent = __ballot_sync(~0U, won) != 0;
  }
  block.mine = absent;
  if (absent) {
    const uint4* from = memory.host + ((kParts & kInOrder) != 0 ? i : block.number) * 64;
    block.first = from_host<kParts>(from + lane);
    block.second = from_host<kParts>(from + lane + 32);
  }
  return block;
}

/// Writes it, publishes it, and gives its sum.
template <unsigned kParts>
__device__ float ended(const Memory& memory, const Block& block, ull warp) {
  if (!block.mine) return 0;
  const unsigned lane = threadIdx.x % 32, bit = 1U << (block.number % 32);
  uint4* to = memory.device + ((kParts & kWriteNear) != 0 ? warp : block.number) * 64;
  if constexpr ((kParts & (kWrite | kWriteNear)) != 0) {
    to[lane] = block.first;
    to[lane + 32] = block.second;
    __syncwarp();
  }
  if (lane == 0) {
    unsigned* const valid = memory.valid + block.number / 32;
    if constexpr ((kParts & kRelease) != 0)
      asm volatile("red.release.gpu.global.or.b32 [%0], %1;" : : "l"(valid), "r"(bit) : "memory");
    if constexpr ((kParts & kPublish) != 0) atomicOr(valid, bit);
    if constexpr ((kParts & kCount) != 0) atomicAdd(memory.counter, 1ULL);
  }
  if constexpr ((kParts & kReadBack) != 0) {
    __syncwarp();
    return all_of(as_floats(to[lane])) + all_of(as_floats(to[lane + 32]));
  }
  return all_of(as_floats(block.first)) + all_of(as_floats(block.second));
}

// kWarps       warps of a multiprocessor for which there are registers
template <unsigned kParts, int kWarps>
__global__ void __launch_bounds__(256, kWarps / 8)
    blocks(const uint4* host, uint4* device, unsigned* words, ull* counter, ull num_blocks,
           ull num_read, float* out) {
  const ull num_words = num_blocks / 32;
  const Memory memory{host, device, words, words + num_words, words + 2 * num_words, counter};
  const ull warp = (blockIdx.x * ull(blockDim.x) + threadIdx.x) / 32;
  const ull num_warps = ull(gridDim.x) * blockDim.x / 32;
  float sum = 0;
  if constexpr ((kParts & kAhead) != 0) {
    if (warp < num_read) {
      Block now = begun<kParts>(memory, warp, num_blocks);
      for (ull i = warp; i < num_read; i += num_warps) {
        const bool more = i + num_warps < num_read;
        Block next;
        if (more) next = begun<kParts>(memory, i + num_warps, num_blocks);
        sum += ended<kParts>(memory, now, warp);
        if (more) now = next;
      }
    }
  } else {
    for (ull i = warp; i < num_read; i += num_warps)
      sum += ended<kParts>(memory, begun<kParts>(memory, i, num_blocks), warp);
  }
  atomicAdd(out, sum);
}
