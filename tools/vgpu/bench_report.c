/* SPDX-License-Identifier: MIT */
/*
 * What bench launch prints: a table for people, one JSON object, distributions as files.
 */
#include "bench_launch.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

static const unsigned params[NPARAMS] = PARAM_COUNTS;
static const int streams[NSTREAMS] = STREAM_COUNTS, clients[NCLIENTS] = CLIENT_COUNTS;

static double median(const struct hist *h)
{
	return hist_quantile(h, 0.5);
}

static void row(const char *name, const struct hist *h)
{
	char v[3][16];

	if (!h->total) {
		printf("  %-46s %9s\n", name, "-");
		return;
	}
	for (int i = 0; i < 3; i++) {
		double ns = hist_quantile(h, i == 0 ? 0.5 : i == 1 ? 0.99 : 0.999);

		snprintf(v[i], sizeof(v[i]), ns < 100 ? "%.1f" : "%.0f", ns);
	}
	printf("  %-46s %9s %9s %9s\n", name, v[0], v[1], v[2]);
}

static void figure(const char *name, double v)
{
	if (isfinite(v))
		printf("  %-46s %9.4g\n", name, v);
	else
		printf("  %-46s %9s\n", name, "-");
}

void launch_table(const struct launch_result *r)
{
	char name[64];

	printf("launch latency, ns; %d CPUs, client on %d, %s; TSC %.3f GHz, reading it costs %.0f ns, an empty loop %.1f ns a turn\n",
	       cores()->n, cores()->client,
	       !r->own ? "agent and device where the one that answered has them" :
	       cores()->n > 1 ? "agent and device kept off it" : "everything on it", tsc_ghz(), r->floor.clock, r->empty_loop);
	printf("  %-46s %9s %9s %9s\n", "floors", "median", "p99", "p99.9");
	row("cache line there and back, two CPUs", &r->floor.line);
	for (int k = 0; k < NPARAMS; k++) {
		snprintf(name, sizeof(name), "ring push, %u slot%s (%u parameters)", launch_slots(params[k]),
			 launch_slots(params[k]) > 1 ? "s" : "", params[k]);
		row(name, &r->floor.push[k]);
	}
	puts("peers, 64 bytes there and back, two processes");
	for (int k = 0; k < PEERS; k++)
		row(peer_names[k], &r->floor.peer[k]);
	row("futex pair after 20 ms of sleep", &r->floor.futex_cold);
	puts("submission: what the caller pays (means of bursts)");
	for (int k = 0; k < NPARAMS; k++) {
		snprintf(name, sizeof(name), "cuLaunchKernel, %u parameters", params[k]);
		row(name, &r->submit[k]);
	}
	row("<<<>>> through cudart, 4 parameters", &r->runtime);
	row("cuGraphLaunch of 192 such launches, each", &r->graph);
	row("cuLaunchKernel one by one, clock included", &r->one);
	row("cuMemcpyHtoDAsync, 64 bytes, pinned", &r->copy);
	row("cuEventRecord", &r->event);
	row("cuEventRecord with timing", &r->timed_event);
	puts("there and back");
	row("cuLaunchKernel + cuStreamSynchronize", &r->sync);
	row("  of that: cuStreamSynchronize", &r->wait);
	row("cuStreamSynchronize, all done already", &r->complete);
	row("first launch after 20 ms, client polls", &r->first);
	for (int m = 0; m < MODES && r->idle_wakeups >= 0; m++) {
		snprintf(name, sizeof(name), "launch + sync, all %s%s", mode_names[m],
			 m == MODE_SPIN && !r->mode_sync[m].total ? " (needs 3 CPUs)" : "");
		row(name, &r->mode_sync[m]);
	}
	puts("through the whole chain, million a second");
	figure("commands that do nothing", r->noop_per_s / 1e6);
	figure("launches of an empty kernel", r->launch_per_s / 1e6);
	for (int m = 0; m < MODES; m++) {
		if (!isfinite(r->mode_per_s[m]))
			continue;
		snprintf(name, sizeof(name), "launches, all %s", mode_names[m]);
		figure(name, r->mode_per_s[m] / 1e6);
	}
	for (int k = 0; k < NSTREAMS; k++) {
		if (!isfinite(r->stream_per_s[k]))
			continue;
		snprintf(name, sizeof(name), "launches, %d stream%s (%.0f ns to submit)", streams[k], streams[k] > 1 ? "s" : "",
			 median(&r->stream_submit[k]));
		figure(name, r->stream_per_s[k] / 1e6);
	}
	for (int k = 0; k < NCLIENTS; k++) {
		if (!isfinite(r->client_per_s[k]))
			continue;
		snprintf(name, sizeof(name), "launches, %d client process%s", clients[k], clients[k] > 1 ? "es" : "");
		figure(name, r->client_per_s[k] / 1e6);
	}
	if (r->idle_wakeups >= 0)
		printf("idle\n  %-46s %9ld\n", "wake-ups of the agent in 2 s, a client connected", r->idle_wakeups);
	puts("ratios");
	figure("launch, 4 parameters / push of 2 slots", median(&r->submit[P4]) / median(&r->floor.push[P4]));
	figure("launch, 64 parameters / push of 11 slots", median(&r->submit[P64]) / median(&r->floor.push[P64]));
	figure("launch in a graph / launch, 4 parameters", median(&r->graph) / median(&r->no_graph));
	figure("launch + sync / UNIX socket", median(&r->sync) / median(&r->floor.peer[PEER_UNIX]));
	figure("launch + sync / cache line (4 CPUs)", cores()->n >= 4 ? median(&r->sync) / median(&r->floor.line) : NAN);
	figure("first launch after idle / futex pair, as cold", median(&r->first) / median(&r->floor.futex_cold));
}

