/* SPDX-License-Identifier: MIT */
/*
 * Part of test_context.c: who waits for a context asleep, and is woken for what; the context asleep itself. It uses that
 * file's CHECK and EQUAL.
 */

/* The bits of timelines 64 to 127 are there, and the interrupt behind them: the value that they are about comes before both. */
static int wait_fired(struct dev *d, uint64_t bits)
{
	struct pollfd p = { .fd = d->irq, .events = POLLIN };

	for (unsigned i = 0; i < 5000 && (vgpu_load_relaxed64(&d->head->fired[1]) & bits) != bits; i++)
		usleep(1000);
	return poll(&p, 1, 5000) == 1;
}

/* Who waits for the last of three commands is not woken for the first two; of two sleepers the earlier one's ticket stands. */
static void patient(struct dev *d)
{
	struct vgpu_timeline *tl = &d->tl[70], mine = { 0 };
	uint64_t one, t = nop(d, 70, 0), last = t + 3;

	CHECK(wait_ticket(d, 70, t, 2000));
	vgpu_exchange32(&d->head->irq_pending, 0);
	vgpu_exchange64(&d->head->fired[1], 0);
	(void)!read(d->irq, &one, sizeof(one));
	vgpu_timeline_want(tl, last + 100);
	vgpu_timeline_want(tl, last);
	vgpu_timeline_want(tl, last + 1);
	for (int i = 0; i < 2; i++) {
		t = nop(d, 70, 0);
		CHECK(wait_ticket(d, 70, t, 2000));
	}
	usleep(2000);
	EQUAL(tl->waiter, (uint32_t)last);
	EQUAL(d->head->irq_pending, 0);
	CHECK(read(d->irq, &one, sizeof(one)) < 0);
	EQUAL(nop(d, 70, 0), last);
	CHECK(wait_ticket(d, 70, last, 2000));
	CHECK(wait_fired(d, 1ull << 6));
	EQUAL(tl->waiter, 0);
	EQUAL(vgpu_exchange64(&d->head->fired[1], 0), 1ull << 6);
	CHECK(read(d->irq, &one, sizeof(one)) == sizeof(one) && one == 1);

	/* around the end of the low word: never 0, never later than the ticket */
	vgpu_timeline_want(&mine, 0x200000001ull);
	vgpu_timeline_want(&mine, 0x200000000ull);
	EQUAL(mine.waiter, ~0u);
	CHECK(!vgpu_timeline_due(&mine, 0x1fffffffeull) && vgpu_timeline_due(&mine, 0x1ffffffffull) &&
	      vgpu_timeline_due(&mine, 0x200000000ull));
	/* a word that a sleeper left behind long ago, at any distance: what stands there then wakes this one */
	for (unsigned i = 0; i < 128; i++) {
		const uint64_t ticket = (7ull << 32) + (i < 64 ? 12345 : 0), ago = i % 64 < 32 ? 1ull << i % 32 : (1ull << i % 32) - 1;

		mine.waiter = vgpu_timeline_word(ticket - ago);
		vgpu_timeline_want(&mine, ticket);
		CHECK(vgpu_timeline_due(&mine, ticket));
	}
}

/*
 * A client that was not granted ASYM_FENCE fences alone, whatever agent and device do among themselves: each of its sleeps
 * is ended by an interrupt. A stress: without the context's fence one in some ten thousand is not, on some machines.
 */
