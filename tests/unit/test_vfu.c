/* SPDX-License-Identifier: MIT */
/*
 * A real vgpu-stub process, driven over its socket as an agent (or QEMU) would, and as one should not.
 *
 * Runs $VGPU_BIN/vgpu-stub, else build/bin/vgpu-stub.
 */
#define _GNU_SOURCE
#include "vfu_admin.h"

static pid_t stub;

/* ---- tests ------------------------------------------------------------------------------------ */
static void test_options(void)
{
	static const char *const bad[][3] = {
		{ "--memory", "12Q" }, { "--memory", "1K" }, { "--memory", "-4G" }, { "--memory", "99999999999999G" },
		{ "--cc", "3.7" }, { "--cc", "banana" }, { "--sms", "0" }, { "--sms", "x" }, { "--cores", "0" },
		{ "--name", "" }, { "--pci-id", "10de" }, { "--pci-id", "zzzz:1111" }, { "--bus-id", "5" },
		{ "--bus-id", "0000:00:3f.0" }, { "--seed-uuid", "" }, { "--nonsense", "1" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char *argv[] = { bin_path, (char *)(uintptr_t)"--socket", sock_path, (char *)(uintptr_t)bad[i][0], (char *)(uintptr_t)bad[i][1], NULL };

		if (!CHECK(wait_exit(spawn(argv), 5000) == 2))
			printf("     %s %s\n", bad[i][0], bad[i][1]);
	}
	char *none[] = { bin_path, NULL }, *help[] = { bin_path, (char *)(uintptr_t)"--help", NULL };
	char *ver[] = { bin_path, (char *)(uintptr_t)"--version", NULL };
	char *folder[] = { bin_path, (char *)(uintptr_t)"--socket", (char *)(uintptr_t)"/no/such/folder/s", NULL };

	CHECK(wait_exit(spawn(none), 5000) == 2);
	CHECK(wait_exit(spawn(help), 5000) == 0);
	CHECK(wait_exit(spawn(ver), 5000) == 0);
	CHECK(wait_exit(spawn(folder), 5000) == 1);
}

static void test_version(void)
{
	struct vfu_version wrong = { 1, 0 };
	struct vfu_device_info info = { sizeof(info), 0, 0, 0 };
	int s = raw_connect();

	CHECK(version(s, "{\"capabilities\":{\"max_msg_fds\":8,\"max_data_xfer_size\":1048576,\"migration\":{\"pgsize\":4096}}}") == 0);
	CHECK(ans.bytes > 4 && ans.body[ans.bytes - 1] == 0 && strstr((char *)ans.body + 4, "\"max_msg_fds\":16"));
	CHECK(version(s, NULL) == -EINVAL);
	CHECK(request(s, VFU_GET_INFO, &info, sizeof(info), NULL, 0, NULL, 0) == 0);
	close(s);
	/* VERSION comes first, and only of our major number. */
	s = raw_connect();
	CHECK(request(s, VFU_GET_INFO, &info, sizeof(info), NULL, 0, NULL, 0) == -EINVAL && is_closed(s));
	close(s);
	s = raw_connect();
	CHECK(request(s, VFU_VERSION, &wrong, sizeof(wrong), NULL, 0, NULL, 0) == -EINVAL && is_closed(s));
	close(s);
	s = raw_connect();
	CHECK(request(s, VFU_VERSION, &(struct vfu_version){ 0, 0 }, 4, "no nul", 6, NULL, 0) == -EINVAL);
	CHECK(version(s, NULL) == 0);
	close(s);
}

static void test_info(void)
{
	static const uint64_t bytes[VFIO_PCI_NUM_REGIONS] = { [0] = 0x2000, [2] = 0x2000, [7] = 4096 };
	static const uint32_t irqs[VFIO_PCI_NUM_IRQS] = { 0, 0, 256, 1, 1 };
	struct vfu_device_info info = { sizeof(info), 0, 0, 0 };
	int s = attach();

	CHECK(request(s, VFU_GET_INFO, &info, sizeof(info), NULL, 0, NULL, 0) == 0);
	memcpy(&info, ans.body, sizeof(info));
	CHECK(info.flags == (VFIO_DEVICE_FLAGS_RESET | VFIO_DEVICE_FLAGS_PCI) && info.regions == 9 && info.irqs == 5);
	for (uint32_t i = 0; i <= VFIO_PCI_NUM_REGIONS; i++) {
		struct vfu_region_info r = { .argsz = sizeof(r), .index = i };
		int err = request(s, VFU_GET_REGION_INFO, &r, sizeof(r), NULL, 0, NULL, 0);

		if (i == VFIO_PCI_NUM_REGIONS) {
			CHECK(err == -EINVAL);
			break;
		}
		memcpy(&r, ans.body, sizeof(r));
		CHECK(!err && r.bytes == bytes[i] && r.index == i && r.argsz == 32 && r.flags == (bytes[i] ? 3u : 0u));
	}
	for (uint32_t i = 0; i <= VFIO_PCI_NUM_IRQS; i++) {
		struct vfu_irq_info r = { .argsz = sizeof(r), .index = i };
		int err = request(s, VFU_GET_IRQ_INFO, &r, sizeof(r), NULL, 0, NULL, 0);

		if (i == VFIO_PCI_NUM_IRQS) {
			CHECK(err == -EINVAL);
			break;
		}
		memcpy(&r, ans.body, sizeof(r));
		CHECK(!err && r.count == irqs[i]);
	}
	close(s);
}

static void test_config(void)
{
	int s = attach(), found = 0;
	uint8_t cfg[4096], at;

	CHECK(region(s, 0, CONFIG, 0, cfg, 4096) == 0);
	CHECK(cfg[0] == 0x36 && cfg[1] == 0x1b && cfg[2] == 0x67 && cfg[3] == 0x76);
	CHECK(cfg[0x0b] == 3 && cfg[0x0a] == 2 && cfg[0x0e] == 0 && (cfg[6] & 0x10));
	for (at = cfg[0x34]; at; at = cfg[at + 1])
		found |= 1 << cfg[at];
	CHECK(found == (1 << 0x01 | 1 << 0x10 | 1 << 0x11));
	/* sizing, then an address; read-only bytes stay */
	CHECK(write32(s, CONFIG, 0x10, ~0u) == 0 && read32(s, CONFIG, 0x10) == 0xffffe004);
	CHECK(write32(s, CONFIG, 0x14, ~0u) == 0 && read32(s, CONFIG, 0x14) == 0xffffffff);
	CHECK(write32(s, CONFIG, 0x18, ~0u) == 0 && read32(s, CONFIG, 0x18) == 0xffffe004);
	CHECK(write32(s, CONFIG, 0x20, ~0u) == 0 && read32(s, CONFIG, 0x20) == 0);
	CHECK(write32(s, CONFIG, 0x10, 0xfe001234) == 0 && read32(s, CONFIG, 0x10) == 0xfe000004);
	CHECK(write32(s, CONFIG, 0, 0) == 0 && read32(s, CONFIG, 0) == 0x76671b36);
	CHECK(write32(s, CONFIG, 4, ~0u) == 0 && (read32(s, CONFIG, 4) & 0xffff) == 0x0546);
	/* FLR clears what was set */
	CHECK(write32(s, CONFIG, 0x58, 0x8000) == 0);
	CHECK(read32(s, CONFIG, 0x10) == 4 && (read32(s, CONFIG, 4) & 0xffff) == 0 && !(read32(s, CONFIG, 0x58) & 0x8000));
	/* outside */
	CHECK(region(s, 0, CONFIG, 4090, cfg, 8) == -EINVAL && region(s, 0, CONFIG, ~0ull, cfg, 4) == -EINVAL);
	CHECK(region(s, 0, 1, 0, cfg, 4) == -EINVAL && region(s, 0, 12345, 0, cfg, 4) == -EINVAL);
	CHECK(region(s, 0, 0, 1, cfg, 4) == -EINVAL && region(s, 0, 0, 0x1ffe, cfg, 4) == -EINVAL);
	CHECK(region(s, 1, 0, VGPU_REG_MAGIC, cfg, 4) == -EINVAL);
	/* the MSI-X table keeps what is written, pending bits do not */
	CHECK(write32(s, 2, 16 * 255 + 8, 0x1234) == 0 && read32(s, 2, 16 * 255 + 8) == 0x1234);
	CHECK(write32(s, 2, 0x1000, ~0u) == 0 && read32(s, 2, 0x1000) == 0);
	close(s);
}

static void test_irqs(void)
{
	int s = attach(), p[2], fds[2] = { vectors[1], vectors[2] };

	CHECK(set_irqs(s, MSIX, SET_EVENTFD, 7, 2, fds, 2) == 0);
	CHECK(set_irqs(s, MSIX, SET_NONE, 7, 1, NULL, 0) == 0 && event_count(vectors[1], 1000) == 1);
	CHECK(event_count(vectors[2], 0) == 0);
	/* a vector without an eventfd is pending, and raised when one comes */
	CHECK(set_irqs(s, MSIX, SET_NONE, 9, 1, NULL, 0) == 0 && read32(s, 2, 0x1000) == 1 << 9);
	CHECK(set_irqs(s, MSIX, SET_EVENTFD, 9, 1, fds, 1) == 0 && event_count(vectors[1], 1000) == 1);
	CHECK(read32(s, 2, 0x1000) == 0);
	/* taken away one by one, then all */
	CHECK(set_irqs(s, MSIX, SET_EVENTFD, 7, 1, NULL, 0) == 0);
	CHECK(set_irqs(s, MSIX, SET_NONE, 7, 1, NULL, 0) == 0 && event_count(vectors[1], 50) == 0);
	CHECK(set_irqs(s, MSIX, SET_NONE, 0, 0, NULL, 0) == 0);
	CHECK(set_irqs(s, MSIX, SET_NONE, 8, 1, NULL, 0) == 0 && event_count(vectors[2], 50) == 0);
	/* QEMU gives eventfds for ERR and REQ too */
	CHECK(set_irqs(s, VFIO_PCI_ERR_IRQ_INDEX, SET_EVENTFD, 0, 1, fds, 1) == 0);
	CHECK(set_irqs(s, VFIO_PCI_REQ_IRQ_INDEX, SET_EVENTFD, 0, 1, fds, 1) == 0);
	CHECK(set_irqs(s, VFIO_PCI_INTX_IRQ_INDEX, SET_NONE, 0, 0, NULL, 0) == 0);
	/* nonsense */
	CHECK(set_irqs(s, MSIX, SET_EVENTFD, 255, 2, fds, 2) == -EINVAL);
	CHECK(set_irqs(s, MSIX, SET_EVENTFD, ~0u, 2, fds, 2) == -EINVAL);
	CHECK(set_irqs(s, MSIX, SET_EVENTFD, 0, 2, fds, 1) == -EINVAL);
	CHECK(set_irqs(s, MSIX, SET_EVENTFD | SET_NONE, 0, 1, fds, 1) == -EINVAL);
	CHECK(set_irqs(s, MSIX, ~0u, 0, 1, NULL, 0) == -EINVAL);
	CHECK(set_irqs(s, 77, SET_NONE, 0, 0, NULL, 0) == -EINVAL);
	CHECK(pipe(p) == 0);
	CHECK(set_irqs(s, MSIX, SET_EVENTFD, 0, 1, &p[1], 1) == -EINVAL);
	close(p[0]);
	close(p[1]);
	close(s);
}

static void test_io_fds(void)
{
	struct vfu_region_io_fds q = { .argsz = 16 }, head;
	struct vfu_io_fd e;
	int s = attach(), bell[6];

	CHECK(request(s, VFU_GET_REGION_IO_FDS, &q, sizeof(q), NULL, 0, NULL, 0) == 0 && ans.bytes == 16 && !ans.nfds);
	memcpy(&head, ans.body, 16);
	CHECK(head.count == 129 && head.argsz == 16 + 129 * 40);
	q.argsz = head.argsz;
	CHECK(request(s, VFU_GET_REGION_IO_FDS, &q, sizeof(q), NULL, 0, NULL, 0) == 0 && ans.nfds == 129);
	memcpy(&e, ans.body + 16 + 5 * 40, sizeof(e));
	CHECK(e.offset == VGPU_DOORBELL(5) && e.bytes == 4 && e.fd_index == 5 && e.type == 0);
	/* a doorbell write through the register is seen in the eventfd: nobody else reads queue 5's */
	for (int i = 0; i < 6; i++)
		CHECK((bell[i] = fcntl(ans.nfds > i ? ans.fds[i] : -1, F_DUPFD_CLOEXEC, 3)) >= 0);
	CHECK(write32(s, 0, VGPU_DOORBELL(5), 1) == 0 && event_count(bell[5], 1000) == 1);
	/* the eventfds are ours as well: one that waits makes nobody wait who serves us, neither at a ring nor at a reset */
	for (unsigned i = 0; i < 6; i++)
		CHECK(fcntl(bell[i], F_SETFL, 0) == 0);
	CHECK(write(bell[0], &(uint64_t){ 1 }, 8) == 8);
	CHECK(read32(s, 0, VGPU_REG_CSTS) == 0);
	CHECK(request(s, VFU_DEVICE_RESET, NULL, 0, NULL, 0, NULL, 0) == 0 && read32(s, 0, VGPU_REG_CSTS) == 0);
	for (unsigned i = 0; i < 6; i++)
		close(bell[i]);
	close(s);
	s = raw_connect();
	CHECK(version(s, "{\"capabilities\" : { \"max_msg_fds\" : 3 } }") == 0);
	CHECK(request(s, VFU_GET_REGION_IO_FDS, &q, sizeof(q), NULL, 0, NULL, 0) == 0 && ans.nfds == 3);
	close(s);
}

static void test_dma(void)
{
	int s = attach(), p[2];
	struct vfu_dma_unmap all = { sizeof(all), VFU_UNMAP_ALL, 0, 0 };

	CHECK(map_dma(s, IOVA_ADMIN, ADMIN_BYTES, 0, admin_fd) == 0);
	CHECK(map_dma(s, IOVA_ADMIN + 0x1000, 0x1000, 0, admin_fd) == -EEXIST);
	CHECK(map_dma(s, 0, 0x1000, 0, -1) == 0);
	CHECK(map_dma(s, 0x1000, 0x1001, 0, admin_fd) == -EINVAL);
	CHECK(map_dma(s, 0x1000, 0, 0, admin_fd) == -EINVAL);
	CHECK(map_dma(s, 0x1000, 1ull << 24, 0, admin_fd) == -EINVAL);          /* longer than the file */
	CHECK(map_dma(s, ~0xfffull, 0x2000, 0, admin_fd) == -EINVAL);
	CHECK(pipe(p) == 0 && map_dma(s, 0x1000, 0x1000, 0, p[0]) == -EINVAL);
	close(p[0]);
	close(p[1]);
	CHECK(unmap_dma(s, 0, 1ull << 63) == 0 && unmap_dma(s, 1ull << 63, 1ull << 63) == 0);
	CHECK(unmap_dma(s, 0x123000, 0x1000) == 0 && unmap_dma(s, 0x1000, ~0ull) == -EINVAL);
	CHECK(map_dma(s, IOVA_ADMIN, ADMIN_BYTES, 0, admin_fd) == 0);
	CHECK(request(s, VFU_DMA_UNMAP, &all, sizeof(all), NULL, 0, NULL, 0) == 0);
	CHECK(map_dma(s, IOVA_ADMIN, ADMIN_BYTES, 0, admin_fd) == 0);
	close(s);
}

static void test_enable(void)
{
	struct vgpu_device_info info;
	struct vgpu_reply r;
	uint64_t cap = 0, older, newer;
	int s = attach();

	CHECK(read32(s, 0, VGPU_REG_MAGIC) == VGPU_DEV_MAGIC && read32(s, 0, VGPU_REG_VERSION) == VGPU_PROTOCOL_VERSION);
	CHECK(region(s, 0, 0, VGPU_REG_CAP, &cap, 8) == 0 && VGPU_CAP_QUEUES(cap) == 128 &&
	      VGPU_CAP_ADMIN_SLOTS(cap) == VGPU_ADMIN_SLOTS && cap >> 32 == (VGPU_CAP_CLIENT_FENCE | VGPU_CAP_LIMITS | VGPU_CAP_SHARES | VGPU_CAP_TENANTS));
	/* neither without bus master nor without rings */
	CHECK(write32(s, 0, VGPU_REG_CC, 1) == 0 && read32(s, 0, VGPU_REG_CSTS) == VGPU_CSTS_FATAL);
	CHECK(write32(s, CONFIG, 4, 6) == 0 && write32(s, 0, VGPU_REG_CC, 1) == 0);
	CHECK(read32(s, 0, VGPU_REG_CSTS) == VGPU_CSTS_FATAL);
	CHECK(write32(s, 0, VGPU_REG_CC, 8) == -EINVAL);
	enable(s);
	CHECK(write32(s, 0, VGPU_REG_ASQ, 0) == -EBUSY && write32(s, 0, VGPU_REG_CC, 3) == -EINVAL);

	event_count(vectors[0], 0);
	CHECK(admin_do(s, VGPU_ADMIN_IDENTIFY, 0, IOVA_ADMIN + SCRATCH, 0, 0, NULL) == VGPU_ST_OK);
	CHECK(event_count(vectors[0], 1000) == 1);
	memcpy(&info, admin + SCRATCH, sizeof(info));
	CHECK(!strcmp(info.name, "test device") && info.cc_major == 7 && info.cc_minor == 5 && info.sm_count == 6);
	CHECK(info.memory_bytes == 256 << 20 && info.warp_size == 32 && info.shared_per_block_optin == 65536);
	CHECK(!strcmp(info.bus_id, "0000:00:07.0") && info.max_contexts == 128 && info.cores == 2);

	CHECK(admin_do(s, VGPU_ADMIN_IDENTIFY, 0, 0x999000, 0, 0, NULL) == VGPU_ST_INVALID);
	CHECK(admin_do(s, 4711, 0, 0, 0, 0, NULL) == VGPU_ST_NOT_SUPPORTED);
	CHECK(admin_do(s, VGPU_ADMIN_CTX_DESTROY, 3, 0, 0, 0, NULL) == VGPU_ST_NOT_FOUND);
	CHECK(admin_do(s, VGPU_ADMIN_CTX_DESTROY, 60000, 0, 0, 0, NULL) == VGPU_ST_NOT_FOUND);
	CHECK(admin_do(s, VGPU_ADMIN_CTX_STAT, 3, 0, 0, 0, NULL) == VGPU_ST_NOT_FOUND);
	CHECK(admin_do(s, VGPU_ADMIN_SET_RUN, 3, 1, 0, 0, NULL) == VGPU_ST_NOT_FOUND);
	CHECK(admin_do(s, VGPU_ADMIN_SEGMENT, 3, 0, 4096, 0, NULL) == VGPU_ST_NOT_FOUND);
	CHECK(admin_do(s, VGPU_ADMIN_CTX_CREATE, 0, 0x999000, 0, 0, NULL) == VGPU_ST_INVALID);
	/* several laps, with an event waiting all the time: the newest counts */
	older = admin_post(s, VGPU_ADMIN_ASYNC_EVENT, 0, 0, 0, 0);
	for (int i = 0; i < 3 * (int)VGPU_ADMIN_SLOTS; i++) {
		if (i == 20) {
			newer = admin_post(s, VGPU_ADMIN_ASYNC_EVENT, 0, 0, 0, 0);
			CHECK(admin_wait(newer, 20, &r) == -1 && admin_wait(older, 0, &r) == -1);
		}
		CHECK(admin_do(s, VGPU_ADMIN_IDENTIFY, 0, IOVA_ADMIN + SCRATCH, 0, 0, NULL) == VGPU_ST_OK);
	}
	/* bus master off: nothing is taken; on again: it goes on */
	CHECK(write32(s, CONFIG, 4, 2) == 0);
	older = admin_post(s, VGPU_ADMIN_IDENTIFY, 0, IOVA_ADMIN + SCRATCH, 0, 0);
	CHECK(admin_wait(older, 30, NULL) == -1);
	CHECK(write32(s, CONFIG, 4, 6) == 0);
	CHECK(admin_wait(older, 2000, NULL) == VGPU_ST_OK);
	/* the ring goes away under the device: fatal, and a new enable heals it */
	CHECK(unmap_dma(s, IOVA_ADMIN, ADMIN_BYTES) == 0 && write32(s, 0, VGPU_DOORBELL(0), 1) == 0);
	CHECK(read32(s, 0, VGPU_REG_CSTS) == VGPU_CSTS_FATAL);
	enable(s);
	CHECK(admin_do(s, VGPU_ADMIN_IDENTIFY, 0, IOVA_ADMIN + SCRATCH, 0, 0, NULL) == VGPU_ST_OK);
	CHECK(write32(s, 0, VGPU_REG_RESET, 1) == -EINVAL && write32(s, 0, VGPU_REG_RESET, VGPU_RESET_KEY) == 0);
	CHECK(read32(s, 0, VGPU_REG_CSTS) == 0 && read32(s, 0, VGPU_REG_ASQ) == 0);
	close(s);
}

static void test_bad_messages(void)
{
	struct vfu_header h = { 1, VFU_GET_INFO, 32, 0, 0 };
	uint8_t junk[256];
	int s = attach(), many[17];

	/* answered with an error, and the connection goes on */
	CHECK(request(s, 99, NULL, 0, NULL, 0, NULL, 0) == -ENOTSUP);
	CHECK(request(s, VFU_DMA_READ, junk, 16, NULL, 0, NULL, 0) == -ENOTSUP);
	for (unsigned c = VFU_DMA_MAP; c <= VFU_REGION_WRITE; c++)
		for (size_t n = 0; n < 15; n += 7)
			CHECK(request(s, c, junk, n, NULL, 0, NULL, 0) == -EINVAL);
	CHECK(request(s, VFU_DEVICE_RESET, junk, 5, NULL, 0, NULL, 0) == -EINVAL);
	memset(junk, 0xff, sizeof(junk));
	for (unsigned c = VFU_DMA_MAP; c <= VFU_REGION_WRITE; c++)
		CHECK(request(s, c, junk, 64, NULL, 0, NULL, 0) == -EINVAL);
	memset(junk, 0, sizeof(junk));
	for (unsigned c = VFU_DMA_MAP; c <= VFU_REGION_WRITE; c++)
		CHECK(request(s, c, junk, 64, NULL, 0, NULL, 0) == -EINVAL);
	CHECK(request(s, VFU_DEVICE_RESET, NULL, 0, NULL, 0, &admin_fd, 1) == -EINVAL);
	for (int i = 0; i < 16; i++)
		many[i] = admin_fd;
	CHECK(set_irqs(s, MSIX, SET_EVENTFD, 0, 16, many, 16) == -EINVAL);
	/* byte by byte, and two messages in one piece */
	h.bytes = 32;
	((uint32_t *)(void *)junk)[0] = 16;
	for (int i = 0; i < 16; i++)
		CHECK(send(s, (uint8_t *)&h + i, 1, 0) == 1);
	for (int i = 0; i < 16; i++)
		CHECK(send(s, junk + i, 1, 0) == 1);
	CHECK(receive(s) == 0 && ans.bytes == 16);
	memcpy(junk + 64, &h, 16);
	memcpy(junk + 80, junk, 16);
	memcpy(junk + 96, junk + 64, 32);
	CHECK(send(s, junk + 64, 64, 0) == 64 && receive(s) == 0 && receive(s) == 0);
	/* no reply wanted: none comes */
	h.flags = VFU_FLAG_NO_REPLY;
	memcpy(junk + 64, &h, 16);
	CHECK(send(s, junk + 64, 32, 0) == 32);
	CHECK(request(s, VFU_GET_INFO, junk, 16, NULL, 0, NULL, 0) == 0);
	close(s);

	/* broken framing: hung up, and the next one is served */
	struct vfu_header broken[] = {
		{ 1, VFU_GET_INFO, 0, 0, 0 }, { 1, VFU_GET_INFO, 15, 0, 0 }, { 1, VFU_GET_INFO, 0xffffffff, 0, 0 },
		{ 1, VFU_GET_INFO, VFU_MAX_MESSAGE + 1, 0, 0 }, { 1, VFU_GET_INFO, 32, 1, 0 }, { 1, VFU_GET_INFO, 32, 0xf, 0 },
	};
	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
		s = attach();
		CHECK(send(s, &broken[i], 16, MSG_NOSIGNAL) == 16 && is_closed(s));
		close(s);
	}
	for (int i = 0; i < 17; i++)
		many[i] = admin_fd;
	s = attach();
	h.flags = 0;
	CHECK(send_fds(s, &h, 16, many, 17) == 0 && is_closed(s));
	close(s);
	/* gone in the middle of a header, of a body, and before an answer is read */
	s = attach();
	CHECK(send(s, &h, 7, 0) == 7);
	close(s);
	s = attach();
	CHECK(send_fds(s, &h, 16, &admin_fd, 1) == 0);
	close(s);
	s = attach();
	CHECK(send(s, &h, 16, 0) == 16 && send(s, junk, 16, 0) == 16);
	close(s);
}

