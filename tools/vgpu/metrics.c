/* SPDX-License-Identifier: MIT */
/*
 * vgpu metrics: what the agent says, in Prometheus's text exposition format 0.0.4. What DCGM's exporter has too is there by its names
 * and labels, so that its dashboards show it; the rest is vgpu_*. A process of its own: the agent speaks no HTTP.
 */
#include "metrics.h"
#include "vgpu.h"
#include "smi.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static FILE *to;

static void family(const char *name, const char *type, const char *help)
{
	fprintf(to, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* A label's value: backslash, quote and newline are escaped. */
static void label(const char *name, const char *value, int more)
{
	fprintf(to, "%s=\"", name);
	for (const char *p = value; *p; p++)
		if (*p == '\\' || *p == '"')
			fprintf(to, "\\%c", *p);
		else
			fputc(*p == '\n' ? ' ' : *p, to);
	fprintf(to, "\"%s", more ? "," : "");
}

/* Of DCGM's exporter, or our own. */
static void gpu_labels(const struct agent_status *s, unsigned i, int dcgm)
{
	char text[SMI_UUID], host[256] = "";

	snprintf(text, sizeof(text), "%u", i);
	label("gpu", text, 1);
	smi_uuid(text, s->device[i].uuid);
	label(dcgm ? "UUID" : "uuid", text, dcgm);
	if (!dcgm)
		return;
	smi_bus_id(text, s->device[i].bus_id);
	label("pci_bus_id", text, 1);
	snprintf(text, sizeof(text), "nvidia%u", i);
	label("device", text, 1);
	label("modelName", s->device[i].name, 1);
	gethostname(host, sizeof(host) - 1);
	label("Hostname", host, 0);
}

enum gpu { STATE, UTIL, FB_USED, FB_FREE, TOTAL, USED, BUSY, IN_FLIGHT, CONTEXTS, CLIENTS, FAULTS, LOSSES, REFUSED, SMS };
static const struct {
	enum gpu what;
	const char *name, *type, *help;
	int lost;                       /* is said of a lost device as well */
} gpu_metrics[] = {
	{ STATE, "vgpu_device_up", "gauge", "1: the device answers; 0: it is lost, and the agent tries to attach it again.", 1 },
	{ UTIL, "DCGM_FI_DEV_GPU_UTIL", "gauge", "GPU utilization (in %): time with work of the last second.", 0 },
	{ FB_USED, "DCGM_FI_DEV_FB_USED", "gauge", "Framebuffer memory used (in MiB).", 0 },
	{ FB_FREE, "DCGM_FI_DEV_FB_FREE", "gauge", "Framebuffer memory free (in MiB).", 0 },
	{ TOTAL, "vgpu_device_memory_bytes", "gauge", "Device memory.", 1 },
	{ USED, "vgpu_device_memory_used_bytes", "gauge", "Device memory that clients hold.", 0 },
	{ BUSY, "vgpu_device_busy_seconds_total", "counter", "Time with kernels or copies, all contexts added up.", 1 },
	{ IN_FLIGHT, "vgpu_device_contexts_in_flight", "gauge", "Contexts whose commands are not all done.", 0 },
	{ CONTEXTS, "vgpu_device_contexts", "gauge", "Contexts that live.", 0 },
	{ CLIENTS, "vgpu_device_clients", "gauge", "Processes that have a context here.", 0 },
	{ FAULTS, "vgpu_device_faults_total", "counter", "Contexts that died of an error.", 1 },
	{ LOSSES, "vgpu_device_losses_total", "counter", "How often the device was lost.", 1 },
	{ REFUSED, "vgpu_device_contexts_refused_total", "counter", "Contexts that were asked for and not made: limits, rates, a drained device, no memory.", 1 },
	{ SMS, "vgpu_device_multiprocessors", "gauge", "Multiprocessors that programs see.", 1 },
};

static double gpu_value(const struct agent_status *s, unsigned i, enum gpu what)
{
	const struct vgpu_load *l = &s->load.device[i];
	uint64_t total = s->device[i].memory_bytes, used = l->memory_used < total ? l->memory_used : total;

	switch (what) {
	case STATE: return l->state != 0;
	case UTIL: return smi_percent(l->permille);
	case FB_USED: return (double)(used >> 20);
	case FB_FREE: return (double)((total >> 20) - (used >> 20));
	case TOTAL: return (double)total;
	case USED: return (double)used;
	case BUSY: return (double)l->busy_ns / 1e9;
	case IN_FLIGHT: return l->in_flight;
	case CONTEXTS: return l->contexts;
	case CLIENTS: return l->clients;
	case FAULTS: return (double)l->faults;
	case LOSSES: return (double)l->losses;
	case REFUSED: return (double)l->refused;
	case SMS: return s->device[i].sm_count;
	}
	return 0;
}

static void devices(const struct agent_status *s)
{
	for (size_t m = 0; m < sizeof(gpu_metrics) / sizeof(gpu_metrics[0]); m++) {
		family(gpu_metrics[m].name, gpu_metrics[m].type, gpu_metrics[m].help);
		for (unsigned i = 0; i < s->devices; i++) {
			if (!s->load.device[i].state && !gpu_metrics[m].lost)
				continue;
			fprintf(to, "%s{", gpu_metrics[m].name);
			gpu_labels(s, i, !strncmp(gpu_metrics[m].name, "DCGM", 4));
			fprintf(to, "} %.17g\n", gpu_value(s, i, gpu_metrics[m].what));
		}
	}
}

enum each { MEMORY, WINDOW, COMMANDS, DEPTH, LAUNCHES, WORKED, SHARE, AGE };
static const struct each_metric {
	enum each what;
	const char *name, *type, *help;
} client_metrics[] = {
	{ MEMORY, "vgpu_client_memory_bytes", "gauge", "Device memory of a process." },
	{ WINDOW, "vgpu_client_window_bytes", "gauge", "Memory that a process shares with the device." },
	{ COMMANDS, "vgpu_client_commands_total", "counter", "Commands forwarded for a process." },
	{ AGE, "vgpu_client_age_seconds", "gauge", "Since a process connected." },
}, context_metrics[] = {
	{ MEMORY, "vgpu_context_memory_bytes", "gauge", "Device memory of a context." },
	{ WORKED, "vgpu_context_busy_seconds_total", "counter", "Time with kernels or copies of a context." },
	{ SHARE, "vgpu_context_utilization_ratio", "gauge", "The same, as a share of the last second." },
	{ COMMANDS, "vgpu_context_commands_total", "counter", "Commands forwarded to a context." },
	{ DEPTH, "vgpu_context_queue_depth", "gauge", "Commands forwarded and not done yet." },
	{ LAUNCHES, "vgpu_context_launches_total", "counter", "Kernels that have ended." },
};

static void process_labels(unsigned id, unsigned pid, unsigned uid, const char *comm)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", id);
	label("client", text, 1);
	snprintf(text, sizeof(text), "%u", pid);
	label("pid", text, 1);
	snprintf(text, sizeof(text), "%u", uid);
	label("uid", text, 1);
	label("command", comm, 0);
}

static void clients(const struct agent_status *s)
{
	for (size_t m = 0; m < sizeof(client_metrics) / sizeof(client_metrics[0]); m++) {
		family(client_metrics[m].name, client_metrics[m].type, client_metrics[m].help);
		for (unsigned i = 0; i < s->clients; i++) {
			const struct vgpu_msg_client *c = &s->client[i];
			enum each w = client_metrics[m].what;

			fprintf(to, "%s{", client_metrics[m].name);
			process_labels(c->client_id, c->pid, c->uid, c->command);
			fprintf(to, "} %.17g\n", w == MEMORY ? (double)c->memory_bytes : w == WINDOW ? (double)c->window_bytes :
				w == COMMANDS ? (double)c->commands : (double)c->connected_ns / 1e9);
		}
	}
}

static double context_value(const struct vgpu_msg_context *c, enum each w)
{
	switch (w) {
	case MEMORY: return (double)c->memory_bytes;
	case WORKED: return (double)c->busy_ns / 1e9;
	case SHARE: return c->permille / 1000.0;
	case COMMANDS: return (double)c->commands;
	case DEPTH: return c->commands > c->commands_done ? (double)(c->commands - c->commands_done) : 0;
	case LAUNCHES: return (double)c->launches_done;
	case WINDOW:
	case AGE: break;
	}
	return 0;
}

static void contexts(const struct agent_status *s)
{
	char text[16];

	for (size_t m = 0; m < sizeof(context_metrics) / sizeof(context_metrics[0]); m++) {
		family(context_metrics[m].name, context_metrics[m].type, context_metrics[m].help);
		for (unsigned i = 0; i < s->contexts; i++) {
			const struct vgpu_msg_context *c = &s->context[i];

			fprintf(to, "%s{", context_metrics[m].name);
			snprintf(text, sizeof(text), "%u", c->device);
			label("gpu", text, 1);
			snprintf(text, sizeof(text), "%u", c->context);
			label("context", text, 1);
			process_labels(c->client_id, c->pid, c->uid, c->command);
			fprintf(to, "} %.17g\n", context_value(c, context_metrics[m].what));
		}
	}
}

static void histogram(const struct agent_status *s, const char *name, const char *help, size_t which)
{
	family(name, "histogram", help);
	for (unsigned i = 0; i < s->devices; i++) {
		const struct vgpu_times *t = (const struct vgpu_times *)(const void *)((const char *)&s->times[i] + which);
		uint64_t n = 0;

		for (unsigned k = 0; k < VGPU_TIMES; k++) {
			n += t->n[k];
			fprintf(to, "%s_bucket{", name);
			gpu_labels(s, i, 0);
			if (k + 1 < VGPU_TIMES)
				fprintf(to, ",le=\"%.9g\"} %" PRIu64 "\n", (double)VGPU_TIMES_NS(k) / 1e9, n);
			else
				fprintf(to, ",le=\"+Inf\"} %" PRIu64 "\n", n);
		}
		fprintf(to, "%s_sum{", name);
		gpu_labels(s, i, 0);
		fprintf(to, "} %.17g\n%s_count{", (double)t->ns / 1e9, name);
		gpu_labels(s, i, 0);
		fprintf(to, "} %" PRIu64 "\n", n);
	}
}

/* Of all devices, and of the agent: nothing where it does not say. */
static void times(const struct agent_status *s)
{
	static const char *const why[VGPU_REFUSALS] = { [VGPU_REFUSED_PLACES] = "places", [VGPU_REFUSED_LIMIT] = "limit", [VGPU_REFUSED_RATE] = "rate",
		[VGPU_REFUSED_HELD] = "quarantine", [VGPU_REFUSED_ADMISSION] = "admission", [VGPU_REFUSED_VERSION] = "version",
		[VGPU_REFUSED_MEMORY] = "memory", [VGPU_REFUSED_REQUEST] = "request" };

	if (!s->work)
		return;
	histogram(s, "vgpu_kernel_seconds", "How long kernels took, from their start to their end.", offsetof(struct vgpu_msg_times_r, kernels));
	histogram(s, "vgpu_compile_seconds", "How long it took to read modules, and to compile kernels when they were asked for.",
		  offsetof(struct vgpu_msg_times_r, compiles));
	family("vgpu_agent_connections_refused_total", "counter", "Connections that were not let in, by reason.");
	for (unsigned k = 1; k < VGPU_REFUSALS; k++)
		fprintf(to, "vgpu_agent_connections_refused_total{reason=\"%s\"} %" PRIu64 "\n", why[k], s->times[0].refused[k]);
}

/* Who is held off because of faults or refusals: nobody, no line. */
static void held(const struct agent_status *s)
{
	char text[16];

	family("vgpu_held_off_seconds", "gauge", "How long a user, out of one container, is still held off (vgpu ctl release).");
	for (unsigned i = 0; i < s->gates; i++) {
		if (s->gate[i].state != VGPU_GATE_HELD)
			continue;
		snprintf(text, sizeof(text), "%u", s->gate[i].uid);
		fputs("vgpu_held_off_seconds{", to);
		label("uid", text, 1);
		label("container", s->gate[i].cgroup, 0);
		fprintf(to, "} %u\n", s->gate[i].seconds);
	}
}

int metrics_print(FILE *out)
{
	struct agent_reach reach;
	struct agent_status s;
	char path[128], cuda[SMI_CUDA];
	int up = agent_search(path, sizeof(path), &reach) == VGPU_REACH_OK && !agent_status(path, &s);

	/* for who looks by hand; a scraper has vgpu_up */
	if (out == stdout && !up && reach.is != VGPU_REACH_OK)
		complain("%s; %s", reach.why, reach.fix);
	to = out;
	family("vgpu_up", "gauge", "1: the agent answers.");
	fprintf(to, "vgpu_up %d\n", up);
	if (!up)
		return 0;
	family("vgpu_agent_info", "gauge", "Which agent.");
	fputs("vgpu_agent_info{", to);
	label("version", s.status.agent_version, 1);
	label("transport", s.status.transport, 1);
	label("driver_version", VGPU_NVIDIA_DRIVER, 1);
	label("cuda_version", smi_cuda(cuda, &s), 0);
	fputs("} 1\n", to);
	family("vgpu_agent_uptime_seconds", "gauge", "Since the agent started.");
	fprintf(to, "vgpu_agent_uptime_seconds %.3f\n", (double)s.status.agent_uptime_ns / 1e9);
	family("vgpu_agent_sleeps_total", "counter", "How often the data thread slept.");
	fprintf(to, "vgpu_agent_sleeps_total %" PRIu64 "\n", s.status.sleeps);
	family("vgpu_agent_wakeups_total", "counter", "Waiters that the agent woke.");
	fprintf(to, "vgpu_agent_wakeups_total %" PRIu64 "\n", s.status.wakeups_sent);
	family("vgpu_agent_clients", "gauge", "Processes that are connected; monitors do not count.");
	fprintf(to, "vgpu_agent_clients %u\n", s.clients);
	family("vgpu_agent_admission_closed", "gauge", "1: only users and cgroups that are admitted connect.");
	fprintf(to, "vgpu_agent_admission_closed %d\n", s.closed);
	held(&s);
	devices(&s);
	clients(&s);
	contexts(&s);
	times(&s);
	agent_status_free(&s);
	return 0;
}

int cmd_metrics(int argc, char **argv)
{
	static const char usage[] =
		"usage: vgpu metrics [--listen ADDRESS]\n"
		"  What the agent says, in Prometheus's text format: devices by DCGM's names, clients, contexts.\n"
		"  --listen ADDRESS  hands it out over HTTP at /metrics until a signal: 127.0.0.1:PORT, [::1]:PORT (port 0: a free one,\n"
		"                    which is said) or unix:PATH. Other addresses are refused: what it tells is the machine's own.\n"
		"  Exit status: 0; 1 it cannot be written or served; 2 usage.\n";

	if (argc == 2 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")))
		return fputs(usage, stdout) < 0;
	if (argc == 1)
		return metrics_print(stdout) ? 1 : 0;
	if (argc == 3 && !strcmp(argv[1], "--listen"))
		return metrics_serve(argv[2]);
	if (argc == 2 && !strncmp(argv[1], "--listen=", 9))
		return metrics_serve(argv[1] + 9);
	return misused("metrics", argv[1]);
}
