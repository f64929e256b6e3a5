#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "kernels.cuh"

// Runs kernels of which it is known how many bytes they touch and prints these as JSON, for
// comparison with what was recorded of the same run; and a checksum of what they computed, which
// must be the same with and without a recorder.
//
//   known_kernels [--repeat N]

namespace {

void Check(cudaError_t result, const char* what) {
  if (result != cudaSuccess) {
    std::fprintf(stderr, "known_kernels: %s: %s\n", what, cudaGetErrorString(result));
    std::exit(1);
  }
}

/// Device memory that is freed at the end of its life.
template <typename T>
class Buffer {
 public:
  explicit Buffer(std::size_t size) : size_(size) {
    Check(cudaMalloc(&data_, size * sizeof(T)), "allocating");
    Check(cudaMemset(data_, 0, size * sizeof(T)), "clearing");
  }

  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  ~Buffer() { cudaFree(data_); }

  T* data() { return data_; }

  template <typename F>
  Buffer& Fill(F value_of) {
    std::vector<T> values(size_);
    for (std::size_t i = 0; i < size_; ++i) {
      values[i] = value_of(static_cast<std::uint32_t>(i));
    }
    Check(cudaMemcpy(data_, values.data(), size_ * sizeof(T), cudaMemcpyHostToDevice), "filling");
    return *this;
  }

  std::uint64_t Checksum() {
    std::vector<unsigned char> bytes(size_ * sizeof(T));
    Check(cudaMemcpy(bytes.data(), data_, bytes.size(), cudaMemcpyDeviceToHost), "reading");
    std::uint64_t sum = 14695981039346656037ULL;
    for (const unsigned char byte : bytes) {
      sum = (sum ^ byte) * 1099511628211ULL;
    }
    return sum;
  }