/* A peer that never reads: the device stops reading it and serves the next one all the same. */
static void test_deaf_peer(void)
{
	struct vfu_region_access a = { 0, CONFIG, 4096 };
	struct vfu_header h = { 1, VFU_REGION_READ, 32, 0, 0 };
	uint8_t m[32];
	int s = attach(), n = 0;

	memcpy(m, &h, 16);
	memcpy(m + 16, &a, 16);
	while (n < 100000 && send(s, m, 32, MSG_DONTWAIT) == 32)
		n++;
	CHECK(n < 100000);
	close(s);
	s = attach();
	CHECK(read32(s, CONFIG, 0) == 0x76671b36);
	close(s);
}

static void test_owner(void)
{
	int s = attach(), second;

	enable(s);
	second = raw_connect();
	CHECK(is_closed(second));
	close(second);
	CHECK(read32(s, 0, VGPU_REG_CSTS) == VGPU_CSTS_RDY);
	close(s);
	s = attach();
	CHECK(read32(s, 0, VGPU_REG_CSTS) == 0 && read32(s, 0, VGPU_REG_CC) == 0 && (read32(s, CONFIG, 4) & 0xffff) == 0);
	CHECK(map_dma(s, IOVA_ADMIN, ADMIN_BYTES, 0, admin_fd) == 0);   /* nothing is left in the table */
	close(s);
}

