"""One training step of a tensor-parallel transformer: forward with Python stacks, backward on the
autograd thread, a fused optimizer, and a wait for the loss."""

from step_builder import MEGATRON, NONE, TENSOR_LIST, Kernel, StepBuilder, int_list, scalar, scalars, tensor

TOKENS, HIDDEN, HEADS, VOCABULARY = 4096, 8192, 8, 16032
ACTIVATION_BYTES = TOKENS * HIDDEN * 2
HIDDEN_STATE = tensor(TOKENS, 1, HIDDEN)
HEADS_OF_BATCH = tensor(1, HEADS, TOKENS, 128)

# Kernels of an H200, with the long names that real ones have.
_NATIVE = "at::native::"
_FUNCTOR_ADD = f"{_NATIVE}CUDAFunctor_add<c10::BFloat16>"
_FUNCTOR_MULTIPLY = (f"{_NATIVE}BinaryFunctor<c10::BFloat16, c10::BFloat16, c10::BFloat16, "
                     f"{_NATIVE}binary_internal::MulFunctor<float> >")
_FUNCTOR_GELU = (f"{_NATIVE}GeluCUDAKernelImpl(at::TensorIteratorBase&, {_NATIVE}GeluType)::{{lambda()#1}}::"
                 "operator()() const::{lambda()#4}::operator()() const::{lambda(c10::BFloat16)#1}")
_FUNCTOR_COPY = (f"{_NATIVE}direct_copy_kernel_cuda(at::TensorIteratorBase&)::{{lambda()#3}}::operator()() "
                 "const::{lambda()#12}::operator()() const::{lambda(c10::BFloat16)#1}")
_COPY = f"{_NATIVE}gpu_kernel_impl_nocast<{_FUNCTOR_COPY}>(at::TensorIteratorBase&"
_REDUCTION = (f"{_NATIVE}ReduceOp<c10::BFloat16, {_NATIVE}func_wrapper_t<c10::BFloat16, "
              f"{_NATIVE}sum_functor<c10::BFloat16, float, c10::BFloat16>::operator()(at::TensorIterator&)::"
              "{lambda(float, float)#1}>, unsigned int, c10::BFloat16, 4, 8>")
_LIST_OF_TENSORS = f"{_NATIVE}(anonymous namespace)::FusedOptimizerTensorListMetadata<4>"


def _elementwise(functor, operands):
    arrays = f"std::array<char*, {operands}ul>"
    return f"void {_NATIVE}vectorized_elementwise_kernel<8, {functor}, {arrays} >(int, {functor}, {arrays})"


GEMM = Kernel("nvjet_sm90_tst_192x128_64x5_1x2_h_bz_coopB_TNT", 168, 205824, 132, 384, 180_000)
NORM = Kernel(f"void {_NATIVE}(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float, false>"
              "(int, float, c10::BFloat16 const*, c10::BFloat16 const*, c10::BFloat16 const*, float*, float*, "
              "c10::BFloat16*)", 40, 24, 4096, 128, 21_000)
ADD = Kernel(_elementwise(_FUNCTOR_ADD, 3), 32, 0, 32768, 128, 33_000)
MULTIPLY = Kernel(_elementwise(_FUNCTOR_MULTIPLY, 3), 32, 0, 16384, 128, 24_000)
GELU = Kernel(_elementwise(_FUNCTOR_GELU, 2), 32, 0, 65536, 128, 40_000)
FLASH = Kernel("void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, false, false, "
               "cutlass::bfloat16_t, Flash_kernel_traits<128, 128, 64, 4, cutlass::bfloat16_t> >, false, true, "
               "false, false, true, true, false, false>(pytorch_flash::Flash_fwd_params)",
               255, 81920, 256, 128, 250_000)
COPY = Kernel(f"void {_NATIVE}elementwise_kernel<128, 4, {_COPY}, {_FUNCTOR_COPY} const&)::{{lambda(int)#1}}>"
              f"(int, {_COPY})::{{lambda(int)#1}})", 32, 0, 16384, 128, 28_000)
