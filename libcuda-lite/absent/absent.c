/* SPDX-License-Identifier: MIT */
/*
 * libcufft.so.11 and 12, libcusparse.so.12, libcusolver.so.11 and 12: names, and no computation. TensorFlow takes a device only where it can open
 * files of these names, whether it will call them or not; NVIDIA's own work with NVIDIA's driver only (a gigabyte, and a runtime
 * inside). With these, programs that use no Fourier transform, sparse matrix or factorisation run; each call answers its
 * library's NOT_SUPPORTED and says its name once.
 * A Python under vgpu run opens them when it imports TensorFlow or JAX, those of CUDA 12 for CuPy (tools/python/sitecustomize.py), and nobody else's.
 *
 * Compiled once per library: -DABSENT=cufft, -DABSENT_DEF="cufft.def", -DABSENT_STATUS=the status's number.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
#define TEXT_(a) #a
#define TEXT(a) TEXT_(a)

static int unsupported(atomic_uint *said, const char *name)
{
	char line[300];
	int n;

	if (!atomic_exchange_explicit(said, 1, memory_order_relaxed)) {
		n = snprintf(line, sizeof(line), "vgpu lib" TEXT(ABSENT) ": %s%s is not supported, and nothing else of it; the CPU has it: "
			     "with tf.device(\"CPU:0\"), with jax.default_device(jax.devices(\"cpu\")[0]), cupy.asnumpy(x)\n", TEXT(ABSENT), name);
		if (n > 0 && write(STDERR_FILENO, line, (size_t)n < sizeof(line) ? (size_t)n : sizeof(line) - 1) < 0)
			return ABSENT_STATUS;
	}
	return ABSENT_STATUS;
}

#define N(fn) \
	__attribute__((visibility("default"))) int PASTE(ABSENT, fn)(void); \
	int PASTE(ABSENT, fn)(void) \
	{ \
		static atomic_uint said; \
		return unsupported(&said, #fn); \
	}
/* of a status, in words: there is one */
#define T(fn) \
	__attribute__((visibility("default"))) const char *PASTE(ABSENT, fn)(int status); \
	const char *PASTE(ABSENT, fn)(int status) \
	{ \
		return status == ABSENT_STATUS ? "NOT_SUPPORTED: this lib" TEXT(ABSENT) " is vgpu's: names, and no computation" : status ? "unknown" : "SUCCESS"; \
	}
#include ABSENT_DEF
