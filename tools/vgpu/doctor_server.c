/* SPDX-License-Identifier: MIT */
/*
 * vgpu doctor --ollama [URL]: what the server itself says it uses (/api/version, /api/ps), and its process where it
 * runs here. The server's answers are a stranger's: at most a MiB within ten seconds, nesting and names bounded.
 */
#define _GNU_SOURCE
#include "doctor.h"

#include <dirent.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define ANSWER_BYTES (1u << 20)
#define ANSWER_MS 10000
#define MAX_DEPTH 32u
#define MAX_MODELS 64u

/* ---- HTTP ---- */

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Waits for the socket until the deadline; 0 or -1. */
static int ready(int fd, short what, long deadline)
{
	struct pollfd p = { .fd = fd, .events = what };
	long left;
	int n;

	do {
		left = deadline - now_ms();
		n = left > 0 ? poll(&p, 1, (int)left) : 0;
	} while (n < 0 && errno == EINTR);
	if (!n)
		errno = ETIMEDOUT;
	return n > 0 ? 0 : -1;
}

static int dial(const struct addrinfo *a, long deadline)
{
	int fd = socket(a->ai_family, a->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, a->ai_protocol), err = 0;
	socklen_t n = sizeof(err);

	if (fd < 0)
		return -1;
	if (!connect(fd, a->ai_addr, a->ai_addrlen))
		return fd;
	if (errno == EINPROGRESS && !ready(fd, POLLOUT, deadline) && !getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &n)) {
		if (!err)
			return fd;
		errno = err;
	}
	err = errno;
	close(fd);
	errno = err;
	return -1;
}

/* All that the server sends until it closes; -1 with errno. */
static ssize_t exchange(int fd, const char *request, char *to, size_t bytes, long deadline)
{
	size_t n = strlen(request), done = 0;
	ssize_t got;

	while (done < n) {
		got = send(fd, request + done, n - done, MSG_NOSIGNAL);
		if (got < 0 && errno != EAGAIN && errno != EINTR)
			return -1;
		if (got < 0 && ready(fd, POLLOUT, deadline))
			return -1;
		done += got > 0 ? (size_t)got : 0;
	}
	for (n = 0; n < bytes;) {
		got = recv(fd, to + n, bytes - n, 0);
		if (!got)
			return (ssize_t)n;
		if (got < 0 && errno != EAGAIN && errno != EINTR)
			return -1;
		if (got < 0 && ready(fd, POLLIN, deadline))
			return -1;
		n += got > 0 ? (size_t)got : 0;
	}
	errno = EMSGSIZE;
	return -1;
}

char *http_get(const char *host, const char *port, const char *path, int *status, char *why, size_t bytes)
{
	struct addrinfo hint = { .ai_socktype = SOCK_STREAM }, *list = NULL;
	long deadline = now_ms() + ANSWER_MS;
	char request[600], *answer, *body;
	ssize_t n = -1;
	int fd = -1, err = getaddrinfo(host, port, &hint, &list);

	if (err) {
		snprintf(why, bytes, "%s", gai_strerror(err));
		return NULL;
	}
	for (struct addrinfo *a = list; a && fd < 0; a = a->ai_next)
		fd = dial(a, deadline);
	err = errno;
	freeaddrinfo(list);
	if (fd < 0) {
		snprintf(why, bytes, "%s", strerror(err));
		return NULL;
	}
	answer = malloc(ANSWER_BYTES + 1);
	if (!answer)
		abort();
	/* of HTTP 1.0, so that the answer comes in one piece and ends with the connection */
	snprintf(request, sizeof(request), "GET %s HTTP/1.0\r\nHost: %.300s:%.8s\r\nAccept: application/json\r\n\r\n", path, host, port);
	n = exchange(fd, request, answer, ANSWER_BYTES, deadline);
	err = errno;
	close(fd);
	if (n < 0) {
		snprintf(why, bytes, "%s", err == EMSGSIZE ? "its answer does not end within a MiB" :
			 err == ETIMEDOUT ? "no answer within ten seconds" : strerror(err));
		free(answer);
		return NULL;
	}
	answer[n] = 0;
	body = strstr(answer, "\r\n\r\n");
	if (sscanf(answer, "HTTP/1.%*1[01] %3d", status) != 1 || !body) {
		snprintf(why, bytes, "that is no HTTP server");
		free(answer);
		return NULL;
	}
	memmove(answer, body + 4, strlen(body + 4) + 1);
	return answer;
}

/* ---- JSON, as far as these answers need it (RFC 8259) ---- */

static const char *blank(const char *p)
{
	return p + strspn(p, " \t\r\n");
}

/* The text of a string, escapes as they stand but for the simple ones; behind it, or NULL. */
static const char *read_string(const char *p, char *to, size_t bytes)
{
	size_t n = 0;

	if (*p++ != '"')
		return NULL;
	for (; *p && *p != '"'; p++) {
		if (*p == '\\' && !*++p)
			return NULL;
		if (n + 1 < bytes)
			to[n++] = *p;
	}
	if (bytes)
		to[n] = 0;
	return *p ? p + 1 : NULL;
}

