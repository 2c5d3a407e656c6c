/* SPDX-License-Identifier: MIT */
/*
 * What a person should read once a context has failed: the device's report of the fault (kernel,
 * block, thread, address), on stderr, once per context. Called where a call first answers with
 * the sticky error.
 */
#include "core.h"

#include <string.h>

uint32_t vg_printable(char *text, uint32_t n)
{
	while (n && (text[n - 1] == '\n' || text[n - 1] == 0))
		n--;
	for (uint32_t i = 0; i < n; i++)
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			text[i] = text[i] == '\n' ? ' ' : '?';
	text[n] = 0;
	return n;
}

void vg_report(struct vg_ctx *c)
{
	char text[sizeof c->head->report + 1];
	uint32_t n, error;

	if (__atomic_exchange_n(&c->reported, 1, __ATOMIC_RELAXED))
		return;
	/* Acquire: the report was written before error. */
	error = vgpu_load_acquire32(&c->head->error);
	if (!error)
		return;         /* the agent is gone; that was said already */
	n = vgpu_load_relaxed32(&c->head->report_bytes);
	if (n > sizeof c->head->report)
		n = sizeof c->head->report;
	memcpy(text, c->head->report, n);
	n = vg_printable(text, n);
	/* The device signs its reports; one signature is enough. */
	if (n)
		vg_say("%s", !strncmp(text, "vgpu: ", 6) ? text + 6 : text);
	else
		vg_say("context %u failed: %s", c->number, vgpu_status_text(error));
}
