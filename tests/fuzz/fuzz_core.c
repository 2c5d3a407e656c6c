/* SPDX-License-Identifier: MIT */
/*
 * Fuzzer of device cores as vgpu debug reads them (tools/vgpu/core.c), and of all that it shows of one: what is read lies in the copy,
 * every question has an answer, and nothing that is no printable text comes out.
 *
 * Build: see build.mk. Run: fuzz_core [options of standalone.c] tests/fuzz/corpus/core
 */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../tools/vgpu/debug.h"
#include "../../tools/vgpu/vgpu.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* of debug.c and main.c, which start programs */
int debug_run(struct session *s) { (void)s; abort(); }
void debug_go(struct session *s, uint32_t request, uint64_t times) { (void)s; (void)request; (void)times; abort(); }
void debug_kill(struct session *s) { (void)s; }
void debug_changed(struct session *s) { (void)s; abort(); }
size_t debug_memory(struct session *s, uint64_t at, void *out, size_t n) { return core_memory(&s->core, at, out, n); }
void complain(const char *fmt, ...) { (void)fmt; }

static void command(struct session *s, const char *text)
{
	char line[256];

	snprintf(line, sizeof(line), "%s", text);
	debug_command(s, line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const all[] = { "info threads", "info registers", "info kernel", "info args", "bt", "list", "list 3", "x/8xg %rd1", "x/16c shared:0",
					   "print %rd1+8", "lanes %r1", "warp 1", "thread 1,0,0", "up", "down", "frame 0", "print tid", "x/4w local:0", "info breakpoints",
					   "break x", "watch 4", "continue", "step" };
	struct session s = { .status = -1 };
	const char *why = core_read(&s.core, data, size);
	char *text = NULL;
	size_t n = 0;
	FILE *was = stdout;

	if (!why) {
		s.stopped = true;
		core_thread(&s.core, s.core.thread, &s.warp, &s.lane);
		stdout = open_memstream(&text, &n);
		show_stop(&s);
		for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
			command(&s, all[i]);
		fclose(stdout);
		stdout = was;
		for (size_t i = 0; i < n; i++)
			if (text[i] != '\n' && text[i] != '\t' && (text[i] < ' ' || text[i] > '~'))
				abort();
		free(text);
	}
	core_free(&s.core);
	return 0;
}