/* Over one value of any kind; behind it, or NULL where it is damaged or too deep. */
static const char *skip(const char *p, unsigned depth)
{
	char close;

	p = blank(p);
	if (*p == '"')
		return read_string(p, NULL, 0);
	if (*p != '{' && *p != '[') {
		size_t n = strcspn(p, ",]} \t\r\n\"");

		return n ? p + n : NULL;
	}
	close = *p == '{' ? '}' : ']';
	if (depth == MAX_DEPTH)
		return NULL;
	for (p = blank(p + 1); *p != close;) {
		if (close == '}') {
			p = read_string(p, NULL, 0);
			p = p ? blank(p) : NULL;
			if (!p || *p++ != ':')
				return NULL;
		}
		p = skip(p, depth + 1);
		if (!p)
			return NULL;
		p = blank(p);
		if (*p == ',')
			p = blank(p + 1);
		else if (*p != close)
			return NULL;
	}
	return p + 1;
}

/* The value of a member of the object at p, or NULL. */
static const char *member(const char *p, const char *name)
{
	char key[64];

	if (!p || *(p = blank(p)) != '{')
		return NULL;
	for (p = blank(p + 1); *p && *p != '}';) {
		p = read_string(p, key, sizeof(key));
		p = p ? blank(p) : NULL;
		if (!p || *p++ != ':')
			return NULL;
		p = blank(p);
		if (!strcmp(key, name))
			return p;
		p = skip(p, 1);
		if (!p)
			return NULL;
		p = blank(p);
		if (*p == ',')
			p = blank(p + 1);
	}
	return NULL;
}

static unsigned long long number(const char *object, const char *name)
{
	const char *p = member(object, name);

	return p && *p >= '0' && *p <= '9' ? strtoull(p, NULL, 10) : 0;
}

/* ---- the server's process ---- */

/* The inode of the socket that listens on a port of this machine, or 0. */
static unsigned long listener(unsigned port)
{
	static const char *const files[] = { "/proc/net/tcp", "/proc/net/tcp6" };
	char line[512];

	for (int i = 0; i < 2; i++) {
		FILE *f = fopen(files[i], "re");
		unsigned at, state;
		unsigned long inode;

		while (f && fgets(line, sizeof(line), f)) {
			if (sscanf(line, " %*d: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x %*s %*s %*s %*s %*s %lu", &at, &state, &inode) == 3 &&
			    at == port && state == 0x0a) {      /* TCP_LISTEN */
				fclose(f);
				return inode;
			}
		}
		if (f)
			fclose(f);
	}
	return 0;
}

static int holder(unsigned long inode)
{
	char want[64], path[64], link[64];
	DIR *proc = inode ? opendir("/proc") : NULL, *fds;
	struct dirent *e, *f;
	int found = 0;

	snprintf(want, sizeof(want), "socket:[%lu]", inode);
	while (proc && !found && (e = readdir(proc))) {
		int pid = atoi(e->d_name);

		if (pid <= 0)
			continue;
		snprintf(path, sizeof(path), "/proc/%d/fd", pid);
		fds = opendir(path);
		while (fds && !found && (f = readdir(fds))) {
			ssize_t n = readlinkat(dirfd(fds), f->d_name, link, sizeof(link) - 1);

			link[n > 0 ? n : 0] = 0;
			if (!strcmp(link, want))
				found = pid;
		}
		if (fds)
			closedir(fds);
	}
	if (proc)
		closedir(proc);
	return found;
}

/* ---- the models ---- */

static const char *likely(struct doctor *d, unsigned long long bytes)
{
	if (d->first[0])
		return text("likely by the first failure: %s", d->first);
	for (unsigned i = 0; i < d->st.devices; i++)
		if (bytes > d->st.device[i].memory_bytes / 10 * 9)
			return text("the model wants %llu MiB, the device has %llu", bytes >> 20,
				    (unsigned long long)d->st.device[i].memory_bytes >> 20);
	return "its num_gpu option (of the request or the Modelfile), or memory that others held when it was loaded; its log has "
	       "\"offloaded N/M layers\"";
}

static void check_model(struct doctor *d, const char *model)
{
	unsigned long long size = number(model, "size"), vram = number(model, "size_vram"), share;
	const char *p = member(model, "name");
	char name[128] = "?", check[160];

	if (p)
		read_string(p, name, sizeof(name));
	snprintf(check, sizeof(check), "model %s", name);
	/* buffers of a CPU with AMX are a device's to Ollama: what the agent knows is the truth */
	if (size && vram >= size && d->bare && !d->proof) {
		report(d, FAIL, check, text("remove what keeps it from the GPU (the failures above), then: ollama stop %s, and ask again", name),
		       "Ollama counts all of it on the GPU, and its runner holds nothing there; %s", likely(d, size));
		return;
	}
	if (size && vram >= size) {
		report(d, GOOD, check, NULL, "%llu MiB, 100 %% of it on the GPU", size >> 20);
		return;
	}
	share = size ? (unsigned long long)(100.0 * (double)vram / (double)size) : 0;
	report(d, FAIL, check, text("remove what keeps it from the GPU (%s), then: ollama stop %s, and ask again", d->first[0] ?
	       "the failures above" : "free memory of the device, vgpu-stub --memory, num_gpu, num_ctx", name),
	       "%s; %s", !size ? "Ollama counts nothing of it on the GPU: it is on the CPU" :
	       text("%llu %% of it on the GPU (%llu of %llu MiB), the rest on the CPU", share, vram >> 20, size >> 20), likely(d, size));
}

