/* SPDX-License-Identifier: MIT */
/*
 * See cpu.h. libcpuid names the processor and its features; siblings and NUMA nodes come from
 * sysfs, which knows better in virtual machines. Without sysfs (PID 1 before it is mounted) the
 * affinity mask alone decides. -DVGPU_NO_LIBCPUID builds without the library (unit tests).
 */
#include "cpu.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#ifndef VGPU_NO_LIBCPUID
#include <libcpuid/libcpuid.h>
#endif

#include "agent.h"

#define FEW_CPUS 4      /* below, agent, device and client share cores: pinning would only hinder */

static char text[160] = "unknown processor";
static int constant_tsc, waitpkg;
static cpu_set_t allowed;

#if defined(__x86_64__)
/* Intel SDM, CPUID: leaf 7 has what libcpuid's table lacks; 0x80000007 EDX bit 8 the invariant TSC. */
static void leaves(int *invariant)
{
	unsigned a, b, c, d;

	if (__get_cpuid_count(7, 0, &a, &b, &c, &d))
		waitpkg = c >> 5 & 1;
	if (__get_cpuid(0x80000007, &a, &b, &c, &d))
		*invariant = d >> 8 & 1;
}
#endif

/* The kernel's verdict on the TSC: a guest often has a good one without the CPUID bit. */
static int clocksource_is_tsc(void)
{
	char s[32] = "";
	int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return 0;
	if (read(fd, s, sizeof(s) - 1) < 0)
		s[0] = 0;
	close(fd);
	return !strncmp(s, "tsc", 3) || !strncmp(s, "kvm-clock", 9);
}

void cpu_init(void)
{
	int invariant = 0;
	const char *brand = "processor";
	int avx512 = 0;

	CPU_ZERO(&allowed);
	sched_getaffinity(0, sizeof(allowed), &allowed);
#if defined(__x86_64__)
	leaves(&invariant);
#endif
#ifndef VGPU_NO_LIBCPUID
	static struct cpu_raw_data_t raw;
	static struct cpu_id_t id;

	if (cpuid_get_raw_data(&raw) == 0 && cpu_identify(&raw, &id) == 0) {
		brand = id.brand_str[0] ? id.brand_str : "processor";
		invariant |= id.flags[CPU_FEATURE_CONSTANT_TSC];
		avx512 = id.flags[CPU_FEATURE_AVX512F];
	}
#endif
	constant_tsc = invariant || clocksource_is_tsc();
	snprintf(text, sizeof(text), "%s, %u CPUs%s%s%s", brand, cpu_allowed(), constant_tsc ? ", constant TSC" : "",
		 avx512 ? ", AVX-512" : "", waitpkg ? ", umwait" : "");
}

int cpu_constant_tsc(void)
{
	return constant_tsc;
}

int cpu_waitpkg(void)
{
	return waitpkg;
}

unsigned cpu_allowed(void)
{
	int n = CPU_COUNT(&allowed);

	return n > 0 ? (unsigned)n : 1;
}

const char *cpu_text(void)
{
	return text;
}

/* A sysfs CPU list ("0-3,8-11") into a set. 0 if there is none. */
static int read_list(const char *path, cpu_set_t *set)
{
	char s[512] = "", *p = s;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	CPU_ZERO(set);
	if (fd < 0)
		return 0;
	n = read(fd, s, sizeof(s) - 1);
	close(fd);
	if (n <= 0)
		return 0;
	while (*p >= '0' && *p <= '9') {
		unsigned long a = strtoul(p, &p, 10), b = a;

		if (*p == '-')
			b = strtoul(p + 1, &p, 10);
		for (; a <= b && a < CPU_SETSIZE; a++)
			CPU_SET(a, set);
		if (*p == ',')
			p++;
	}
	return CPU_COUNT(set) > 0;
}

int cpu_choose(int wanted, char *reason, size_t n)
{
	cpu_set_t node, siblings;
	char path[96];
	int last = -1;

	if (wanted >= 0) {
		snprintf(reason, n, "CPU %d, as asked", wanted);
		return wanted < CPU_SETSIZE && CPU_ISSET((unsigned)wanted, &allowed) ? wanted : -2;
	}
	if (wanted == CPU_NONE) {
		snprintf(reason, n, "not pinned, as asked");
		return -1;
	}
	if (cpu_allowed() < FEW_CPUS) {
		snprintf(reason, n, "not pinned: %u CPUs, which agent, device and clients share", cpu_allowed());
		return -1;
	}
	if (!read_list("/sys/devices/system/node/node0/cpulist", &node))
		node = allowed;
	/* The last core: interrupts and housekeeping gather on the first ones. Its first thread. */
	for (unsigned i = 0; i < CPU_SETSIZE; i++) {
		if (!CPU_ISSET(i, &node) || !CPU_ISSET(i, &allowed))
			continue;
		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/topology/thread_siblings_list", i);
		if (read_list(path, &siblings)) {
			unsigned first = 0;

			while (first < i && !CPU_ISSET(first, &siblings))
				first++;
			if (first != i)
				continue;
		}
		last = (int)i;
	}
	if (last < 0) {
		snprintf(reason, n, "not pinned: none of NUMA node 0's CPUs may be used");
		return -1;
	}
	snprintf(reason, n, "CPU %d, the last core of NUMA node 0", last);
	return last;
}
