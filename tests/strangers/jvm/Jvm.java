// SPDX-License-Identifier: MIT
// JCuda (Maven) unmodified: the driver API, the runtime API, NVRTC and JCublas, each against the same in Java.
import static jcuda.driver.JCudaDriver.*;
import static jcuda.runtime.JCuda.*;
import static jcuda.nvrtc.JNvrtc.*;

import java.util.Arrays;
import java.util.Random;
import java.util.function.IntToDoubleFunction;
import jcuda.Pointer;
import jcuda.Sizeof;
import jcuda.driver.CUcontext;
import jcuda.driver.CUdevice;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUevent;
import jcuda.driver.CUfunction;
import jcuda.driver.CUmodule;
import jcuda.driver.CUstream;
import jcuda.driver.JCudaDriver;
import jcuda.jcublas.JCublas;
import jcuda.jcublas.JCublas2;
import jcuda.jcublas.cublasHandle;
import jcuda.jcublas.cublasOperation;
import jcuda.jcublas.cublasFillMode;
import jcuda.jcublas.cublasDiagType;
import jcuda.jcublas.cublasSideMode;
import jcuda.nvrtc.JNvrtc;
import jcuda.nvrtc.nvrtcProgram;
import jcuda.runtime.JCuda;
import jcuda.runtime.cudaDeviceProp;
import jcuda.runtime.cudaEvent_t;
import jcuda.runtime.cudaMemcpyKind;
import jcuda.runtime.cudaStream_t;

public class Jvm {
	static int bad;

	interface Body {
		void run() throws Throwable;
	}

	static void check(String name, Body b) {
		try {
			b.run();
			System.out.println("ok " + name);
		} catch (Throwable t) {
			System.out.println("FAIL " + name + ": " + t);
			bad = 1;
		}
	}

	static void near(double[] got, double[] want, double bound) {
		for (int i = 0; i < want.length; i++)
			if (!(Math.abs(got[i] - want[i]) <= bound * (1 + Math.abs(want[i]))))
				throw new AssertionError("[" + i + "] is " + got[i] + ", not " + want[i]);
	}

	static void near(float[] got, IntToDoubleFunction want, double bound) {
		double[] a = new double[got.length], b = new double[got.length];
		for (int i = 0; i < got.length; i++) {
			a[i] = got[i];
			b[i] = want.applyAsDouble(i);
		}
		near(a, b, bound);
	}

	static float[] floats(int n, int seed) {
		Random r = new Random(seed);
		float[] v = new float[n];
		for (int i = 0; i < n; i++)
			v[i] = r.nextFloat() * 2 - 1;
		return v;
	}

	static double[] doubles(int n, int seed) {
		return new Random(seed).doubles(n, -1, 1).toArray();
	}

	static CUdeviceptr up(float[] v) {
		CUdeviceptr p = new CUdeviceptr();
		cuMemAlloc(p, (long)v.length * Sizeof.FLOAT);
		cuMemcpyHtoD(p, Pointer.to(v), (long)v.length * Sizeof.FLOAT);
		return p;
	}

	static String ptx(String source) {
		nvrtcProgram p = new nvrtcProgram();
		nvrtcCreateProgram(p, source, "k.cu", 0, null, null);
		nvrtcCompileProgram(p, 1, new String[] { "--gpu-architecture=compute_75" });
		String[] text = new String[1];
		nvrtcGetPTX(p, text);
		nvrtcDestroyProgram(p);
		return text[0];
	}