static void quantiles(struct json *j, const char *key, const struct hist *h)
{
	json_open(j, key, '{');
	json_f(j, "p50", median(h));
	json_f(j, "p99", hist_quantile(h, 0.99));
	json_f(j, "p999", hist_quantile(h, 0.999));
	json_close(j, '}');
}

static void by_count(struct json *j, const char *key, const int *count, const double *v, int n)
{
	char name[16];

	json_open(j, key, '{');
	for (int k = 0; k < n; k++) {
		snprintf(name, sizeof(name), "%d", count[k]);
		json_f(j, name, v[k]);
	}
	json_close(j, '}');
}

void launch_json(const struct launch_result *r)
{
	struct json j = { .out = stdout };
	char key[32];

	json_open(&j, NULL, '{');
	json_u64(&j, "cpus", (uint64_t)cores()->n);
	json_u64(&j, "client_cpu", (uint64_t)(cores()->client < 0 ? 0 : cores()->client));
	json_u64(&j, "others_kept_off", r->own && cores()->n > 1);
	json_f(&j, "tsc_ghz", tsc_ghz());
	json_f(&j, "clock_ns", r->floor.clock);
	json_f(&j, "empty_loop_ns", r->empty_loop);
	json_f(&j, "line_ns", median(&r->floor.line));
	json_open(&j, "push_ns", '{');
	for (int k = 0; k < NPARAMS; k++) {
		snprintf(key, sizeof(key), "%u", launch_slots(params[k]));
		json_f(&j, key, median(&r->floor.push[k]));
	}
	json_close(&j, '}');
	for (int k = 0; k < PEERS; k++)
		quantiles(&j, peer_keys[k], &r->floor.peer[k]);
	json_f(&j, "futex_cold_ns", median(&r->floor.futex_cold));
	for (int k = 0; k < NPARAMS; k++) {
		snprintf(key, sizeof(key), k == P4 ? "submit_ns" : "submit%u_ns", params[k]);
		quantiles(&j, key, &r->submit[k]);
	}
	quantiles(&j, "submit_runtime_ns", &r->runtime);
	quantiles(&j, "graph_ns", &r->graph);
	quantiles(&j, "submit_one_ns", &r->one);
	quantiles(&j, "copy_submit_ns", &r->copy);
	quantiles(&j, "event_ns", &r->event);
	quantiles(&j, "event_timed_ns", &r->timed_event);
	quantiles(&j, "sync_ns", &r->sync);
	quantiles(&j, "sync_wait_ns", &r->wait);
	quantiles(&j, "complete_ns", &r->complete);
	quantiles(&j, "first_ns", &r->first);
	json_open(&j, "mode_sync_ns", '{');
	for (int m = 0; m < MODES; m++)
		quantiles(&j, mode_names[m], &r->mode_sync[m]);
	json_close(&j, '}');
	json_open(&j, "mode_launch_per_s", '{');
	for (int m = 0; m < MODES; m++)
		json_f(&j, mode_names[m], r->mode_per_s[m]);
	json_close(&j, '}');
	by_count(&j, "streams_launch_per_s", streams, r->stream_per_s, NSTREAMS);
	by_count(&j, "clients_launch_per_s", clients, r->client_per_s, NCLIENTS);
	json_f(&j, "noop_per_s", r->noop_per_s);
	json_f(&j, "launch_per_s", r->launch_per_s);
	json_f(&j, "idle_wakeups_per_s", r->idle_wakeups < 0 ? NAN : (double)r->idle_wakeups / r->idle_s);
	json_f(&j, "submit_over_push", median(&r->submit[P4]) / median(&r->floor.push[P4]));
	json_f(&j, "submit64_over_push", median(&r->submit[P64]) / median(&r->floor.push[P64]));
	json_f(&j, "graph_over_submit", median(&r->graph) / median(&r->no_graph));
	json_f(&j, "sync_over_unix", median(&r->sync) / median(&r->floor.peer[PEER_UNIX]));
	/* client, agent and device each want a CPU of their own before this ratio says anything */
	json_f(&j, "sync_over_line", cores()->n >= 4 ? median(&r->sync) / median(&r->floor.line) : NAN);
	json_f(&j, "first_over_futex", median(&r->first) / median(&r->floor.peer[PEER_FUTEX]));
	json_f(&j, "first_over_futex_cold", median(&r->first) / median(&r->floor.futex_cold));
	json_close(&j, '}');
}

