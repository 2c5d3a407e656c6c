/* SPDX-License-Identifier: MIT */
/*
 * Tensor maps that the host makes: each wrong argument's error, as the Driver API's documentation has them; pixels by im2col against what a
 * convolution reads, whose padding, strides and borders give the corners; a map with another address. Below compute capability 9.0 there is none.
 */
#include <stdlib.h>
#include <string.h>

#include "drv.h"

static const char ptx[] =
	".version 8.0\n.target sm_90\n.address_size 64\n"
	".visible .entry pixels(.param .align 64 .b8 map[128], .param .u64 out, .param .u32 c, .param .u32 w, .param .u32 h, .param .u32 n, .param .u16 s, .param .u16 r)\n{\n"
	"	.shared .align 128 .b8 box[1024];\n	.shared .align 8 .b64 bar;\n"
	"	.reg .pred %p;\n	.reg .b16 %h<2>;\n	.reg .b32 %r<8>;\n	.reg .b64 %rd<5>;\n"
	"	mov.b64 %rd1, map;\n	cvta.param.u64 %rd1, %rd1;\n	ld.param.u64 %rd2, [out];\n"
	"	ld.param.u32 %r0, [c];\n	ld.param.u32 %r1, [w];\n	ld.param.u32 %r2, [h];\n	ld.param.u32 %r3, [n];\n"
	"	ld.param.u16 %h0, [s];\n	ld.param.u16 %h1, [r];\n	mov.u32 %r4, %tid.x;\n	setp.ne.u32 %p, %r4, 0;\n	@%p bra begun;\n"
	"	mbarrier.init.shared::cta.b64 [bar], 1;\n	mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 1024;\n"
	"	cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [box], [%rd1, {%r0, %r1, %r2, %r3}], [bar], {%h0, %h1};\n"
	"begun:	bar.sync 0;\n"
	"wait:	mbarrier.try_wait.parity.shared::cta.b64 %p, [bar], 0;\n	@!%p bra wait;\n"
	"	shl.b32 %r5, %r4, 2;\n	mov.u32 %r6, box;\n	add.u32 %r6, %r6, %r5;\n	ld.shared.b32 %r7, [%r6];\n"
	"	mul.wide.u32 %rd3, %r4, 4;\n	add.u64 %rd2, %rd2, %rd3;\n	st.global.b32 [%rd2], %r7;\n	ret;\n}\n";

#define C 24
#define W 7
#define H 5
#define N 3
#define PIXELS 32
#define CHANNELS 16

static _Alignas(64) CUtensorMap map;
static unsigned short tensor[N][H][W][C], got[PIXELS][CHANNELS];
static CUdeviceptr memory, out;
static CUfunction pixels;

/* Arguments that are well, of which a test changes one. */
static struct args {
	CUtensorMapDataType type;
	cuuint32_t rank;
	CUdeviceptr at;
	cuuint64_t dims[5], strides[4];
	cuuint32_t box[5], steps[5];
	CUtensorMapInterleave interleave;
	CUtensorMapSwizzle swizzle;
	CUtensorMapL2promotion promotion;
	CUtensorMapFloatOOBfill fill;
	int lower[3], upper[3];
	cuuint32_t channels, pixels;
} well, a;

static CUresult tiled(void)
{
	return cuTensorMapEncodeTiled(&map, a.type, a.rank, (void *)a.at, a.dims, a.strides, a.box, a.steps, a.interleave, a.swizzle, a.promotion, a.fill);
}

static CUresult im2col(void)
{
	return cuTensorMapEncodeIm2col(&map, a.type, a.rank, (void *)a.at, a.dims, a.strides, a.lower, a.upper, a.channels, a.pixels, a.steps, a.interleave,
				       a.swizzle, a.promotion, a.fill);
}

#define WRONG(change, how) \
	do { \
		a = well; \
		change; \
		WANT(CUDA_ERROR_INVALID_VALUE, how()); \
	} while (0)
#define RIGHT(change, how) \
	do { \
		a = well; \
		change; \
		CK(how()); \
	} while (0)

