/* SPDX-License-Identifier: MIT */
/*
 * vgpu smi [-j]: what the agent says of devices, memory and clients.
 */
#include "vgpu.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MIB(x) ((uint64_t)(x) >> 20)

static const char *const walls[] = {
#define X(name, word) word,
	VGPU_WALLS(X)
#undef X
};

static void uuid_text(char *out, const uint8_t u[16])
{
	char *p = out + sprintf(out, "GPU-");

	for (int i = 0; i < 16; i++)
		p += sprintf(p, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", u[i]);
}

static void print_json(const char *path, const struct agent_status *s)
{
	struct json j = { .out = stdout };
	char uuid[64];

	json_open(&j, NULL, '{');
	json_str(&j, "vgpu_version", VGPU_VERSION);
	json_open(&j, "agent", '{');
	json_str(&j, "socket", path);
	json_u64(&j, "pid", s->status.agent_pid);
	json_str(&j, "version", s->status.agent_version);
	json_str(&j, "transport", s->status.transport);
	json_f(&j, "uptime_s", (double)s->status.agent_uptime_ns / 1e9);
	json_u64(&j, "sleeps", s->status.sleeps);
	json_u64(&j, "wakeups_sent", s->status.wakeups_sent);
	if (s->status.agent_cpu != ~0u)
		json_u64(&j, "cpu", s->status.agent_cpu);
	json_close(&j, '}');
	json_open(&j, "devices", '[');
	for (unsigned i = 0; i < s->devices; i++) {
		const struct vgpu_device_info *d = &s->device[i];

		uuid_text(uuid, d->uuid);
		json_open(&j, NULL, '{');
		json_u64(&j, "index", i);
		json_str(&j, "name", d->name);
		json_str(&j, "uuid", uuid);
		json_str(&j, "bus_id", d->bus_id);
		json_str(&j, "engine", d->engine);
		char cc[16];
		snprintf(cc, sizeof(cc), "%u.%u", d->cc_major, d->cc_minor);
		json_str(&j, "compute_capability", cc);
		json_u64(&j, "sm_count", d->sm_count);
		json_u64(&j, "cores", d->cores);
		json_u64(&j, "memory_total_bytes", d->memory_bytes);
		json_u64(&j, "memory_used_bytes", s->load.device[i].memory_used);
		json_str(&j, "state", s->load.device[i].state ? "ready" : "lost");
		json_f(&j, "utilization", s->load.device[i].permille / 1000.0);
		json_u64(&j, "contexts", s->load.device[i].contexts);
		json_u64(&j, "faults", s->load.device[i].faults);
		json_u64(&j, "losses", s->load.device[i].losses);
		json_open(&j, "walls", '[');
		for (unsigned w = 0; w < VGPU_WALL_COUNT; w++)
			if (d->walls >> w & 1)
				json_str(&j, NULL, walls[w]);
		json_close(&j, ']');
		json_open(&j, "walls_missing", '[');
		for (unsigned w = 0; d->walls && w < VGPU_WALL_COUNT; w++)
			if (!(d->walls >> w & 1))
				json_str(&j, NULL, walls[w]);
		json_close(&j, ']');
		json_close(&j, '}');
	}
	json_close(&j, ']');
	json_open(&j, "clients", '[');
	for (unsigned i = 0; i < s->clients; i++) {
		const struct vgpu_msg_client *c = &s->client[i];

		json_open(&j, NULL, '{');
		json_u64(&j, "id", c->client_id);
		json_u64(&j, "pid", c->pid);
		json_u64(&j, "uid", c->uid);
		json_str(&j, "command", c->command);
		json_u64(&j, "contexts", c->contexts);
		json_u64(&j, "memory_used_bytes", c->memory_bytes);
		json_u64(&j, "window_bytes", c->window_bytes);
		json_u64(&j, "commands", c->commands);
		json_close(&j, '}');
	}
	json_close(&j, ']');
	json_close(&j, '}');
}

static void rule(const char *s)
{
	printf("+%s+\n", s);
}

#define LINE "------------------------------------------------------------------------------"

/* Around each context; the reasons of those that are missing are in the device's log. */
static void print_walls(uint32_t have)
{
	char text[80];
	size_t n = (size_t)snprintf(text, sizeof(text), "walls");

	for (unsigned w = 0; w < VGPU_WALL_COUNT; w++)
		if (have >> w & 1)
			n += (size_t)snprintf(text + n, sizeof(text) - n, " %s", walls[w]);
	if (have)
		printf("|    %-73s |\n", text);
	n = (size_t)snprintf(text, sizeof(text), "no wall");
	for (unsigned w = 0; w < VGPU_WALL_COUNT; w++)
		if (!(have >> w & 1))
			n += (size_t)snprintf(text + n, sizeof(text) - n, " %s", walls[w]);
	if (have && have != VGPU_WALLS_ALL)
		printf("|    %-73s |\n", text);
}

static void print_table(const char *path, const struct agent_status *s)
{
	char uuid[64], left[80], right[64];

	rule(LINE);
	snprintf(left, sizeof(left), "VGPU-SMI %s", VGPU_VERSION);
	snprintf(right, sizeof(right), "vgpu-agent %.16s  pid %u", s->status.agent_version, s->status.agent_pid);
	printf("| %-38s %37s |\n", left, right);
	printf("| socket %-46.46s %22.22s |\n", path, s->status.transport);
	rule(LINE);
	for (unsigned i = 0; i < s->devices; i++) {
		const struct vgpu_device_info *d = &s->device[i];

		uuid_text(uuid, d->uuid);
		snprintf(left, sizeof(left), "%u  %.44s", i, d->name);
		snprintf(right, sizeof(right), "%s  CC %u.%u", d->bus_id, d->cc_major, d->cc_minor);
		printf("| %-50s %25s |\n", left, right);
		if (s->load.device[i].state)
			snprintf(right, sizeof(right), "%" PRIu64 " / %" PRIu64 " MiB", MIB(s->load.device[i].memory_used), MIB(d->memory_bytes));
		else
			snprintf(right, sizeof(right), "LOST");
		printf("|    %-50s %22s |\n", uuid, right);
		snprintf(left, sizeof(left), "engine %.48s", d->engine);
		snprintf(right, sizeof(right), "%u SMs on %u cores", d->sm_count, d->cores);
		printf("|    %-51s %21s |\n", left, right);
		print_walls(d->walls);
		rule(LINE);
	}
	printf("| %-8s %-8s %-26s %4s %12s %13s |\n", "PID", "UID", "Command", "Ctx", "Memory MiB", "Window MiB");
	if (!s->clients)
		printf("| %-76s |\n", "no clients");
	for (unsigned i = 0; i < s->clients; i++) {
		const struct vgpu_msg_client *c = &s->client[i];

		printf("| %-8u %-8u %-26.26s %4u %12" PRIu64 " %13" PRIu64 " |\n", c->pid, c->uid, c->command,
		       c->contexts, MIB(c->memory_bytes), MIB(c->window_bytes));
	}
	rule(LINE);
}

int cmd_smi(int argc, char **argv)
{
	struct agent_status s;
	struct agent_reach reach;
	char path[128];
	int json = 0, err;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "-j")) {
			json = 1;
		} else {
			FILE *to = strcmp(argv[i], "--help") ? stderr : stdout;

			fputs("usage: vgpu smi [-j]\n", to);
			return to == stderr ? 2 : 0;
		}
	}
	if (agent_search(path, sizeof(path), &reach) != VGPU_REACH_OK) {
		complain("%s; %s", reach.why, reach.fix);
		return 1;
	}
	err = agent_status(path, &s);
	if (err) {
		complain("the agent at %s does not answer as expected: %s", path, strerror(-err));
		return 1;
	}
	if (json)
		print_json(path, &s);
	else
		print_table(path, &s);
	agent_status_free(&s);
	return 0;
}
