/* SPDX-License-Identifier: MIT */
/* See mailbox.h. */
#include "mailbox.h"

#include <limits.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent.h"

#define FUTEX_WAIT_OP 0
#define FUTEX_WAKE_OP 1

static struct {
	uint32_t asked;                 /* control thread increments */
	enum mailbox_op op;
	uint32_t status;
	void *object;
	uint32_t answered __attribute__((aligned(64)));  /* data thread follows */
	int fd;
} box = { .fd = -1 };

void futex_wake(uint32_t *word)
{
	/* EFAULT (a punched page that is gone for good) hurts only who punched it */
	syscall(SYS_futex, word, FUTEX_WAKE_OP, INT_MAX, NULL, NULL, 0);
}

int mailbox_init(void)
{
	box.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return box.fd < 0 ? -1 : 0;
}

int mailbox_fd(void)
{
	return box.fd;
}

void mailbox_call(enum mailbox_op op, void *object, uint32_t status)
{
	static const uint64_t one = 1;
	struct timespec limit = { 0, 100000000 };
	uint32_t want = box.asked + 1, seen;

	box.op = op;
	box.object = object;
	box.status = status;
	/* Release; partner: the acquire in mailbox_take(). */
	vgpu_store_release32(&box.asked, want);
	if (write(box.fd, &one, 8) < 0)
		log_debug("mailbox: wake-up fd is full");
	while ((seen = vgpu_load_acquire32(&box.answered)) != want)
		syscall(SYS_futex, &box.answered, FUTEX_WAIT_OP, seen, &limit, NULL, 0);
}

AGENT_HOT int mailbox_take(enum mailbox_op *op, void **object, uint32_t *status)
{
	if (vgpu_load_acquire32(&box.asked) == box.answered)
		return 0;
	*op = box.op;
	*object = box.object;
	*status = box.status;
	return 1;
}

void mailbox_done(void)
{
	vgpu_store_release32(&box.answered, box.asked);
	futex_wake(&box.answered);
}