	static final String SOURCE = """
		__constant__ float scale[4];
		extern "C" __global__ void saxpy(int n, float a, const float *x, float *y)
		{
			int i = blockIdx.x * blockDim.x + threadIdx.x;
			if (i < n)
				y[i] = a * x[i] + y[i];
		}
		extern "C" __global__ void reduce(const float *x, float *out, int n)
		{
			extern __shared__ float s[];
			float v = 0;
			for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
				v += x[i];
			s[threadIdx.x] = v;
			__syncthreads();
			for (int d = blockDim.x / 2; d; d /= 2) {
				if (threadIdx.x < d)
					s[threadIdx.x] += s[threadIdx.x + d];
				__syncthreads();
			}
			if (threadIdx.x == 0)
				atomicAdd(out, s[0]);
		}
		extern "C" __global__ void scaled(float *y, int n)
		{
			int i = blockIdx.x * blockDim.x + threadIdx.x;
			if (i < n)
				y[i] = scale[i & 3] * sinf(i * 0.01f) + expf(-i * 0.001f);
		}
		struct pair { double d; int i; };
		extern "C" __global__ void mixed(char c, double d, short s, long long l, struct pair p, double *out)
		{
			out[threadIdx.x] = c + d * 2 + s * 3.0 + l * 5.0 + p.d * p.i + threadIdx.x;
		}
		extern "C" __global__ void bad(int *p) { *p = 1; }
		""";

