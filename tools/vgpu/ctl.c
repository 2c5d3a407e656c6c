/* SPDX-License-Identifier: MIT */
/* vgpu ctl: who uses the device, what each does now; and for the administrator: end, stop, go on, drain,
 * admission and quarantine. The agent decides who may. */
#include "ctl.h"
#include "vgpu.h"
#include "../vgpu-stub/cpu/demangle.h"

#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
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
	      "       vgpu ctl set WHO LIMIT VALUE    WHO: client:N, a user, a cgroup, or everybody\n"
	      "       vgpu ctl limits                 what was set\n"
	      "       vgpu ctl drain|undrain DEVICE\n"
	      "       vgpu ctl admit|deny|forget WHO  a user (name or number), or a cgroup (/path), all below it too\n"
	      "       vgpu ctl admission open|closed\n"
	      "       vgpu ctl release WHO|all        a user, a container as the list names it\n"
	      "  list     contexts: whose, how much of the last second they worked, what waits for the device, which kernel runs and for how\n"
	      "           long (\"last\": none does, that one was launched last)\n"
	      "  end      the client's contexts end and its connection closes; its calls fail (CUDA_ERROR_LAUNCH_FAILED)\n"
	      "  stop     its contexts take no new work; a kernel that runs goes on to its end.  go: they do again\n"
	      "  weight   its share of the device beside others that work: twice the weight, twice the time\n"
	      "  set      weight (1 to 1000), memory and window (like 2G), contexts (of each process), clients (connections), or\n"
	      "           default again: of one client, of a user's, of the containers at a cgroup and below. A user's and a container's\n"
	      "           memory, window and clients are for all of it together. What somebody has already stays; more memory than\n"
	      "           its contexts were made with is for those to come\n"
	      "           kernel-time (like 30s, 500ms): a kernel that takes longer ends its context (CUDA_ERROR_LAUNCH_TIMEOUT)\n"
	      "           compute (like 25%): no more of the device's time, whatever others leave; of a user, a container, for all of it together\n"
	      "           priority (low, normal, high): while one of a higher one works, others have one turn of eight\n"
	      "           everybody: weight, contexts, kernel-time, priority of whom nothing else was said\n"
	      "  drain    no new contexts on that device (CUDA_ERROR_DEVICE_UNAVAILABLE); those that are there live on\n"
	      "  admission   closed: only who is admitted connects; open: who is not denied. Those that are there stay\n"
	      "  forget   what was said by admit or deny\n"
	      "  release  who is held off because of many faults or refusals (vgpu-agent --quarantine-faults) comes in again\n"
	      "  All but list is for root, the agent's own user and its --admin-group, not in a container; each change is a line in\n"
	      "  the agent's log.\n"
	      "  Exit status: 0; 1 not done, with the reason; 2 usage.\n", to);
	return to == stderr ? 2 : 0;
}

static const char *const gate_words[] = { "?", "admitted", "denied", "held off" };

static const char *gate_word(const struct vgpu_gate *g)
{
	return gate_words[g->state < sizeof(gate_words) / sizeof(gate_words[0]) ? g->state : 0];
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
		if (s->work) {
			const struct vgpu_work *w = &s->work[i];

			json_str(&j, "kernel", w->kernel);
			json_f(&j, "kernel_s", (double)w->running_ns / 1e9);
			json_str(&j, "priority", ctl_priority(w->priority));
			if (w->compute)
				json_f(&j, "compute_limit", w->compute / 1000.0);
			if (w->kernel_ms)
				json_f(&j, "kernel_limit_s", (double)w->kernel_ms / 1e3);
		}
		json_close(&j, '}');
	}
	json_close(&j, ']');
	json_str(&j, "admission", s->closed ? "closed" : "open");
	json_open(&j, "gates", '[');
	for (unsigned i = 0; i < s->gates; i++) {
		const struct vgpu_gate *g = &s->gate[i];

		json_open(&j, NULL, '{');
		json_str(&j, "state", gate_word(g));
		if (!g->cgroup[0] || g->state == VGPU_GATE_HELD)
			json_u64(&j, "uid", g->uid);
		if (g->cgroup[0])
			json_str(&j, "cgroup", g->cgroup);
		if (g->state == VGPU_GATE_HELD) {
			json_u64(&j, "seconds_left", g->seconds);
			json_u64(&j, "seconds", g->hold_seconds);
		}
		json_close(&j, '}');
	}
	json_close(&j, ']');
	json_close(&j, '}');
}

