# SPDX-License-Identifier: MIT
"""PyTorch extensions in CUDA C++ (torch.utils.cpp_extension) on the device by vgpu run --torch: compiled by nvcc as its wheels have it, where
vgpu run finds them, and as `vgpu toolkit` lays it out, for a machine alone (-gencode arch=compute_80,code=sm_80), which PTX stands in for.

What extensions are made of: dispatch over types, packed accessors, shared memory and shuffles, atomics of all types, streams and guards, CUB and Thrust,
Philox numbers, operators called from C++, autograd functions, torch.library. Usage: torch_extension.py [FOLDER]     a toolkit's, else the wheels'
"""
import os
import subprocess
import sys
import tempfile
import warnings

if len(sys.argv) > 1:
    os.environ["CUDA_HOME"] = os.path.abspath(sys.argv[1])
    os.environ["TORCH_CUDA_ARCH_LIST"] = "8.0"      # no PTX asked for
import torch
from torch.utils import cpp_extension

warnings.simplefilter("ignore")
SOURCE = r"""
#include <torch/extension.h>
#include <ATen/AccumulateType.h>
#include <ATen/cuda/Atomic.cuh>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <ATen/cuda/CUDAGraphsUtils.cuh>
#include <c10/cuda/CUDAGuard.h>
#include <cub/cub.cuh>
#include <ATen/core/PhiloxRNGEngine.h>
#include <thrust/device_ptr.h>
#include <thrust/execution_policy.h>
#include <thrust/sort.h>

#define FLOATS(x, ...) AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, (x).scalar_type(), "vgpu", __VA_ARGS__)
#define ALL(x, ...) AT_DISPATCH_ALL_TYPES_AND2(at::kHalf, at::kBFloat16, (x).scalar_type(), "vgpu", __VA_ARGS__)

static dim3 over(int64_t n) { return dim3((unsigned)((n + 255) / 256)); }

template <typename T> __global__ void swish(const T *x, T *y, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
	if (i < n) {
		using A = at::acc_type<T, true>;
		A v = x[i];
		y[i] = v / (A(1) + std::exp(-v));
	}
}
at::Tensor swish_of(at::Tensor x)
{
	const c10::cuda::OptionalCUDAGuard guard(device_of(x));
	TORCH_CHECK(x.is_cuda() && x.is_contiguous(), "a dense tensor of the device");
	auto y = at::empty_like(x);
	FLOATS(x, [&] {
		swish<scalar_t><<<over(x.numel()), 256, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), x.numel());
		C10_CUDA_KERNEL_LAUNCH_CHECK();
	});
	return y;
}

template <typename T> __global__ void swish_back(at::PackedTensorAccessor32<T, 2, at::RestrictPtrTraits> g, at::PackedTensorAccessor32<T, 2, at::RestrictPtrTraits> x,
						 at::PackedTensorAccessor64<T, 2> out)
{
	for (int r = blockIdx.y; r < x.size(0); r += gridDim.y)
		for (int c = blockIdx.x * blockDim.x + threadIdx.x; c < x.size(1); c += blockDim.x * gridDim.x) {
			using A = at::acc_type<T, true>;
			A v = x[r][c], s = A(1) / (A(1) + std::exp(-v));
			out[r][c] = A(g[r][c]) * s * (A(1) + v * (A(1) - s));
		}
}
at::Tensor swish_backward(at::Tensor g, at::Tensor x)
{
	auto out = at::empty({x.size(0), x.size(1)}, x.options());
	FLOATS(x, [&] {
		swish_back<scalar_t><<<dim3(2, 3), 64, 0, at::cuda::getCurrentCUDAStream()>>>(g.packed_accessor32<scalar_t, 2, at::RestrictPtrTraits>(),
			x.packed_accessor32<scalar_t, 2, at::RestrictPtrTraits>(), out.packed_accessor64<scalar_t, 2>());
		C10_CUDA_KERNEL_LAUNCH_CHECK();
	});
	return out;
}

/* sum, largest and logsumexp of rows: shared memory of a size that the launch says, then shuffles */
template <typename T> __global__ void rows(const T *x, float *out, int n)
{
	extern __shared__ float part[];
	float top = -INFINITY, sum = 0;
	for (int i = threadIdx.x; i < n; i += blockDim.x)
		top = fmaxf(top, float(x[blockIdx.x * (int64_t)n + i]));
	part[threadIdx.x] = top;
	__syncthreads();
	for (int s = blockDim.x / 2; s; s >>= 1) {
		if (threadIdx.x < s)
			part[threadIdx.x] = fmaxf(part[threadIdx.x], part[threadIdx.x + s]);
		__syncthreads();
	}
	top = part[0];
	__syncthreads();
	for (int i = threadIdx.x; i < n; i += blockDim.x)
		sum += __expf(float(x[blockIdx.x * (int64_t)n + i]) - top);
	for (int o = 16; o; o >>= 1)
		sum += __shfl_down_sync(0xffffffff, sum, o);
	if (threadIdx.x % 32 == 0)
		part[threadIdx.x / 32] = sum;
	__syncthreads();
	if (threadIdx.x == 0) {
		for (int w = 1; w < blockDim.x / 32; w++)
			sum += part[w];
		out[blockIdx.x] = top + logf(sum);
	}
}
at::Tensor logsumexp_rows(at::Tensor x)
{
	auto out = at::empty({x.size(0)}, x.options().dtype(at::kFloat));
	FLOATS(x, [&] { rows<scalar_t><<<x.size(0), 128, 128 * sizeof(float), at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<scalar_t>(), out.data_ptr<float>(), x.size(1)); });
	C10_CUDA_KERNEL_LAUNCH_CHECK();
	return out;
}

template <typename T> __global__ void scatter(const T *x, const int64_t *at, T *out, int64_t n, int64_t width)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
	if (i < n * width)
		gpuAtomicAdd(out + at[i / width] * width + i % width, x[i]);
}
void scatter_add(at::Tensor out, at::Tensor at, at::Tensor x)
{
	ALL(x, [&] {
		scatter<scalar_t><<<over(x.numel()), 256, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<scalar_t>(), at.data_ptr<int64_t>(), out.data_ptr<scalar_t>(),
			x.size(0), x.size(1));
	});
	C10_CUDA_KERNEL_LAUNCH_CHECK();
}
template <typename T> __global__ void extremes(const T *x, T *out, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
	if (i < n) {
		gpuAtomicMax(out, x[i]);
		gpuAtomicMin(out + 1, x[i]);
	}
}
void extremes_of(at::Tensor out, at::Tensor x)
{
	FLOATS(x, [&] { extremes<scalar_t><<<over(x.numel()), 256, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<scalar_t>(), out.data_ptr<scalar_t>(), x.numel()); });
	C10_CUDA_KERNEL_LAUNCH_CHECK();
}

template <int N> __global__ void scanned(const int *x, int *out)
{
	using Load = cub::BlockLoad<int, N, 4, cub::BLOCK_LOAD_TRANSPOSE>;
	using Scan = cub::BlockScan<int, N>;
	__shared__ union { typename Load::TempStorage load; typename Scan::TempStorage scan; } shared;
	int v[4];
	Load(shared.load).Load(x, v);
	__syncthreads();
	Scan(shared.scan).InclusiveSum(v, v);
	for (int k = 0; k < 4; k++)
		out[threadIdx.x * 4 + k] = v[k];
}
at::Tensor block_scan(at::Tensor x)
{
	auto out = at::empty_like(x);
	scanned<128><<<1, 128, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<int>(), out.data_ptr<int>());
	C10_CUDA_KERNEL_LAUNCH_CHECK();
	return out;
}
at::Tensor cub_sum(at::Tensor x)
{
	auto out = at::empty({1}, x.options());
	size_t room = 0;
	auto s = at::cuda::getCurrentCUDAStream();
	C10_CUDA_CHECK(cub::DeviceReduce::Sum(nullptr, room, x.data_ptr<float>(), out.data_ptr<float>(), (int)x.numel(), s));
	auto temp = at::empty({(int64_t)room}, x.options().dtype(at::kByte));
	C10_CUDA_CHECK(cub::DeviceReduce::Sum(temp.data_ptr(), room, x.data_ptr<float>(), out.data_ptr<float>(), (int)x.numel(), s));
	return out;
}
std::vector<at::Tensor> thrust_sort(at::Tensor keys, at::Tensor values)
{
	auto k = keys.clone(), v = values.clone();
	thrust::sort_by_key(thrust::cuda::par.on(at::cuda::getCurrentCUDAStream()), thrust::device_pointer_cast(k.data_ptr<int>()),
			    thrust::device_pointer_cast(k.data_ptr<int>() + k.numel()), thrust::device_pointer_cast(v.data_ptr<int64_t>()));
	return {k, v};
}

/* what a stranger's code does with torch's own generator: a seed and a place, on the host or behind a captured graph's pointer */
__global__ void counted(float *out, int64_t n, at::PhiloxCudaState state)
{
	auto [seed, offset] = at::cuda::philox::unpack(state);
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
	if (i < n) {
		at::Philox4_32 philox(seed, i, offset);
		out[i] = (philox() >> 8) * (1.0f / 16777216);
	}
}
at::Tensor uniform(int64_t n)
{
	auto out = at::empty({n}, at::device(at::kCUDA).dtype(at::kFloat));
	auto gen = at::get_generator_or_default<at::CUDAGeneratorImpl>(std::nullopt, at::cuda::detail::getDefaultCUDAGenerator());
	at::PhiloxCudaState state;
	{
		std::lock_guard<std::mutex> lock(gen->mutex_);
		state = gen->philox_cuda_state(4);
	}
	counted<<<over(n), 256, 0, at::cuda::getCurrentCUDAStream()>>>(out.data_ptr<float>(), n, state);
	C10_CUDA_KERNEL_LAUNCH_CHECK();
	return out;
}

/* operators of torch's called from C++, where a program of Python's own is never asked */
at::Tensor normed(at::Tensor x, at::Tensor w)
{
	auto y = at::linear(x, w).relu();
	return (y - y.mean(-1, true)) / (y.var(-1, false, true) + 1e-5).sqrt() + y.sum() * 0.5;
}

__constant__ float taps[8];
__global__ void filtered(const float *x, float *y, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float s = 0;
	for (int k = 0; k < 8; k++)
		s += i + k < n ? taps[k] * __ldg(x + i + k) : 0;
	if (i < n)
		y[i] = s;
}
at::Tensor filter(at::Tensor x, std::vector<double> w)
{
	float f[8];
	std::copy(w.begin(), w.end(), f);
	auto s = at::cuda::getCurrentCUDAStream();
	C10_CUDA_CHECK(cudaMemcpyToSymbolAsync(taps, f, sizeof(f), 0, cudaMemcpyHostToDevice, s));
	auto y = at::empty_like(x);
	filtered<<<over(x.numel()), 256, 0, s>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
	C10_CUDA_KERNEL_LAUNCH_CHECK();
	return y;
}
void launched_wrong(at::Tensor x)
{
	filtered<<<1, 4096, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), x.data_ptr<float>(), 1);
	C10_CUDA_KERNEL_LAUNCH_CHECK();
}
int64_t stream_now() { return (int64_t)at::cuda::getCurrentCUDAStream().stream(); }
int cores() { return at::cuda::getCurrentDeviceProperties()->multiProcessorCount; }

TORCH_LIBRARY_FRAGMENT(vgpu_test, m) { m.def("swish(Tensor x) -> Tensor"); m.def("swish_back(Tensor g, Tensor x) -> Tensor"); }
TORCH_LIBRARY_IMPL(vgpu_test, CUDA, m) { m.impl("swish", swish_of); m.impl("swish_back", swish_backward); }
"""
DECLARED = """
#include <torch/extension.h>
at::Tensor swish_of(at::Tensor x); at::Tensor swish_backward(at::Tensor g, at::Tensor x); at::Tensor logsumexp_rows(at::Tensor x);
void scatter_add(at::Tensor out, at::Tensor at, at::Tensor x); void extremes_of(at::Tensor out, at::Tensor x); at::Tensor block_scan(at::Tensor x);
at::Tensor cub_sum(at::Tensor x); std::vector<at::Tensor> thrust_sort(at::Tensor keys, at::Tensor values); at::Tensor uniform(int64_t n);
at::Tensor normed(at::Tensor x, at::Tensor w); at::Tensor filter(at::Tensor x, std::vector<double> w); void launched_wrong(at::Tensor x);
int64_t stream_now(); int cores();
"""
FUNCTIONS = ["swish_of", "swish_backward", "logsumexp_rows", "scatter_add", "extremes_of", "block_scan", "cub_sum", "thrust_sort", "uniform", "normed", "filter",
             "launched_wrong", "stream_now", "cores"]