	static void driver() {
		String text = ptx(SOURCE);
		CUmodule m = new CUmodule();
		cuModuleLoadData(m, text);
		int n = 100003;
		float[] x = floats(n, 1), y = floats(n, 2), got = new float[n];
		check("driver/saxpy", () -> {
			CUfunction f = new CUfunction();
			cuModuleGetFunction(f, m, "saxpy");
			CUdeviceptr dx = up(x), dy = up(y);
			CUstream s = new CUstream();
			CUevent a = new CUevent(), b = new CUevent();
			cuStreamCreate(s, 1);
			cuEventCreate(a, 0);
			cuEventCreate(b, 0);
			cuEventRecord(a, s);
			cuLaunchKernel(f, (n + 255) / 256, 1, 1, 256, 1, 1, 0, s, Pointer.to(Pointer.to(new int[] { n }),
				Pointer.to(new float[] { 3 }), Pointer.to(dx), Pointer.to(dy)), null);
			cuEventRecord(b, s);
			cuStreamSynchronize(s);
			float[] ms = new float[1];
			cuEventElapsedTime(ms, a, b);
			if (!(ms[0] >= 0))
				throw new AssertionError("elapsed " + ms[0]);
			cuMemcpyDtoH(Pointer.to(got), dy, (long)n * 4);
			near(got, i -> 3.0 * x[i] + y[i], 1e-6);
			cuMemFree(dx);
			cuMemFree(dy);
			cuStreamDestroy(s);
		});
		check("driver/reduce", () -> {
			CUfunction f = new CUfunction();
			cuModuleGetFunction(f, m, "reduce");
			CUdeviceptr dx = up(x), out = up(new float[1]);
			cuLaunchKernel(f, 40, 1, 1, 128, 1, 1, 512, null, Pointer.to(Pointer.to(dx), Pointer.to(out), Pointer.to(new int[] { n })), null);
			float[] r = new float[1];
			cuMemcpyDtoH(Pointer.to(r), out, 4);
			double want = 0;
			for (float v : x)
				want += v;
			near(new double[] { r[0] }, new double[] { want }, 1e-3);
		});
		check("driver/constant", () -> {
			CUdeviceptr c = new CUdeviceptr();
			long[] size = new long[1];
			cuModuleGetGlobal(c, size, m, "scale");
			if (size[0] != 16)
				throw new AssertionError("scale has " + size[0] + " bytes");
			float[] scale = { 1, -2, 3, 0.5f };
			cuMemcpyHtoD(c, Pointer.to(scale), 16);
			CUfunction f = new CUfunction();
			cuModuleGetFunction(f, m, "scaled");
			CUdeviceptr dy = up(y);
			cuLaunchKernel(f, (n + 127) / 128, 1, 1, 128, 1, 1, 0, null, Pointer.to(Pointer.to(dy), Pointer.to(new int[] { n })), null);
			cuCtxSynchronize();
			cuMemcpyDtoH(Pointer.to(got), dy, (long)n * 4);
			near(got, i -> scale[i & 3] * Math.sin((float)i * 0.01f) + Math.exp(-(float)i * 0.001f), 1e-5);
		});
		check("driver/parameters", () -> {
			CUfunction f = new CUfunction();
			cuModuleGetFunction(f, m, "mixed");
			CUdeviceptr out = new CUdeviceptr();
			cuMemAlloc(out, 32 * 8);
			byte[] pair = new byte[16];
			java.nio.ByteBuffer.wrap(pair).order(java.nio.ByteOrder.nativeOrder()).putDouble(1.5).putInt(7);
			cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, null, Pointer.to(Pointer.to(new byte[] { -3 }), Pointer.to(new double[] { 0.25 }),
				Pointer.to(new short[] { -300 }), Pointer.to(new long[] { 1L << 40 }), Pointer.to(pair), Pointer.to(out)), null);
			double[] r = new double[32], want = new double[32];
			cuMemcpyDtoH(Pointer.to(r), out, 256);
			for (int i = 0; i < 32; i++)
				want[i] = -3 + 0.5 - 900 + 5.0 * (1L << 40) + 10.5 + i;
			near(r, want, 0);
		});
		check("driver/errors", () -> {
			try {
				cuModuleGetFunction(new CUfunction(), m, "nobody");
				throw new AssertionError("a kernel that is not there was found");
			} catch (jcuda.CudaException e) {
				if (!e.getMessage().contains("CUDA_ERROR_NOT_FOUND"))
					throw e;
			}
			try {
				ptx("extern \"C\" __global__ void k() { undeclared = 1; }");
				throw new AssertionError("a program with an error was compiled");
			} catch (jcuda.CudaException e) {
				if (!e.getMessage().contains("NVRTC_ERROR_COMPILATION"))
					throw e;
			}
		});
	}

	static void runtime() {
		check("runtime/device", () -> {
			int[] n = new int[1];
			cudaGetDeviceCount(n);
			cudaDeviceProp p = new cudaDeviceProp();
			cudaGetDeviceProperties(p, 0);
			long[] free = new long[1], total = new long[1];
			cudaMemGetInfo(free, total);
			if (n[0] < 1 || p.major < 6 || p.warpSize != 32 || p.totalGlobalMem <= 0 || free[0] > total[0] || p.getName().isEmpty())
				throw new AssertionError(p.toFormattedString());
		});
		check("runtime/copies", () -> {
			int n = 1 << 18;
			float[] v = floats(n, 3), got = new float[n];
			Pointer a = new Pointer(), b = new Pointer(), host = new Pointer();
			cudaStream_t s = new cudaStream_t();
			cudaStreamCreate(s);
			cudaMalloc(a, n * 4L);
			cudaMalloc(b, n * 4L);
			cudaHostAlloc(host, n * 4L, 0);
			java.nio.FloatBuffer f = host.getByteBuffer(0, n * 4L).order(java.nio.ByteOrder.nativeOrder()).asFloatBuffer();
			f.put(v);
			cudaMemcpyAsync(a, host, n * 4L, cudaMemcpyKind.cudaMemcpyHostToDevice, s);
			cudaMemcpyAsync(b, a, n * 4L, cudaMemcpyKind.cudaMemcpyDeviceToDevice, s);
			cudaMemsetAsync(b, 0, 4096, s);
			cudaStreamSynchronize(s);
			cudaMemcpy(Pointer.to(got), b, n * 4L, cudaMemcpyKind.cudaMemcpyDeviceToHost);
			near(got, i -> i < 1024 ? 0 : v[i], 0);
			float[] part = new float[64 * 32];
			cudaMemcpy2D(Pointer.to(part), 32 * 4, a.withByteOffset(400), 100 * 4, 32 * 4, 64, cudaMemcpyKind.cudaMemcpyDeviceToHost);
			near(part, i -> v[100 + i / 32 * 100 + i % 32], 0);
			cudaFree(a);
			cudaFree(b);
			cudaFreeHost(host);
			cudaStreamDestroy(s);
		});
		check("runtime/managed", () -> {
			Pointer p = new Pointer();
			cudaMallocManaged(p, 4096, JCuda.cudaMemAttachHost);
			cudaMemset(p, 7, 4096);
			cudaDeviceSynchronize();
			java.nio.ByteBuffer b = p.getByteBuffer(0, 4096);
			for (int i = 0; i < 4096; i++)
				if (b.get(i) != 7)
					throw new AssertionError("[" + i + "] is " + b.get(i));
			cudaFree(p);
		});
		check("runtime/callback", () -> {
			cudaStream_t s = new cudaStream_t();
			cudaStreamCreate(s);
			int[] seen = new int[1];
			cudaStreamAddCallback(s, (st, status, data) -> seen[0] = (Integer)data, 42, 0);
			cudaStreamSynchronize(s);
			if (seen[0] != 42)
				throw new AssertionError("the callback left " + seen[0]);
		});
		check("runtime/threads", () -> {
			Thread[] t = new Thread[6];
			String[] wrong = new String[t.length];
			for (int k = 0; k < t.length; k++) {
				int id = k;
				t[k] = new Thread(() -> {
					try {
						for (int round = 0; round < 50; round++) {
							float[] v = floats(5000, id * 100 + round), got = new float[5000];
							Pointer p = new Pointer();
							cudaMalloc(p, 20000);
							cudaMemcpy(p, Pointer.to(v), 20000, cudaMemcpyKind.cudaMemcpyHostToDevice);
							cudaMemcpy(Pointer.to(got), p, 20000, cudaMemcpyKind.cudaMemcpyDeviceToHost);
							cudaFree(p);
							if (!Arrays.equals(v, got))
								wrong[id] = "round " + round;
							if (round % 10 == 0)
								System.gc();
						}
					} catch (Throwable e) {
						wrong[id] = e.toString();
					}
				});
				t[k].start();
			}
			for (Thread k : t)
				k.join();
			for (String w : wrong)
				if (w != null)
					throw new AssertionError(w);
		});
	}

	static void blas() {
		int m = 70, n = 45, k = 33;
		double[] a = doubles(m * k, 4), b = doubles(k * n, 5), c = doubles(m * n, 6);
		double[] want = new double[m * n];
		for (int j = 0; j < n; j++)
			for (int i = 0; i < m; i++) {
				double s = 0;
				for (int l = 0; l < k; l++)
					s += a[i + l * m] * b[l + j * k];
				want[i + j * m] = 1.25 * s - 0.5 * c[i + j * m];
			}
		check("blas2/dgemm", () -> {
			cublasHandle h = new cublasHandle();
			JCublas2.cublasCreate(h);
			Pointer da = new Pointer(), db = new Pointer(), dc = new Pointer();
			cudaMalloc(da, a.length * 8L);
			cudaMalloc(db, b.length * 8L);
			cudaMalloc(dc, c.length * 8L);
			JCublas2.cublasSetMatrix(m, k, 8, Pointer.to(a), m, da, m);
			JCublas2.cublasSetMatrix(k, n, 8, Pointer.to(b), k, db, k);
			JCublas2.cublasSetMatrix(m, n, 8, Pointer.to(c), m, dc, m);
			JCublas2.cublasDgemm(h, cublasOperation.CUBLAS_OP_N, cublasOperation.CUBLAS_OP_N, m, n, k, Pointer.to(new double[] { 1.25 }),
				da, m, db, k, Pointer.to(new double[] { -0.5 }), dc, m);
			double[] got = new double[m * n];
			JCublas2.cublasGetMatrix(m, n, 8, dc, m, Pointer.to(got), m);
			near(got, want, 1e-13);
			double[] r = new double[1];
			JCublas2.cublasDnrm2(h, a.length, da, 1, Pointer.to(r));
			near(r, new double[] { Math.sqrt(Arrays.stream(a).map(v -> v * v).sum()) }, 1e-13);
			int[] at = new int[1];
			JCublas2.cublasIdamax(h, a.length, da, 1, Pointer.to(at));
			int most = 0;
			for (int i = 1; i < a.length; i++)
				if (Math.abs(a[i]) > Math.abs(a[most]))
					most = i;
			if (at[0] != most + 1)
				throw new AssertionError("largest at " + at[0] + ", not " + (most + 1));
			JCublas2.cublasDestroy(h);
		});
		check("blas2/solve", () -> {
			cublasHandle h = new cublasHandle();
			JCublas2.cublasCreate(h);
			int q = 24;
			double[] l = doubles(q * q, 8), x = doubles(q, 9), y = new double[q];
			for (int i = 0; i < q; i++)
				l[i + i * q] = 4 + i;
			for (int i = 0; i < q; i++)
				for (int j = 0; j <= i; j++)
					y[i] += l[i + j * q] * x[j];
			Pointer dl = new Pointer(), dy = new Pointer();
			cudaMalloc(dl, l.length * 8L);
			cudaMalloc(dy, q * 8L);
			JCublas2.cublasSetVector(q * q, 8, Pointer.to(l), 1, dl, 1);
			JCublas2.cublasSetVector(q, 8, Pointer.to(y), 1, dy, 1);
			JCublas2.cublasDtrsm(h, cublasSideMode.CUBLAS_SIDE_LEFT, cublasFillMode.CUBLAS_FILL_MODE_LOWER, cublasOperation.CUBLAS_OP_N,
				cublasDiagType.CUBLAS_DIAG_NON_UNIT, q, 1, Pointer.to(new double[] { 1 }), dl, q, dy, q);
			JCublas2.cublasGetVector(q, 8, dy, 1, Pointer.to(y), 1);
			near(y, x, 1e-12);
			JCublas2.cublasDestroy(h);
		});
		check("blas/legacy", () -> {
			float[] x = floats(3000, 10), y = floats(3000, 11), got = new float[3000];
			JCublas.cublasInit();
			Pointer dx = new Pointer(), dy = new Pointer();
			JCublas.cublasAlloc(3000, 4, dx);
			JCublas.cublasAlloc(3000, 4, dy);
			JCublas.cublasSetVector(3000, 4, Pointer.to(x), 1, dx, 1);
			JCublas.cublasSetVector(3000, 4, Pointer.to(y), 1, dy, 1);
			JCublas.cublasSaxpy(3000, 2, dx, 1, dy, 1);
			JCublas.cublasGetVector(3000, 4, dy, 1, Pointer.to(got), 1);
			near(got, i -> 2.0 * x[i] + y[i], 1e-6);
			double dot = 0;
			for (int i = 0; i < 3000; i++)
				dot += (double)x[i] * got[i];
			near(new double[] { JCublas.cublasSdot(3000, dx, 1, dy, 1) }, new double[] { dot }, 1e-4);
			JCublas.cublasFree(dx);
			JCublas.cublasFree(dy);
			JCublas.cublasShutdown();
		});
	}

	public static void main(String[] argv) throws Exception {
		JCudaDriver.setExceptionsEnabled(true);
		JCuda.setExceptionsEnabled(true);
		JNvrtc.setExceptionsEnabled(true);
		JCublas2.setExceptionsEnabled(true);
		JCublas.setExceptionsEnabled(true);
		cuInit(0);
		CUdevice d = new CUdevice();
		CUcontext c = new CUcontext();
		cuDeviceGet(d, 0);
		cuDevicePrimaryCtxRetain(c, d);
		cuCtxSetCurrent(c);
		runtime();
		blas();
		try {
			driver();
		} catch (Throwable t) {
			System.out.println("FAIL driver: " + t);
			bad = 1;
		}
		// the JVM itself uses SIGSEGV: an error of the device must not become one of the process
		check("driver/fault", () -> {
			CUmodule m = new CUmodule();
			cuModuleLoadData(m, ptx(SOURCE));
			CUfunction f = new CUfunction();
			cuModuleGetFunction(f, m, "bad");
			try {
				cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, null, Pointer.to(Pointer.to(new long[] { 64 })), null);
				cuCtxSynchronize();
				throw new AssertionError("a write to nowhere was no error");
			} catch (jcuda.CudaException e) {
				if (!e.getMessage().contains("CUDA_ERROR_ILLEGAL_ADDRESS"))
					throw e;
			}
			String s = null;
			try {
				for (int i = 0; i < 100000; i++)
					s.length();
			} catch (NullPointerException e) {
			}
		});
		System.exit(bad);
	}
}