static void test_create_errors(void)
{
	struct vgpu_ctx_create c;
	int s = attach();

	enable(s);
	CHECK(map_dma(s, IOVA_BLOCK, VGPU_QB_BYTES, 0, block_fd) == 0);
	CHECK(map_dma(s, IOVA_SEG0, VGPU_SEG0_BYTES, 0, seg0_fd) == 0);
#define BAD(change) do { c = good_create(); c.change; CHECK(create(s, 0, &c) == VGPU_ST_INVALID); } while (0)
	BAD(queue_iova += 64);
	BAD(queue_iova += 0x1000);              /* behind the map */
	BAD(seg0_iova = 0x999000);
	BAD(span_base = 0x10000);
	BAD(span_base += 4096);
	BAD(device_base = VGPU_DEVICE_BASE(c.span_base = VGPU_SPAN_LOW - VGPU_GIB, 0));         /* low ones end below the context's queue block */
	BAD(device_base = VGPU_DEVICE_BASE(c.span_base = VGPU_SPAN_LOW_TO - VGPU_SPAN_BYTES + VGPU_GIB, 0));
	BAD(device_base = VGPU_DEVICE_BASE(c.span_base = 0x180000000000ull, 0));
	BAD(span_base = 1ull << 47);
	BAD(span_bytes = ~0ull);
	BAD(span_bytes = VGPU_GIB);
	BAD(device_base = VGPU_SPAN_BASE_DEFAULT);
	BAD(device_base += 8 * VGPU_DEVICE_SPAN);
	BAD(memory_limit = 1ull << 40);
	BAD(context = 8);
	BAD(weight = 0);
	BAD(weight = 1001);
	BAD(rsvd[3] = 1);
	BAD(flags = 4);
	BAD(user = 1);
	BAD(container = 1);
	BAD(flags = VGPU_CTX_TENANT; c.rsvd[5] = 1);
	BAD(flags = VGPU_CTX_CLIENT_ASYM | 1ull << 63);
#undef BAD
	c = good_create();
	CHECK(create(s, 128, &c) == VGPU_ST_INVALID);
	close(s);
}

