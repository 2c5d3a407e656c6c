/* SPDX-License-Identifier: MIT */
/*
 * cublasLt's log: products as they are queued, and what was refused, to a file or a function of the program's. Off unless a program or
 * CUBLASLT_LOG_LEVEL, CUBLASLT_LOG_MASK or CUBLASLT_LOG_FILE says otherwise; then a product costs one load more.
 */
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../fw-protocol/vgpu_env.h"
#include "lt.h"

typedef void (*callback)(int level, const char *function, const char *message);

static atomic_uint mask;                /* bit i: level i + 1 */
static atomic_uint looked;              /* into the environment: 1 somebody does, 2 done */
static atomic_flag busy = ATOMIC_FLAG_INIT;     /* the four below */
static bool disabled;
static FILE *to, *opened;               /* opened: ours to close */
static callback tell;

static void lock(void)
{
	while (atomic_flag_test_and_set_explicit(&busy, memory_order_acquire))
		sched_yield();
}

static void unlock(void) { atomic_flag_clear_explicit(&busy, memory_order_release); }

static unsigned int number(const char *name)
{
	const char *s = vgpu_env(name);
	unsigned int v = 0;

	for (; s && *s >= '0' && *s <= '9' && v < 1000; s++)
		v = v * 10 + (unsigned int)(*s - '0');
	return v;
}

static void environment(void)
{
	unsigned int none = 0, level, m;
	const char *file;

	if (atomic_load_explicit(&looked, memory_order_acquire) == 2)
		return;
	if (!atomic_compare_exchange_strong(&looked, &none, 1)) {
		while (atomic_load_explicit(&looked, memory_order_acquire) != 2)
			sched_yield();
		return;
	}
	level = number("CUBLASLT_LOG_LEVEL");
	m = number("CUBLASLT_LOG_MASK") & 31;
	m |= level > 5 ? 31 : (1u << level) - 1;
	file = vgpu_env("CUBLASLT_LOG_FILE");
	if (m && file && *file)
		to = opened = fopen(file, "w");
	atomic_store(&mask, m);
	atomic_store_explicit(&looked, 2, memory_order_release);
}

void lt_log(enum lt_level level, const char *function, const char *fmt, ...)
{
	static const char *const names[] = { "", "Error", "Trace", "Hints", "Info", "Api" };
	char text[512];
	va_list ap;

	environment();
	if (!(atomic_load_explicit(&mask, memory_order_relaxed) >> (level - 1) & 1))
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	lock();
	if (tell)
		tell((int)level, function, text);
	if (!tell || to) {
		FILE *f = to ? to : stdout;

		fprintf(f, "[cublasLt][%d][%s][%s] %s\n", (int)getpid(), names[level], function, text);
		fflush(f);
	}
	unlock();
}

/* Everything but ForceDisable goes through here. */
static cublasStatus_t begin(bool good)
{
	environment();
	if (!good)
		return CUBLAS_STATUS_INVALID_VALUE;
	lock();
	if (!disabled)
		return CUBLAS_STATUS_SUCCESS;
	unlock();
	return CUBLAS_STATUS_NOT_SUPPORTED;
}

static cublasStatus_t set_mask(unsigned int m, bool good)
{
	cublasStatus_t st = begin(good);

	if (st == CUBLAS_STATUS_SUCCESS) {
		atomic_store(&mask, m);
		unlock();
	}
	return st;
}

static void write_to(FILE *f, FILE *ours)
{
	if (opened)
		fclose(opened);
	to = f;
	opened = ours;
}

PUBLIC cublasStatus_t cublasLtLoggerSetCallback(callback f);
PUBLIC cublasStatus_t cublasLtLoggerSetFile(FILE *f);
PUBLIC cublasStatus_t cublasLtLoggerOpenFile(const char *path);
PUBLIC cublasStatus_t cublasLtLoggerSetLevel(int level);
PUBLIC cublasStatus_t cublasLtLoggerSetMask(int m);
PUBLIC cublasStatus_t cublasLtLoggerForceDisable(void);

cublasStatus_t cublasLtLoggerSetLevel(int level) { return set_mask(level < 0 || level > 5 ? 0 : (1u << level) - 1, level >= 0 && level <= 5); }
cublasStatus_t cublasLtLoggerSetMask(int m) { return set_mask((unsigned int)m, m >= 0 && m <= 31); }

cublasStatus_t cublasLtLoggerSetCallback(callback f)
{
	cublasStatus_t st = begin(true);

	if (st == CUBLAS_STATUS_SUCCESS) {
		tell = f;
		unlock();
	}
	return st;
}

cublasStatus_t cublasLtLoggerSetFile(FILE *f)
{
	cublasStatus_t st = begin(true);

	if (st == CUBLAS_STATUS_SUCCESS) {
		write_to(f, NULL);
		unlock();
	}
	return st;
}

cublasStatus_t cublasLtLoggerOpenFile(const char *path)
{
	cublasStatus_t st = begin(path);
	FILE *f;

	if (st != CUBLAS_STATUS_SUCCESS)
		return st;
	f = fopen(path, "w");
	if (f)
		write_to(f, f);
	unlock();
	return f ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

/* "Disables logging for the entire run." */
cublasStatus_t cublasLtLoggerForceDisable(void)
{
	environment();
	lock();
	disabled = true;
	atomic_store(&mask, 0);
	unlock();
	return CUBLAS_STATUS_SUCCESS;
}