static void errors(void)
{
	WRONG(a.type = (CUtensorMapDataType)16, tiled);
	WRONG(a.rank = 0, tiled);
	WRONG(a.rank = 6, tiled);
	WRONG(a.at += 8, tiled);
	WRONG(a.dims[2] = 0, tiled);
	WRONG(a.dims[2] = (1ull << 32) + 1, tiled);
	RIGHT(a.dims[2] = 1ull << 32, tiled);
	WRONG(a.strides[1] += 8, tiled);
	WRONG(a.strides[1] = 1ull << 40, tiled);
	RIGHT(a.strides[1] = (1ull << 40) - 16, tiled);
	WRONG(a.box[1] = 0, tiled);
	WRONG(a.box[1] = 257, tiled);
	RIGHT(a.box[1] = 256, tiled);
	WRONG(a.box[0] = 12, tiled);            /* 24 bytes */
	WRONG(a.steps[3] = 0, tiled);
	WRONG(a.steps[3] = 9, tiled);
	RIGHT(a.steps[3] = 8, tiled);
	WRONG(a.interleave = (CUtensorMapInterleave)3, tiled);
	WRONG(a.swizzle = (CUtensorMapSwizzle)7, tiled);
	WRONG(a.promotion = (CUtensorMapL2promotion)4, tiled);
	WRONG(a.fill = (CUtensorMapFloatOOBfill)2, tiled);
	WRONG((a.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA, a.type = CU_TENSOR_MAP_DATA_TYPE_UINT16), tiled);
	RIGHT(a.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA, tiled);
	/* a row must fit into what is swizzled */
	WRONG((a.box[0] = 24, a.swizzle = CU_TENSOR_MAP_SWIZZLE_32B), tiled);
	RIGHT((a.box[0] = 16, a.swizzle = CU_TENSOR_MAP_SWIZZLE_32B), tiled);
	WRONG((a.box[0] = 40, a.swizzle = CU_TENSOR_MAP_SWIZZLE_64B), tiled);
	RIGHT((a.box[0] = 64, a.swizzle = CU_TENSOR_MAP_SWIZZLE_128B), tiled);
	WRONG((a.box[0] = 72, a.swizzle = CU_TENSOR_MAP_SWIZZLE_128B), tiled);
	WRONG((a.interleave = CU_TENSOR_MAP_INTERLEAVE_32B, a.swizzle = CU_TENSOR_MAP_SWIZZLE_64B), tiled);
	WRONG((a.interleave = CU_TENSOR_MAP_INTERLEAVE_16B, a.rank = 2), tiled);
	a = well;
	WANT(CUDA_ERROR_INVALID_VALUE, cuTensorMapEncodeTiled((CUtensorMap *)((char *)&map + 8), a.type, a.rank, (void *)a.at, a.dims, a.strides, a.box, a.steps,
							      a.interleave, a.swizzle, a.promotion, a.fill));
	WANT(CUDA_ERROR_INVALID_VALUE, cuTensorMapEncodeTiled(NULL, a.type, a.rank, (void *)a.at, a.dims, a.strides, a.box, a.steps, a.interleave, a.swizzle,
							      a.promotion, a.fill));
	/* what is legal, and not here */
	a.interleave = CU_TENSOR_MAP_INTERLEAVE_16B;
	WANT(CUDA_ERROR_NOT_SUPPORTED, tiled());
	a = well;
	a.swizzle = CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B;
	WANT(CUDA_ERROR_NOT_SUPPORTED, tiled());

	WRONG(a.rank = 2, im2col);
	WRONG(a.channels = 0, im2col);
	WRONG(a.channels = 257, im2col);
	WRONG(a.channels = 12, im2col);
	WRONG(a.pixels = 0, im2col);
	WRONG(a.pixels = 1025, im2col);
	WRONG(a.lower[0] = -129, im2col);
	WRONG(a.upper[1] = 128, im2col);
	RIGHT(a.upper[1] = 127, im2col);
	WRONG((a.rank = 5, a.lower[2] = -17), im2col);
	RIGHT((a.rank = 3, a.lower[0] = -32768), im2col);
}