static void test_context(void)
{
	struct vgpu_ctx_create c = good_create();
	struct vgpu_reply r;
	uint64_t event;
	pid_t p;
	int s = attach();

	enable(s);
	p = start_context(s, 0);
	if (!CHECK(alive(p))) {
		close(s);
		return;
	}
	CHECK(create(s, 0, &c) == VGPU_ST_BUSY);
	CHECK(admin_do(s, VGPU_ADMIN_SET_RUN, 0, 0, 0, 0, NULL) == VGPU_ST_OK);
	CHECK(admin_do(s, VGPU_ADMIN_SET_RUN, 0, 1, 0, 0, NULL) == VGPU_ST_OK);
	CHECK(admin_do(s, VGPU_ADMIN_SET_RUN, 0, 2, 0, 0, NULL) == VGPU_ST_INVALID);
	/* limits: each value within its bounds, a share with a name, anything else is no limit */
	CHECK(admin_do(s, VGPU_ADMIN_SET_LIMIT, 0, VGPU_LIMIT_KERNEL_MS, VGPU_KERNEL_MS_MOST, 0, NULL) == VGPU_ST_OK);
	CHECK(admin_do(s, VGPU_ADMIN_SET_LIMIT, 0, VGPU_LIMIT_KERNEL_MS, VGPU_KERNEL_MS_MOST + 1, 0, NULL) == VGPU_ST_INVALID);
	CHECK(admin_do(s, VGPU_ADMIN_SET_LIMIT, 0, VGPU_LIMIT_KERNEL_MS, 0, 1, NULL) == VGPU_ST_INVALID);
	CHECK(admin_do(s, VGPU_ADMIN_SET_LIMIT, 0, VGPU_LIMIT_KERNEL_MS, 0, 0, NULL) == VGPU_ST_OK);
	CHECK(admin_do(s, VGPU_ADMIN_SET_LIMIT, 0, VGPU_LIMIT_PRIORITY, VGPU_PRIORITY_HIGH + 1, 0, NULL) == VGPU_ST_INVALID);
	CHECK(admin_do(s, VGPU_ADMIN_SET_LIMIT, 0, VGPU_LIMIT_SHARE_USER, 1001, 7, NULL) == VGPU_ST_INVALID);
	CHECK(admin_do(s, VGPU_ADMIN_SET_LIMIT, 0, VGPU_LIMIT_SHARE_USER, 500, 0, NULL) == VGPU_ST_INVALID);
	CHECK(admin_do(s, VGPU_ADMIN_SET_LIMIT, 0, VGPU_LIMIT_SHARE_USER, 1000, 7, NULL) == VGPU_ST_OK);
	CHECK(admin_do(s, VGPU_ADMIN_SET_LIMIT, 0, VGPU_LIMIT_SHARE_USER, 0, 7, NULL) == VGPU_ST_OK);
	CHECK(admin_do(s, VGPU_ADMIN_SET_LIMIT, 0, VGPU_LIMITS, 0, 0, NULL) == VGPU_ST_INVALID);
	CHECK(admin_do(s, VGPU_ADMIN_SET_LIMIT, 0, UINT64_MAX, 0, 0, NULL) == VGPU_ST_INVALID);
	CHECK(admin_do(s, VGPU_ADMIN_SET_LIMIT, 99, VGPU_LIMIT_PRIORITY, VGPU_PRIORITY_LOW, 0, NULL) == VGPU_ST_NOT_FOUND);
	/* a segment behind segment 0; not over it, not outside the window, not of unmapped memory */
	CHECK(map_dma(s, IOVA_MORE, 4 << 20, 0, more_fd) == 0);
	CHECK(admin_do(s, VGPU_ADMIN_SEGMENT, 0, IOVA_MORE, 4 << 20, c.span_base, NULL) == VGPU_ST_INVALID);
	CHECK(admin_do(s, VGPU_ADMIN_SEGMENT, 0, IOVA_MORE, 4 << 20, c.device_base, NULL) == VGPU_ST_INVALID);
	CHECK(admin_do(s, VGPU_ADMIN_SEGMENT, 0, IOVA_MORE, 8 << 20, c.span_base + VGPU_SEG0_BYTES, NULL) == VGPU_ST_INVALID);
	CHECK(admin_do(s, VGPU_ADMIN_SEGMENT, 0, IOVA_MORE, ~0xfffull, c.span_base + VGPU_SEG0_BYTES, NULL) == VGPU_ST_INVALID);
	CHECK(admin_do(s, VGPU_ADMIN_SEGMENT, 0, IOVA_MORE, 4 << 20, c.span_base + VGPU_SEG0_BYTES, NULL) == VGPU_ST_OK);
	CHECK(alive(p));
	/* its vector changes while it runs: one interrupt may come, it lives on */
	CHECK(set_irqs(s, MSIX, SET_EVENTFD, 1, 1, &vectors[2], 1) == 0);
	CHECK(event_count(vectors[2], 2000) >= 1);
	/* it dies: the event says so, the number stays taken until DESTROY */
	event = admin_post(s, VGPU_ADMIN_ASYNC_EVENT, 0, 0, 0, 0);
	CHECK(admin_wait(event, 20, NULL) == -1);
	kill(p, SIGKILL);
	CHECK(admin_wait(event, 5000, &r) == VGPU_ST_OK && r.v[0] == 0 && r.v[1] == VGPU_ST_CONTEXT_DEAD);
	CHECK(!alive(p));
	CHECK(create(s, 0, &c) == VGPU_ST_BUSY);
	CHECK(admin_do(s, VGPU_ADMIN_CTX_STAT, 0, 0, 0, 0, NULL) == VGPU_ST_CONTEXT_DEAD);
	CHECK(admin_do(s, VGPU_ADMIN_CTX_DESTROY, 0, 0, 0, 0, NULL) == VGPU_ST_OK);
	CHECK(admin_do(s, VGPU_ADMIN_CTX_DESTROY, 0, 0, 0, 0, NULL) == VGPU_ST_NOT_FOUND);
	/* dies while no event waits: told to the next one */
	CHECK(create(s, 1, &c) == VGPU_ST_OK);
	CHECK(admin_do(s, VGPU_ADMIN_CTX_STAT, 1, 0, 0, 0, &r) == VGPU_ST_OK);
	kill((pid_t)r.v[2], SIGKILL);
	sleep_ms(100);
	CHECK(admin_do(s, VGPU_ADMIN_ASYNC_EVENT, 0, 0, 0, 0, &r) == VGPU_ST_OK && r.v[0] == 1);
	CHECK(admin_do(s, VGPU_ADMIN_CTX_DESTROY, 1, 0, 0, 0, NULL) == VGPU_ST_OK);
	/* destroy while it lives */
	CHECK(create(s, 127, &c) == VGPU_ST_OK);
	CHECK(admin_do(s, VGPU_ADMIN_CTX_STAT, 127, 0, 0, 0, &r) == VGPU_ST_OK && alive((pid_t)r.v[2]));
	CHECK(admin_do(s, VGPU_ADMIN_CTX_DESTROY, 127, 0, 0, 0, NULL) == VGPU_ST_OK && !alive((pid_t)r.v[2]));
	close(s);
}

