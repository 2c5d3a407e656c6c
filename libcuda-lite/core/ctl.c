/* SPDX-License-Identifier: MIT */
/*
 * Control calls: a command in the client's small queue and its answer in a reply slot. Many threads
 * may be in here at once; each holds one reply slot for the length of its call, so no more than
 * VGPU_REPLIES calls are in flight and the queue of as many slots can never be full for long.
 */
#include "core.h"
#include "queue.h"

static struct vgpu_session *session(void)
{
	return (struct vgpu_session *)vg.seg0;
}

/* A bit of vg.replies_busy; waits when all are taken. */
static unsigned take_reply(void)
{
	for (unsigned turn = 0;; vg_backoff(turn++)) {
		uint64_t busy = __atomic_load_n(&vg.replies_busy, __ATOMIC_RELAXED);

		while (~busy) {
			unsigned r = (unsigned)__builtin_ctzll(~busy);

			if (__atomic_compare_exchange_n(&vg.replies_busy, &busy, busy | 1ull << r, 0,
							__ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
				return r;
		}
	}
}

uint32_t vg_ctl(struct vg_ctx *c, uint8_t op, uint32_t id, uint64_t a, uint64_t b, uint64_t cc, uint64_t *v)
{
	uint32_t number = __atomic_load_n(&vg.session, __ATOMIC_ACQUIRE);
	union vgpu_slot *slots;
	struct vgpu_reply *reply;
	union vgpu_slot *s;
	uint32_t status;
	unsigned r, turn = 0;
	uint64_t i;

	if (vg.lost)
		return vg_lost_status(c);
	r = take_reply();
	/* It may have been lost, and another made, since: who makes it waits for slots that are taken. Partner: connect_again(). */
	if (number != __atomic_load_n(&vg.session, __ATOMIC_SEQ_CST))
		goto lost;
	slots = (union vgpu_slot *)(vg.seg0 + VGPU_CTLQ_OFFSET);
	reply = (struct vgpu_reply *)(vg.seg0 + VGPU_REPLY_OFFSET) + r;
	i = __atomic_fetch_add(&vg.ctl_tail, 1, __ATOMIC_RELAXED);
	while (!vgpu_ring_room(&session()->ctl_head, i, 1, VGPU_CTLQ_SLOTS)) {
		if (turn > 100 && vg_agent_lost())
			goto lost;
		vg_backoff(turn++);
	}
	s = &slots[i % VGPU_CTLQ_SLOTS];
	s->cmd.op = op;
	s->cmd.slots = 1;
	s->cmd.flags = 0;
	s->cmd.stream = 0;
	s->cmd.wait_tl = 0;
	s->cmd.wait_value = 0;
	s->cmd.ticket = i + 1;
	s->cmd.u.ctl = (struct vgpu_body_ctl){ .reply = (uint16_t)r, .context = (uint16_t)(c ? c->number : 0),
					       .id = id, .a = a, .b = b, .c = cc };
	vgpu_slot_publish(s, i);
	vg_kick();
	vg_wait_reply(reply, (uint32_t)(i + 1));
	if (vg.lost)
		goto lost;
	/* Read once: the agent does not write it again before we reuse the slot, but nobody promises. */
	status = reply->status;
	if (v)
		memcpy(v, reply->v, sizeof reply->v);
	if (vg_window_gone())
		goto lost;
	__atomic_fetch_and(&vg.replies_busy, ~(1ull << r), __ATOMIC_RELEASE);
	return vgpu_status_known(status) ? status : VGPU_ST_INTERNAL;
lost:
	__atomic_fetch_and(&vg.replies_busy, ~(1ull << r), __ATOMIC_RELEASE);
	return vg_lost_status(c);
}
