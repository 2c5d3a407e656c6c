// SPDX-License-Identifier: MIT
// Products as CUTLASS 3 builds them for compute capability 9.0: copies by tensor maps, warps of their own for them, wgmma; against plain sums.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cute/tensor.hpp>
#include <cutlass/cutlass.h>
#include <cutlass/epilogue/collective/collective_builder.hpp>
#include <cutlass/gemm/collective/collective_builder.hpp>
#include <cutlass/gemm/device/gemm_universal_adapter.h>
#include <cutlass/gemm/kernel/gemm_universal.hpp>

using namespace cute;
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { printf("FAIL %s: %s\n", #x, cudaGetErrorString(e_)); exit(1); } } while (0)

template <class E, class LayoutA, class LayoutB, class Tile, class Schedule, class Epilogue, class Cluster = Shape<_1, _1, _1>>
static int multiplied(const char *name, int M, int N, int K)
{
	using Out = typename cutlass::epilogue::collective::CollectiveBuilder<cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Tile, Cluster,
		cutlass::epilogue::collective::EpilogueTileAuto, float, float, float, cutlass::layout::RowMajor, 4, float, cutlass::layout::RowMajor, 4,
		Epilogue>::CollectiveOp;
	using Main = typename cutlass::gemm::collective::CollectiveBuilder<cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, E, LayoutA,
		16 / sizeof(E), E, LayoutB, 16 / sizeof(E), float, Tile, Cluster,
		cutlass::gemm::collective::StageCountAutoCarveout<sizeof(typename Out::SharedStorage)>, Schedule>::CollectiveOp;
	using Kernel = cutlass::gemm::kernel::GemmUniversal<Shape<int, int, int, int>, Main, Out>;
	using Gemm = cutlass::gemm::device::GemmUniversalAdapter<Kernel>;
	constexpr bool a_rows = std::is_same_v<LayoutA, cutlass::layout::RowMajor>, b_rows = std::is_same_v<LayoutB, cutlass::layout::RowMajor>;
	std::vector<E> a(M * K), b(K * N);
	std::vector<float> c(M * N), d(M * N);
	typename Gemm::GemmKernel::StrideA sa;
	typename Gemm::GemmKernel::StrideB sb;
	typename Gemm::GemmKernel::StrideC sc;
	typename Gemm::GemmKernel::StrideD sd;
	E *pa, *pb;
	float *pc, *pd;
	unsigned r = 1;
	Gemm gemm;

	for (auto &x : a)
		x = E(float(int((r = r * 1103515245 + 12345) >> 16 & 7) - 3));
	for (auto &x : b)
		x = E(float(int((r = r * 1103515245 + 12345) >> 16 & 7) - 3));
	for (auto &x : c)
		x = float(int((r = r * 1103515245 + 12345) >> 16 & 15));
	if constexpr (a_rows) get<0>(sa) = K; else get<1>(sa) = M;
	if constexpr (b_rows) get<1>(sb) = N; else get<0>(sb) = K;
	get<0>(sc) = N;
	get<0>(sd) = N;
	CK(cudaMalloc(&pa, a.size() * sizeof(E)));
	CK(cudaMalloc(&pb, b.size() * sizeof(E)));
	CK(cudaMalloc(&pc, c.size() * 4));
	CK(cudaMalloc(&pd, d.size() * 4));
	CK(cudaMemcpy(pa, a.data(), a.size() * sizeof(E), cudaMemcpyHostToDevice));
	CK(cudaMemcpy(pb, b.data(), b.size() * sizeof(E), cudaMemcpyHostToDevice));
	CK(cudaMemcpy(pc, c.data(), c.size() * 4, cudaMemcpyHostToDevice));
	typename Gemm::Arguments args{ cutlass::gemm::GemmUniversalMode::kGemm, { M, N, K, 1 }, { pa, sa, pb, sb }, { { 2.0f, 0.5f }, pc, sc, pd, sd } };
	args.hw_info.sm_count = 2 * size(Cluster{});
	size_t bytes = Gemm::get_workspace_size(args);
	void *space = nullptr;
	if (bytes)
		CK(cudaMalloc(&space, bytes));
	cutlass::Status st = gemm.can_implement(args);
	if (st == cutlass::Status::kSuccess)
		st = gemm.initialize(args, space);
	if (st == cutlass::Status::kSuccess)
		st = gemm.run();
	if (st != cutlass::Status::kSuccess) {
		printf("FAIL %s: %s, %s\n", name, cutlassGetStatusString(st), cudaGetErrorString(cudaGetLastError()));
		return 1;
	}
	CK(cudaDeviceSynchronize());
	CK(cudaMemcpy(d.data(), pd, d.size() * 4, cudaMemcpyDeviceToHost));
	for (int i = 0; i < M; i++)
		for (int j = 0; j < N; j++) {
			float s = 0;

			for (int k = 0; k < K; k++)
				s += float(a[a_rows ? i * K + k : k * M + i]) * float(b[b_rows ? k * N + j : j * K + k]);
			s = 2 * s + c[i * N + j] / 2;
			if (d[i * N + j] != s) {
				printf("FAIL %s: [%d, %d] is %g, want %g\n", name, i, j, d[i * N + j], s);
				return 1;
			}
		}
	printf("ok %s\n", name);
	return 0;
}

int main()
{
	using Row = cutlass::layout::RowMajor;
	using Col = cutlass::layout::ColumnMajor;
	using Pingpong = cutlass::gemm::KernelTmaWarpSpecializedPingpong;
	using Cooperative = cutlass::gemm::KernelTmaWarpSpecializedCooperative;
	using Out = cutlass::epilogue::TmaWarpSpecialized;
	using OutTwo = cutlass::epilogue::TmaWarpSpecializedCooperative;
	int bad = 0;

	bad |= multiplied<cutlass::half_t, Row, Col, Shape<_64, _128, _64>, Pingpong, Out>("f16, ping-pong", 200, 264, 136);
	bad |= multiplied<cutlass::bfloat16_t, Col, Row, Shape<_128, _64, _64>, Cooperative, OutTwo>("bf16 across, cooperative", 256, 136, 72);
	bad |= multiplied<cutlass::float_e4m3_t, Row, Col, Shape<_64, _64, _128>, Pingpong, Out>("e4m3, ping-pong", 128, 96, 144);
	// blocks of a cluster share what they load: each its part, copied to all of a row or a column
	bad |= multiplied<cutlass::half_t, Row, Col, Shape<_64, _128, _64>, Pingpong, Out, Shape<_2, _1, _1>>("f16, clusters of 2 x 1", 200, 264, 136);
	bad |= multiplied<cutlass::half_t, Row, Col, Shape<_128, _64, _64>, Cooperative, OutTwo, Shape<_2, _2, _1>>("f16, clusters of 2 x 2", 512, 136, 200);
	return bad;
}
