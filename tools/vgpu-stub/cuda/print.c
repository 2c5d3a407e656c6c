/* SPDX-License-Identifier: MIT */
/*
 * Device printf. The driver keeps the text until somebody synchronises, and writes it to the standard output of this process then: that is a
 * pipe, whose other end is read here and handed to the client, as it has room; until then its kernel has not ended. What does not fit the
 * pipe is lost.
 */
#define _GNU_SOURCE
#include "cuda.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PIPE_BYTES (1 << 20)            /* as much as the driver keeps by default; without the right to it, 64 KiB */

static int from = -1;

/* Before the library is opened. Its number is above the fixed ones (context.c). */
int cuda_print_open(void)
{
	int p[2];

	if (pipe2(p, O_CLOEXEC | O_NONBLOCK))
		return -1;
	if (dup2(p[1], STDOUT_FILENO) < 0)
		return -1;
	close(p[1]);
	fcntl(p[0], F_SETPIPE_SZ, PIPE_BYTES);
	setvbuf(stdout, NULL, _IONBF, 0);
	from = p[0];
	return 0;
}

/* An image that prints names vprintf, whoever compiled it; a compressed one is asked when its pieces are read (module.c). */
int cuda_prints(const void *image, size_t bytes)
{
	return memmem(image, bytes, "vprintf", 7) != NULL;
}

int cuda_print(struct engine *e, struct cuda_stream *s)
{
	char text[4096];
	ssize_t n = 1;

	/* It has nothing to do any more: this only has the driver write. */
	if (s->prints == CUDA_PRINTS)
		cuda_failed(e, cu.cuStreamSynchronize(s->stream));
	s->prints = CUDA_PRINTED;
	fflush(stdout);
	while (from >= 0 && e->env.print_room(e->env.owner, sizeof(text))) {
		n = read(from, text, sizeof(text));
		if (n <= 0)
			break;
		e->env.print(e->env.owner, text, (size_t)n);
	}
	if (n > 0)
		return 0;
	s->prints = 0;
	return 1;
}
