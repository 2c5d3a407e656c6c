/* SPDX-License-Identifier: MIT */
/*
 * Pieces of work in child processes that do as many as they can, for an engine that takes long to open: a child ends with the piece that
 * spoils its engine or takes too long, and another goes on behind it. Included by ptxrun.c, optest.c and golden.c.
 */
#ifndef TESTS_PTX_POOL_H
#define TESTS_PTX_POOL_H

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define POOL_JOBS 64u
#define POOL_SUMS 8

/* Or'ed: this process can do no more; and another one is to take up the piece. */
enum { POOL_OK, POOL_BAD, POOL_SKIP = 77, POOL_SPOILT = 0x100, POOL_AGAIN = 0x200 };
enum { POOL_NO_ENGINE = 3 };            /* exit of a child whose begin() failed */

struct pool {
	unsigned next;                  /* piece that nobody has taken */
	uint64_t sum[POOL_SUMS];        /* of all children: pool_add() */
	struct pool_child {
		pid_t pid;
		unsigned piece, at_work, again;
		double since;
	} child[POOL_JOBS];
	uint16_t result[];
};

static struct pool *pool;

static inline double pool_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static __attribute__((unused)) void pool_add(unsigned i, uint64_t n)
{
	if (pool)
		__atomic_fetch_add(&pool->sum[i], n, __ATOMIC_RELAXED);
}

static void pool_work(struct pool_child *c, unsigned n, int (*begin)(void), int (*work)(unsigned i))
{
	unsigned i;

	if (begin())
		_exit(POOL_NO_ENGINE);
	while ((i = c->again ? c->piece : __atomic_fetch_add(&pool->next, 1, __ATOMIC_RELAXED)) < n) {
		int r;

		c->piece = i;
		c->since = pool_clock();
		__atomic_store_n(&c->at_work, 1, __ATOMIC_RELEASE);
		r = work(i);
		c->again = (r & POOL_AGAIN) != 0;
		pool->result[i] = (uint16_t)(r & 0xff);
		__atomic_store_n(&c->at_work, 0, __ATOMIC_RELEASE);
		if (r & (POOL_SPOILT | POOL_AGAIN))
			break;
	}
	/* the driver's own end of a process takes longer than the process's */
	_exit(0);
}

/*
 * work(0) to work(n - 1), by `jobs` processes; died(i, how) is called here for a piece whose process died of it. 0, or -1 when no engine
 * could be opened.
 */
static int pool_run(unsigned n, unsigned jobs, double (*limit)(unsigned i), int (*begin)(void), int (*work)(unsigned i),
		    void (*died)(unsigned i, const char *how))
{
	unsigned alive = 0, left;
	int failed = 0;

	pool = mmap(NULL, sizeof(*pool) + n * sizeof(pool->result[0]), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (pool == MAP_FAILED)
		return -1;
	jobs = jobs < 1 ? 1 : jobs > POOL_JOBS ? POOL_JOBS : jobs < n ? jobs : n;
	do {
		left = 0;
		for (unsigned k = 0; k < jobs; k++) {
			struct pool_child *c = &pool->child[k];
			pid_t pid;
			int st;

			if (!c->pid && !failed && (c->again || __atomic_load_n(&pool->next, __ATOMIC_RELAXED) < n)) {
				fflush(NULL);
				c->at_work = 0;
				pid = fork();   /* *c is the child's as well */
				if (pid == 0) {
					prctl(PR_SET_PDEATHSIG, SIGKILL);
					pool_work(c, n, begin, work);
				}
				if (pid < 0) {
					perror("fork");
					failed = 1;
					continue;
				}
				c->pid = pid;
				alive++;
			}
			if (!c->pid)
				continue;
			if (waitpid(c->pid, &st, WNOHANG) == 0) {
				if (__atomic_load_n(&c->at_work, __ATOMIC_ACQUIRE) && pool_clock() - c->since > limit(c->piece)) {
					kill(c->pid, SIGKILL);
					waitpid(c->pid, &st, 0);
					pool->result[c->piece] = POOL_BAD;
					died(c->piece, "did not end in time");
					c->pid = 0;
					c->again = 0;
					alive--;
				}
				continue;
			}
			c->pid = 0;
			alive--;
			left |= c->again;
			if (__atomic_load_n(&c->at_work, __ATOMIC_ACQUIRE)) {
				char how[64];

				snprintf(how, sizeof(how), WIFSIGNALED(st) ? "died of signal %d" : "left with %d",
					 WIFSIGNALED(st) ? WTERMSIG(st) : WEXITSTATUS(st));
				pool->result[c->piece] = POOL_BAD;
				died(c->piece, how);
				c->again = 0;
			} else if (!WIFEXITED(st) || WEXITSTATUS(st)) {
				failed = 1;     /* no engine */
			}
		}
		usleep(2000);
	} while (alive || (!failed && (left || pool->next < n)));
	return failed ? -1 : 0;
}

#endif