/* Segment 0 page by page in reverse, as behind a vIOMMU; one command shows that the context sees it in order. */
static void test_fragments(void)
{
	const uint32_t pages = VGPU_SEG0_BYTES / 4096, page = 700;
	struct vgpu_cmd fill = { .seq = 1, .op = VGPU_OP_FILL, .slots = 1, .ticket = 1 };
	struct vgpu_ctx_create c = good_create();
	uint8_t *block = mmap(NULL, VGPU_QB_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, block_fd, 0);
	uint64_t *shadow = (uint64_t *)(void *)(block + VGPU_QB_SHADOW);
	struct vgpu_cmd *ring = (struct vgpu_cmd *)(void *)(block + VGPU_QB_IO);
	uint32_t got[1024];
	int s = attach();

	memset(block, 0, VGPU_QB_BYTES);
	CHECK(ftruncate(seg0_fd, 0) == 0 && ftruncate(seg0_fd, VGPU_SEG0_BYTES) == 0);
	enable(s);
	CHECK(map_dma(s, IOVA_BLOCK, VGPU_QB_BYTES, 0, block_fd) == 0);
	for (uint32_t i = 0; i < pages; i++)
		if (map_dma(s, IOVA_SEG0 + i * 4096ull, 4096, (pages - 1 - i) * 4096ull, seg0_fd))
			CHECK(!"a page could not be mapped");
	CHECK(create(s, 2, &c) == VGPU_ST_OK);
	fill.u.fill = (struct vgpu_body_fill){ c.span_base + page * 4096ull, 1024, 4096, 1, 0xc0ffee, 4 };
	ring[0] = fill;
	__atomic_store_n(&ring[0].seq, 1, __ATOMIC_RELEASE);
	CHECK(write32(s, 0, VGPU_DOORBELL(3), 1) == 0);
	for (int i = 0; i < 5000 && !__atomic_load_n(shadow, __ATOMIC_ACQUIRE); i++)
		sleep_ms(1);
	CHECK(*shadow == 1);
	CHECK(pread(seg0_fd, got, sizeof(got), (off_t)(pages - 1 - page) * 4096) == sizeof(got));
	CHECK(got[0] == 0xc0ffee && got[1023] == 0xc0ffee);
	munmap(block, VGPU_QB_BYTES);
	close(s);
}

