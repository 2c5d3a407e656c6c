/* SPDX-License-Identifier: MIT */
/* For tests of compiled code: checks that are counted, and a run for each compiler. */
#ifndef VGPU_TESTS_ISAS_H
#define VGPU_TESTS_ISAS_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int failures;

#define CHECK(cond, ...) do { \
	if (!(cond)) { \
		failures++; \
		printf("line %d: %s: ", __LINE__, #cond); \
		printf(__VA_ARGS__); \
		printf("\n"); \
	} \
} while (0)

/*
 * all() with the compiler for AVX2, in a process of its own, for it is chosen once a process, then with that for this processor. It gives
 * the exit status: 77 where there is nothing to be tried.
 */
static int on_each_isa(int (*all)(void))
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		setenv("VGPU_CPU_ISA", "avx2", 1);
		status = all();
		fflush(stdout);
		_exit(status);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || (WEXITSTATUS(status) && WEXITSTATUS(status) != 77)) {
		printf("FAIL for AVX2\n");
		return 1;
	}
	return all();
}

#endif
