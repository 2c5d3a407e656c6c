/* SPDX-License-Identifier: MIT */
/*
 * The moments of the agent's spinning: they end without a write, at once when what is waited for is there, and a write
 * of another thread is seen. By pause everywhere; by umwait where the processor has it, else skipped.
 *
 * Sources: tests/unit/test_wait.c agent/wait.c agent/cpu.c      Flags: -Iagent -DVGPU_NO_LIBCPUID
 */
#include <pthread.h>
#include <stdio.h>

#include "cpu.h"
#include "wait.h"

#include "../../fw-protocol/vgpu_ring.h"

#define ROUNDS 20000u

static _Alignas(64) uint32_t ping;
static _Alignas(64) uint32_t pong;

/* Answers each ping; waits in the same way. */
static void *answer(void *unused)
{
	(void)unused;
	for (uint32_t i = 1; i <= ROUNDS; i++) {
		while (vgpu_load_acquire32(&ping) != i)
			wait_moment(&ping, i);
		vgpu_store_release32(&pong, i);
	}
	return NULL;
}

static int all(const char *how)
{
	uint32_t word = 7;
	pthread_t t;

	/* nobody writes: each of them comes back */
	for (int i = 0; i < 1000; i++) {
		wait_moment(&word, 8);
		wait_moment(&word, 7);
		wait_moment(NULL, 0);
	}
	ping = pong = 0;
	if (word != 7 || pthread_create(&t, NULL, answer, NULL))
		return 1;
	for (uint32_t i = 1; i <= ROUNDS; i++) {
		vgpu_store_release32(&ping, i);
		while (vgpu_load_acquire32(&pong) != i)
			wait_moment(&pong, i);
	}
	pthread_join(t, NULL);
	printf("wait: %u round trips by %s\n", ROUNDS, how);
	return 0;
}

int main(void)
{
	cpu_init();
	wait_init(0);
	if (all("pause"))
		return 1;
	if (!cpu_waitpkg()) {
		puts("wait: this processor has no WAITPKG (CPUID leaf 7, ECX bit 5): umwait is not run");
		return 77;
	}
	wait_init(1);
	return all("umwait");
}