 private:
  T* data_ = nullptr;
  std::size_t size_;
};

/// The bytes that one launch of a kernel touches.
struct Expected {
  const char* kernel;
  std::uint64_t read_bytes;
  std::uint64_t write_bytes;
  std::uint64_t atomic_bytes;
  std::uint64_t checksum;
};

int num_repeats = 1;

template <typename F>
void Repeat(const char* kernel, F launch) {
  for (int i = 0; i < num_repeats; ++i) {
    launch();
  }
  Check(cudaGetLastError(), kernel);
  Check(cudaDeviceSynchronize(), kernel);
}

constexpr unsigned kThreads = 256;
constexpr std::uint64_t kElements = 16ULL << 20U;
constexpr unsigned kBlocks = kElements / kThreads;

float Ramp(std::uint32_t i) {
  return static_cast<float>(i % 8191);
}

Expected Add() {
  Buffer<float> a(kElements);
  Buffer<float> b(kElements);
  Buffer<float> c(kElements);
  a.Fill(Ramp);
  Repeat("known_add", [&] { known_add<<<kBlocks, kThreads>>>(a.data(), b.data(), c.data()); });
  return {"known_add", 2 * kElements * 4, kElements * 4, 0, c.Checksum()};
}

Expected Copy8() {
  Buffer<float> in(kElements);
  Buffer<float> out(kElements);
  in.Fill(Ramp);
  Repeat("known_copy_8", [&] {
    known_copy_8<<<kBlocks / 2, kThreads>>>(reinterpret_cast<float2*>(in.data()),
                                            reinterpret_cast<float2*>(out.data()));
  });
  return {"known_copy_8", kElements * 4, kElements * 4, 0, out.Checksum()};
}

Expected Copy16() {
  Buffer<float> in(kElements);
  Buffer<float> out(kElements);
  in.Fill(Ramp);
  Repeat("known_copy_16", [&] {
    known_copy_16<<<kBlocks / 4, kThreads>>>(reinterpret_cast<float4*>(in.data()),
                                             reinterpret_cast<float4*>(out.data()));
  });
  return {"known_copy_16", kElements * 4, kElements * 4, 0, out.Checksum()};
}

Expected StridedCopy() {
  constexpr unsigned kStride = 8;
  Buffer<float> in(kElements);
  Buffer<float> out(kElements / kStride);
  in.Fill(Ramp);
  Repeat("known_strided_copy", [&] {
    known_strided_copy<<<kBlocks / kStride, kThreads>>>(in.data(), out.data(), kStride);
  });
  const std::uint64_t bytes = kElements / kStride * 4;
  return {"known_strided_copy", bytes, bytes, 0, out.Checksum()};
}

Expected Gather() {
  Buffer<float> in(kElements);
  Buffer<int> index(kElements);
  Buffer<float> out(kElements);
  in.Fill(Ramp);
  index.Fill([](std::uint32_t i) { return static_cast<int>(i * 2654435761U % kElements); });
  Repeat("known_gather",
         [&] { known_gather<<<kBlocks, kThreads>>>(in.data(), index.data(), out.data()); });
  return {"known_gather", 2 * kElements * 4, kElements * 4, 0, out.Checksum()};
}

Expected Histogram() {
  Buffer<int> in(kElements);
  Buffer<unsigned> bins(1024);
  in.Fill([](std::uint32_t i) { return static_cast<int>(i * 2654435761U >> 8U); });
  Repeat("known_histogram",
         [&] { known_histogram<<<kBlocks, kThreads>>>(in.data(), bins.data()); });
  return {"known_histogram", kElements * 4, 0, kElements * 4, bins.Checksum()};
}

Expected Broadcast() {
  Buffer<float> in(kBlocks);
  Buffer<float> out(kElements);
  in.Fill(Ramp);
  Repeat("known_broadcast", [&] { known_broadcast<<<kBlocks, kThreads>>>(in.data(), out.data()); });
  return {"known_broadcast", kElements * 4, kElements * 4, 0, out.Checksum()};
}

Expected TwoDimensional() {
  constexpr unsigned kPitch = 4096;
  constexpr unsigned kWidth = 3072;
  constexpr unsigned kHeight = 2048;
  Buffer<float> in(kPitch * kHeight);
  Buffer<float> out(kPitch * kHeight);
  in.Fill(Ramp);
  Repeat("known_two_dimensional", [&] {
    known_two_dimensional<<<dim3(kWidth / 64, kHeight / 4), dim3(64, 4)>>>(in.data(), out.data(),
                                                                           kPitch);
  });
  const std::uint64_t bytes = 4ULL * kWidth * kHeight;
  return {"known_two_dimensional", bytes, bytes, 0, out.Checksum()};
}

Expected PartialWarp() {
  constexpr unsigned kPartialBlocks = 1000;
  constexpr unsigned kPartialThreads = 39;
  Buffer<float> in(kPartialBlocks * kPartialThreads);
  Buffer<float> out(kPartialBlocks * kPartialThreads);
  in.Fill(Ramp);
  Repeat("known_partial_warp",
         [&] { known_partial_warp<<<kPartialBlocks, kPartialThreads>>>(in.data(), out.data()); });
  return {"known_partial_warp", kPartialBlocks * kPartialThreads * 4ULL, kPartialBlocks * 10 * 4ULL,
          0, out.Checksum()};
}

// Each block reads its rows of A and its columns of B once: A is read once for each column of
// blocks, B once for each row of blocks.
Expected TileGemm() {
  constexpr unsigned kSize = 1024;
  constexpr unsigned kTiles = kSize / kTile;
  constexpr std::uint64_t kMatrixBytes = 4ULL * kSize * kSize;
  Buffer<float> a(kSize * kSize);
  Buffer<float> b(kSize * kSize);
  Buffer<float> c(kSize * kSize);
  a.Fill([](std::uint32_t i) { return static_cast<float>(i % 7); });
  b.Fill([](std::uint32_t i) { return static_cast<float>(i % 5); });
  Repeat("known_tile_gemm", [&] {
    known_tile_gemm<<<dim3(kTiles, kTiles), 256>>>(a.data(), b.data(), c.data(), kSize);
  });
  return {"known_tile_gemm", 2 * kTiles * kMatrixBytes, kMatrixBytes, 0, c.Checksum()};
}

Expected BulkCopy() {
  constexpr std::uint64_t kBytes = 64ULL << 20U;
  Buffer<char> in(kBytes);
  Buffer<char> out(kBytes);
  in.Fill([](std::uint32_t i) { return static_cast<char>(i % 251); });
  Repeat("known_bulk_copy",
         [&] { known_bulk_copy<<<kBytes / kBulkBytes, 32>>>(in.data(), out.data()); });
  return {"known_bulk_copy", kBytes, kBytes, 0, out.Checksum()};
}

/// Two kernels on two streams at the same time: their counts must stay apart.
std::vector<Expected> TwoStreams() {
  cudaStream_t streams[2];
  for (cudaStream_t& stream : streams) {
    Check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "creating a stream");
  }
  Buffer<float> in(kElements);
  Buffer<float> one(kElements);
  Buffer<float> two(kElements);
  in.Fill(Ramp);
  Check(cudaDeviceSynchronize(), "filling");
  Repeat("known_stream", [&] {
    known_stream_one<<<kBlocks, kThreads, 0, streams[0]>>>(in.data(), one.data());
    known_stream_two<<<kBlocks / 8, kThreads, 0, streams[1]>>>(
        reinterpret_cast<float4*>(in.data()), reinterpret_cast<float4*>(two.data()));
  });
  for (cudaStream_t stream : streams) {
    Check(cudaStreamDestroy(stream), "ending a stream");
  }
  return {{"known_stream_one", kElements * 4, kElements * 4, 0, one.Checksum()},
          {"known_stream_two", kElements * 2, kElements * 2, 0, two.Checksum()}};
}

void Print(const std::vector<Expected>& all) {
  std::printf("{\"repeat\": %d, \"kernels\": [\n", num_repeats);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Expected& row = all[i];
    std::printf(
        "  {\"name\": \"%s\", \"read_bytes\": %llu, \"write_bytes\": %llu, "
        "\"atomic_bytes\": %llu, \"checksum\": \"%016llx\"}%s\n",
        row.kernel, static_cast<unsigned long long>(row.read_bytes),
        static_cast<unsigned long long>(row.write_bytes),
        static_cast<unsigned long long>(row.atomic_bytes),
        static_cast<unsigned long long>(row.checksum), i + 1 < all.size() ? "," : "");
  }
  std::printf("]}\n");
}

bool HasBulkCopies() {
  int major = 0;
  Check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0), "asking the device");
  return major >= 9;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--repeat") == 0) {
    num_repeats = std::atoi(argv[2]);
  }
  std::vector<Expected> all = {Add(),         Copy8(),     Copy16(),    StridedCopy(),
                               Gather(),      Histogram(), Broadcast(), TwoDimensional(),
                               PartialWarp(), TileGemm()};
  if (HasBulkCopies()) {
    all.push_back(BulkCopy());
  }
  for (const Expected& expected : TwoStreams()) {
    all.push_back(expected);
  }
  Print(all);
  return 0;
}