static void kernel(const struct vgpu_work *w)
{
	char name[VGPU_KERNEL_NAME * 4], runs[24] = "last";

	if (!w || !w->kernel[0])
		return;
	if (w->running_ns >= 10000000000u)
		snprintf(runs, sizeof(runs), "%" PRIu64 " s", w->running_ns / 1000000000u);
	else if (w->running_ns)
		snprintf(runs, sizeof(runs), "%.1f ms", (double)w->running_ns / 1e6);
	printf(" %9s %s", runs, !strncmp(w->kernel, "_Z", 2) && demangle(w->kernel, DEMANGLE_FULL, name, sizeof(name)) ? name : w->kernel);
}

static void list_text(const struct agent_status *s)
{
	for (unsigned i = 0; i < s->devices; i++)
		if (!s->load.device[i].state || s->load.device[i].flags & VGPU_LOAD_DRAINED)
			printf("device %u is %s\n", i, s->load.device[i].state ? "drained: no new contexts" : "lost");
	if (s->closed)
		printf("admission is closed: only who is admitted connects\n");
	for (unsigned i = 0; i < s->gates; i++) {
		const struct vgpu_gate *g = &s->gate[i];

		if (g->state == VGPU_GATE_HELD)
			printf("user %u%s%s is held off for %u s more, of %u\n", g->uid, g->cgroup[0] ? ", container " : "", g->cgroup, g->seconds, g->hold_seconds);
		else if (g->cgroup[0])
			printf("cgroup %s is %s\n", g->cgroup, gate_word(g));
		else
			printf("user %u is %s\n", g->uid, gate_word(g));
	}
	printf("%-8s %-8s %-8s %-18s %3s %3s %-8s %6s %5s %10s %8s %10s %9s%s\n", "CLIENT", "PID", "UID", "COMMAND", "DEV", "CTX", "STATE", "WEIGHT", "BUSY", "MEMORY MiB",
	       "WAITING", "LAUNCHES", "AGE s", s->work ? "     RUNS KERNEL" : "");
	for (unsigned i = 0; i < s->contexts; i++) {
		const struct vgpu_msg_context *c = &s->context[i];

		printf("%-8u %-8u %-8u %-18.18s %3u %3u %-8s %6u %4u%% %10" PRIu64 " %8" PRIu64 " %10" PRIu64 " %9" PRIu64, c->client_id, c->pid, c->uid,
		       c->command, c->device, c->context, c->flags & VGPU_CONTEXT_STOPPED ? "stopped" : "running", c->weight, (c->permille + 5) / 10, c->memory_bytes >> 20,
		       c->commands > c->commands_done ? c->commands - c->commands_done : 0, c->launches_done, c->since_ns / 1000000000u);
		kernel(s->work ? &s->work[i] : NULL);
		putchar('\n');
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

int ctl_question(const char *path, const struct vgpu_msg_header *m, struct vgpu_msg_ctl_r *r)
{
	int fd = agent_connect(path), err = fd < 0 ? fd : vgpu_ask(fd, m, r, sizeof(*r), 0, NULL);

	if (fd >= 0)
		close(fd);
	if (err) {
		complain("ctl: %s: %s", path, strerror(-err));
		return 1;
	}
	r->text[sizeof(r->text) - 1] = 0;
	if (r->status) {
		complain("ctl: %s", r->text[0] ? r->text : vgpu_status_text(r->status));
		return 1;
	}
	return 0;
}

int ctl_ask(const char *path, enum vgpu_ctl_op op, unsigned target, unsigned value)
{
	struct vgpu_msg_ctl m = { .h = { VGPU_MSG_CTL, sizeof(m) }, .op = op, .target = target, .value = value };
	struct vgpu_msg_ctl_r r;

	if (ctl_question(path, &m.h, &r))
		return 1;
	if (op == VGPU_CTL_DRAIN)
		printf("device %u takes no new contexts; %u live on it\n", target, r.count);
	return 0;
}

static const struct {
	const char *name;
	enum vgpu_gate_op op;
} gate_verbs[] = { { "admit", VGPU_GATE_ADMIT }, { "deny", VGPU_GATE_DENY }, { "forget", VGPU_GATE_FORGET }, { "release", VGPU_GATE_RELEASE },
		   { "admission", VGPU_GATE_OPEN } };

int ctl_whom(const char *who, struct vgpu_msg_gate *m)
{
	const struct passwd *p;
	unsigned long uid;
	char *end;

	if (*who == '/') {
		if (strlen(who) >= sizeof(m->cgroup) || !who[strspn(who, "/")]) {
			complain("ctl: %s: a cgroup below the root, of less than %zu characters", who, sizeof(m->cgroup));
			return 2;
		}
		strcpy(m->cgroup, who);
		return 0;
	}
	if (m->op == VGPU_GATE_RELEASE && !strcmp(who, "all")) {
		m->uid = VGPU_GATE_ALL;
		return 0;
	}
	uid = strtoul(who, &end, 10);
	if (*who >= '0' && *who <= '9' && !*end && uid < UINT32_MAX) {
		m->uid = (uint32_t)uid;
		return 0;
	}
	p = getpwnam(who);
	if (!p) {
		complain("ctl: %s: there is no such user; a cgroup begins with /", who);
		return 2;
	}
	m->uid = p->pw_uid;
	return 0;
}

static int gate(const char *path, enum vgpu_gate_op op, const char *who)
{
	struct vgpu_msg_gate m = { .h = { VGPU_MSG_GATE, sizeof(m) }, .op = op };
	struct vgpu_msg_ctl_r r;

	if (op != VGPU_GATE_OPEN && ctl_whom(who, &m))
		return 2;
	if (op == VGPU_GATE_OPEN && strcmp(who, "open")) {
		if (strcmp(who, "closed"))
			return misused("ctl", who);
		m.op = VGPU_GATE_CLOSED;
	}
	return ctl_question(path, &m.h, &r);
}

/* What is wrong of the words: the command, or how many stand behind it. */
static int not_so(const char *verb)
{
	int known = !strcmp(verb, "list") || !strcmp(verb, "limits") || !strcmp(verb, "set");

	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		known |= !strcmp(verb, verbs[i].name);
	for (size_t i = 0; i < sizeof(gate_verbs) / sizeof(gate_verbs[0]); i++)
		known |= !strcmp(verb, gate_verbs[i].name);
	if (!known)
		return misused("ctl", verb);
	complain("ctl %s: something is missing behind it, or too much; vgpu ctl --help", verb);
	return 2;
}

int cmd_ctl(int argc, char **argv)
{
	struct agent_reach reach;
	char path[128], *end;
	unsigned long target, value = 0;

	if (argc == 2 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")))
		return usage(stdout);
	if (argc < 2)
		return usage(stderr);
	if (argc > 5 || (argc == 5 && strcmp(argv[1], "set")))
		return not_so(argv[1]);
	if ((argc == 5 && !strcmp(argv[1], "set")) || (argc == 2 && !strcmp(argv[1], "limits"))) {
		if (agent_search(path, sizeof(path), &reach) == VGPU_REACH_OK)
			return argc == 5 ? ctl_set(path, argv[2], argv[3], argv[4]) : ctl_limits(path);
		complain("%s; %s", reach.why, reach.fix);
		return 1;
	}
	if (!strcmp(argv[1], "list") && (argc == 2 || (argc == 3 && !strcmp(argv[2], "-j")))) {
		if (agent_search(path, sizeof(path), &reach) == VGPU_REACH_OK)
			return list(path, argc == 3);
		complain("%s; %s", reach.why, reach.fix);
		return 1;
	}
	for (size_t i = 0; argc == 3 && i < sizeof(gate_verbs) / sizeof(gate_verbs[0]); i++) {
		if (strcmp(argv[1], gate_verbs[i].name))
			continue;
		if (agent_search(path, sizeof(path), &reach) == VGPU_REACH_OK)
			return gate(path, gate_verbs[i].op, argv[2]);
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
			return misused("ctl", argv[2]);
		if (agent_search(path, sizeof(path), &reach) == VGPU_REACH_OK)
			return ctl_ask(path, verbs[i].op, (unsigned)target, (unsigned)value);
		complain("%s; %s", reach.why, reach.fix);
		return 1;
	}
	return not_so(argv[1]);
}
