/* SPDX-License-Identifier: MIT */
/* See wait.h. Intel SDM, volume 2: UMONITOR, UMWAIT, TPAUSE. */
#include "wait.h"

#include "../fw-protocol/vgpu_ring.h"
#include "agent.h"

AGENT_HOT static void by_pause(const uint32_t *word, uint32_t ready)
{
	(void)word;
	(void)ready;
	vgpu_cpu_relax();
}

void (*wait_moment)(const uint32_t *word, uint32_t ready) = by_pause;

#if defined(__x86_64__)
#define LIGHT 1u        /* C0.1: the lighter of the two states, out of which it comes sooner */

/*
 * The look comes between umonitor and umwait: a write before the one is seen by the look, a write after it ends the
 * other. The kernel may end it sooner (IA32_UMWAIT_CONTROL).
 */
AGENT_HOT static void by_umwait(const uint32_t *word, uint32_t ready)
{
	uint64_t end;

	if (word) {
		__asm__ volatile("umonitor %0" : : "r"(word) : "memory");
		if (vgpu_load_relaxed32(word) == ready)
			return;
	}
	end = __builtin_ia32_rdtsc() + WAIT_TICKS;
	if (word)
		__asm__ volatile("umwait %0" : : "r"(LIGHT), "a"((uint32_t)end), "d"((uint32_t)(end >> 32)) : "cc", "memory");
	else
		__asm__ volatile("tpause %0" : : "r"(LIGHT), "a"((uint32_t)end), "d"((uint32_t)(end >> 32)) : "cc", "memory");
}
#endif

void wait_init(int has_umwait)
{
	wait_moment = by_pause;
#if defined(__x86_64__)
	if (has_umwait)
		wait_moment = by_umwait;
#else
	(void)has_umwait;
#endif
}