static void waiters(struct dev *d)
{
	struct vgpu_timeline *tl = &d->tl[72];
	unsigned lost = 0;
	uint64_t one, t;

	vgpu_exchange32(&d->head->irq_pending, 0);
	for (unsigned i = 0; i < 20000 && lost < 3; i++) {
		t = nop(d, 72, 0);
		/* about as long as the way there takes: the flag is to stand when the value comes */
		for (unsigned k = i * 37 % 160; k; k--)
			vgpu_cpu_relax();
		for (;;) {
			struct pollfd p = { .fd = d->irq, .events = POLLIN };

			vgpu_store_relaxed32(&tl->waiter, 1);
			vgpu_full_fence();
			if (vgpu_timeline_reached(tl, t))
				break;
			if (poll(&p, 1, 300) == 0 && vgpu_timeline_reached(tl, t)) {
				lost++;
				vgpu_exchange32(&d->head->irq_pending, 0);
				break;
			}
			(void)!read(d->irq, &one, sizeof(one));
			vgpu_exchange32(&d->head->irq_pending, 0);
			vgpu_full_fence();
			vgpu_exchange64(&d->head->fired[1], 0);
		}
	}
	EQUAL(lost, 0);
	vgpu_store_relaxed32(&tl->waiter, 0);
	CHECK(wait_ticket(d, 72, nop(d, 72, 0), 2000));
	usleep(2000);
	vgpu_exchange64(&d->head->fired[1], 0);
	(void)!read(d->irq, &one, sizeof(one));
}

static void test_sleep(struct dev *d)
{
	char path[64], line[256];
	uint64_t t, one = 0, begin, took = 0;
	unsigned long u0 = 0, s0 = 0, u1 = 0, s1 = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", d->pid);
	for (int i = 0; i < 2; i++) {
		unsigned long *u = i ? &u1 : &u0, *s = i ? &s1 : &s0;

		usleep(i ? 1000000 : 20000);
		f = fopen(path, "r");
		CHECK(f && fscanf(f, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", u, s) == 2);
		if (f)
			fclose(f);
	}
	CHECK(u1 + s1 - u0 - s0 <= 1);                  /* ticks of 10 ms in a second */
	CHECK(vgpu_load_relaxed32(&d->head->need_wakeup));
	for (unsigned i = 0; i < 20; i++) {             /* asleep: the bell wakes it, and only soon */
		usleep(2000);
		begin = now_ns();
		t = nop(d, 1, 0);
		CHECK(wait_ticket(d, 1, t, 2000));
		took = now_ns() - begin > took ? now_ns() - begin : took;
	}
	CHECK(took < 200000000u);

	/* A waiter's flag: cleared, the fired bit set, one interrupt. */
	(void)!read(d->irq, &one, sizeof(one));
	d->head->irq_pending = 0;
	vgpu_store_relaxed32(&d->tl[70].waiter, 1);
	vgpu_store_relaxed32(&d->tl[71].waiter, 1);
	nop(d, 70, 0);
	t = nop(d, 71, 0);
	CHECK(wait_ticket(d, 71, t, 2000));
	CHECK(wait_fired(d, 3ull << 6));
	EQUAL(d->tl[70].waiter, 0);
	EQUAL(vgpu_exchange64(&d->head->fired[1], 0), 3ull << 6);
	CHECK(read(d->irq, &one, sizeof(one)) == sizeof(one) && one == 1);
	EQUAL(d->head->irq_pending, 1);

	patient(d);
	waiters(d);

	/* Control replies. */
	vgpu_exchange32(&d->head->irq_pending, 0);
	vgpu_store_relaxed32(&d->head->reply_waiter, 1);
	vgpu_full_fence();
	EQUAL(ctl(d, VGPU_OP_PING, 0, 0, 0, 0, NULL), 0);
	usleep(2000);
	CHECK(read(d->irq, &one, sizeof(one)) == sizeof(one) && !d->head->reply_waiter);

	/* The run word stops work, and a kick after it starts it again. */
	vgpu_store_release32(&d->run->run, 0);
	usleep(2000);
	t = nop(d, 1, 0);
	CHECK(pending(d, 1, t));
	vgpu_store_release32(&d->run->run, 1);
	one = 1;
	CHECK(write(d->kick, &one, sizeof(one)) == sizeof(one));
	CHECK(wait_ticket(d, 1, t, 300));

	snprintf(path, sizeof(path), "/proc/%d/status", d->pid);
	f = fopen(path, "r");
	t = 0;
	while (f && fgets(line, sizeof(line), f))
		t += !strcmp(line, "Seccomp:\t2\n") || !strcmp(line, "NoNewPrivs:\t1\n") ||
		     !strcmp(line, "CapEff:\t0000000000000000\n");
	EQUAL(t, 3);
	if (f)
		fclose(f);
}
