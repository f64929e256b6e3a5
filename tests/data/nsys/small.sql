-- What nsys exports of one H100: a copy, a set, a GEMM and an all-reduce, each with the call that launched it.
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
INSERT INTO StringIds VALUES (1, 'gemm_bf16'), (3, 'cudaLaunchKernel_v7000'), (4, 'cudaMemcpyAsync_v3020'),
  (5, 'cudaMemsetAsync_v3020'), (6, 'ncclDevKernel_AllReduce_Sum_bf16_RING_LL');
CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start, end, deviceId, contextId, streamId, correlationId, globalPid, bytes,
  copyKind);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (1000, 2000, 0, 1, 7, 1, 16777216, 4096, 1);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start, end, deviceId, contextId, streamId, correlationId, globalPid, bytes);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (2000, 2500, 0, 1, 7, 2, 16777216, 1024);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, correlationId, globalPid,
  demangledName, shortName, gridX, gridY, gridZ, blockX, blockY, blockZ);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES
  (3000, 7000, 0, 1, 7, 3, 16777216, 1, 1, 132, 1, 1, 128, 1, 1),
  (7000, 9000, 0, 1, 20, 4, 16777216, 6, 6, 16, 1, 1, 512, 1, 1);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, end, eventClass, globalTid, correlationId, nameId, returnValue);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (100, 200, 0, 16777217, 1, 4, 0), (300, 400, 0, 16777217, 2, 5, 0),
  (500, 600, 0, 16777217, 3, 3, 0), (700, 800, 0, 16777217, 4, 3, 0);
CREATE TABLE TARGET_INFO_GPU (id, name, totalMemory, smCount);
INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA H100 80GB HBM3', 85899345920, 132);
CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId, cudaId, pid);
INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (0, 0, 1);
