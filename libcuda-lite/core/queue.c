/* SPDX-License-Identifier: MIT */
/*
 * Submission of commands that are not launches; see queue.h for the steps. Called by copies, fills,
 * events and stream memory operations.
 */
#include "queue.h"

#include <unistd.h>

void vg_kick_slow(void)
{
	uint64_t one = 1;

	/* EAGAIN cannot lose anything: the counter is not zero then. */
	if (write(vg.kick, &one, sizeof one) < 0)
		(void)vg_agent_lost();
}

static uint64_t submit(struct vg_stream *s, uint8_t op, uint32_t wait_tl, uint64_t value, const void *body,
		       const uint8_t *payload, unsigned bytes)
{
	unsigned slots = 1 + vgpu_payload_slots(bytes);
	struct vg_ctx *c = s->ctx;
	union vgpu_slot *h;
	uint64_t i;

	vg_credit(s);
	i = vg_claim(c, slots);
	vg_note(s, i + 1);
	h = vg_slot(c, i);
	for (unsigned k = 1; k < slots; k++) {
		union vgpu_slot *p = vg_slot(c, i + k);
		unsigned part = bytes < VGPU_SLOT_PAYLOAD ? bytes : VGPU_SLOT_PAYLOAD;

		vg_payload_header(p, i + k);
		memcpy(p->payload.bytes, payload, part);
		memset(p->payload.bytes + part, 0, VGPU_SLOT_PAYLOAD - part);
		payload += part;
		bytes -= part;
	}
	vg_header(&h->cmd, op, slots, s, i);
	h->cmd.wait_tl = wait_tl;
	h->cmd.wait_value = value;
	if (body)
		memcpy(h->cmd.u.body, body, sizeof h->cmd.u.body);
	else
		memset(h->cmd.u.body, 0, sizeof h->cmd.u.body);
	vgpu_slot_publish(h, i);
	vg_kick();
	return i + 1;
}

uint64_t vg_submit(struct vg_stream *s, uint8_t op, const void *body, const void *payload, unsigned bytes)
{
	return submit(s, op, 0, 0, body, payload, bytes);
}

uint64_t vg_submit_wait(struct vg_stream *s, uint32_t wait_tl, uint64_t value)
{
	return submit(s, VGPU_OP_NOP, wait_tl, value, NULL, NULL, 0);
}