REDUCE = Kernel(f"void {_NATIVE}reduce_kernel<128, 4, {_REDUCTION} >({_REDUCTION})", 40, 16, 256, 512, 15_000)
ADAM = Kernel(f"void {_NATIVE}(anonymous namespace)::multi_tensor_apply_kernel<{_LIST_OF_TENSORS}, "
              f"{_NATIVE}(anonymous namespace)::FusedAdamMathFunctor<float, 4, ({_NATIVE}ADAM_MODE)1, false>, float "
              "const*, double, double, double, double, double, bool, float const*, float const*>("
              f"{_LIST_OF_TENSORS})", 64, 0, 320, 512, 410_000)
ALL_REDUCE = Kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                    96, 82240, 24, 544, 310_000)


class Transformer(StepBuilder):
    """Runs a step as Megatron would."""

    def __init__(self, num_layers, seed, ranks):
        super().__init__(seed, ranks)
        self._num_layers = num_layers
        with self.annotation("ProfilerStep#"), self.python(f"{MEGATRON}/training/training.py(1523): train"), \
                self.python(f"{MEGATRON}/training/training.py(772): train_step"):
            self._forward()
            with self.annotation("backward"), self.python(
                    "/usr/local/lib/python3.12/dist-packages/torch/_tensor.py(570): backward"):
                self.undo_all(HIDDEN_STATE)
            self._optimizer()
            with self.op("aten::item", tensor()), self.op("aten::_local_scalar_dense", tensor()):
                self.memcpy("Memcpy DtoH (Device -> Pinned)", 2)
                self.wait_for_device()
        self.duration_ns = self.now_ns + 20_000

    def _forward(self):
        with self.annotation("forward"):
            tokens = tensor(1, TOKENS)
            with self.op("aten::to", tokens, scalar("cuda:0")), self.op("aten::copy_", tokens, tokens, scalar("True")):
                self.memcpy("Memcpy HtoD (Pinned -> Device)", TOKENS * 8)
            with self.module("GPTModel", "models/gpt/gpt_model.py", 190):
                for _ in range(self._num_layers):
                    self._layer()
                self._linear(VOCABULARY)

    def _optimizer(self):
        inputs = [TENSOR_LIST] * 6 + scalars("1.0000000000000001e-05", "0.90000000000000002", "0.999", "0.01",
                                             "1e-08", "False", "False")
        with self.annotation("Optimizer.step#AdamW.step"):
            for _ in range(self._num_layers // 4 + 1):
                with self.op("aten::_fused_adamw_", *inputs):
                    self.kernel(ADAM)

    def _layer(self):
        with self.module("TransformerLayer", "transformer/transformer_layer.py", 381):
            self._norm()
            with self.module("SelfAttention", "transformer/attention.py", 296):
                self._linear(3072)
                self._rotary_embedding()  # of the queries
                self._rotary_embedding()  # of the keys
                self._attention()
                self._linear(1024)
                self._all_reduce()
            self._elementwise("add", "AddBackward0", ADD)
            self._norm()
            with self.module("MLP", "transformer/mlp.py", 98):
                self._linear(4096)
                self._elementwise("gelu", "GeluBackward0", GELU)
                self._linear(1024)
                self._all_reduce()
            self._elementwise("add", "AddBackward0", ADD)

    def _empty(self, num_bytes):
        with self.op("aten::empty", int_list("[4096, 8192]"), scalar("15"), scalar("0"), NONE, scalar("False"), NONE):
            self.allocate(num_bytes)

    def _view(self):
        self.leaf("aten::view", HIDDEN_STATE, int_list("[4096, 8192]"))

    def _transpose(self, rows):
        matrix = tensor(rows, HIDDEN)
        with self.op("aten::t", matrix), self.op("aten::transpose", matrix, *scalars("0", "1")):
            self.leaf("aten::as_strided", matrix, int_list("[8192, 3072]"), int_list("[1, 8192]"), NONE)

    def _gemm(self, columns):
        with self.op("aten::mm", tensor(TOKENS, HIDDEN), tensor(HIDDEN, columns)):
            self.allocate(TOKENS * columns * 2)
            self.call("cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", 217)
            self.kernel(GEMM)

    def _linear(self, columns):
        name = "LinearWithGradAccumulationAndAsyncCommunication"
        with self.module("ColumnParallelLinear", "tensor_parallel/layers.py", 1013):
            self.get_attribute()
            self.get_attribute()
            with self.python(f"{MEGATRON}/core/tensor_parallel/layers.py(634): "
                             "linear_with_grad_accumulation_and_async_allreduce"):
                self.built_in("<built-in method apply of FunctionMeta object at 0x55d0c1b2e8a0>")
                inputs = [HIDDEN_STATE, tensor(columns, HIDDEN), NONE, *scalars("True", "False", "False", "False"),
                          NONE, scalar("True")]
                with self.grad_op(name, inputs, name + "Backward", lambda: self._undo_linear(columns)), \
                        self.op("aten::matmul", HIDDEN_STATE, tensor(HIDDEN, columns)):
                    self._transpose(columns)
                    self._view()
                    self._gemm(columns)
                    self.leaf("aten::_unsafe_view", tensor(TOKENS, columns), int_list("[4096, 1, 3072]"))

    def _undo_linear(self, columns):
        with self.op("aten::matmul", tensor(TOKENS, 1, columns), tensor(columns, HIDDEN)):
            self._view()
            self._gemm(HIDDEN)
        self._transpose(TOKENS)
        self._gemm(columns)
        self.free(2)
        with self.op("aten::add_", tensor(columns, HIDDEN), tensor(columns, HIDDEN), scalar("1")):
            self.kernel(ADD)

    def _norm(self):
        inputs = [HIDDEN_STATE, int_list("[8192]"), tensor(HIDDEN), tensor(HIDDEN), scalar("1.0000000000000001e-05")]
        with self.module("FusedLayerNorm", "fusions/fused_layer_norm.py", 145):
            self.get_attribute()
            self.built_in("<built-in method layer_norm of type object at 0x7bcd86e1df60>")
            with self.op("aten::layer_norm", *inputs, scalar("True")), \
                    self.grad_op("aten::native_layer_norm", inputs, "NativeLayerNormBackward0", self._undo_norm):
                self._empty(ACTIVATION_BYTES)
                self._empty(TOKENS * 4)
                self._empty(TOKENS * 4)
                self.kernel(NORM)
                self._view()

    def _undo_norm(self):
        with self.op("aten::native_layer_norm_backward", HIDDEN_STATE, HIDDEN_STATE, int_list("[8192]"),
                     tensor(TOKENS, 1, 1), tensor(TOKENS, 1, 1), tensor(HIDDEN), tensor(HIDDEN),
                     int_list("[True, True, True]")):
            self._empty(ACTIVATION_BYTES)
            self.kernel(NORM)
            self.kernel(REDUCE)
            self.free(3)

    def _elementwise(self, name, backward, kernel):
        def undo():
            with self.op("aten::mul", HIDDEN_STATE, HIDDEN_STATE):
                self.kernel(kernel)
            self.free()

        self.built_in(f"<built-in method {name} of Tensor object at 0x7bc8d80b5c20>")
        with self.grad_op(f"aten::{name}", [HIDDEN_STATE, HIDDEN_STATE, scalar("1")], backward, undo):
            self.allocate(ACTIVATION_BYTES)
            self.kernel(kernel)

    def _rotary_embedding(self):
        """Splits and transposes: most operators of a real trace launch nothing."""
        with self.python(f"{MEGATRON}/core/models/common/embeddings/rope_utils.py(232): apply_rotary_pos_emb"):
            for _ in range(2):
                self._half_of_rotary_embedding(tensor(TOKENS, 1, HEADS, 128), tensor(TOKENS, 1, 1, 128))
            self._elementwise("mul", "MulBackward0", MULTIPLY)
            self._elementwise("add", "AddBackward0", ADD)

    def _half_of_rotary_embedding(self, heads, angles):
        self.built_in("<built-in method chunk of type object at 0x7bcd86e1df60>")
        with self.op("aten::chunk", heads, *scalars("2", "-1")), self.op("aten::split", heads, *scalars("64", "-1")):
            for _ in range(2):
                with self.op("aten::narrow", heads, *scalars("-1", "64", "64")), \
                        self.op("aten::slice", heads, *scalars("-1", "64", "128", "1")):
                    self.leaf("aten::as_strided", heads, int_list("[4096, 1, 8, 64]"),
                              int_list("[1024, 1024, 128, 1]"), scalar("64"))
        self.built_in("<built-in method reshape of Tensor object at 0x7bc8d80b5c20>")
        shape = int_list("[4096, 1, 8, 2, 64]")
        with self.op("aten::reshape", heads, shape):
            self.leaf("aten::_reshape_alias", heads, shape, int_list("[8192, 8192, 1024, 64, 1]"))
        self.built_in("<built-in method expand_as of Tensor object at 0x7bc8d80b6170>")
        shape = int_list("[4096, 1, 8, 128]")
        with self.op("aten::expand_as", angles, heads), self.op("aten::expand", angles, shape, scalar("False")):
            self.leaf("aten::as_strided", angles, shape, int_list("[128, 128, 0, 1]"), NONE)

    def _attention(self):
        with self.module("DotProductAttention", "transformer/dot_product_attention.py", 153):
            for _ in range(3):
                self.get_attribute()
                self.built_in("<built-in method permute of Tensor object at 0x7bc8d80b5b30>")
                self.leaf("aten::permute", tensor(1, TOKENS, HEADS, 128), int_list("[1, 0, 2, 3]"))
                with self.op("aten::contiguous", HEADS_OF_BATCH, scalar("0")), \
                        self.op("aten::clone", HEADS_OF_BATCH, scalar("0")):
                    self._empty(ACTIVATION_BYTES // 8)
                    with self.op("aten::copy_", HEADS_OF_BATCH, HEADS_OF_BATCH, scalar("False")):
                        self.kernel(COPY)
            self.built_in("<built-in function scaled_dot_product_attention>")
            inputs = [HEADS_OF_BATCH] * 3 + [NONE, *scalars("0.", "True"), NONE, scalar("False")]
            with self.grad_op("aten::scaled_dot_product_attention", inputs, "ScaledDotProductFlashAttentionBackward0",
                              self._undo_flash):
                self._flash()

    def _flash(self):
        inputs = [HEADS_OF_BATCH] * 3 + scalars("0.", "True", "False", "0.088388347648318447")
        with self.op("aten::_scaled_dot_product_flash_attention", *inputs), \
                self.op("aten::_flash_attention_forward", *inputs):
            self._empty(ACTIVATION_BYTES // 8)
            self._empty(HEADS * TOKENS * 4)
            self.kernel(FLASH)

    def _undo_flash(self):
        with self.op("aten::_flash_attention_backward", *[tensor(1, TOKENS, HEADS, 128)] * 4,
                     tensor(1, HEADS, TOKENS), *scalars("4096", "4096", "0.", "True")):
            for _ in range(3):
                self._empty(ACTIVATION_BYTES // 8)
            self.memset(ACTIVATION_BYTES // 4)
            self.kernel(FLASH)
            self.kernel(COPY)
        self.free(6)

    def _all_reduce(self):
        elements = TOKENS * HIDDEN
        self.built_in("/usr/local/lib/python3.12/dist-packages/torch/distributed/distributed_c10d.py(2806): all_reduce")
        with self.op("c10d::allreduce_", TENSOR_LIST, NONE, NONE, NONE, *scalars("False", "-1")), \
                self.op("record_param_comms", HIDDEN_STATE, scalar("337"), NONE, *scalars("0", "allreduce"), NONE,
                        NONE, *scalars("0", "1", "8")) as record:
            record.arguments += (
                f'"Process Group Name": "1", "Global rank stride": 1, "Out msg nelems": {elements}, '
                f'"Process Group Ranks": "{self.ranks}", "Group size": 8, "Global rank start": 0, '
                f'"In msg nelems": {elements}, "In split size": "[]", "Out split size": "[]", "dtype": "BFloat16", '
                '"Process Group Description": "tensor_parallel", "Collective name": "allreduce", ')
            self.call("cudaStreamIsCapturing", 317)
            self.call("cudaEventRecord", 135)
            self.call("cudaStreamWaitEvent", 147)
            self.collective(ALL_REDUCE, "allreduce", elements)
            self.call("cudaEventRecord", 135)
        # The caller waits for the result: later kernels of the compute stream come after it.
        self.call("cudaStreamWaitEvent", 147)