/* ---- device memory: an owner that adds nothing up ------------------------------------------------- */
/* One control command of a context whose queue block that is: its status, -1 if none comes. */
static int control(int s, unsigned q, uint8_t *block, uint64_t ticket, unsigned op, uint64_t a, uint64_t b)
{
	struct vgpu_cmd *slot = (struct vgpu_cmd *)(void *)(block + VGPU_QB_CTL) + (ticket - 1) % VGPU_DEV_CTL_SLOTS;
	struct vgpu_reply *r = (struct vgpu_reply *)(void *)(block + VGPU_QB_REPLIES) + (ticket - 1) % VGPU_DEV_CTL_SLOTS;
	struct vgpu_cmd cmd = { .op = (uint8_t)op, .slots = 1, .ticket = ticket };

	cmd.u.ctl.a = a;
	cmd.u.ctl.b = b;
	cmd.seq = slot->seq;
	*slot = cmd;
	__atomic_store_n(&slot->seq, (uint32_t)ticket, __ATOMIC_RELEASE);
	CHECK(write32(s, 0, VGPU_DOORBELL(1 + q), 1) == 0);
	for (int i = 0; i < 20000; i++, sleep_ms(1))
		if (__atomic_load_n(&r->seq, __ATOMIC_ACQUIRE) == (uint32_t)ticket)
			return (int)r->status;
	return -1;
}

