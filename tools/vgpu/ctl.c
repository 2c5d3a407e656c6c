/* SPDX-License-Identifier: MIT */
/* vgpu ctl: who uses the device, what each does now; and for the administrator: end, stop, go on, drain. The agent decides who may. */
#include "vgpu.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
	const char *name;
	enum vgpu_ctl_op op;
} verbs[] = {
	{ "end", VGPU_CTL_END }, { "stop", VGPU_CTL_STOP }, { "go", VGPU_CTL_GO }, { "drain", VGPU_CTL_DRAIN }, { "undrain", VGPU_CTL_UNDRAIN },
	{ "weight", VGPU_CTL_WEIGHT },
};

static int usage(FILE *to)
{
	fputs("usage: vgpu ctl list [-j]\n"
	      "       vgpu ctl end|stop|go CLIENT     a number of the list\n"
	      "       vgpu ctl weight CLIENT N        1 to 1000; 100 is everybody's\n"
	      "       vgpu ctl drain|undrain DEVICE\n"
	      "  list     contexts: whose, how much of the last second they worked, what waits for the device\n"
	      "  end      the client's contexts end and its connection closes; its calls fail (CUDA_ERROR_LAUNCH_FAILED)\n"
	      "  stop     its contexts take no new work; a kernel that runs goes on to its end.  go: they do again\n"
	      "  weight   its share of the device beside others that work: twice the weight, twice the time\n"
	      "  drain    no new contexts on that device (CUDA_ERROR_DEVICE_UNAVAILABLE); those that are there live on\n"
	      "  All but list is for root and the agent's own user; each change is a line in the agent's log.\n"
	      "  Exit status: 0; 1 not done, with the reason; 2 usage.\n", to);
	return to == stderr ? 2 : 0;
}

static void list_json(const struct agent_status *s)
{
	struct json j = { .out = stdout };

	json_open(&j, NULL, '{');
	json_open(&j, "devices", '[');
	for (unsigned i = 0; i < s->devices; i++) {
		json_open(&j, NULL, '{');
		json_u64(&j, "index", i);
		json_str(&j, "state", !s->load.device[i].state ? "lost" : s->load.device[i].flags & VGPU_LOAD_DRAINED ? "drained" : "ready");
		json_u64(&j, "contexts", s->load.device[i].contexts);
		json_close(&j, '}');
	}
	json_close(&j, ']');
	json_open(&j, "contexts", '[');
	for (unsigned i = 0; i < s->contexts; i++) {
		const struct vgpu_msg_context *c = &s->context[i];

		json_open(&j, NULL, '{');
		json_u64(&j, "client", c->client_id);
		json_u64(&j, "pid", c->pid);
		json_u64(&j, "uid", c->uid);
		json_str(&j, "command", c->command);
		json_u64(&j, "device", c->device);
		json_u64(&j, "context", c->context);
		json_str(&j, "state", c->flags & VGPU_CONTEXT_STOPPED ? "stopped" : "running");
		json_u64(&j, "weight", c->weight);
		json_f(&j, "utilization", c->permille / 1000.0);
		json_f(&j, "busy_s", (double)c->busy_ns / 1e9);
		json_u64(&j, "memory_used_bytes", c->memory_bytes);
		json_u64(&j, "commands_waiting", c->commands > c->commands_done ? c->commands - c->commands_done : 0);
		json_u64(&j, "launches", c->launches_done);
		json_f(&j, "age_s", (double)c->since_ns / 1e9);
		json_close(&j, '}');
	}
	json_close(&j, ']');
	json_close(&j, '}');
}