int launch_files(const struct launch_result *r, const char *dir)
{
	const struct series s[] = {
		{ "cache line there and back", &r->floor.line },
		{ "launch, one by one", &r->one },
		{ "launch + sync", &r->sync },
		{ "sync, all done", &r->complete },
		{ "first launch after idle", &r->first },
		{ "UNIX socket", &r->floor.peer[PEER_UNIX] },
		{ "TCP over loopback", &r->floor.peer[PEER_TCP] },
		{ "eventfd pair", &r->floor.peer[PEER_EVENTFD] },
		{ "futex pair", &r->floor.peer[PEER_FUTEX] },
	};
	static const char *const files[] = { "line", "submit", "sync", "complete", "first", "unix", "tcp", "eventfd", "futex" };
	char path[4096];
	int err = 0;

	if (mkdir(dir, 0777) && errno != EEXIST) {
		complain("%s: %s", dir, strerror(errno));
		return -errno;
	}
	for (size_t i = 0; i < sizeof(s) / sizeof(s[0]) && !err; i++) {
		if (!s[i].h->total)
			continue;
		snprintf(path, sizeof(path), "%s/%s.hgrm", dir, files[i]);
		err = hist_hgrm(s[i].h, path);
	}
	snprintf(path, sizeof(path), "%s/launch.svg", dir);
	return err ? err : svg_write(path, "vgpu bench launch: time over percentile", s, sizeof(s) / sizeof(s[0]));
}