/* Three contexts of 256 MiB each on a device of 256 MiB: together they get what it has, whoever says what they may have. */
static void test_memory_account(void)
{
	struct vgpu_ctx_create c = good_create();
	uint64_t va = c.device_base + VGPU_ARENA_BYTES, ticket[3] = { 0 };
	const uint64_t big = 200 << 20, small = 8 << 20, rest = 40 << 20;
	uint8_t *block[3];
	int fd[3], s = attach();

	enable(s);
	c.memory_limit = 256 << 20;
	for (unsigned q = 0; q < 3; q++) {
		int seg = make_memory("window", VGPU_SEG0_BYTES);

		fd[q] = make_memory("block", VGPU_QB_BYTES);
		block[q] = mmap(NULL, VGPU_QB_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd[q], 0);
		c.queue_iova = IOVA_BLOCK + q * VGPU_GIB;
		c.seg0_iova = IOVA_SEG0 + q * VGPU_GIB;
		CHECK(map_dma(s, c.queue_iova, VGPU_QB_BYTES, 0, fd[q]) == 0);
		CHECK(map_dma(s, c.seg0_iova, VGPU_SEG0_BYTES, 0, seg) == 0);
		close(seg);
		if (!CHECK(create(s, q, &c) == VGPU_ST_OK))
			goto out;
	}
#define CTL(q, op, at, bytes) control(s, q, block[q], ++ticket[q], op, at, bytes)
	CHECK(CTL(0, VGPU_OP_MEM_ALLOC, va, big) == VGPU_ST_OK);
	CHECK(CTL(1, VGPU_OP_MEM_ALLOC, va, big) == VGPU_ST_OUT_OF_MEMORY);
	CHECK(CTL(1, VGPU_OP_PHYS_ALLOC, 0, big) == VGPU_ST_OUT_OF_MEMORY);
	/* what is left, and what anybody may have */
	CHECK(CTL(1, VGPU_OP_MEM_ALLOC, va, rest) == VGPU_ST_OK);
	CHECK(CTL(2, VGPU_OP_MEM_ALLOC, va, small) == VGPU_ST_OK);
	CHECK(CTL(2, VGPU_OP_MEM_ALLOC, va + big, 2 * rest) == VGPU_ST_OUT_OF_MEMORY);
	/* what one has given back, another gets: private and physical memory, and what a dead one had */
	CHECK(CTL(0, VGPU_OP_MEM_FREE, va, big) == VGPU_ST_OK);
	CHECK(CTL(2, VGPU_OP_PHYS_ALLOC, 0, big) == VGPU_ST_OK);
	CHECK(CTL(0, VGPU_OP_MEM_ALLOC, va, big) == VGPU_ST_OUT_OF_MEMORY);
	CHECK(CTL(2, VGPU_OP_PHYS_FREE, 0, big) == VGPU_ST_OK);
	CHECK(CTL(0, VGPU_OP_MEM_ALLOC, va, big) == VGPU_ST_OK);
	CHECK(admin_do(s, VGPU_ADMIN_CTX_DESTROY, 0, 0, 0, 0, NULL) == VGPU_ST_OK);
	CHECK(CTL(2, VGPU_OP_MEM_ALLOC, va + big, big) == VGPU_ST_OK);
#undef CTL
out:
	for (unsigned q = 0; q < 3; q++) {
		munmap(block[q], VGPU_QB_BYTES);
		close(fd[q]);
	}
	close(s);
}

