#pragma once

#include "bench/step_builder.h"

// Kernels of a transformer on an H200, with the long names that real ones have.
namespace orrery::bench {

inline constexpr KernelShape kGemm{.name = "nvjet_sm90_tst_192x128_64x5_1x2_h_bz_coopB_TNT",
                                   .registers = 168,
                                   .shared_memory = 205'824,
                                   .grid = 132,
                                   .block = 384,
                                   .duration_ns = 180'000};
inline constexpr KernelShape kNorm{
    .name =
        "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, "
        "float, "
        "false>(int, float, c10::BFloat16 const*, c10::BFloat16 const*, c10::BFloat16 const*, "
        "float*, float*, c10::BFloat16*)",
    .registers = 40,
    .shared_memory = 24,
    .grid = 4096,
    .block = 128,
    .duration_ns = 21'000};
inline constexpr KernelShape kAdd{
    .name =
        "void at::native::vectorized_elementwise_kernel<8, "
        "at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul> >(int, "
        "at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul>)",
    .registers = 32,
    .grid = 32'768,
    .block = 128,
    .duration_ns = 33'000};
inline constexpr KernelShape kMultiply{
    .name =
        "void at::native::vectorized_elementwise_kernel<8, "
        "at::native::BinaryFunctor<c10::BFloat16, "
        "c10::BFloat16, c10::BFloat16, at::native::binary_internal::MulFunctor<float> >, "
        "std::array<char*, 3ul> >(int, at::native::BinaryFunctor<c10::BFloat16, c10::BFloat16, "
        "c10::BFloat16, at::native::binary_internal::MulFunctor<float> >, std::array<char*, 3ul>)",
    .registers = 32,
    .grid = 16'384,
    .block = 128,
    .duration_ns = 24'000};
inline constexpr KernelShape kGelu{
    .name =
        "void at::native::vectorized_elementwise_kernel<8, "
        "at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&, "
        "at::native::GeluType)::{lambda()#1}::operator()() const::{lambda()#4}::operator()() "
        "const::{lambda(c10::BFloat16)#1}, std::array<char*, 2ul> >(int, "
        "at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&, "
        "at::native::GeluType)::{lambda()#1}::operator()() const::{lambda()#4}::operator()() "
        "const::{lambda(c10::BFloat16)#1}, std::array<char*, 2ul>)",
    .registers = 32,
    .grid = 65'536,
    .block = 128,
    .duration_ns = 40'000};
inline constexpr KernelShape kFlash{
    .name =
        "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, false, "
        "false, cutlass::bfloat16_t, Flash_kernel_traits<128, 128, 64, 4, cutlass::bfloat16_t> >, "
        "false, true, false, false, true, true, false, "
        "false>(pytorch_flash::Flash_fwd_params)",
    .registers = 255,
    .shared_memory = 81'920,
    .grid = 256,
    .block = 128,
    .duration_ns = 250'000};
inline constexpr KernelShape kCopyKernel{
    .name =
        "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<"
        "at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() "
        "const::{lambda()#12}::operator()() const::{lambda(c10::BFloat16)#1}>("
        "at::TensorIteratorBase&, at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::"
        "{lambda()#3}::operator()() const::{lambda()#12}::operator()() const::{lambda("
        "c10::BFloat16)#1} const&)::{lambda(int)#1}>(int, at::native::gpu_kernel_impl_nocast<"
        "at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() "
        "const::{lambda()#12}::operator()() const::{lambda(c10::BFloat16)#1}>("
        "at::TensorIteratorBase&)::{lambda(int)#1})",
    .registers = 32,
    .grid = 16'384,
    .block = 128,
    .duration_ns = 28'000};
inline constexpr KernelShape kReduce{
    .name =
        "void at::native::reduce_kernel<128, 4, at::native::ReduceOp<c10::BFloat16, "
        "at::native::func_wrapper_t<c10::BFloat16, at::native::sum_functor<c10::BFloat16, float, "
        "c10::BFloat16>::operator()(at::TensorIterator&)::{lambda(float, float)#1}>, unsigned int, "
        "c10::BFloat16, 4, 8> >(at::native::ReduceOp<c10::BFloat16, "
        "at::native::func_wrapper_t<c10::BFloat16, at::native::sum_functor<c10::BFloat16, float, "
        "c10::BFloat16>::operator()(at::TensorIterator&)::{lambda(float, float)#1}>, unsigned int, "
        "c10::BFloat16, 4, 8>)",
    .registers = 40,
    .shared_memory = 16,
    .grid = 256,
    .block = 512,
    .duration_ns = 15'000};
inline constexpr KernelShape kAdam{
    .name =
        "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
        "namespace)::FusedOptimizerTensorListMetadata<4>, at::native::(anonymous "
        "namespace)::FusedAdamMathFunctor<float, 4, (at::native::ADAM_MODE)1, false>, float "
        "const*, double, double, double, double, double, bool, float const*, float const*>("
        "at::native::(anonymous namespace)::FusedOptimizerTensorListMetadata<4>)",
    .registers = 64,
    .grid = 320,
    .block = 512,
    .duration_ns = 410'000};

}  // namespace orrery::bench
