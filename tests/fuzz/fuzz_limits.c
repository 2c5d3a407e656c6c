/* SPDX-License-Identifier: MIT */
/*
 * The file of --limits, which SIGHUP reads again in an agent that serves: any bytes. It is taken whole or not at all; a refusal says why
 * in one line; what is taken is in the bounds that the command line has, and says so in words.
 *
 * Sources: tests/fuzz/fuzz_limits.c, all of agent without main.c, fw-protocol
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../agent/options.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NEED(x) do { if (!(x)) { fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x); abort(); } } while (0)

static int file = -1;
static char path[64];

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct options o, before;
	char why[300], text[500];
	int rc;

	if (file < 0) {
		file = memfd_create("limits", MFD_CLOEXEC);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	}
	NEED(file >= 0 && ftruncate(file, 0) == 0 && pwrite(file, data, size, 0) == (ssize_t)size);
	memset(&o, 0, sizeof(o));
	options_default(&o);
	o.limits = path;
	before = o;
	memset(why, 'x', sizeof(why));
	rc = options_limits(&o, why, sizeof(why));
	NEED(memchr(why, 0, sizeof(why)));
	if (rc < 0) {
		NEED(why[0] && !memcmp(&o, &before, sizeof(o)));
		return 0;
	}
	NEED(size < 4097 && !why[0]);
	NEED(o.max_contexts >= 1 && o.max_contexts <= VGPU_MAX_CONTEXTS && o.max_clients >= 1 && o.max_clients <= AGENT_CLIENTS);
	NEED(o.uid_clients >= 1 && o.container_clients >= 1 && o.log_level <= LOG_DEBUG);
	/* nothing else of the command line is the file's to say */
	NEED(o.devices == before.devices && !strcmp(o.listen, before.listen) && o.sandbox == before.sandbox && o.limits == before.limits &&
	     o.mode == before.mode && o.client_window == before.client_window && o.unsafe_noiommu == before.unsafe_noiommu);
	options_say(&o, text, sizeof(text));
	NEED(memchr(text, 0, sizeof(text)) && strlen(text) < sizeof(text) - 1);
	return 0;
}
