-- What nsys exports of one H100: two kernels between 1,000 and
-- 5,000 ns and samples of GPU metrics every 2,000 ns.
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
INSERT INTO StringIds VALUES (1, 'gemm_bf16');
INSERT INTO StringIds VALUES (2, 'ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)');
CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, correlationId,
  globalPid, demangledName, gridX, gridY, gridZ, blockX, blockY, blockZ);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES
  (1000, 3000, 0, 1, 7, 1, 16777216, 1, 132, 1, 1, 128, 1, 1),
  (2500, 5000, 0, 1, 20, 2, 16777216, 2, 16, 1, 1, 512, 1, 1);
CREATE TABLE TARGET_INFO_GPU (id, name, totalMemory, smCount);
INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA H100 80GB HBM3', 85899345920, 132);
CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId, cudaId, pid);
INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (0, 0, 1);
CREATE TABLE TARGET_INFO_GPU_METRICS (typeId, metricId, metricName);
INSERT INTO TARGET_INFO_GPU_METRICS VALUES
  (256, 1, 'SMs Active [Throughput %]'),
  (256, 2, 'NVLink TX Requests User Data [Throughput %]'),
  (256, 3, 'NVLink TX Responses User Data [Throughput %]'),
  (256, 4, 'NVLink TX Responses Protocol Data [Throughput %]'),
  (256, 5, 'NVLink RX Responses User Data [Throughput %]');
CREATE TABLE GPU_METRICS (timestamp, typeId, metricId, value);
INSERT INTO GPU_METRICS VALUES
  (0, 256, 1, 50), (2000, 256, 1, 100), (4000, 256, 1, 0), (6000, 256, 1, 0),
  (0, 256, 2, 0), (2000, 256, 2, 10), (4000, 256, 2, 5), (6000, 256, 2, 0),
  (0, 256, 3, 0), (2000, 256, 3, 30), (4000, 256, 3, 0), (6000, 256, 3, 0),
  (0, 256, 4, 90), (2000, 256, 4, 90), (4000, 256, 4, 90), (6000, 256, 4, 90),
  (0, 256, 5, 0), (2000, 256, 5, 20), (4000, 256, 5, 20), (6000, 256, 5, 0);