/* A queue block may have a huge page to itself; two in one page would see each other. */
static void test_huge_block(void)
{
	struct vgpu_ctx_create c = good_create();
	int fd = memfd_create("huge", MFD_HUGETLB), s;
	void *p;

	if (fd < 0 || ftruncate(fd, 2 << 20))
		return;
	p = mmap(NULL, 2 << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (p == MAP_FAILED) {
		printf("no huge pages here: queue blocks in them are not tested\n");
		close(fd);
		return;
	}
	s = attach();
	enable(s);
	CHECK(map_dma(s, IOVA_SEG0, VGPU_SEG0_BYTES, 0, seg0_fd) == 0);
	CHECK(map_dma(s, IOVA_BLOCK, 2 << 20, 0, fd) == 0);
	CHECK(create(s, 0, &c) == VGPU_ST_OK);
	CHECK(create(s, 1, &c) == VGPU_ST_INVALID);
	c.queue_iova += VGPU_QB_BYTES;
	CHECK(create(s, 1, &c) == VGPU_ST_INVALID);
	CHECK(admin_do(s, VGPU_ADMIN_CTX_DESTROY, 0, 0, 0, 0, NULL) == VGPU_ST_OK);
	/* not all of the page is mapped for DMA */
	CHECK(unmap_dma(s, IOVA_BLOCK + (1 << 20), 1 << 20) == 0);
	c.queue_iova = IOVA_BLOCK;
	CHECK(create(s, 1, &c) == VGPU_ST_INVALID);
	close(s);
	munmap(p, 2 << 20);
	close(fd);
}

/* Whatever stops DMA: when it is answered, the process is gone. */
static void test_stops(void)
{
	static const char *const what[] = { "FLR", "RESET message", "RESET register", "EN = 0", "bus master off",
					    "DMA_UNMAP of its block", "DMA_UNMAP of its segment 0", "disconnect" };

	for (unsigned i = 0; i < sizeof(what) / sizeof(what[0]); i++) {
		int s = attach();
		struct vgpu_reply r;
		uint64_t event;
		pid_t p;

		enable(s);
		p = start_context(s, 5);
		CHECK(alive(p));
		switch (i) {
		case 0:
			CHECK(write32(s, CONFIG, 0x58, 0x8000) == 0);
			break;
		case 1:
			CHECK(request(s, VFU_DEVICE_RESET, NULL, 0, NULL, 0, NULL, 0) == 0);
			break;
		case 2:
			CHECK(write32(s, 0, VGPU_REG_RESET, VGPU_RESET_KEY) == 0);
			break;
		case 3:
			CHECK(write32(s, 0, VGPU_REG_CC, 0) == 0 && read32(s, 0, VGPU_REG_CSTS) == 0);
			break;
		case 4:
			event = admin_post(s, VGPU_ADMIN_ASYNC_EVENT, 0, 0, 0, 0);
			CHECK(write32(s, CONFIG, 4, 2) == 0 && admin_wait(event, 20, NULL) == -1);
			CHECK(!alive(p) && write32(s, CONFIG, 4, 6) == 0);
			CHECK(admin_wait(event, 1000, &r) == VGPU_ST_OK && r.v[0] == 5);
			break;
		case 5:
			CHECK(unmap_dma(s, IOVA_BLOCK, VGPU_QB_BYTES) == 0);
			break;
		case 6:
			CHECK(unmap_dma(s, IOVA_SEG0 + 0x100000, 0x1000) == 0);
			break;
		case 7:
			close(s);
			s = attach();
			break;
		}
		if (!CHECK(!alive(p)))
			printf("     after %s\n", what[i]);
		close(s);
	}
}

static void start_stub(void)
{
	char *argv[] = { bin_path, "--socket", sock_path, "--name", "test device", "--cc", "7.5", "--sms", "6",
			 "--memory", "256M", "--bus-id", "0000:00:07.0", "--cores", "2", "--seed-uuid", "test", NULL };

	stub = spawn(argv);
}

static void test_socket_file(void)
{
	struct stat st;
	int s;

	/* somebody answers there: the second device refuses */
	pid_t first = stub;

	start_stub();
	CHECK(wait_exit(stub, 5000) == 1);
	stub = first;
	s = attach();
	close(s);
	/* a leftover is replaced */
	kill(stub, SIGKILL);
	CHECK(wait_exit(stub, 5000) == 1000 + SIGKILL && stat(sock_path, &st) == 0);
	start_stub();
	sleep_ms(300);
	s = attach();
	/* SIGTERM: contexts and socket file are gone */
	enable(s);
	pid_t p = start_context(s, 0);

	CHECK(alive(p));
	kill(stub, SIGTERM);
	CHECK(wait_exit(stub, 5000) == 0 && stat(sock_path, &st) != 0 && !alive(p));
	close(s);
	stub = 0;
	/* a file that is no socket is left alone */
	s = open(sock_path, O_CREAT | O_WRONLY, 0600);
	close(s);
	start_stub();
	CHECK(wait_exit(stub, 5000) == 1 && stat(sock_path, &st) == 0 && S_ISREG(st.st_mode));
	stub = 0;
}

/* kill -9 of the parent takes its contexts along. */
static void test_parent_killed(void)
{
	int s;
	pid_t p;

	unlink(sock_path);
	start_stub();
	s = attach();
	enable(s);
	p = start_context(s, 0);
	CHECK(alive(p));
	kill(stub, SIGKILL);
	CHECK(wait_exit(stub, 5000) == 1000 + SIGKILL);
	for (int i = 0; i < 200 && alive(p); i++) {
		char path[64], state = 0;
		FILE *f;

		/* Nobody may be there to reap it: a zombie is dead enough. */
		snprintf(path, sizeof(path), "/proc/%d/stat", (int)p);
		f = fopen(path, "re");
		if (!f || fscanf(f, "%*d %*s %c", &state) != 1 || state == 'Z')
			i = 1000;
		if (f)
			fclose(f);
		if (i == 1000)
			p = 0;
		sleep_ms(10);
	}
	CHECK(!alive(p));
	close(s);
	stub = 0;
}

int main(void)
{
	const char *dir = getenv("VGPU_BIN");

	snprintf(bin_path, sizeof(bin_path), "%s/vgpu-stub", dir ? dir : "build/bin");
	snprintf(sock_path, sizeof(sock_path), "/tmp/vgpu-test-vfu.%d.sock", (int)getpid());
	snprintf(log_path, sizeof(log_path), "/tmp/vgpu-test-vfu.%d.log", (int)getpid());
	if (access(bin_path, X_OK)) {
		printf("no %s; build it, or set VGPU_BIN to its folder\n", bin_path);
		return 77;
	}
	admin_fd = make_memory("admin", ADMIN_BYTES);
	block_fd = make_memory("block", VGPU_QB_BYTES);
	seg0_fd = make_memory("seg0", VGPU_SEG0_BYTES);
	more_fd = make_memory("more", 4 << 20);
	admin = mmap(NULL, ADMIN_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, admin_fd, 0);
	for (int i = 0; i < 3; i++)
		vectors[i] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	test_options();
	start_stub();
	test_version();
	test_info();
	test_config();
	test_irqs();
	test_io_fds();
	test_dma();
	test_enable();
	test_bad_messages();
	test_deaf_peer();
	test_owner();
	test_create_errors();
	test_context();
	test_fragments();
	test_memory_account();
	test_huge_block();
	test_stops();
	test_socket_file();
	test_parent_killed();

	if (stub)
		kill(stub, SIGKILL);
	unlink(sock_path);
	if (failed)
		printf("log of the device: %s\n", log_path);
	else
		unlink(log_path);
	printf("%u checks, %u failed\n", checks, failed);
	return failed != 0;
}