def built(folder):
    """By load_inline, which is load with files of its own; and by setup.py, which has other rules for its flags."""
    return cpp_extension.load_inline("vgpu_extension", cpp_sources=DECLARED, cuda_sources=SOURCE, functions=FUNCTIONS, build_directory=folder)


def by_setup(folder):
    files = {"twice.cu": """#include <cuda_runtime.h>
__global__ void twice(float *x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] = x[i] + x[i]; }
void twice_of(float *x, int n, cudaStream_t stream) { twice<<<(n + 63) / 64, 64, 0, stream>>>(x, n); }
""", "bind.cpp": """#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
void twice_of(float *x, int n, cudaStream_t stream);
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)
{
	m.def("run", [](at::Tensor x) { twice_of(x.data_ptr<float>(), (int)x.numel(), at::cuda::getCurrentCUDAStream()); C10_CUDA_KERNEL_LAUNCH_CHECK(); });
}
""", "setup.py": """from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension
setup(name="vgpu_twice", ext_modules=[CUDAExtension("vgpu_twice", ["twice.cu", "bind.cpp"],
      extra_compile_args={"cxx": [], "nvcc": ["-gencode", "arch=compute_80,code=sm_80"]})],     # machines alone, as many packages list them
      cmdclass={"build_ext": BuildExtension})
"""}
    for name, text in files.items():
        with open(os.path.join(folder, name), "w") as f:
            f.write(text)
    done = subprocess.run([sys.executable, "setup.py", "-q", "build_ext", "--inplace"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, (done.stdout + done.stderr)[-600:]
    sys.path.insert(0, folder)
    import vgpu_twice
    x = torch.arange(100.0, device="cuda")
    vgpu_twice.run(x)
    assert torch.equal(x.cpu(), torch.arange(100.0) * 2)


FLOAT = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
WHOLE = (torch.int32, torch.int64, torch.int16, torch.int8, torch.uint8)
BOUND = {torch.float32: 1e-6, torch.float64: 1e-13, torch.float16: 1e-3, torch.bfloat16: 8e-3}


def near(got, want, bound):
    assert got.shape == want.shape, (got.shape, want.shape)
    error = (got.double().cpu() - want.double()).abs().max().item() / max(want.double().abs().max().item(), 1e-30)
    assert error <= bound, error


def dispatch(m):
    for kind in FLOAT:
        x = torch.randn(5000, dtype=torch.float64).to(kind)
        near(m.swish_of(x.cuda()), torch.nn.functional.silu(x.double()), BOUND[kind])


def accessors(m):
    for kind in FLOAT:
        g, x = torch.randn(2, 37, 90, dtype=torch.float64).to(kind)
        want = torch.autograd.functional.vjp(torch.nn.functional.silu, x.double(), g.double())[1]
        near(m.swish_backward(g.cuda(), x.cuda()), want, BOUND[kind])
        near(m.swish_backward(g.t().cuda().t(), x.t().contiguous().cuda().t()), want, BOUND[kind])       # that lie by columns


def rows(m):
    for kind in FLOAT:
        x = torch.randn(33, 1000, dtype=torch.float64).to(kind)
        near(m.logsumexp_rows(x.cuda()), torch.logsumexp(x.double(), 1), 1e-6)


def atomics(m):
    at = torch.randint(0, 7, (900,))
    for kind in FLOAT + WHOLE:
        x = torch.randint(0, 2, (900, 5)).to(kind)          # sums that every type has
        out = torch.zeros(7, 5, dtype=kind, device="cuda")
        m.scatter_add(out, at.cuda(), x.cuda())
        want = torch.zeros(7, 5, dtype=torch.int64).index_add_(0, at, x.long())
        assert want.max() < 127 and torch.equal(out.cpu(), want.to(kind)), kind
    for kind in FLOAT:
        x = torch.randn(3000, dtype=torch.float64).to(kind)
        out = torch.tensor([-float("inf"), float("inf")], dtype=kind, device="cuda")
        m.extremes_of(out, x.cuda())
        assert out.tolist() == [x.max().item(), x.min().item()], kind


def cub(m):
    x = torch.randint(-50, 50, (512,), dtype=torch.int32)
    assert torch.equal(m.block_scan(x.cuda()).cpu().long(), x.cumsum(0))
    y = torch.randn(100003)
    near(m.cub_sum(y.cuda()), y.double().sum().reshape(1), 1e-5)


def thrust(m):
    keys = torch.randperm(20000).int()
    k, v = m.thrust_sort(keys.cuda(), torch.arange(20000).cuda())
    want = keys.sort()
    assert torch.equal(k.cpu(), want.values) and torch.equal(v.cpu(), want.indices)


def philox(m):
    """By a second writing of the generator, of Salmon et al.'s paper: seed and place as torch hands them out."""
    def numbers(seed, thread, offset):
        key, c = [seed & 0xffffffff, seed >> 32], [offset & 0xffffffff, offset >> 32, thread & 0xffffffff, thread >> 32]
        for _ in range(10):
            a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
            c = [b >> 32 ^ c[1] ^ key[0], b & 0xffffffff, a >> 32 ^ c[3] ^ key[1], a & 0xffffffff]
            key = [key[0] + 0x9E3779B9 & 0xffffffff, key[1] + 0xBB67AE85 & 0xffffffff]
        return c
    torch.manual_seed(1234567890123)     # a place is a number of steps of the counter
    first, second = m.uniform(700), m.uniform(700)
    for offset, got in ((0, first), (4, second)):
        want = [(numbers(1234567890123, i, offset)[0] >> 8) / 2 ** 24 for i in range(700)]
        assert got.tolist() == want, (offset, got[:3].tolist(), want[:3])


def from_cpp(m):
    x, w = torch.randn(20, 30), torch.randn(40, 30)
    near(m.normed(x.cuda(), w.cuda()), m.normed(x.double(), w.double()), 1e-5)


def constant(m):
    x, w = torch.randn(1000), torch.randn(8)
    padded = torch.nn.functional.pad(x, (0, 7)).double()
    near(m.filter(x.cuda(), w.tolist()), torch.nn.functional.conv1d(padded[None, None], w.double()[None, None])[0, 0], 1e-6)


def streams(m):
    own = torch.cuda.Stream()
    before = m.stream_now()
    x = torch.randn(100000, device="cuda")
    with torch.cuda.stream(own):
        own.wait_stream(torch.cuda.default_stream())
        assert m.stream_now() == own.cuda_stream != before
        y = m.swish_of(x)
        for _ in range(10):
            y = m.swish_of(y)
    own.synchronize()
    want = x.cpu().double()
    for _ in range(11):
        want = torch.nn.functional.silu(want)
    near(y, want, 1e-5)
    assert m.stream_now() == before and m.cores() == torch.cuda.get_device_properties(0).multi_processor_count


def graph(m):
    x = torch.randn(1000, device="cuda")
    m.swish_of(x)
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):
        y = m.swish_of(m.swish_of(x))
    for _ in range(3):
        new = torch.randn(1000)
        x.copy_(new)
        g.replay()
        near(y, torch.nn.functional.silu(torch.nn.functional.silu(new.double())), 1e-6)


def autograd(m):
    class Swish(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return m.swish_of(x)

        @staticmethod
        def backward(ctx, g):
            return m.swish_backward(g.contiguous(), ctx.saved_tensors[0])

    class Model(torch.nn.Module):
        def __init__(self, activation):
            super().__init__()
            self.a, self.b, self.activation = torch.nn.Linear(12, 30), torch.nn.Linear(30, 1), activation

        def forward(self, x):
            return self.b(self.activation(self.a(x)))

    x, y = torch.randn(64, 12), torch.randn(64, 1)
    out = []
    for device, activation in (("cpu", torch.nn.functional.silu), ("cuda", Swish.apply)):
        torch.manual_seed(3)
        model = Model(activation).to(device)
        adam = torch.optim.Adam(model.parameters(), lr=1e-2)
        for _ in range(5):
            loss = torch.nn.functional.mse_loss(model(x.to(device)), y.to(device))
            adam.zero_grad()
            loss.backward()
            adam.step()
        out.append([loss.detach().cpu(), *(p.detach().cpu() for p in model.parameters())])
    for a, b in zip(out[1], out[0]):
        near(a, b, 1e-4)
    assert torch.autograd.gradcheck(Swish.apply, torch.randn(4, 6, dtype=torch.float64, device="cuda", requires_grad=True))


def library(m):
    """As an operator of torch's own, with its shapes and its derivative, in torch.compile."""
    swish = torch.ops.vgpu_test.swish
    torch.library.register_fake("vgpu_test::swish", lambda x: torch.empty_like(x))
    torch.library.register_fake("vgpu_test::swish_back", lambda g, x: torch.empty_like(x))
    torch.library.register_autograd("vgpu_test::swish", lambda ctx, g: torch.ops.vgpu_test.swish_back(g.contiguous(), ctx.saved_tensors[0]),
                                    setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]))
    x = torch.randn(30, 40)
    torch.library.opcheck(swish, (x.cuda().requires_grad_(),))
    f = torch.compile(lambda t: (swish(t * 2) + 1).sum(0))
    a, b = x.cuda().requires_grad_(), x.double().requires_grad_()
    got, want = f(a), (torch.nn.functional.silu(b * 2) + 1).sum(0)
    near(got.detach(), want.detach(), 1e-5)
    got.pow(2).sum().backward()
    want.pow(2).sum().backward()
    near(a.grad, b.grad, 1e-5)


def refused(m):
    try:
        m.launched_wrong(torch.randn(4, device="cuda"))
    except Exception as e:
        assert "invalid" in str(e), str(e)
    else:
        raise AssertionError("4096 threads a block were taken")
    dispatch(m)         # and nothing of it stays
    try:
        m.swish_of(torch.randn(4, 5, device="cuda").t())
    except RuntimeError as e:
        assert "a dense tensor of the device" in str(e), str(e)
    else:
        raise AssertionError("TORCH_CHECK let it pass")


def main():
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        m = built(folder)
        for check in (dispatch, accessors, rows, atomics, cub, thrust, philox, from_cpp, constant, streams, graph, autograd, library, refused, lambda m: by_setup(folder)):
            torch.manual_seed(0)
            name = check.__name__.replace("<lambda>", "setup.py")
            try:
                check(m)
                print("ok", name)
            except Exception as e:
                bad += 1
                print("FAIL", name, type(e).__name__, " ".join(str(e).split())[:400])
            sys.stdout.flush()
    return bad


if __name__ == "__main__":
    sys.exit(bool(main()))