/* The columns of a convolution with an R x S kernel, beginning at some pixel of its result: each element as a loop over the image finds it. */
static void convolution(int pad, int step, int R, int S, int first, int from)
{
	int OW = (W + 2 * pad - S) / step + 1, OH = (H + 2 * pad - R) / step + 1;

	RIGHT((a.lower[0] = a.lower[1] = -pad, a.upper[0] = pad - (S - 1), a.upper[1] = pad - (R - 1), a.steps[1] = a.steps[2] = (cuuint32_t)step), im2col);
	for (int r = 0; r < R; r++)
		for (int s = 0; s < S; s++) {
			int w = first % OW * step - pad, h = first / OW % OH * step - pad, n = first / OW / OH;
			unsigned short ss = (unsigned short)s, rr = (unsigned short)r;
			void *args[] = { &map, &out, &from, &w, &h, &n, &ss, &rr };

			CK(cuLaunchKernel(pixels, 1, 1, 1, PIXELS * CHANNELS / 2, 1, 1, 0, NULL, args, NULL));
			CK(cuMemcpyDtoH(got, out, sizeof(got)));
			for (int p = 0; p < PIXELS; p++) {
				int at = first + p, y = at / OW % OH * step - pad + r, x = at % OW * step - pad + s, image = at / OW / OH;

				for (int c = 0; c < CHANNELS; c++) {
					unsigned want = image < N && x >= 0 && x < W && y >= 0 && y < H && from + c < C ? tensor[image][y][x][from + c] : 0;

					if (got[p][c] != want) {
						e2e_fail("pad %d step %d kernel %dx%d at %d,%d: pixel %d channel %d is %u, want %u", pad, step, R, S, r, s, p, c,
							 got[p][c], want);
						return;
					}
				}
			}
		}
}

int main(void)
{
	CUcontext ctx = drv_start("tensormap");
	CUdeviceptr other;
	CUmodule mod;
	int major, has;
	unsigned i;

	CK(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0));
	CK(cuDeviceGetAttribute(&has, CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED, 0));
	EXPECT(has == (major >= 9));
	CK(cuMemAlloc(&memory, sizeof(tensor)));
	CK(cuMemAlloc(&other, sizeof(tensor)));
	CK(cuMemAlloc(&out, sizeof(got)));
	well = (struct args){ .type = CU_TENSOR_MAP_DATA_TYPE_FLOAT16, .rank = 4, .at = memory, .dims = { C, W, H, N, 1 }, .strides = { C * 2, C * 2 * W, C * 2 * W * H, sizeof(tensor) },
			      .box = { 8, 2, 2, 2, 1 }, .steps = { 1, 1, 1, 1, 1 }, .channels = CHANNELS, .pixels = PIXELS };
	a = well;
	if (!has) {
		WANT(CUDA_ERROR_NOT_SUPPORTED, tiled());
		CK(cuCtxDestroy(ctx));
		return e2e_end("none below 9.0");
	}
	for (i = 0; i < sizeof(tensor) / 2; i++)
		(&tensor[0][0][0][0])[i] = (unsigned short)(i * 40503u >> 3 | 1);
	CK(cuMemcpyHtoD(memory, tensor, sizeof(tensor)));
	CK(cuModuleLoadData(&mod, ptx));
	CK(cuModuleGetFunction(&pixels, mod, "pixels"));
	errors();
	convolution(1, 1, 3, 3, 0, 0);
	convolution(1, 1, 3, 3, 20, 8);         /* over the end of an image; channels beyond the last */
	convolution(0, 1, 1, 1, 3, 0);
	convolution(2, 2, 5, 3, 5, 0);
	convolution(0, 2, 3, 3, 0, 16);
	/* the same of a copy at another address */
	CK(cuMemcpyDtoD(other, memory, sizeof(tensor)));
	CK(cuMemsetD8(memory, 0, sizeof(tensor)));
	well.at = other;
	convolution(1, 1, 3, 3, 20, 8);
	well.at = memory;
	RIGHT((void)0, im2col);
	WANT(CUDA_ERROR_INVALID_VALUE, cuTensorMapReplaceAddress(&map, (void *)(other + 8)));
	WANT(CUDA_ERROR_INVALID_VALUE, cuTensorMapReplaceAddress(NULL, (void *)other));
	CK(cuTensorMapReplaceAddress(&map, (void *)other));
	{
		int zero = 0;
		unsigned short no = 0;
		void *args[] = { &map, &out, &zero, &zero, &zero, &zero, &no, &no };

		CK(cuLaunchKernel(pixels, 1, 1, 1, PIXELS * CHANNELS / 2, 1, 1, 0, NULL, args, NULL));
		CK(cuMemcpyDtoH(got, out, sizeof(got)));
		EXPECT(got[0][0] == tensor[0][0][0][0] && got[1][3] == tensor[0][0][1][3]);
	}
	CK(cuCtxDestroy(ctx));
	return e2e_end("errors, im2col, another address");
}