static void list_text(const struct agent_status *s)
{
	for (unsigned i = 0; i < s->devices; i++)
		if (!s->load.device[i].state || s->load.device[i].flags & VGPU_LOAD_DRAINED)
			printf("device %u is %s\n", i, s->load.device[i].state ? "drained: no new contexts" : "lost");
	printf("%-8s %-8s %-8s %-18s %3s %3s %-8s %6s %5s %10s %8s %10s %9s\n", "CLIENT", "PID", "UID", "COMMAND", "DEV", "CTX", "STATE", "WEIGHT", "BUSY", "MEMORY MiB",
	       "WAITING", "LAUNCHES", "AGE s");
	for (unsigned i = 0; i < s->contexts; i++) {
		const struct vgpu_msg_context *c = &s->context[i];

		printf("%-8u %-8u %-8u %-18.18s %3u %3u %-8s %6u %4u%% %10" PRIu64 " %8" PRIu64 " %10" PRIu64 " %9" PRIu64 "\n", c->client_id, c->pid, c->uid,
		       c->command, c->device, c->context, c->flags & VGPU_CONTEXT_STOPPED ? "stopped" : "running", c->weight, (c->permille + 5) / 10, c->memory_bytes >> 20,
		       c->commands > c->commands_done ? c->commands - c->commands_done : 0, c->launches_done, c->since_ns / 1000000000u);
	}
}

static int list(const char *path, int json)
{
	struct agent_status s;
	int err = agent_status(path, &s);

	if (err) {
		complain("the agent at %s does not answer as expected: %s", path, strerror(-err));
		return 1;
	}
	(json ? list_json : list_text)(&s);
	agent_status_free(&s);
	return 0;
}

int ctl_ask(const char *path, enum vgpu_ctl_op op, unsigned target, unsigned value)
{
	struct vgpu_msg_ctl m = { .h = { VGPU_MSG_CTL, sizeof(m) }, .op = op, .target = target, .value = value };
	struct vgpu_msg_ctl_r r;
	int fd = agent_connect(path), err = fd < 0 ? fd : vgpu_ask(fd, &m.h, &r, sizeof(r), 0, NULL);

	if (fd >= 0)
		close(fd);
	if (err) {
		complain("ctl: %s: %s", path, strerror(-err));
		return 1;
	}
	r.text[sizeof(r.text) - 1] = 0;
	if (r.status) {
		complain("ctl: %s", r.text[0] ? r.text : vgpu_status_text(r.status));
		return 1;
	}
	if (op == VGPU_CTL_DRAIN)
		printf("device %u takes no new contexts; %u live on it\n", target, r.count);
	return 0;
}

int cmd_ctl(int argc, char **argv)
{
	struct agent_reach reach;
	char path[128], *end;
	unsigned long target, value = 0;

	if (argc == 2 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")))
		return usage(stdout);
	if (argc < 2 || argc > 4)
		return usage(stderr);
	if (!strcmp(argv[1], "list") && (argc == 2 || (argc == 3 && !strcmp(argv[2], "-j")))) {
		if (agent_search(path, sizeof(path), &reach) == VGPU_REACH_OK)
			return list(path, argc == 3);
		complain("%s; %s", reach.why, reach.fix);
		return 1;
	}
	for (size_t i = 0; argc > 2 && i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		if (strcmp(argv[1], verbs[i].name) || argc != (verbs[i].op == VGPU_CTL_WEIGHT ? 4 : 3))
			continue;
		if (argc == 4) {
			value = strtoul(argv[3], &end, 10);
			if (*end || end == argv[3] || value < 1 || value > 1000) {
				complain("ctl weight: \"%s\" is no weight: 1 to 1000, 100 is everybody's", argv[3]);
				return 2;
			}
		}
		target = strtoul(argv[2], &end, 10);
		if (*end || end == argv[2] || target > UINT32_MAX)
			return usage(stderr);
		if (agent_search(path, sizeof(path), &reach) == VGPU_REACH_OK)
			return ctl_ask(path, verbs[i].op, (unsigned)target, (unsigned)value);
		complain("%s; %s", reach.why, reach.fix);
		return 1;
	}
	return usage(stderr);
}