static void check_models(struct doctor *d, const char *body)
{
	const char *p = member(body, "models");
	unsigned n = 0;

	if (!p || *p != '[') {
		report(d, FAIL, "loaded models", "is this Ollama's address? vgpu doctor --ollama http://HOST:PORT", "/api/ps is not Ollama's: no list of models");
		return;
	}
	for (p = blank(p + 1); *p == '{' && n < MAX_MODELS; n++) {
		check_model(d, p);
		p = skip(p, 1);
		if (!p)
			break;
		p = blank(p);
		if (*p == ',')
			p = blank(p + 1);
	}
	if (!n && !d->doubt && !d->pid)
		d->doubt = "no model is loaded; load one and ask again";
	if (!n)
		report(d, WARN, "loaded models", "ollama run MODEL hello, then ask again", "none: nothing shows yet what it uses");
	if (!p)
		report(d, WARN, "loaded models", "update Ollama, or ask its own address", "the answer of /api/ps is damaged behind model %u", n);
}

/* [http://]HOST[:PORT][/]; -1 where it is none. */
static int read_url(const char *url, char *host, size_t bytes, char *port, size_t port_bytes)
{
	const char *p = url, *end, *colon;

	if (!strncmp(p, "http://", 7))
		p += 7;
	else if (strstr(p, "://"))
		return -1;
	end = p + strcspn(p, "/");
	if (*p == '[') {                /* an IPv6 address */
		const char *close = memchr(p, ']', (size_t)(end - p));

		if (!close || (close + 1 < end && close[1] != ':'))
			return -1;
		snprintf(host, bytes, "%.*s", (int)(close - p - 1), p + 1);
		colon = close + 1 < end ? close + 1 : NULL;
	} else {
		colon = memchr(p, ':', (size_t)(end - p));
		snprintf(host, bytes, "%.*s", (int)((colon ? colon : end) - p), p);
	}
	snprintf(port, port_bytes, "%.*s", colon ? (int)(end - colon - 1) : 5, colon ? colon + 1 : "11434");
	if (!host[0] || !strcmp(host, "0.0.0.0"))       /* as OLLAMA_HOST may say: everywhere, so here */
		snprintf(host, bytes, "127.0.0.1");
	return !port[0] || port[strspn(port, "0123456789")] || atoi(port) < 1 || atoi(port) > 65535 ||
	       host[strcspn(host, " \t\r\n@?#")] ? -1 : 0;
}

static int is_here(const char *host)
{
	return !strncmp(host, "127.", 4) || !strcmp(host, "localhost") || !strcmp(host, "::1") || !strcmp(host, "::");
}

int check_server(struct doctor *d, const char *url)
{
	const char *of = url ? url : env_get(d->env, "OLLAMA_HOST");
	char host[256], port[8], why[160], version[64] = "?", *body, *ps;
	int status = 0;

	if (read_url(of && *of ? of : "127.0.0.1", host, sizeof(host), port, sizeof(port))) {
		complain("doctor: --ollama wants http://HOST:PORT, not %s", of);
		return -1;
	}
	body = http_get(host, port, "/api/version", &status, why, sizeof(why));
	if (!body || status != 200 || !member(body, "version")) {
		report(d, FAIL, "ollama server", "start it (ollama serve; systemctl start ollama), or name its address: vgpu doctor --ollama http://HOST:PORT",
		       "http://%s:%s/api/version: %s", host, port, !body ? why : status != 200 ? text("HTTP %d", status) : "that is not Ollama");
		free(body);
		check_system(d);
		return 0;
	}
	read_string(member(body, "version"), version, sizeof(version));
	free(body);
	d->pid = is_here(host) ? holder(listener((unsigned)atoi(port))) : 0;
	report(d, GOOD, "ollama server", NULL, "version %s at http://%s:%s%s", version, host, port, d->pid ? text(", process %d", d->pid) : "");
	if (d->pid) {
		check_process(d);
	} else {
		report(d, WARN, "ollama's process", is_here(host) ? "run vgpu doctor as root, or as the user of that process" :
		       "run vgpu doctor --ollama on that machine", "not seen from here: only what the server says is judged");
		check_system(d);
	}
	ps = http_get(host, port, "/api/ps", &status, why, sizeof(why));
	if (ps && status == 200)
		check_models(d, ps);
	else
		report(d, FAIL, "loaded models", "restart the server (systemctl restart ollama)", "/api/ps: %s", ps ? text("HTTP %d", status) : why);
	free(ps);
	return 0;
}
