// Times NPP's nppiLabelMarkersUF on pictures from standard input, with events on the GPU.
// cclabel_device_peers.py builds it: nvcc -O2 npp.cpp -lnppif -lnppc
//
// Prints the version in one line, then answers requests. A request is a line "WIDTH HEIGHT
// CONNECTIVITY RUNS", the picture (one byte per pixel) and its true labels (uint32 per pixel, 0 is
// background). The answer is a line "MEDIAN_US FASTEST_US CORRECT"; CORRECT is 1 if both have the
// same components.
#include <cuda_runtime.h>
#include <nppcore.h>
#include <nppi_filtering_functions.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <unordered_map>
#include <vector>

namespace {

[[noreturn]] void fail(const char* what, int code) {
  std::fprintf(stderr, "npp: %s failed with %d\n", what, code);
  std::exit(1);
}
void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) fail(what, error);
}
void check(NppStatus status, const char* what) {
  if (status < 0) fail(what, status);
}

NppStreamContext context_of(cudaStream_t stream) {
  NppStreamContext context{};
  cudaDeviceProp device{};
  check(cudaGetDeviceProperties(&device, 0), "cudaGetDeviceProperties");
  context.hStream = stream;
  context.nMultiProcessorCount = device.multiProcessorCount;
  context.nMaxThreadsPerMultiProcessor = device.maxThreadsPerMultiProcessor;
  context.nMaxThreadsPerBlock = device.maxThreadsPerBlock;
  context.nSharedMemPerBlock = device.sharedMemPerBlock;
  context.nCudaDevAttrComputeCapabilityMajor = device.major;
  context.nCudaDevAttrComputeCapabilityMinor = device.minor;
  check(cudaStreamGetFlags(stream, &context.nStreamFlags), "cudaStreamGetFlags");
  return context;
}

// NPP also labels the background, so only foreground pixels are compared.
bool same_components(const std::vector<uint32_t>& truth, const std::vector<uint32_t>& theirs) {
  std::unordered_map<uint32_t, uint32_t> there, back;
  for (size_t i = 0; i < truth.size(); ++i) {
    if (truth[i] == 0) continue;
    if (there.emplace(truth[i], theirs[i]).first->second != theirs[i]) return false;
    if (back.emplace(theirs[i], truth[i]).first->second != truth[i]) return false;
  }
  return true;
}

struct Request {
  int width = 0, height = 0, connectivity = 0, runs = 0;
};

void answer(const Request& request, const std::vector<uint8_t>& picture,
            const std::vector<uint32_t>& truth, const NppStreamContext& context) {
  const size_t pixels = truth.size();
  const NppiSize size{request.width, request.height};
  uint8_t* in = nullptr;
  uint32_t* out = nullptr;
  uint8_t* scratch = nullptr;
  int scratch_bytes = 0;
  check(nppiLabelMarkersUFGetBufferSize_32u_C1R(size, &scratch_bytes), "GetBufferSize");
  check(cudaMalloc(&in, pixels), "cudaMalloc");
  check(cudaMalloc(&out, pixels * sizeof(uint32_t)), "cudaMalloc");
  check(cudaMalloc(&scratch, static_cast<size_t>(scratch_bytes)), "cudaMalloc");
  check(cudaMemcpy(in, picture.data(), pixels, cudaMemcpyHostToDevice), "cudaMemcpy");
  cudaEvent_t start, stop;
  check(cudaEventCreate(&start), "cudaEventCreate");
  check(cudaEventCreate(&stop), "cudaEventCreate");

  std::vector<float> times;
  for (int run = -2; run < request.runs; ++run) {
    check(cudaEventRecord(start, context.hStream), "cudaEventRecord");
    check(nppiLabelMarkersUF_8u32u_C1R_Ctx(in, request.width, out, request.width * 4, size,
                                           request.connectivity == 4 ? nppiNormL1 : nppiNormInf,
                                           scratch, context),
          "nppiLabelMarkersUF");
    check(cudaEventRecord(stop, context.hStream), "cudaEventRecord");
    check(cudaEventSynchronize(stop), "cudaEventSynchronize");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, start, stop), "cudaEventElapsedTime");
    if (run >= 0) times.push_back(milliseconds * 1000);
  }
  std::sort(times.begin(), times.end());
  std::vector<uint32_t> theirs(pixels);
  check(cudaMemcpy(theirs.data(), out, pixels * sizeof(uint32_t), cudaMemcpyDeviceToHost),
        "cudaMemcpy");
  std::printf("%.3f %.3f %d\n", times[times.size() / 2], times.front(),
              same_components(truth, theirs) ? 1 : 0);
  std::fflush(stdout);
  cudaEventDestroy(start);
  cudaEventDestroy(stop);
  cudaFree(in);
  cudaFree(out);
  cudaFree(scratch);
}

}  // namespace

int main() {
  cudaStream_t stream;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  const NppStreamContext context = context_of(stream);
  const NppLibraryVersion* version = nppGetLibVersion();
  std::printf("%d.%d.%d\n", version->major, version->minor, version->build);
  std::fflush(stdout);
  Request request;
  while (std::scanf("%d %d %d %d", &request.width, &request.height, &request.connectivity,
                    &request.runs) == 4) {
    std::getchar();
    const size_t pixels = static_cast<size_t>(request.width) * static_cast<size_t>(request.height);
    std::vector<uint8_t> picture(pixels);
    std::vector<uint32_t> truth(pixels);
    if (std::fread(picture.data(), 1, pixels, stdin) != pixels ||
        std::fread(truth.data(), 4, pixels, stdin) != pixels) {
      fail("reading a picture", 0);
    }
    answer(request, picture, truth, context);
  }
  return 0;
}
